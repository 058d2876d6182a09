"""Reads other computers' scores from imported files and community tables that contain all tests of a suite."""

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from app.core.analysis.comparability import engine_name
from app.core.external_results import CommunityRow, ImportedResult
from app.core.metrics import headline_kind
from app.core.plans.suite.definition import DEMO, POINTS, SUITES, Definition, SuitePart
from app.core.plans.suite.score import is_wide, mean_of_parts, scored_part
from app.core.plans.suite.uncertainty import Score
from app.core.records import RunSummary
from app.core.storage.database import Database
from app.core.storage.imported_results import results_of_whole_files
from workloads import CATALOGUE
from workloads.engines.registry import engine_title
from workloads.settings import recorded_text

Verdict = Literal["valid", "caution"]


@dataclass(frozen=True, slots=True)
class KnownScore:
    """The score of another computer.

    Attributes:
        suite: Number of the suite.
        name: Label of the computer.
        engine: Engine and its version.
        verdict: Worst verdict of the tests.
        is_community: Whether the score is from a community table, in which each test's value is a median across
            computers.
    """

    suite: int
    name: str
    engine: str
    score: Score
    verdict: Verdict
    is_community: bool = False


def imported_scores(database: Database) -> list[KnownScore]:
    """Return the scores from imported files that contain all tests of a suite for one computer and engine.

    Scores of newer suites come first.
    """
    numbers = sorted(SUITES.keys() - {DEMO.number}, reverse=True)
    return [score for number in numbers for score in _scores(database, SUITES[number])]


def community_scores(rows: Iterable[CommunityRow], definition: Definition) -> list[KnownScore]:
    """Return the scores of the devices for which a community table contains all tests of a suite."""
    devices: dict[tuple[str, str | None, str], list[CommunityRow]] = {}
    for row in rows:
        devices.setdefault((row.name, row.summary.device, row.summary.engine), []).append(row)
    scores = []
    for (name, _, engine), of_device in devices.items():
        points = [_points_in(of_device, part) for part in definition.parts]
        if all(points):
            score = Score(statistics.geometric_mean(filter(None, points)))
            verdict: Verdict = "caution" if any(row.cautions for row in of_device) else "valid"
            scores.append(
                KnownScore(definition.number, name, engine_title(engine), score, verdict, is_community=True)
            )
    return scores


def _points_in(rows: Sequence[CommunityRow], part: SuitePart) -> float | None:
    """Return the points of a test in a community table's rows for a device; None without a comparable row."""
    for row in rows:
        if (
            row.summary.metric == part.metric
            and row.summary.value
            and is_of(part, row.summary, row.summary.preset)
        ):
            return POINTS * headline_kind(part.metric).times_as_fast(row.summary.value, part.reference)
    return None


def _scores(database: Database, definition: Definition) -> list[KnownScore]:
    scores = []
    for results in _files(results_of_whole_files(database, [part.workload for part in definition.parts])):
        score = _score(definition, results)
        scores += [score] if score is not None else []
    return scores


def _files(results: Sequence[ImportedResult]) -> list[list[ImportedResult]]:
    """Group results by file and computer."""
    files: dict[tuple[object, ...], list[ImportedResult]] = {}
    for each in results:
        run = each.summary
        computer = (run.cpu_name, run.device, run.device_name, run.engine, run.engine_version)
        files.setdefault((each.source, each.imported_at, each.label, *computer), []).append(each)
    return list(files.values())


def _score(definition: Definition, results: Sequence[ImportedResult]) -> KnownScore | None:
    parts = []
    for part in definition.parts:
        fitting = [each.summary for each in results if is_of(part, each.summary)]
        fitting.sort(key=lambda run: run.started_at)
        scored = scored_part(part, fitting, definition.rounds)
        if scored is None:
            return None
        parts.append(scored)
    mean = mean_of_parts(parts, parts)
    if mean is None:
        return None
    is_valid = {part.verdict for part in parts} == {"valid"} and not is_wide(mean)
    verdict: Verdict = "valid" if is_valid else "caution"
    first = results[0].summary
    engine = engine_name(first.engine, first.engine_version)
    return KnownScore(definition.number, results[0].label, engine, mean, verdict)


def is_of(part: SuitePart, run: RunSummary, preset: str = "quick") -> bool:
    """Return whether a run has this preset and otherwise matches the specification of a test."""
    if run.workload != part.workload:
        return False
    workload, is_on_card = CATALOGUE[part.workload], (run.device or "").startswith("gpu")
    asked = part.spec(engine=run.engine, device=run.device or "cpu", without_tf32=is_on_card)
    return run.data_source != "real" and (
        (run.preset, run.batch_size, run.precision, run.jit, run.threads, run.variant, run.settings)
        == (
            *(preset, asked.batch_size, asked.precision, asked.jit, asked.threads),
            *(workload.variant(asked), recorded_text(asked)),
        )
    )
