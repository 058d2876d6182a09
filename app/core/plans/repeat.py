"""Repetitions of a run: a median, with an interval that includes variations between runs."""

import dataclasses

from app.core.analysis.ab import between_runs, is_usable, judge_repeats
from app.core.analysis.comparability import differences, run_refusal
from app.core.messages import sentence
from app.core.metrics import amount_text, format_value
from app.core.plans.report import Report, metric_of, typical
from app.core.records import Plan, RunSummary
from app.core.report.run_texts import runs_note
from workloads.protocol.spec import RunSpec


class RepeatReport(Report):
    """The median of repetitions, and how much they vary."""

    @property
    def headline(self) -> str:
        """The median; "n/a" if there is none."""
        result, metric = judge_repeats(self.group), metric_of(self.group)
        if result.median is None:
            return "n/a"
        about = "≈ " if any(run.basis == "estimate" for run in self._usable) else ""
        return about + amount_text(metric, result.median, is_short=True).replace(" / ", "/")

    @property
    def sentence(self) -> str:
        return judge_repeats(self.group).sentence(metric_of(self.group))

    @property
    def note(self) -> str:
        """The median's interval and the spread between the runs."""
        result, metric = judge_repeats(self.group), metric_of(self.group)
        parts = []
        if result.confidence_pct is not None:
            low, high = format_value(metric, result.low), format_value(metric, result.high)
            parts.append(sentence("group.interval", low=low, high=high, confidence_pct=result.confidence_pct))
        if result.between_pct is not None:
            parts.append(sentence("group.spread", between_pct=result.between_pct))
        return ", ".join(parts) or self.sentence

    def limits(self, *, with_interval: bool) -> list[str]:
        """Return the median's interval, and a note if something changed between the runs."""
        interval = judge_repeats(self.group).limits(metric_of(self.group)) if with_interval else ""
        return [interval, _change(self._usable)]

    @property
    def summary(self) -> RunSummary | None:
        """The typical run with the median as its value; None without usable runs."""
        return standing_for(self._usable, self.worst_verdict()[0]) if self._usable else None

    def basis(self, summary: RunSummary) -> str:
        return runs_note(self._usable, summary)

    @property
    def spread_pct(self) -> float | None:
        """The spread between the runs as a percentage of the median; None with fewer than two."""
        return judge_repeats(self.group).between_pct

    @property
    def _usable(self) -> list[RunSummary]:
        return [run for run in self.group.runs if is_usable(run)]


def repeat_plan(spec: RunSpec, rounds: int = 1) -> Plan:
    return Plan(kind="repeat", specs=(spec,), rounds=rounds)


def standing_for(runs: list[RunSummary], verdict: str) -> RunSummary:
    """Return a copy of the typical run with the runs' median, its interval, and the spread between the runs."""
    result = between_runs([run.value for run in runs if run.value is not None], [run.spread_pct for run in runs])
    return dataclasses.replace(
        typical(runs),
        value=result.median,
        value_low=result.low,
        value_high=result.high,
        confidence_pct=result.confidence_pct,
        value_mean=None,
        spread_pct=result.between_pct,
        verdict=verdict,
    )


def _change(counted: list[RunSummary]) -> str:
    """Return a note about the first difference between the repetitions; "" if there is none."""
    for run in counted[1:]:
        first = counted[0]
        processor = (run.cpu_name or "",) if run.cpu_name != first.cpu_name else ()
        reason = run_refusal(first, run) or ", ".join((*processor, *differences(first, run)))
        if reason:
            return sentence("group.changed", first_id=first.id, run_id=run.id, reason=reason)
    return ""
