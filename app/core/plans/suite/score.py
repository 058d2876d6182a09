"""The score of a suite: points for each part, and their geometric mean. Pure functions.

A part scores 1,000 × its speed over the reference machine's. Its headline is compared: as batch and data are
fixed, that is the ratio of steps per second. All parts run in each of several rounds; a part's points are the
geometric mean of its runs'. How far off a mean of parts may be is in `uncertainty`.
"""

import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from app.core.analysis.ab import is_usable
from app.core.analysis.shared_host import SHARED_HOST
from app.core.errors import UsageError
from app.core.messages import Message, message, sentence, text
from app.core.metrics import headline_kind
from app.core.plans.suite.definition import POINTS, Definition, Purpose, SuitePart, definition_of, suite_name
from app.core.plans.suite.planning import is_for_lack_of_memory
from app.core.plans.suite.uncertainty import Score, hull, mean_of_rounds
from app.core.records import Group, Plan, PlannedRun, Refusal, RunSummary
from app.core.report.run_texts import reason_name
from app.core.verdict.rules import INTERVAL_PCT
from workloads.protocol.spec import RunSpec

State = Literal["done", "waiting", "out_of_memory", "invalid", "failed", "refused"]
Level = Literal["valid", "caution", "invalid"]
_LEVELS: tuple[Level, ...] = ("valid", "caution", "invalid")


@dataclass(frozen=True, slots=True, kw_only=True)
class PartScore:
    """One part of a suite that ran, or is still to run.

    Attributes:
        state: What came of it.
        runs: Those that count, one a round at most, in order; without any the latest run, if there was one.
        rounds: Their points.
        score: The geometric mean of these, 0 if the part can't fit into memory; its interval reaches from
            the lowest end of theirs to the highest. None without a result that counts.
        reason: Why it isn't done, or why its verdict isn't valid; "" for neither.
    """

    part: SuitePart
    state: State
    runs: tuple[RunSummary, ...] = ()
    rounds: tuple[Score, ...] = ()
    score: Score | None = None
    reason: str = ""

    @property
    def run(self) -> RunSummary | None:
        """The run with the worst verdict, the latest of several; None before the first."""
        return max(self.runs, key=lambda run: _LEVELS.index(_level(run)), default=None)

    @property
    def value(self) -> float | None:
        """The geometric mean of its runs' headlines, in the workload's unit; None if nothing was measured."""
        values = [run.value for run in self.runs if run.value]
        return statistics.geometric_mean(values) if values and self.verdict is not None else None

    @property
    def verdict(self) -> Level | None:
        """The worst verdict of its runs; None if nothing was measured."""
        return _level(self.run) if self.state in ("done", "invalid") and self.run is not None else None


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

    @property
    def rounds(self) -> int:
        """How many rounds are whole; 0 before the first."""
        counted = [len(each.runs) for each in self.parts if each.state == "done"]
        return min(counted, default=0)

    def mean(self, purpose: Purpose | None) -> Score | None:
        """Return the geometric mean of the parts for a purpose; None for all.

        There's none as long as one of them has no points, or if they weren't run on the same computer and engine.
        """
        if self.changed:
            return None
        return mean_of_parts([each for each in self.parts if purpose in (None, each.part.purpose)], self.parts)

    @property
    def mean_of_fitting(self) -> Score | None:
        """The geometric mean of the parts that aren't 0; None if all are, or one has no points."""
        fitting = [each for each in self.parts if each.score is None or each.score.points > 0]
        return mean_of_parts(fitting, self.parts) if fitting and self.total is not None else None

    @property
    def verdict(self) -> Level | None:
        """The worst verdict of its parts, at best a caution with a wide interval; None before the first."""
        levels = [each.verdict for each in self.parts if each.verdict is not None]
        levels += ["caution"] if self.is_wide else []
        return max(levels, key=_LEVELS.index, default=None)

    @property
    def is_wide(self) -> bool:
        """Whether the score's interval is wider than a valid run's may be."""
        half_pct = self.total.half_pct if self.total is not None else None
        return half_pct is not None and half_pct > INTERVAL_PCT

    @property
    def runs(self) -> tuple[RunSummary, ...]:
        """The runs of all parts that were measured, part by part."""
        return tuple(run for each in self.parts if each.verdict is not None for run in each.runs)

    @property
    def example(self) -> RunSummary | None:
        """A run that tells engine, device and computer; None before the first."""
        return next(iter(self.runs), None) or next((run for each in self.parts for run in each.runs), None)

    @property
    def name(self) -> str:
        """Its name on screen."""
        return suite_name(self.definition.number)

    @property
    def is_finished(self) -> bool:
        """Whether nothing is left to run."""
        return not self.left


def suite_result(group: Group, asked: Mapping[int, RunSpec]) -> SuiteResult:
    """Return what the runs of a suite gave, part by part.

    Args:
        group: The suite; its runs may still go on.
        asked: What was asked of each run, by number.

    Raises:
        UsageError: The group is no suite, or one that this version doesn't have.
    """
    plan = group.plan
    if plan.suite is None or not plan.specs:
        raise UsageError(message("suite.no_suite", group_id=group.id), message("suite.see_list"))
    definition = definition_of(plan.suite.number)
    begun = [(run, asked[run.id]) for run in group.runs if run.id in asked]
    parts = tuple(_part(part, [run for run, spec in begun if part.is_of(spec)], plan) for part in definition.parts)
    return SuiteResult(group, definition, parts, tuple(_left(plan, parts)))


def _left(plan: Plan, parts: Sequence[PartScore]) -> Iterator[PlannedRun]:
    """Yield what is still to run, in order; what ran out of memory may fit when other programs have ended."""
    for each in plan.runs():
        number = (each.number - 1) // len(plan.specs)  # of the round, from 0
        done = [part for part in parts if part.state == "done" and part.part.is_of(each.spec)]
        if not done or number >= len(done[0].runs):
            yield each


def mean_of_parts(parts: Sequence[PartScore], suite: Sequence[PartScore]) -> Score | None:
    """Return the geometric mean of some parts, with an interval if it's known; None if one has no points.

    Args:
        parts: At least one.
        suite: All of its parts, which show together whether others share the computer.
    """
    scores = [each.score for each in parts if each.score is not None]
    if len(scores) != len(parts):
        return None
    if any(not score.points for score in scores):
        return Score(0.0)
    rounds = [[score.points for score in each.rounds] for each in parts]
    # All parts on a computer's CPUs share them; of GPUs, those are shared that wait for them.
    are_cpus_shared = any(run.device == "cpu" and _says_shared(run) for each in suite for run in each.runs)
    shared = sum(
        any(_says_shared(run) or (are_cpus_shared and run.device == "cpu") for run in each.runs) for each in parts
    )
    return mean_of_rounds(scores, rounds, shared / len(parts))


def _says_shared(run: RunSummary) -> bool:
    """Return whether a verdict names the shared host; one that is less certain for another reason doesn't."""
    return SHARED_HOST in (run.reasons or "").split()


def points_of(part: SuitePart, run: RunSummary) -> Score | None:
    """Return the points of a run; None if it doesn't count, or measured something else than the reference."""
    is_same = (run.metric, run.workload_version) == (part.metric, part.workload_version)
    if not is_usable(run) or run.value is None or not is_same:
        return None
    kind = headline_kind(run.metric)
    ends = (run.value_low, run.value_high) if kind.is_rate else (run.value_high, run.value_low)
    low, high = (
        None if end is None or end <= 0 else POINTS * kind.times_as_fast(end, part.reference) for end in ends
    )
    return Score(POINTS * kind.times_as_fast(run.value, part.reference), low, high)


def scored_part(part: SuitePart, runs: Sequence[RunSummary], rounds: int) -> PartScore | None:
    """Return what the last runs of a part that count gave; None without one.

    Args:
        part: Of a suite.
        runs: Of this part, oldest first.
        rounds: How many of them count at most.
    """
    scored = [(run, points) for run in runs if (points := points_of(part, run)) is not None][-rounds:]
    if not scored:
        return None
    counted, scores = (tuple(each) for each in zip(*scored, strict=True))
    done = PartScore(part=part, state="done", runs=counted, rounds=scores, score=hull(scores))
    return done if done.run is None else replace(done, reason=reasons_of(done.run))


def _part(part: SuitePart, runs: Sequence[RunSummary], plan: Plan) -> PartScore:
    """Return what a part's runs gave; those of a resumed suite may be more than its rounds, and the last count."""
    refused = plan.suite.refused if plan.suite is not None else ()
    refusal = next((each for each in refused if part.is_of(each.spec)), None)
    if refusal is not None:
        return _refused(part, refusal)
    if (done := scored_part(part, runs, plan.rounds)) is not None:
        return done
    ended = [run for run in runs if run.status not in ("running", "cancelled", "interrupted")]
    if not ended:
        return PartScore(part=part, state="waiting", runs=tuple(runs[-1:]))
    last = ended[-1]
    if last.error_code == "out_of_memory":
        reason = sentence("suite.out_of_memory")
        return PartScore(part=part, state="out_of_memory", runs=(last,), score=Score(0.0), reason=reason)
    if last.status == "completed":
        return PartScore(part=part, state="invalid", runs=(last,), reason=reasons_of(last))
    return PartScore(
        part=part, state="failed", runs=(last,), reason=last.error_message or sentence("suite.failed")
    )


def _refused(part: SuitePart, refusal: Refusal) -> PartScore:
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
    return "; ".join(dict.fromkeys(reason_name(code) for code in codes))


def _level(run: RunSummary) -> Level:
    return next((level for level in _LEVELS if level == run.verdict), "caution")
