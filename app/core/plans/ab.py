"""A/B tests: measure two sides alternately to find out which is faster, and by how much."""

import dataclasses
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

from app.core.analysis.ab import (
    ENOUGH_PAIRS,
    Pair,
    PairResult,
    RepeatResult,
    between_runs,
    judge_pairs,
    pairs_of,
    percent_text,
)
from app.core.analysis.comparability import engine_name, run_refusal, unusual_settings
from app.core.analysis.student_t import CONFIDENCE
from app.core.errors import UsageError
from app.core.messages import message, sentence
from app.core.metrics import format_value, headline_kind
from app.core.plain_text import joined, one_line
from app.core.plans.fair_order import fair_seed
from app.core.plans.report import Hero, Report, to_post, typical
from app.core.plans.verdicts import WORST_FIRST, level_among
from app.core.records import Group, Plan, PlannedRun, RunSummary
from app.core.redaction.private_texts import chosen_texts, private_texts
from app.core.report.card import ShareCard, Side, Sides
from app.core.report.run_texts import machine_line, made_by, verdict_chip, verdict_for_text
from app.core.report.share_texts import computer_parts, device_title, version_line
from app.core.result_file.record import Result
from app.core.titles import data_title, differing, precision_title, workload_title
from app.core.verdict.judged_run import JudgedRun
from workloads.protocol import events
from workloads.protocol.spec import RunSpec

# Limit for names in records from any version. Names in this version are shorter.
_NAME_LIMIT = 400


class AbReport(Report):
    """Which of two sides is faster, from runs in pairs."""

    @property
    def name(self) -> str:
        return sentence("group.kind_ab_check") if self.group.plan.has_equal_sides else super().name

    def start_line(self, spec: RunSpec, count: int) -> str:
        """Return the workload, batch size and preset, and whether both sides are equal."""
        line = super().start_line(spec, count)
        return sentence("cli.check_title", title=line) if self.group.plan.has_equal_sides else line

    @property
    def configurations(self) -> str:
        plan = self.group.plan
        return (
            sentence("ab_setup.equal")
            if plan.has_equal_sides
            else f"{sentence('ab_page.sides', a=self.group.labels[0], b=self.group.labels[1])}."
        )

    def current(self, planned: PlannedRun, number: int, count: int) -> str:
        return sentence("ab_page.run_of", number=planned.number, planned=planned.count, label=planned.label)

    @cached_property
    def result(self) -> PairResult:
        return judge_pairs(self.group)

    @property
    def headline(self) -> str:
        """The speed ratio as text, or the smallest difference for equal sides; "n/a" if there is none."""
        ratio = self.result.ratio
        if (smallest_pct := self._smallest_pct) is not None:
            return f"± {percent_text(smallest_pct)} %"
        return "n/a" if ratio is None else f"{max(ratio, 1 / ratio):.2f}×"

    @property
    def sentence(self) -> str:
        """A sentence about the faster side or, for equal sides, the smallest measurable difference."""
        result, group = self.result, self.group
        return result.check_sentence() if group.plan.has_equal_sides else result.sentence(*group.labels)

    def limits(self, *, with_interval: bool) -> list[str]:
        """Return the reasons why the sides didn't do the same work."""
        return [_difference(self.group)]

    def pairs(self) -> list[Pair]:
        return pairs_of(self.group)

    @cached_property
    def paired(self) -> list[RunSummary]:
        """The runs of the usable pairs, in order."""
        return [run for pair in self.pairs() if pair.is_usable for run in (pair.a, pair.b) if run is not None]

    def typical_ids(self) -> list[int]:
        """Return the id of each side's representative run."""
        sides = ([run for run in self.paired if run.side == side] for side in "AB")
        return [typical(runs).id for runs in sides if runs]

    @property
    def example(self) -> RunSummary | None:
        """The first run with the worst verdict; None without a usable pair."""
        rank: dict[str, int] = {level: number for number, level in enumerate(WORST_FIRST)}
        return min(self.paired, key=lambda run: rank.get(level_among(run), len(rank)), default=None)

    @property
    def side_names(self) -> str:
        names = zip("AB", self.group.labels, strict=True)
        return joined(f"{side}: {name}" for side, name in names if side != name)

    @property
    def hero(self) -> Hero:
        """The ratio, with the faster side."""
        result, caption, is_check = self.result, "", self.group.plan.has_equal_sides
        if result.low is not None and not (result.is_shown or is_check):
            return Hero(sentence("ab_page.no_difference"))
        if result.is_shown:
            faster = self.group.labels[int(result.ratio is not None and result.ratio >= 1)]
            caption = sentence("ab_page.faster", label=faster)
        elif result.low is not None:
            caption = sentence("ab_page.smallest")
        return Hero("–" if result.ratio is None else self.headline, caption)

    @property
    def is_preliminary(self) -> bool:
        return True

    @property
    def legend(self) -> str:
        unit = headline_kind(self.group.runs[0].metric).unit if self.group.runs else ""
        return joined((self.side_names, unit))

    @property
    def entry(self) -> str:
        a, b = self.group.labels
        return joined((sentence("ab_page.sides", a=a, b=b), self.subject, self.sentence))

    def result_as_dict(self) -> dict[str, Any]:
        """Return the ratio, its interval, each pair's ratio and, for equal sides, the smallest difference."""
        pairs = self.result
        result = {"pairs": pairs.pairs, "ratio": pairs.ratio, "low": pairs.low, "high": pairs.high}
        return result | {
            "confidence_pct": 100 * CONFIDENCE,
            "ratios": list(pairs.ratios),
            "is_shown": pairs.is_shown,
            "smallest_difference_pct": self._smallest_pct,
        }

    def check_card(self) -> None:
        if not self.paired:
            raise UsageError(message("share.no_ab_result", group_id=self.group.id), message("share.run_ab_again"))

    def card(self, chart: int = 0, result: Result | None = None) -> ShareCard:
        """Return the contents of the picture. Raises UsageError if there is no usable pair."""
        self.check_card()
        run, runs, group, pairs = self.shown_run, self.paired, self.group, self.result
        kind, certainty = headline_kind(run.summary.metric), pairs.certainty()
        parts = computer_parts(runs[0])
        parts += [sentence("compare.virtual")] if runs[0].virtual_machine else []
        return ShareCard(
            title=joined((self.name, *_common(runs))),
            headline=pairs.check_headline() if group.plan.has_equal_sides else pairs.headline(),
            notes=(
                certainty if pairs.pairs >= ENOUGH_PAIRS else f"{certainty} · {sentence('ab.needs_more_pairs')}",
            ),
            chart=Sides(self._sides(), f"{kind.label_within} · {sentence('compare.longer_is_faster')}"),
            machine=sentence("share.on_this_computer", name=joined(_distinct(runs, device_title))),
            details=tuple(filter(None, (joined(parts), _engines(runs), " ".join(self.remarks())))),
            badge=_badge(run, runs),
            level=run.verdict.level,
            footer=joined((group.created_at[:10], version_line(run.summary.app_version))),
        )

    def text(self) -> str:
        card, run, paired = self.card(), self.shown_run, self.paired
        unit = headline_kind(run.summary.metric).unit
        lines = [
            sentence("ab.text_headline", headline=card.headline, title=card.title),
            *card.notes,
            *(_side_line(side, unit) for side in self._sides()),
            verdict_for_text(_verdict(run), _share_with(run, paired)),
            sentence("result.text_machine", machine=machine_line(run.run.machine)),
            sentence("result.text_engine", engine=_engines(paired)),
            *self.remarks(),
            made_by(run.summary.app_version, self.group.created_at),
        ]
        private = chosen_texts([run.run.spec]) | private_texts()
        return to_post([" ".join(line.split()) for line in lines if line], private)

    @property
    def _smallest_pct(self) -> float | None:
        """The smallest measurable difference in percent if the sides are equal and tied; None otherwise."""
        result = self.result
        return result.smallest_pct if self.group.plan.has_equal_sides and not result.is_shown else None

    def _sides(self) -> tuple[Side, Side]:
        result, specs, group = self.result, self.group.plan.specs, self.group
        settings = differing(specs[0], specs[1]) if len(specs) > 1 else ("", "")
        faster = None if not result.is_shown or result.ratio is None else "B" if result.ratio > 1 else "A"
        a, b = (
            _side(
                side,
                one_line(name, _NAME_LIMIT),
                own,
                [run for run in self.paired if run.side == side],
                is_faster=faster == side,
            )
            for side, name, own in zip("AB", group.labels, settings, strict=True)
        )
        return a, b


def ab_plan(specs: tuple[RunSpec, RunSpec], pairs: int, labels: tuple[str, str], *, by_hand: bool = False) -> Plan:
    """Return the plan for an A/B test.

    Args:
        specs: Specs of sides A and B.
        pairs: Number of pairs, each with one run per side.
        labels: Names of sides A and B.
        by_hand: Whether the user changes something manually between the sides.
    """
    a, b = labels
    # Changing something by hand is less work in the order A B B A A B …
    seed = 0 if by_hand else fair_seed(len(specs), pairs)
    return Plan(
        kind="ab", specs=specs, rounds=pairs, order="pairs", seed=seed, label_a=a, label_b=b, by_hand=by_hand
    )


def _difference(group: Group) -> str:
    """Explain why the sides didn't do the same work; "" if they did."""
    sides = {run.side: run for run in group.runs}
    a, b = sides.get("A"), sides.get("B")
    if a is None or b is None:
        return ""
    b = dataclasses.replace(b, settings=a.settings)
    if (reason := run_refusal(a, b)) is None:
        return ""
    if run_refusal(a, dataclasses.replace(b, precision=a.precision)) is None:
        return sentence("group.other_precision", reason=reason)
    return sentence("group.other_work", reason=reason)


def _side(letter: str, name: str, settings: str, runs: Sequence[RunSummary], *, is_faster: bool) -> Side:
    result = between_runs([run.value for run in runs if run.value is not None], [])
    metric = runs[0].metric
    is_rate = headline_kind(metric).is_rate
    ends = (result.low, result.high) if is_rate else (result.high, result.low)
    low, high = (end and (end if is_rate else 1 / end) for end in ends)
    median = result.median or 0.0
    return Side(
        name=letter if name == letter else f"{letter} · {name}",
        settings="" if settings in (letter, name) else settings,
        speed=median and (median if is_rate else 1 / median),
        low=low,
        high=high,
        text=_values(metric, result),
        is_faster=is_faster,
    )


def _values(metric: str, result: RepeatResult) -> str:
    value = format_value(metric, result.median)
    low, high = format_value(metric, result.low), format_value(metric, result.high)
    if result.confidence_pct is None or low == high:  # the interval isn't meaningful
        return value
    between = sentence("group.interval", low=low, high=high, confidence_pct=result.confidence_pct)
    return f"{value} · {between}"


def _side_line(side: Side, unit: str) -> str:
    settings = f" ({side.settings})" if side.settings else ""
    return sentence("ab.text_side", side=side.name + settings, values=side.text, unit=unit)


def _common(runs: Sequence[RunSummary]) -> list[str]:
    """Return the workload of both sides, and their batch size, network and precision if these are the same."""
    parts = [
        workload_title(runs[0].workload),
        *_same(runs, lambda run: sentence("share.batch", batch_size=run.batch_size)),
        *_same(runs, lambda run: run.variant),
        *_same(runs, lambda run: precision_title(run.precision)),
    ]
    return [part for part in parts if part]


def _engines(runs: Sequence[RunSummary]) -> str:
    """Return the engines of both sides, their common settings, and the source of the data."""
    settings = [set(unusual_settings(run)) for run in runs]
    parts = [
        *_distinct(runs, lambda run: engine_name(run.engine, run.engine_version)),
        *(part for part in unusual_settings(runs[0]) if all(part in each for each in settings)),
        *_same(runs, lambda run: data_title(run.data_source)),
    ]
    return joined(parts)


def _badge(run: JudgedRun, runs: Sequence[RunSummary]) -> tuple[str, ...]:
    verdict = _verdict(run)
    texts = verdict_chip(verdict)
    return (f"{texts[0]} · {_share_with(run, runs)}", *texts)


def _verdict(run: JudgedRun) -> events.Judged:
    """Return a run's verdict, ignoring shared hosts, because the group's spread already includes their effect."""
    is_valid = "valid" in (run.verdict.level, level_among(run.summary))
    return events.Judged(level="valid") if is_valid else run.verdict


def _share_with(run: JudgedRun, runs: Sequence[RunSummary]) -> str:
    if _verdict(run).level == "valid":
        return sentence("share.all_runs", count=len(runs))
    count = sum(level_among(each) == level_among(run.summary) for each in runs)
    return sentence("share.of_runs", count=count, planned=len(runs))


def _distinct(runs: Sequence[RunSummary], text_of: Callable[[RunSummary], str]) -> list[str]:
    return list(dict.fromkeys(text_of(run) for run in runs))


def _same(runs: Sequence[RunSummary], text_of: Callable[[RunSummary], str]) -> list[str]:
    """Return [text] if the text is the same for all runs; [] otherwise."""
    texts = _distinct(runs, text_of)
    return texts if len(texts) == 1 else []
