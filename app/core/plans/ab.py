"""A/B tests: measure two sides alternately to find out which is faster, and by how much."""

import dataclasses
from typing import Any

from app.core.analysis.ab import Pair, judge_pairs, pairs_of, percent_text
from app.core.analysis.comparability import run_refusal
from app.core.analysis.student_t import CONFIDENCE
from app.core.messages import sentence
from app.core.plain_text import joined
from app.core.plans.ab_card import ab_card, ab_text, measured_runs
from app.core.plans.fair_order import fair_seed
from app.core.plans.kind import PlanKind, typical
from app.core.plans.verdicts import WORST_FIRST, level_among
from app.core.records import Group, Plan, RunSummary
from app.core.report.card import ShareCard
from app.core.result_file.record import Result
from app.core.verdict.judged_run import JudgedRun
from workloads.protocol.spec import RunSpec


class AbTest(PlanKind):
    """A plan with two specs, whose runs are grouped in pairs."""

    key = "ab"
    page = "ab"
    specs_at_least = 2
    is_same_work = True

    def name(self, group: Group) -> str:
        return sentence("group.kind_ab_check") if group.plan.has_equal_sides else super().name(group)

    def heading(self, plan: Plan, spec: RunSpec, count: int) -> str:
        """Return the workload, batch size and preset, and whether both sides are equal."""
        heading = super().heading(plan, spec, count)
        return sentence("cli.check_title", title=heading) if plan.has_equal_sides else heading

    def headline(self, group: Group) -> str:
        """Return the speed ratio as text, or the smallest difference for equal sides; "n/a" if there is none."""
        ratio = judge_pairs(group).ratio
        if (smallest_pct := _smallest_pct(group)) is not None:
            return f"± {percent_text(smallest_pct)} %"
        return "n/a" if ratio is None else f"{max(ratio, 1 / ratio):.2f}×"

    def sentence(self, group: Group) -> str:
        """Return a sentence about the faster side or, for equal sides, the smallest measurable difference."""
        result = judge_pairs(group)
        return result.check_sentence() if group.plan.has_equal_sides else result.sentence(*group.labels)

    def limits(self, group: Group, *, with_interval: bool) -> list[str]:
        """Return the reasons why the sides didn't do the same work."""
        del with_interval
        return [_difference(group)]

    def pairs(self, group: Group) -> list[Pair]:
        """Return the pairs, in order."""
        return pairs_of(group)

    def typical_ids(self, group: Group) -> list[int]:
        """Return the id of each side's representative run."""
        paired = paired_runs(group)
        sides = ([run for run in paired if run.side == side] for side in "AB")
        return [typical(runs).id for runs in sides if runs]

    def example(self, group: Group) -> RunSummary | None:
        """Return the first run with the worst verdict; None without a usable pair."""
        rank: dict[str, int] = {level: number for number, level in enumerate(WORST_FIRST)}
        return min(paired_runs(group), key=lambda run: rank.get(level_among(run), len(rank)), default=None)

    def side_names(self, group: Group) -> str:
        names = zip("AB", group.labels, strict=True)
        return joined(f"{side}: {name}" for side, name in names if side != name)

    def as_dict(self, group: Group) -> dict[str, Any]:
        """Return the ratio, its interval, each pair's ratio and, for equal sides, the smallest difference."""
        pairs = judge_pairs(group)
        result = {"pairs": pairs.pairs, "ratio": pairs.ratio, "low": pairs.low, "high": pairs.high}
        return result | {
            "confidence_pct": 100 * CONFIDENCE,
            "ratios": list(pairs.ratios),
            "is_shown": pairs.is_shown,
            "smallest_difference_pct": _smallest_pct(group),
        }

    def check_card(self, run: RunSummary, group: Group) -> None:
        """Raise the UsageError that `card` would raise, without creating the card."""
        del run
        measured_runs(group, paired_runs(group))

    def card(self, run: JudgedRun, group: Group, result: Result | None = None) -> ShareCard:
        """Return the contents of the picture. Raises UsageError if there is no result to show."""
        del result
        return ab_card(run, group, paired_runs(group), self.name(group), self.remarks(group))

    def text(self, run: JudgedRun, group: Group) -> str:
        return ab_text(self.card(run, group), run, group, paired_runs(group), self.remarks(group))


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
        kind=AbTest.key, specs=specs, rounds=pairs, order="pairs", seed=seed, label_a=a, label_b=b, by_hand=by_hand
    )


def paired_runs(group: Group) -> list[RunSummary]:
    """Return the runs of the usable pairs, in order."""
    pairs = [pair for pair in pairs_of(group) if pair.is_usable]
    return [run for pair in pairs for run in (pair.a, pair.b) if run is not None]


def _smallest_pct(group: Group) -> float | None:
    """Return the smallest measurable difference in percent if the sides are equal and tied; None otherwise."""
    result = judge_pairs(group)
    return result.smallest_pct if group.plan.has_equal_sides and not result.is_shown else None


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
