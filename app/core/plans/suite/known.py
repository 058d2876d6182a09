"""Reads other computers' scores from imported plans that contain all tests of a suite."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from app.core.analysis.comparability import engine_name
from app.core.external_results import ImportedResult
from app.core.plans.suite.definition import DEMO, SUITES, Definition, SuitePart
from app.core.plans.suite.score import is_wide, mean_of_parts, scored_part
from app.core.plans.suite.uncertainty import Score
from app.core.records import RunSummary
from app.core.storage.database import Database
from app.core.storage.imported_results import results_of_plans
from workloads import CATALOGUE
from workloads.settings import recorded_text

Verdict = Literal["valid", "caution"]


@dataclass(frozen=True, slots=True)
class KnownScore:
    """The score of another computer."""

    suite: int  # number of the suite
    name: str  # label of the computer
    engine: str  # engine and its version
    score: Score
    verdict: Verdict  # worst verdict of the tests


def imported_scores(database: Database) -> list[KnownScore]:
    """Return the scores from imported plans that contain all tests of a suite for one computer and engine.

    Scores of newer suites come first.
    """
    numbers = sorted(SUITES.keys() - {DEMO.number}, reverse=True)
    return [score for number in numbers for score in _scores(database, SUITES[number])]


def _scores(database: Database, definition: Definition) -> list[KnownScore]:
    plans: dict[tuple[str | None, ...], list[ImportedResult]] = {}
    for each in results_of_plans(database, [part.workload for part in definition.parts]):
        run = each.summary
        # QR codes contain only capital letters.
        software = (run.device, run.engine, (run.engine_version or "").casefold())
        plans.setdefault((each.plan_uid, *software), []).append(each)
    scores = (_score(definition, results) for results in plans.values())
    return [score for score in scores if score is not None]


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


def is_of(part: SuitePart, run: RunSummary) -> bool:
    """Return whether a quick run matches the specification of a test."""
    if run.workload != part.workload:
        return False
    workload, is_on_card = CATALOGUE[part.workload], (run.device or "").startswith("gpu")
    asked = part.spec(engine=run.engine, device=run.device or "cpu", without_tf32=is_on_card)
    return run.data_source != "real" and (
        (run.preset, run.batch_size, run.precision, run.jit, run.threads, run.variant, run.settings)
        == (
            *("quick", asked.batch_size, asked.precision, asked.jit, asked.threads),
            *(workload.variant(asked), recorded_text(asked)),
        )
    )
