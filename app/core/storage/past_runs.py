"""Loads earlier runs of a workload and their conditions, for trends."""

# ruff: noqa: S608 - SQL is built from our own column names, never from values

from typing import Any

from app.core.plain_text import one_line
from app.core.records import PastRun, RunSummary
from app.core.storage.database import Database
from app.core.storage.queries import own_runs
from app.core.storage.runs import ids_text

PAST_RUNS = 500

# JSON and path of each condition. A file may contain other types instead of strings.
_PLACES = {
    "gpu_driver": ("record", "$.machine.gpus[0].driver"),
    "kernel": ("record", "$.machine.kernel"),
    "bios_version": ("record", "$.machine.bios_version"),
    "power_plan": ("telemetry", "$.power_plan"),
}
_TEXTS = ", ".join(
    f"CASE json_type({document}, '{path}') WHEN 'text' THEN json_extract({document}, '{path}') END AS {name}"
    for name, (document, path) in _PLACES.items()
)
_TEXT_LIMIT = 60

# Invalid JSON, which would abort the whole query, is replaced by NULL.
_FACTS = f"""
    SELECT id, {_TEXTS}, json_type(telemetry, '$.on_battery') AS on_battery
    FROM (
        SELECT id, CASE WHEN json_valid(record) THEN record END AS record,
            (SELECT CASE WHEN json_valid(telemetry) THEN telemetry END FROM samples WHERE run_id = runs.id LIMIT 1)
                AS telemetry
        FROM runs WHERE id IN (SELECT value FROM json_each(?))
    )
"""


def past_runs(database: Database, workload: str) -> list[PastRun]:
    """Return at most PAST_RUNS completed runs of a workload that have a headline, newest first."""
    with database.snapshot():
        runs = own_runs(database, workload, PAST_RUNS)
        rows = database.connection.execute(_FACTS, (ids_text([run.id for run in runs]),)).fetchall()
    facts = {row["id"]: row for row in rows}
    return [_past_run(run, facts.get(run.id)) for run in runs]


def _past_run(run: RunSummary, row: Any) -> PastRun:
    if row is None:
        return PastRun(run=run)
    on_battery = {"true": True, "false": False}.get(row["on_battery"])
    texts = {name: one_line(row[name], _TEXT_LIMIT) if row[name] is not None else None for name in _PLACES}
    return PastRun(run=run, on_battery=on_battery, **texts)
