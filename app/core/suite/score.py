"""The score of a suite: points for each part, and their geometric mean. Pure functions.

A part scores 1,000 × its speed over the reference machine's. Its headline is compared: as batch and data are
fixed, that is the ratio of steps per second. The interval of a mean follows from those of its parts on a
logarithmic scale, with independent errors: half-widths add as squares (propagation of uncertainty; JCGM 100:2008,
5.1.2).
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from app.core.analysis.ab import counts
from app.core.errors import UsageError
from app.core.messages import ENGLISH, Message, message, needs, sentence, text
from app.core.metrics import headline_kind
from app.core.records import Group, PlannedRun, Refusal, RunSummary, Suite
from app.core.suite.definition import POINTS, Definition, Part, Purpose, definition_of
from app.core.suite.planning import is_for_lack_of_memory
from workloads.protocol.spec import RunSpec

KIND = "suite"
# About how long a part takes, with the start of its process: measured on two cores.
RUN_S = 60.0
State = Literal["done", "waiting", "out_of_memory", "invalid", "failed", "refused"]
Level = Literal["valid", "caution", "invalid"]


@dataclass(frozen=True, slots=True)
class Score:
    """Points with their 95 % interval; None for a score without one."""

    points: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PartScore:
    """One part of a suite that ran, or is still to run.

    Attributes:
        state: What came of it.
        run: The latest run; None before the first.
        score: 0 points if it can't fit into memory; None without a result that counts.
        reason: Why it isn't done, or why its verdict isn't valid; "" for neither.
    """

    part: Part
    state: State
    run: RunSummary | None = None
    score: Score | None = None
    reason: str = ""

    @property
    def verdict(self) -> Level | None:
        """The verdict of its run; None if nothing was measured."""
        if self.state not in ("done", "invalid") or self.run is None:
            return None
        levels: dict[str | None, Level] = {"valid": "valid", "invalid": "invalid"}
        return levels.get(self.run.verdict, "caution")


@dataclass(frozen=True, slots=True)
class SuiteResult:
    """A suite with its parts, in the definition's order."""

    group: Group
    definition: Definition
    parts: tuple[PartScore, ...]
    left: tuple[PlannedRun, ...] = ()  # what is still to run

    @property
    def total(self) -> Score | None:
        """The score of all parts; None as long as one has no points."""
        return self.mean(None)

    @property
    def changed(self) -> tuple[str, ...]:
        """What isn't the same in all parts, such as two processors, so that they have no score together."""
        for name in ("cpu_name", "device_name", "engine_version"):
            there = tuple(dict.fromkeys(str(getattr(run, name) or "n/a") for run in self.runs))
            if len(there) > 1:
                return there
        return ()

    def mean(self, purpose: Purpose | None) -> Score | None:
        """Return the geometric mean of the parts for a purpose; None for all.

        There's none as long as one of them has no points, or if they weren't run on the same computer and engine.
        """
        if self.changed:
            return None
        chosen = [each for each in self.parts if purpose in (None, each.part.purpose)]
        scores = [each.score for each in chosen if each.score is not None]
        return geometric_mean(scores) if len(scores) == len(chosen) else None

    @property
    def mean_of_fitting(self) -> Score | None:
        """The geometric mean of the parts that aren't 0; None if all are, or one has no points."""
        scores = [each.score for each in self.parts if each.score is not None and each.score.points > 0]
        return geometric_mean(scores) if scores and self.total is not None else None

    @property
    def verdict(self) -> Level | None:
        """The worst verdict of its parts; None before the first."""
        levels = [each.verdict for each in self.parts if each.verdict is not None]
        worst = (level for level in ("invalid", "caution") if level in levels)
        return next(worst, "valid") if levels else None

    @property
    def runs(self) -> tuple[RunSummary, ...]:
        """The run of each part that was measured, in order."""
        return tuple(each.run for each in self.parts if each.run is not None and each.verdict is not None)

    @property
    def example(self) -> RunSummary | None:
        """A run that tells engine, device and computer; None before the first."""
        return next(iter(self.runs), None) or next((each.run for each in self.parts if each.run is not None), None)

    @property
    def name(self) -> str:
        """Its name on screen."""
        return suite_name(self.definition.number)

    @property
    def is_finished(self) -> bool:
        """Whether nothing is left to run."""
        return not self.left


def suite_name(number: int) -> str:
    """Return a suite's name on screen."""
    return sentence("suite.name", number=number)


def suite_result(group: Group, asked: Mapping[int, RunSpec]) -> SuiteResult:
    """Return what the runs of a suite gave, part by part.

    Args:
        group: The suite; its runs may still go on.
        asked: What was asked of each run, by number.

    Raises:
        UsageError: The group is no suite, or one that this version doesn't have.
    """
    plan = group.plan
    if group.kind != KIND or plan.suite is None or not plan.specs:
        raise UsageError(message("suite.no_suite", group_id=group.id), message("suite.see_list"))
    definition = definition_of(plan.suite.number)
    begun = [(run, asked[run.id]) for run in group.runs if run.id in asked]
    parts = tuple(
        _part(part, [run for run, spec in begun if part.is_of(spec)], plan.suite) for part in definition.parts
    )
    # One that ran out of memory may fit when other programs have ended.
    ended = [each.part for each in parts if each.state == "done"]
    left = [each for each in plan.runs() if not any(part.is_of(each.spec) for part in ended)]
    return SuiteResult(group, definition, parts, tuple(left))


def geometric_mean(scores: Sequence[Score]) -> Score:
    """Return the geometric mean of at least one score, with an interval if each of them has one; 0 if one is."""
    if any(score.points <= 0 for score in scores):
        return Score(0.0)
    middle = math.fsum(math.log(score.points) for score in scores) / len(scores)
    below = _half_width(scores, [score.low for score in scores])
    above = _half_width(scores, [score.high for score in scores])
    if below is None or above is None:
        return Score(math.exp(middle))
    return Score(math.exp(middle), math.exp(middle - below), math.exp(middle + above))


def _half_width(scores: Sequence[Score], ends: Iterable[float | None]) -> float | None:
    """Return how far the mean's logarithm may be off to one side; None if a part's end is unknown."""
    squares = []
    for score, end in zip(scores, ends, strict=True):
        if end is None or end <= 0:
            return None
        squares.append(math.log(end / score.points) ** 2)
    return math.sqrt(math.fsum(squares)) / len(scores)


def points_of(part: Part, run: RunSummary) -> Score | None:
    """Return the points of a run; None if it doesn't count, or measured something else than the reference."""
    is_same = (run.metric, run.workload_version) == (part.metric, part.workload_version)
    if not counts(run) or run.value is None or not is_same:
        return None
    kind = headline_kind(run.metric)
    ends = (run.value_low, run.value_high) if kind.is_rate else (run.value_high, run.value_low)
    low, high = (
        None if end is None or end <= 0 else POINTS * kind.times_as_fast(end, part.reference) for end in ends
    )
    return Score(POINTS * kind.times_as_fast(run.value, part.reference), low, high)


def _part(part: Part, runs: Sequence[RunSummary], suite: Suite) -> PartScore:
    refusal = next((each for each in suite.refused if part.is_of(each.spec)), None)
    if refusal is not None:
        return _refused(part, refusal)
    counted = next((run for run in reversed(runs) if counts(run)), None)
    if counted is not None and (score := points_of(part, counted)) is not None:
        return PartScore(part=part, state="done", run=counted, score=score, reason=reasons_of(counted))
    ended = [run for run in runs if run.status not in ("running", "cancelled", "interrupted")]
    if not ended:
        return PartScore(part=part, state="waiting", run=runs[-1] if runs else None)
    last = ended[-1]
    if last.error_code == "out_of_memory":
        reason = sentence("suite.out_of_memory")
        return PartScore(part=part, state="out_of_memory", run=last, score=Score(0.0), reason=reason)
    if last.status == "completed":
        return PartScore(part=part, state="invalid", run=last, reason=reasons_of(last))
    return PartScore(part=part, state="failed", run=last, reason=last.error_message or sentence("suite.failed"))


def _refused(part: Part, refusal: Refusal) -> PartScore:
    said = refusal.reason
    if isinstance(said, Message) and is_for_lack_of_memory(said):
        # Without the advice to take another batch: those of a suite are fixed.
        sizes = {name: said.arguments.get(name) for name in ("need_bytes", "there_bytes")}
        reason = sentence("suite.needs_memory", **sizes)
        return PartScore(part=part, state="out_of_memory", score=Score(0.0), reason=reason)
    return PartScore(part=part, state="refused", reason=said if isinstance(said, str) else text(said))


def reasons_of(run: RunSummary) -> str:
    """Return the reasons of a run's verdict in a few words; "" if it is valid or has none."""
    codes = (run.reasons or "").split() if run.verdict != "valid" else []
    words = []
    for code in codes:
        short = f"short.{code}"
        words.append(sentence(short) if short in ENGLISH and not needs(short) else code.replace("_", " "))
    return "; ".join(dict.fromkeys(words))
