"""Lists, reads and deletes stored runs. Damage to one run doesn't affect others."""

import dataclasses
import itertools
import json
import operator
import re
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from app.core.analysis.headline import half_interval_pct, headline_step_s
from app.core.analysis.published import published_peak
from app.core.errors import UsageError
from app.core.messages import message
from app.core.records import EpochColumns, Exchange, PeakShare, Run, RunSummary
from app.core.storage import documents
from app.core.storage.database import Database
from app.core.verdict.conditions import DISTURBANCES
from workloads import CATALOGUE
from workloads.protocol.events import Dataset, Environment, Model
from workloads.protocol.machine import Machine
from workloads.protocol.spec import RunSpec

NAMED_RUNS = 10
_EPOCH_FIELDS = {
    field.name: field.name.removeprefix("epoch_").replace("durations_s", "duration_s")
    for field in dataclasses.fields(EpochColumns)
}
# Characters that don't occur in valid numbers but do occur in None, nan, inf, strings, bytes or large exponents.
_ODD = re.compile(r"[a-df-z'A-DF-Z]|e\+3")
# Parts of a record that may contain folder names in a form that can't be detected, or identify the computer.
_UNSAID = ("spec", "machine", "error_traceback")
# By part of a record, how it is called in messages.
_EVENTS = {
    "environment": (Environment, "the engine"),
    "dataset": (Dataset, "the data set"),
    "model": (Model, "the network"),
}
_SUMMARY = "SELECT id, uid, plan_id, summary FROM runs WHERE deleted_at IS NULL"


def list_runs(
    database: Database, *, limit: int | None = None, ids: Sequence[int] | None = None, oldest_first: bool = False
) -> Iterator[RunSummary]:
    """Yield stored runs one at a time, newest first by default, excluding those in the trash."""
    chosen = "" if ids is None else " AND id IN (SELECT value FROM json_each(:ids))"
    sql = f"{_SUMMARY}{chosen} ORDER BY id {'ASC' if oldest_first else 'DESC'} LIMIT :limit"
    values = {"ids": ids_text(ids or ()), "limit": -1 if limit is None else limit}
    with database.complaints():
        cursor = database.connection.cursor()
        cursor.row_factory = None  # plain tuples are faster
        for row in cursor.execute(sql, values):
            yield documents.read_summary(*row)


def rows_for_export(
    database: Database, ids: Sequence[int] = ()
) -> Iterator[tuple[RunSummary, Sequence[str | None]]]:
    """Yield runs and the cells of their EpochColumns, oldest first. If no ids are given, all runs are included."""
    chosen = " WHERE run_id IN (SELECT value FROM json_each(?))" if ids else ""
    columns = ", ".join(_EPOCH_FIELDS.values())
    without = (None,) * len(_EPOCH_FIELDS)
    with database.complaints():
        # Both queries follow the order of their tables, so that nothing is sorted or held in memory.
        epochs = database.connection.cursor()
        epochs.row_factory = None  # plain tuples are faster
        sql = f"SELECT run_id, {columns} FROM epochs{chosen} ORDER BY run_id, idx"
        epochs.execute(sql, (ids_text(ids),) if ids else ())
        groups = itertools.groupby(epochs, key=operator.itemgetter(0))
        number, group = next(groups, (None, ()))
        for run in list_runs(database, ids=ids or None, oldest_first=True):
            while number is not None and number < run.id:  # epochs of a run in the trash
                number, group = next(groups, (None, ()))
            cells: Sequence[Sequence[object] | None] = without
            if number == run.id:
                _, *cells = zip(*group, strict=True)
            yield run, [None if cell is None else _exact(cell) for cell in cells]


def _exact(values: Sequence[object]) -> str:
    """Return values as the text of a cell, each in the shortest exact form; "n/a" for invalid numbers."""
    # SQLite itself would write only 15 digits.
    text = " ".join(map(repr, values))
    if not _ODD.search(text):
        return text
    return " ".join(
        repr(value) if isinstance(value, int | float) and -1e300 <= value <= 1e300 else "n/a" for value in values
    )


def all_ids(database: Database) -> list[int]:
    """Return the ids of all stored runs, oldest first."""
    with database.complaints():
        sql = "SELECT id FROM runs WHERE deleted_at IS NULL ORDER BY id"
        return [row[0] for row in database.connection.execute(sql)]


def load_run(database: Database, run_id: int, *, with_peak: bool = True) -> Run:
    """Return a run with all its readable data and, optionally, its share of peak and its devices' exchange time.

    Raises:
        UsageError: The run doesn't exist.
    """
    connection = database.connection
    with database.snapshot():
        row = connection.execute(f"{_SUMMARY} AND id = ?", (run_id,)).fetchone()
        if row is None:
            raise missing_runs([run_id])
        damage: list[str] = []
        summary = documents.read_summary(row["id"], row["uid"], row["plan_id"], row["summary"], damage)
        sql = "SELECT record, plans.uid FROM runs LEFT JOIN plans ON plans.id = plan_id WHERE runs.id = ?"
        record, plan_uid = connection.execute(sql, (run_id,)).fetchone()
        record = documents.read_object(record, dict[str, Any], "its record", damage) or {}
        parts: dict[str, Any] = {
            name: documents.read_event(record.get(name), kind, label, damage)
            for name, (kind, label) in _EVENTS.items()
        }
        rows = {table: documents.stored_rows(connection, table, run_id) for table in documents.TABLES}
        run = Run(
            summary=summary,
            spec=documents.read_spec(record.get("spec"), damage),
            machine=documents.read_machine(record.get("machine"), damage),
            **parts,
            plan_uid=plan_uid,
            epochs=documents.read_epochs(rows["epochs"], damage),
            steps=tuple(documents.iter_steps(rows["step_blocks"], damage)),
            metrics=documents.read_metrics(rows["metrics"], damage),
            warnings=documents.read_warnings(rows["warnings"], damage),
            telemetry=documents.read_telemetry_rows(rows["samples"], damage),
            exchange=exchange(database, summary, parts["model"]) if with_peak else None,
            unknown=_unknown(row["summary"], record),
        )
        if with_peak:
            run = dataclasses.replace(run, peak=peak_share(database, run))
        if damage:
            run = dataclasses.replace(run, damage=tuple(damage), raw=_raw_rows(database, run_id, record))
    return run


def _unknown(summary: object, record: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the fields that another version has added to a run, by part of its documents."""
    kinds = {name: kind for name, (kind, _) in _EVENTS.items()} | {"spec": RunSpec, "machine": Machine}
    parts = {name: (record.get(name), kind) for name, kind in kinds.items()}
    parts["summary"] = documents.read_object(summary, dict[str, Any], "", []), RunSummary
    unknown = {
        name: documents.unknown_parts(plain, kind)
        for name, (plain, kind) in parts.items()
        if isinstance(plain, dict)
    }
    return {name: fields for name, fields in unknown.items() if fields}


def load_runs(database: Database, ids: Iterable[int]) -> Iterator[Run]:
    """Yield runs one at a time, as stored when the first one is read. Missing runs are skipped."""
    with database.snapshot():
        for run_id in ids:
            try:
                run = load_run(database, run_id)
            except UsageError:
                continue
            yield run


def _raw_rows(database: Database, run_id: int, record: dict[str, Any]) -> dict[str, list[dict[str, Any]]]:
    sql = "SELECT id, uid, plan_id, plan_number, summary FROM runs WHERE id = ?"
    row = dict(database.connection.execute(sql, (run_id,)).fetchone())
    said = {name: json.dumps(part) for name, part in record.items() if name not in _UNSAID}
    tables = {"runs": [row | said]}
    for table in documents.TABLES:
        tables[table] = list(documents.stored_rows(database.connection, table, run_id))
    return tables


def delete_runs(database: Database, ids: Sequence[int]) -> None:
    """Delete runs permanently, all or none. Raises UsageError if a run doesn't exist or is in progress."""
    with database.transaction() as connection:
        check_removable(connection, ids)
        connection.execute("DELETE FROM runs WHERE id IN (SELECT value FROM json_each(?))", (ids_text(ids),))


def check_removable(connection: sqlite3.Connection, ids: Sequence[int]) -> None:
    """Raise UsageError if a run doesn't exist, is in the trash, or is in progress."""
    sql = "SELECT id, status FROM runs WHERE deleted_at IS NULL AND id IN (SELECT value FROM json_each(?))"
    status = dict(connection.execute(sql, (ids_text(ids),)).fetchall())
    if missing := [run_id for run_id in ids if run_id not in status]:
        raise missing_runs(missing)
    if running := [run_id for run_id in ids if status[run_id] == "running"]:
        raise UsageError(message("runs.still_running", run_id=running[0]), message("runs.cancel_first"))


def missing_runs(ids: Sequence[int]) -> UsageError:
    """Return an error with the ids of missing runs."""
    run_ids, more = list(ids[:NAMED_RUNS]), len(ids) - NAMED_RUNS
    unknown = message("runs.unknown", run_ids=run_ids, count=len(ids))
    if more > 0:
        unknown = message("runs.unknown_and_more", run_ids=run_ids, more=more)
    return UsageError(unknown, message("runs.see_list"))


def ids_text(ids: Sequence[int]) -> str:
    return json.dumps(list(ids))


# Gradients are float32 in all engines and with all precisions.
_BYTES_PER_GRADIENT = 4


def peak_share(database: Database, run: Run) -> PeakShare | None:
    """Return a run's share of peak; None without counted operations or timed steps, or on several devices."""
    flops = None if run.model is None else run.model.flops_per_example
    step_s = headline_step_s(run)
    if not flops or not step_s or run.summary.device_count > 1:
        return None
    summary, workload = run.summary, CATALOGUE.get(run.summary.workload)
    has_convolutions = workload is None or workload.counts_images
    is_other = has_convolutions and _mixes_formats(run)
    best = _best(database, summary, "matmul") if not is_other else None
    peak, high, reasons = (best.value, best.value_high, best.reasons) if best is not None else (None, None, None)
    is_disturbed = not DISTURBANCES.isdisjoint((reasons or "").split())
    half_pct = half_interval_pct(summary.metric, summary.value, summary.value_low, summary.value_high)
    published = published_peak(summary.device_name, summary.precision)
    reached = flops * summary.batch_size / step_s
    return PeakShare(reached, peak, half_pct, published, high, is_disturbed)


def near_peak(database: Database, peak_id: int) -> list[int]:
    """Return the ids of the runs whose verdict a new measurement of the peak may change; none for other runs."""
    with database.complaints():
        return [row[0] for row in database.connection.execute(_NEAR_PEAK, (peak_id,))]


def _mixes_formats(run: Run) -> bool:
    """Return whether convolutions used TensorFloat-32 but matrix products didn't, as by default in PyTorch."""
    environment = run.environment
    return (
        environment is not None
        and environment.engine == "torch"
        and environment.precision == "float32"
        and environment.tf32 is False
        and "tf32" not in run.spec.settings
    )


def exchange(database: Database, run: RunSummary, model: Model | None) -> Exchange | None:
    """Describe the exchange of a step's gradients between a run's devices; None on one device or if unknown.

    Args:
        database: Database with the other runs of this computer.
        model: The run's network; None if unknown.
    """
    if model is None or not run.step_median_s or run.device_count == 1:
        return None
    best = _best(database, run, "all_reduce")
    return Exchange(
        gradients_bytes=_BYTES_PER_GRADIENT * model.parameters_count,
        devices=run.device_count,
        step_s=run.step_median_s,
        bytes_per_s=None if best is None else best.value,
    )


def _best(database: Database, run: RunSummary, workload: str) -> RunSummary | None:
    """Return the best recent run of a hardware test under a run's conditions; None if there is none."""
    with database.complaints():
        row = database.connection.execute(_BEST, (run.id, workload)).fetchone()
    return documents.read_summary(*row) if row else None


def _same(path: str, document: str = "summary") -> str:
    """Return the SQL condition that a peak and a run have the same field."""
    peak, run = (documents.json_field(f"{name}.{document}", path) for name in ("peak", "run"))
    return f"{peak} IS {run}"


# The number of threads must be the same, because it changes the peak. The best of several runs is used, because
# other load only lowers the measured peak. Shortened runs are excluded. Sums must have used the same devices.
_BEST = f"""
    SELECT id, uid, plan_id, summary FROM (
    SELECT peak.id, peak.uid, peak.plan_id, peak.summary, peak.value
    FROM runs AS peak JOIN runs AS run ON run.machine_key = peak.machine_key
    WHERE run.id = ? AND peak.workload = ? AND peak.status = 'completed'
        AND peak.value BETWEEN 1e-300 AND 1e300
        AND peak.deleted_at IS NULL AND peak.device_name IS run.device_name AND peak.engine = run.engine
        AND {_same("device")}
        AND {_same("precision")}
        AND {_same("threads")}
        AND (peak.workload != 'matmul' OR {documents.json_field("peak.summary", "precision")} != 'float32'
            OR {_same("environment.tf32", "record")})
        AND (peak.workload = 'matmul'
            OR {_same("settings")})
        AND {documents.json_field("peak.summary", "steps")} >= 20
    ORDER BY peak.id DESC LIMIT 10) ORDER BY value DESC LIMIT 1
"""

# A run's median step may be half as long as its mean step.
_NEAR_PEAK = f"""
    SELECT run.id FROM runs AS peak JOIN runs AS run ON run.machine_key = peak.machine_key
    WHERE peak.id = ? AND peak.workload = 'matmul' AND peak.status = 'completed' AND run.status != 'running'
        AND run.deleted_at IS NULL
        AND {_same("device")}
        AND {_same("precision")}
        AND {documents.json_field("run.record", "model.flops_per_example")} * run.batch_size
        > 0.4 * peak.value * {documents.json_field("run.summary", "step_median_s")}
"""
