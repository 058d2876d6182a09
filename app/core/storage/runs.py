"""Lists, reads and deletes stored runs. Damage to one run doesn't affect others."""

import dataclasses
import itertools
import json
import logging
import operator
import re
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import msgspec

from app.core.analysis.credibility import published_peak
from app.core.analysis.headline import half_interval_pct, headline_step_s
from app.core.errors import UsageError
from app.core.messages import message
from app.core.records import RUN_COLUMNS, EpochColumns, Exchange, PeakShare, Run, RunSummary
from app.core.storage import row_decoding
from app.core.storage.database import Database
from app.core.verdict.conditions import DISTURBANCES
from workloads import CATALOGUE
from workloads.protocol.events import Model
from workloads.protocol.machine import Machine

_log = logging.getLogger(__name__)
NAMED_RUNS = 10
_MACHINE_FIELDS = ("cpu_name", "physical_cores", "logical_cores", "memory_bytes", "os_name", "virtual_machine")
# Must not change, because a computer's records are found by the values of these fields.
_MACHINE_STAYS = (
    *("cpu_name", "physical_cores", "logical_cores", "memory_bytes", "os_name", "architecture"),
    *("python_version", "virtual_machine", "virtualization"),
)
_GPU_STAYS = ("name", "vendor", "memory_bytes", "driver", "compute_capability", "source")
# Column names that differ from the field names.
_COLUMNS = {"error_message": "error_said"}
_EPOCH_FIELDS = {
    field.name: field.name.removeprefix("epoch_").replace("durations_s", "duration_s")
    for field in dataclasses.fields(EpochColumns)
}
# Characters that don't occur in valid numbers but do occur in None, nan, inf, strings, bytes or large exponents.
_ODD = re.compile(r"[a-df-z'A-DF-Z]|e\+3")
# Columns whose cells may contain folder names in a form that can't be detected, or details of the process.
_UNSAID = ("spec", "owner", "owner_pid", "owner_started_s", "error_traceback")


def list_runs(
    database: Database, *, limit: int | None = None, ids: Sequence[int] | None = None
) -> Iterator[RunSummary]:
    """Yield stored runs one at a time, newest first, excluding those in the trash."""
    sql, values = _select(ids, limit=limit)
    with database.complaints():
        for row in database.connection.execute(sql, values):
            yield row_decoding.read_summary(tuple(row))


def rows_for_export(database: Database, ids: Sequence[int] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield plain rows in the order of RUN_COLUMNS and then EpochColumns, oldest first.

    If no ids are given, all runs are included.
    """
    sql, values = _select(ids or None, oldest_first=True)
    chosen = " WHERE run_id IN (SELECT value FROM json_each(?))" if ids else ""
    columns = ", ".join(_EPOCH_FIELDS.values())
    without = (None,) * len(_EPOCH_FIELDS)
    with database.complaints():
        # Both queries follow the order of their tables, so that nothing is sorted or held in memory.
        epochs, runs = database.connection.cursor(), database.connection.cursor()
        epochs.row_factory = runs.row_factory = None  # plain tuples are faster
        epochs.execute(f"SELECT run_id, {columns} FROM epochs{chosen} ORDER BY run_id, idx", values)
        groups = itertools.groupby(epochs, key=operator.itemgetter(0))
        number, group = next(groups, (None, ()))
        for row in runs.execute(sql, values):
            while number is not None and number < row[0]:  # epochs of a run in the trash
                number, group = next(groups, (None, ()))
            _, *cells = zip(*group, strict=True) if number == row[0] else ((), *without)
            yield (*row_decoding.read_row(row), *(cell and _exact(cell) for cell in cells))


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
    sql, values = _select([run_id])
    connection = database.connection
    with database.snapshot():
        listed = connection.execute(sql, values).fetchone()
        if listed is None:
            raise missing_runs([run_id])
        row = connection.execute(
            "SELECT runs.*, coalesce(parts, machine) AS machine FROM runs"
            " LEFT JOIN machines ON machines.id = machine_id"
            " LEFT JOIN machine_parts ON machine_parts.id = machine_parts_id WHERE runs.id = ?",
            (run_id,),
        ).fetchone()
        damage: list[str] = []
        summary = row_decoding.read_summary(tuple(listed), damage)
        model = row_decoding.read_event(row["model"], row_decoding.MODEL, "the network", damage)
        run = Run(
            summary=summary,
            spec=row_decoding.read_spec(row["spec"], damage),
            machine=row_decoding.read_machine(row["machine"], damage),
            environment=row_decoding.read_event(
                row["environment"], row_decoding.ENVIRONMENT, "the engine", damage
            ),
            dataset=row_decoding.read_event(row["dataset"], row_decoding.DATASET, "the data set", damage),
            model=model,
            error_said=row_decoding.read_message(row["error_said"]),
            epochs=row_decoding.read_epochs(row_decoding.stored_rows(connection, "epochs", run_id), damage),
            steps=tuple(
                row_decoding.iter_steps(row_decoding.stored_rows(connection, "step_blocks", run_id), damage)
            ),
            metrics=row_decoding.read_metrics(row_decoding.stored_rows(connection, "metrics", run_id), damage),
            warnings=row_decoding.read_warnings(row_decoding.stored_rows(connection, "warnings", run_id), damage),
            telemetry=row_decoding.read_telemetry_rows(
                row_decoding.stored_rows(connection, "samples", run_id), damage
            ),
            exchange=exchange(database, summary, model) if with_peak else None,
        )
        if with_peak:
            run = dataclasses.replace(run, peak=peak_share(database, run))
        if damage:
            run = dataclasses.replace(run, damage=tuple(damage), raw=_raw_rows(database, run_id))
    return run


def load_runs(database: Database, ids: Iterable[int]) -> Iterator[Run]:
    """Yield runs one at a time, as stored when the first one is read. Missing runs are skipped."""
    with database.snapshot():
        for run_id in ids:
            try:
                run = load_run(database, run_id)
            except UsageError:
                continue
            yield run


def _raw_rows(database: Database, run_id: int) -> dict[str, list[dict[str, Any]]]:
    row = database.connection.execute("SELECT * FROM runs WHERE id = ?", (run_id,)).fetchone()
    tables = {"runs": [{name: row[name] for name in row.keys() if name not in _UNSAID}]}  # noqa: SIM118 - no dict
    for table in row_decoding.TABLES:
        tables[table] = list(row_decoding.stored_rows(database.connection, table, run_id))
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


def machine_text(machine: Machine) -> str:
    """Return the stored identity of a computer: JSON with the values that don't change between runs."""
    plain: dict[str, Any] = msgspec.to_builtins(machine)
    stays = {name: plain[name] for name in _MACHINE_STAYS}
    stays["gpus"] = [
        {name: gpu[name] for name in _GPU_STAYS} for gpu in plain["gpus"] if gpu["source"] in ("nvml", "gputil")
    ]
    return json.dumps(stays, sort_keys=True)


def _select(
    ids: Sequence[int] | None, *, limit: int | None = None, oldest_first: bool = False
) -> tuple[str, list[Any]]:
    columns = [
        f"{'parts' if name in _MACHINE_FIELDS else 'runs'}.{_COLUMNS.get(name, name)}" for name in RUN_COLUMNS
    ]
    # Invalid JSON, which would abort the whole query, is replaced by NULL.
    sound = "CASE WHEN json_valid(machine) THEN machine END"
    extracted = ", ".join(f"json_extract({sound}, '$.{name}') AS {name}" for name in _MACHINE_FIELDS)
    # Materialised, so that the JSON of each computer is parsed only once rather than for each run.
    parts = f"WITH parts AS MATERIALIZED (SELECT id, {extracted} FROM machines)"
    conditions = ["runs.deleted_at IS NULL"]
    values: list[Any] = []
    if ids is not None:
        conditions.append("runs.id IN (SELECT value FROM json_each(?))")
        values.append(ids_text(ids))
    order = f" ORDER BY runs.id {'ASC' if oldest_first else 'DESC'}"
    if limit is not None:
        order += " LIMIT ?"
        values.append(limit)
    joined = "runs LEFT JOIN parts ON parts.id = runs.machine_id"
    return f"{parts} SELECT {', '.join(columns)} FROM {joined} WHERE {' AND '.join(conditions)}{order}", values


# Gradients are float32 in all engines and with all precisions.
_BYTES_PER_GRADIENT = 4


def peak_share(database: Database, run: Run) -> PeakShare | None:
    """Return a run's share of peak; None without counted operations or timed steps, or on several devices.

    Args:
        database: Database with the other runs of this computer.
        run: The run.
    """
    flops = None if run.model is None else run.model.flops_per_example
    step_s = headline_step_s(run)
    if not flops or not step_s or run.summary.device_count > 1:
        return None
    summary, workload = run.summary, CATALOGUE.get(run.summary.workload)
    has_convolutions = workload is None or workload.counts_images
    is_other = has_convolutions and _mixes_formats(run)
    peak, high, reasons = _best(database, summary, "matmul") if not is_other else (None, None, None)
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
        run: Record of the run.
        model: The run's network; None if unknown.
    """
    if model is None or not run.step_median_s or run.device_count == 1:
        return None
    return Exchange(
        gradients_bytes=_BYTES_PER_GRADIENT * model.parameters_count,
        devices=run.device_count,
        step_s=run.step_median_s,
        bytes_per_s=_best(database, run, "all_reduce")[0],
    )


def _best(database: Database, run: RunSummary, workload: str) -> tuple[float | None, float | None, str | None]:
    """Return the best recent headline of a hardware test, the upper end of its interval, and its reasons."""
    with database.complaints():
        row = database.connection.execute(_BEST, (run.id, workload)).fetchone()
    return tuple(row) if row else (None, None, None)


# The number of threads must be the same, because it changes the peak. The best of several runs is used, because
# other load only lowers the measured peak. Shortened runs are excluded. Sums must have used the same devices.
_BEST = """
    SELECT value, value_high, reasons FROM (
    SELECT peak.value, peak.value_high, peak.reasons
    FROM runs AS peak JOIN runs AS run ON run.machine_id = peak.machine_id
    WHERE run.id = ? AND peak.workload = ? AND peak.status = 'completed'
        AND peak.value BETWEEN 1e-300 AND 1e300
        AND peak.deleted_at IS NULL AND peak.device IS run.device AND peak.device_name IS run.device_name
        AND peak.engine = run.engine AND peak.precision = run.precision AND peak.threads IS run.threads
        AND (peak.workload != 'matmul' OR peak.precision != 'float32'
            OR iif(json_valid(peak.environment), json_extract(peak.environment, '$.tf32'), NULL)
            IS iif(json_valid(run.environment), json_extract(run.environment, '$.tf32'), NULL))
        AND (peak.workload = 'matmul' OR peak.settings IS run.settings) AND peak.steps >= 20
    ORDER BY peak.id DESC LIMIT 10) ORDER BY value DESC LIMIT 1
"""

# A run's median step may be half as long as its mean step.
_NEAR_PEAK = """
    SELECT run.id FROM runs AS peak JOIN runs AS run ON run.machine_id = peak.machine_id
    WHERE peak.id = ? AND peak.workload = 'matmul' AND peak.status = 'completed' AND run.status != 'running'
        AND run.deleted_at IS NULL AND run.device IS peak.device AND run.precision = peak.precision
        AND iif(json_valid(run.model), json_extract(run.model, '$.flops_per_example'), NULL) * run.batch_size
        > 0.4 * peak.value * run.step_median_s
"""
