"""Computes the score of a suite: points for each test, and their geometric mean. Pure functions.

A test scores 1,000 points times its speed divided by the reference computer's. The ratio of headlines equals the
ratio of steps per second, because batch size and data are fixed. Each round runs all tests, and a test's points
are the geometric mean over its runs. `uncertainty` computes the interval of the total.
"""

import contextlib
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from app.core.analysis.ab import is_usable
from app.core.analysis.shared_host import says_shared
from app.core.errors import UsageError
from app.core.messages import Message, message, sentence, text
from app.core.metrics import headline_kind
from app.core.plans.suite.definition import POINTS, Definition, Purpose, SuitePart, definition_of, suite_name
from app.core.plans.suite.uncertainty import Score, hull, mean_of_rounds
from app.core.records import Group, Plan, PlannedRun, Refusal, RunSummary
from app.core.report.run_texts import plain_reason
from app.core.storage.database import Database
from app.core.storage.groups import list_groups, specs_of
from app.core.verdict.rules import INTERVAL_PCT
from workloads.protocol.spec import RunSpec

State = Literal["done", "waiting", "out_of_memory", "invalid", "failed", "refused"]
Level = Literal["valid", "caution", "invalid"]
_LEVELS: tuple[Level, ...] = ("valid", "caution", "invalid")


@dataclass(frozen=True, slots=True, kw_only=True)
class PartScore:
    """A test of a suite, completed or not."""

    part: SuitePart
    state: State  # state of the test
    # Usable runs, at most one per round, in order; if there are none, the latest run, if any.
    runs: tuple[RunSummary, ...] = ()
    rounds: tuple[Score, ...] = ()  # points of each usable run
    # Geometric mean of these points, with the range covered by the runs' intervals; 0 points if the test doesn't
    # fit into memory, None without a usable result.
    score: Score | None = None
    reason: str = ""  # reason why there is no result or the verdict isn't valid; "" otherwise

    @property
    def run(self) -> RunSummary | None:
        """The run with the worst verdict, or the first of several such runs; None before the first run."""
        return max(self.runs, key=lambda run: _LEVELS.index(_level(run)), default=None)

    @property
    def value(self) -> float | None:
        """Geometric mean of the runs' headlines, in the workload's unit; None if nothing was measured."""
        values = [run.value for run in self.runs if run.value]
        return statistics.geometric_mean(values) if values and self.verdict is not None else None

    @property
    def verdict(self) -> Level | None:
        """The worst verdict of the runs; None if nothing was measured."""
        return _level(self.run) if self.state in ("done", "invalid") and self.run is not None else None


@dataclass(frozen=True, slots=True)
class SuiteResult:
    """A suite and its tests, in the order of the definition."""

    group: Group
    definition: Definition
    parts: tuple[PartScore, ...]
    left: tuple[PlannedRun, ...] = ()  # remaining runs

    @property
    def total(self) -> Score | None:
        """The score of all tests; None while a test has no points."""
        return self.mean(None)

    @property
    def changed(self) -> tuple[str, ...]:
        """Values that differ between runs and therefore rule out a total score, such as CPUs; () if none."""
        for name in ("cpu_name", "device_name", "engine_version"):
            there = tuple(dict.fromkeys(str(getattr(run, name) or "n/a") for run in self.runs))
            if len(there) > 1:
                return there
        return ()

    @property
    def rounds(self) -> int:
        counted = [len(each.runs) for each in self.parts if each.state == "done"]
        return min(counted, default=0)

    def mean(self, purpose: Purpose | None) -> Score | None:
        """Return the geometric mean of the tests' scores, counting only tests with `purpose` unless it is None.

        None while a test has no points, or if the runs used different computers or engine versions.
        """
        if self.changed:
            return None
        return mean_of_parts([each for each in self.parts if purpose in (None, each.part.purpose)], self.parts)

    @property
    def mean_of_fitting(self) -> Score | None:
        """Geometric mean of the tests with more than 0 points; None without such tests or a total score."""
        fitting = [each for each in self.parts if each.score is None or each.score.points > 0]
        return mean_of_parts(fitting, self.parts) if fitting and self.total is not None else None

    @property
    def verdict(self) -> Level | None:
        """The worst verdict of the tests, at best "caution" if the interval is wide; None before the first run."""
        levels = [each.verdict for each in self.parts if each.verdict is not None]
        levels += ["caution"] if self.is_wide else []
        return max(levels, key=_LEVELS.index, default=None)

    @property
    def is_wide(self) -> bool:
        """Whether the interval of the score is wider than allowed for a valid run."""
        return self.total is not None and is_wide(self.total)

    @property
    def runs(self) -> tuple[RunSummary, ...]:
        """The runs of all measured tests, in the order of the tests."""
        return tuple(run for each in self.parts if each.verdict is not None for run in each.runs)

    @property
    def example(self) -> RunSummary | None:
        """A run that identifies the engine, device and computer; None before the first run."""
        return next(iter(self.runs), None) or next((run for each in self.parts for run in each.runs), None)

    @property
    def name(self) -> str:
        return suite_name(self.definition.number)

    @property
    def is_finished(self) -> bool:
        return not self.left


def list_suites(database: Database, limit: int | None = None) -> list[SuiteResult]:
    """Return the readable stored suites, newest first."""
    results = []
    for group in list_groups(database, "suite", limit):
        with contextlib.suppress(UsageError):  # from another version of Epochmark
            results.append(suite_result(group, specs_of(database, [run.id for run in group.runs])))
    return results


def is_wide(score: Score) -> bool:
    """Return whether the interval of a score is wider than allowed for a valid run."""
    return score.half_pct is not None and score.half_pct > INTERVAL_PCT


def suite_result(group: Group, asked: Mapping[int, RunSpec]) -> SuiteResult:
    """Return the results of a suite's runs, by test.

    Args:
        group: Group of the suite. The suite may still be running.
        asked: Requested spec of each run, by run id.

    Raises:
        UsageError: The group isn't a suite, or this version doesn't include its definition.
    """
    plan = group.plan
    if plan.suite is None or not plan.specs:
        raise UsageError(message("suite.no_suite", group_id=group.id), message("suite.see_list"))
    definition = definition_of(plan.suite.number)
    begun = [(run, asked[run.id]) for run in group.runs if run.id in asked]
    parts = tuple(_part(part, [run for run, spec in begun if part.is_of(spec)], plan) for part in definition.parts)
    return SuiteResult(group, definition, parts, tuple(_left(plan, parts)))


def _left(plan: Plan, parts: Sequence[PartScore]) -> Iterator[PlannedRun]:
    """Yield the remaining runs in order, including those that ran out of memory but may fit into it later."""
    for each in plan.runs():
        number = (each.number - 1) // len(plan.specs)  # number of the round, from 0
        done = [part for part in parts if part.state == "done" and part.part.is_of(each.spec)]
        if not done or number >= len(done[0].runs):
            yield each


def mean_of_parts(parts: Sequence[PartScore], suite: Sequence[PartScore]) -> Score | None:
    """Return the geometric mean of some tests, with an interval if known; None if a test has no points.

    Args:
        parts: At least one test.
        suite: All tests of the suite, whose verdicts show whether the computer is shared.
    """
    scores = [each.score for each in parts if each.score is not None]
    if len(scores) != len(parts):
        return None
    if any(not score.points for score in scores):
        return Score(0.0)
    rounds = [[score.points for score in each.rounds] for each in parts]
    # All tests on the CPU share the same host. Tests on a GPU are affected only if the GPU waits for the CPU.
    are_cpus_shared = any(run.device == "cpu" and says_shared(run) for each in suite for run in each.runs)
    shared = sum(
        any(says_shared(run) or (are_cpus_shared and run.device == "cpu") for run in each.runs) for each in parts
    )
    return mean_of_rounds(scores, rounds, shared / len(parts))


def points_of(part: SuitePart, run: RunSummary) -> Score | None:
    """Return the points of a run; None if the run is unusable or not comparable with the reference."""
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
    """Return the score of a test from its last usable runs; None if there are none.

    Args:
        part: A test of a suite.
        runs: Runs of this test, oldest first.
        rounds: Maximum number of runs used.
    """
    scored = [(run, points) for run in runs if (points := points_of(part, run)) is not None][-rounds:]
    if not scored:
        return None
    counted, scores = (tuple(each) for each in zip(*scored, strict=True))
    done = PartScore(part=part, state="done", runs=counted, rounds=scores, score=hull(scores))
    return done if done.run is None else replace(done, reason=reasons_of(done.run))


def _part(part: SuitePart, runs: Sequence[RunSummary], plan: Plan) -> PartScore:
    # Only the last runs count, because a resumed suite may have more runs than rounds.
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
    if isinstance(said, Message) and said.code in ("memory.computer_too_small", "memory.gpu_too_small"):
        # Omits the advice to change the batch size, which is fixed in a suite.
        sizes = {name: said.arguments.get(name) for name in ("need_bytes", "there_bytes")}
        reason = sentence("suite.needs_memory", **sizes)
        return PartScore(part=part, state="out_of_memory", score=Score(0.0), reason=reason)
    return PartScore(part=part, state="refused", reason=said if isinstance(said, str) else text(said))


def reasons_of(run: RunSummary) -> str:
    """Return the reasons of a run's verdict in a few words; "" if it is valid or there are none."""
    codes = (run.reasons or "").split() if run.verdict != "valid" else []
    return "; ".join(dict.fromkeys(plain_reason(code) for code in codes))


def _level(run: RunSummary) -> Level:
    return next((level for level in _LEVELS if level == run.verdict), "caution")
