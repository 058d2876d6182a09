"""Exports suites as plain data and as files."""

from typing import Any

from app.core.messages import text
from app.core.plans.suite.score import PartScore, SuiteResult
from app.core.plans.suite.texts import suite_lines
from app.core.plans.suite.uncertainty import Score
from app.core.redaction.private_texts import private_texts
from app.core.report.formats.export_format import PlanTable

COLUMNS = (
    *("workload", "purpose", "batch_size", "state", "points", "points_low", "points_high"),
    *("metric", "value", "value_low", "value_high", "reference", "verdict", "reason"),
    *("engine", "engine_version", "device", "device_name", "precision", "run_ids"),
)


def suite_as_dict(result: SuiteResult) -> dict[str, Any]:
    """Return a suite as plain JSON types, with the points, interval and value of each test."""
    run = result.example
    return {
        "id": result.group.id,
        "kind": result.group.kind,
        "created_at": result.group.created_at,
        "suite": result.definition.number,
        "engine": run.engine if run else None,
        "engine_version": run.engine_version if run else None,
        "device": run.device if run else None,
        "device_name": run.device_name if run else None,
        "precision": run.precision if run else None,
        "is_finished": result.is_finished,
        "rounds": result.rounds,
        "verdict": result.verdict,
        "score": _score(result.total),
        "training": _score(result.mean("training")),
        "prediction": _score(result.mean("prediction")),
        "parts": [_part(each) for each in result.parts],
        "reference_machine": text(result.definition.machine),
        "sentences": suite_lines(result),
    }


def suite_export(result: SuiteResult) -> PlanTable:
    """Return the table of a suite for export."""
    parts = [_part(each) for each in result.parts]
    return PlanTable(
        format_version=2,
        plain=suite_as_dict(result),
        rows="parts",
        columns=COLUMNS,
        cells=[[part[name] for name in COLUMNS] for part in parts],
        private=private_texts(),
    )


def _score(score: Score | None) -> dict[str, float | None] | None:
    return None if score is None else {"points": score.points, "low": score.low, "high": score.high}


def _ends(each: PartScore) -> dict[str, float | None]:
    """Return the combined range of the runs' intervals, in the workload's unit."""
    runs = each.runs if each.verdict is not None else ()
    lows, highs = [run.value_low for run in runs], [run.value_high for run in runs]
    return {
        "value_low": min((low for low in lows if low is not None), default=None),
        "value_high": max((high for high in highs if high is not None), default=None),
    }


def _part(each: PartScore) -> dict[str, Any]:
    run = each.run if each.verdict is not None else None
    score = each.score
    return {
        "workload": each.part.workload,
        "purpose": each.part.purpose,
        "batch_size": each.part.batch_size,
        "state": each.state,
        "points": score.points if score else None,
        "points_low": score.low if score else None,
        "points_high": score.high if score else None,
        "metric": each.part.metric,
        "value": each.value,
        **_ends(each),
        "reference": each.part.reference,
        "verdict": each.verdict,
        "reason": each.reason,
        "engine": run.engine if run else None,
        "engine_version": run.engine_version if run else None,
        "device": run.device if run else None,
        "device_name": run.device_name if run else None,
        "precision": run.precision if run else None,
        "run_ids": " ".join(str(run.id) for run in each.runs) if run else "",
    }
