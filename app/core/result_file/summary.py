"""Converts imported results to rows for comparison."""

from typing import Any

import msgspec

from app.core.records import FIELDS, RunSummary
from app.core.result_file.record import Result

# Fields of a headline that have other names in result files.
NAMES = {"value_low": "low", "value_high": "high", "value_mean": "mean"}
_FROM_FILE = {name: field for field, name in NAMES.items()}


def summary_of(result: Result) -> RunSummary:
    """Convert another computer's result to a row with id 0. Missing fields are None; a missing date is ""."""
    environment, verdict = result.environment, result.verdict
    values: dict[str, Any] = {}
    for part in (result.spec, result.machine, result.statistics):
        values |= {_FROM_FILE.get(name, name): value for name, value in msgspec.structs.asdict(part).items()}
    values |= result.statistics.facts or {}
    values = {name: value for name, value in values.items() if name in FIELDS}
    texts = {name: values[name] or "" for name in ("variant", "settings")}
    return RunSummary(
        id=0,
        uid=result.uid,
        started_at=result.started_at or "",
        finished_at=result.finished_at,
        status=result.status,
        data_source=result.dataset.source if result.dataset is not None else None,
        engine=environment.engine,
        engine_version=environment.engine_version,
        device=environment.device,
        app_version=result.app_version,
        comment=result.comment,
        verdict=verdict.level if verdict is not None else None,
        reasons=" ".join(verdict.reasons) if verdict is not None else None,
        **values | texts,
    )
