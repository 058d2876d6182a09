"""Repetitions of a run: a median, with an interval that includes variations between runs."""

import dataclasses

from app.core.analysis.ab import between_runs, is_usable, judge_repeats
from app.core.analysis.comparability import differences, run_refusal
from app.core.messages import sentence
from app.core.metrics import amount_text, format_value
from app.core.plans.kind import PlanKind, metric_of, typical
from app.core.records import Group, Plan, RunSummary
from app.core.report.run_texts import runs_note
from workloads.protocol.spec import RunSpec


class Repeat(PlanKind):
    """A plan with one spec."""

    key = "repeat"
    specs_at_least = 1
    phrase_code = "cli.kind_repeat"
    is_same_work = True

    def headline(self, group: Group) -> str:
        """Return the median; "n/a" if there is none."""
        result, metric = judge_repeats(group), metric_of(group)
        if result.median is None:
            return "n/a"
        about = "≈ " if any(run.basis == "estimate" for run in group.runs if is_usable(run)) else ""
        return about + amount_text(metric, result.median, is_short=True).replace(" / ", "/")

    def sentence(self, group: Group) -> str:
        return judge_repeats(group).sentence(metric_of(group))

    def note(self, group: Group) -> str:
        """Return the median's interval and the spread between the runs."""
        result, metric = judge_repeats(group), metric_of(group)
        parts = []
        if result.confidence_pct is not None:
            low, high = format_value(metric, result.low), format_value(metric, result.high)
            parts.append(sentence("group.interval", low=low, high=high, confidence_pct=result.confidence_pct))
        if result.between_pct is not None:
            parts.append(sentence("group.spread", between_pct=result.between_pct))
        return ", ".join(parts) or self.sentence(group)

    def limits(self, group: Group, *, with_interval: bool) -> list[str]:
        """Return the median's interval, and a note if something changed between the runs."""
        interval = judge_repeats(group).limits(metric_of(group)) if with_interval else ""
        return [interval, _change(group)]

    def summary(self, group: Group) -> RunSummary | None:
        """Return the typical run with the median as its value; None without usable runs."""
        runs = [run for run in group.runs if is_usable(run)]
        return standing_for(runs, self.worst_verdict(group)[0]) if runs else None

    def basis(self, group: Group, summary: RunSummary) -> str:
        return runs_note([run for run in group.runs if is_usable(run)], summary)

    def spread_pct(self, group: Group) -> float | None:
        """Return the spread between the runs as a percentage of the median; None with fewer than two."""
        return judge_repeats(group).between_pct


def repeat_plan(spec: RunSpec, rounds: int = 1) -> Plan:
    return Plan(kind=Repeat.key, specs=(spec,), rounds=rounds)


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


def _change(group: Group) -> str:
    """Return a note about the first difference between the repetitions; "" if there is none."""
    counted = [run for run in group.runs if is_usable(run)]
    for run in counted[1:]:
        first = counted[0]
        processor = (run.cpu_name or "",) if run.cpu_name != first.cpu_name else ()
        reason = run_refusal(first, run) or ", ".join((*processor, *differences(first, run)))
        if reason:
            return sentence("group.changed", first_id=first.id, run_id=run.id, reason=reason)
    return ""
