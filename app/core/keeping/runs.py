"""Runs in the database: begun, written as their events arrive, recovered, read, deleted."""

import dataclasses
import json
import logging
import sqlite3
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import msgspec
import psutil

import app
from app.core.errors import UsageError
from app.core.judging.energy import energy_columns
from app.core.judging.explain import explain
from app.core.judging.outcome import now_text, store_outcome
from app.core.judging.peak import peak_share
from app.core.judging.verdict import judge
from app.core.keeping.database import Database, DatabaseError
from app.core.model import EpochColumns, Machine, Run, RunSummary
from workloads import events
from workloads.spec import RunSpec, spec_as_dict
from workloads.workload import Workload

FLUSH_INTERVAL_S = 1.0
_log = logging.getLogger(__name__)
_MACHINE_FIELDS = ("cpu_name", "physical_cores", "logical_cores", "memory_bytes", "os_name", "virtual_machine")
# What is here may not change: the records of one machine are found by it.
_MACHINE_STAYS = (
    *("cpu_name", "physical_cores", "logical_cores", "memory_bytes", "os_name", "architecture"),
    *("python_version", "virtual_machine", "virtualization"),
)
_GPU_STAYS = ("name", "vendor", "memory_bytes", "driver", "compute_capability", "source")
_SUMMARY_FIELDS = tuple(field.name for field in dataclasses.fields(RunSummary))
_EPOCH_FIELDS = {
    field.name: field.name.removeprefix("epoch_").replace("durations_s", "duration_s")
    for field in dataclasses.fields(EpochColumns)
}


def begin_run(
    database: Database,
    spec: RunSpec,
    workload: Workload,
    machine: Machine,
    group: tuple[int, str | None] | None = None,
) -> int:
    """Store a run as running, owned by this process, and return its number.

    Args:
        database: Where it is stored.
        spec: What is run.
        workload: The spec's.
        machine: What it runs on.
        group: The group that it is made in and its side there ("A", "B", None), or None.
    """
    machine_json, parts_json = machine_text(machine), json.dumps(msgspec.to_builtins(machine), sort_keys=True)
    owner = psutil.Process()
    values = {
        "started_at": now_text(),
        "status": "running",
        "workload": workload.id,
        "workload_version": workload.version,
        "preset": spec.preset,
        "variant": workload.variant(spec),
        "metric": workload.metric,
        "batch_size": spec.batch_size,
        "epochs": spec.epochs,
        "steps": spec.steps,
        "steps_per_epoch": workload.steps_per_epoch(spec),
        "samples_per_epoch": workload.samples_per_epoch,
        "precision": spec.precision,
        "jit": spec.jit,
        "threads": spec.threads,
        "seed": spec.seed,
        "engine": spec.engine,
        "app_version": app.__version__,
        "owner_pid": owner.pid,
        "owner_started_s": owner.create_time(),
        "spec": json.dumps(spec_as_dict(spec)),
    }
    if group is not None:
        values["group_id"], values["side"] = group
    with database.transaction() as connection:
        connection.execute("INSERT OR IGNORE INTO machines (machine) VALUES (?)", (machine_json,))
        values["machine_id"] = connection.execute(
            "SELECT id FROM machines WHERE machine = ?", (machine_json,)
        ).fetchone()[0]
        connection.execute("INSERT OR IGNORE INTO machine_parts (parts) VALUES (?)", (parts_json,))
        found = connection.execute("SELECT id FROM machine_parts WHERE parts = ?", (parts_json,))
        values["machine_parts_id"] = found.fetchone()[0]
        cursor = connection.execute(*_insert("runs", values))
        if group is not None:  # in its order, which the rows no longer tell once some of them are deleted
            appended = "UPDATE groups SET plan = json_insert(plan, '$.run_ids[#]', ?) WHERE id = ?"
            connection.execute(appended, (cursor.lastrowid, group[0]))
    assert cursor.lastrowid is not None
    return cursor.lastrowid


class RunWriter:
    """Writes one run's events. What cannot be written stays here and is tried again with the next flush."""

    def __init__(self, database: Database, run_id: int) -> None:
        self._database = database
        self._run_id = run_id
        self._pending: list[tuple[events.Event, str, Sequence[Any]]] = []
        self._flushed_s = time.monotonic()
        self.trouble: DatabaseError | None = None

    def add(self, event: events.Event) -> None:
        """Take an event; epochs and everything else but steps and samples are committed at once."""
        self._pending.extend((event, sql, values) for sql, values in self._statements(event))
        # After a failure nothing is urgent: each attempt may have to wait for the disk.
        waits = isinstance(event, events.Steps | events.Sample) or self.trouble is not None
        if not waits or time.monotonic() - self._flushed_s >= FLUSH_INTERVAL_S:
            self.flush()

    def flush(self) -> None:
        """Write what is pending; a failure is kept in `trouble` and loses nothing."""
        try:
            self._write(self._pending)
        except DatabaseError as error:
            self.trouble = error
            if isinstance(error.__cause__, sqlite3.IntegrityError):
                self._write_singly()
        else:
            self._pending.clear()
            self.trouble = None
        self._flushed_s = time.monotonic()

    def unsaved(self) -> list[events.Event]:
        """Return the events that are not in the database."""
        return list({event.seq: event for event, _, _ in self._pending}.values())

    def finish(self, status: str, error: events.Error | None) -> None:
        """Store how the run ended and its headline; raises DatabaseError if the disk still refuses."""
        self.flush()
        if self.trouble:
            raise self.trouble
        store_outcome(self._database, self._run_id, status, error)
        store_verdict(self._database, self._run_id)

    def _write(self, pending: Sequence[tuple[events.Event, str, Sequence[Any]]]) -> None:
        if pending:
            with self._database.transaction() as connection:
                for _, sql, values in pending:
                    connection.execute(sql, values)

    def _write_singly(self) -> None:
        """Leave out what contradicts what is stored (an epoch told twice), so that it cannot hold up the rest."""
        for statement in list(self._pending):
            try:
                self._write([statement])
            except DatabaseError as error:
                self.trouble = error
                if not isinstance(error.__cause__, sqlite3.IntegrityError):
                    return
                _log.warning("Run %s: a %s event was left out (%s).", self._run_id, statement[0].type, error)
            self._pending.remove(statement)
        self.trouble = None

    def _statements(self, event: events.Event) -> Iterator[tuple[str, Sequence[Any]]]:
        run_id = self._run_id
        match event:
            case events.Epoch():
                fields = _plain(event, "seq", "type", "index")
                yield _insert("epochs", {"run_id": run_id, "idx": event.index, **fields})
                counted = "(SELECT count(*) FROM epochs WHERE run_id = runs.id)"
                yield f"UPDATE runs SET epochs_done = {counted} WHERE id = ?", (run_id,)
            case events.Steps():
                fields = _plain(event, "type", "durations_s")
                durations = json.dumps(event.durations_s)
                yield _insert("step_blocks", {"run_id": run_id, "durations_s": durations, **fields})
            case events.Sample():
                values = {"run_id": run_id, "t_s": event.t_s, "telemetry": json.dumps(event.telemetry)}
                yield _insert("samples", values)
            case events.Metric():
                yield _insert("metrics", {"run_id": run_id, "key": event.key, "value": event.value}, "OR REPLACE")
            case events.Warn():
                yield _insert("warnings", {"run_id": run_id, **_plain(event, "type", "t_s")})
            case events.Environment():
                values = _plain(event, "type", "seq", "t_s")
                yield self._update(
                    environment=json.dumps(values),
                    engine=event.engine,
                    engine_version=event.engine_version,
                    device=event.device,
                    device_name=event.device_name,
                    precision=event.precision,
                    jit=event.jit,
                )
            case events.Dataset():
                yield self._update(
                    dataset=json.dumps(_plain(event, "type", "seq", "t_s")), data_source=event.source
                )
            case events.Model():
                yield self._update(model=json.dumps(_plain(event, "type", "seq", "t_s")))

    def _update(self, **values: Any) -> tuple[str, Sequence[Any]]:
        columns = ", ".join(f"{name} = ?" for name in values)
        return f"UPDATE runs SET {columns} WHERE id = ?", (*values.values(), self._run_id)


def recover_runs(database: Database) -> list[int]:
    """Mark runs whose process is gone as interrupted, their epochs kept; returns their numbers."""
    with database.complaints():
        rows = database.connection.execute(
            "SELECT id, owner_pid, owner_started_s FROM runs WHERE status = 'running'"
        ).fetchall()
    gone = [row["id"] for row in rows if not _is_alive(row["owner_pid"], row["owner_started_s"])]
    for run_id in gone:
        store_outcome(database, run_id, "interrupted", None)
        store_verdict(database, run_id)
    return gone


def store_verdict(database: Database, run_id: int) -> None:
    """Judge a run that is over by its record; store the verdict and its energy beside it; raises DatabaseError."""
    run = load_run(database, run_id)
    verdict = judge(run)
    codes = " ".join(reason.code for reason in verdict.reasons if reason.level != "fact")
    values = {"verdict": verdict.level, "reasons": codes or None, **energy_columns(run)}
    columns = ", ".join(f"{name} = ?" for name in values)
    with database.transaction() as connection:
        connection.execute(f"UPDATE runs SET {columns} WHERE id = ?", (*values.values(), run_id))


def list_runs(
    database: Database, *, limit: int | None = None, workload: str | None = None, ids: Sequence[int] | None = None
) -> Iterator[RunSummary]:
    """Yield stored runs, newest first, one at a time; those in the trash are not among them."""
    sql, values = _select(ids, limit=limit, workload=workload)
    with database.complaints():
        for row in database.connection.execute(sql, values):
            yield _summary(tuple(row))


def rows_for_export(database: Database, ids: Sequence[int] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield plain rows in the order of RunSummary's and then EpochColumns' fields, oldest first; no ids: all."""
    sql, values = _select(ids or None, oldest_first=True)
    columns = ", ".join(f"group_concat(coalesce({name}, 'n/a'), ' ')" for name in _EPOCH_FIELDS.values())
    chosen = " WHERE run_id IN (SELECT value FROM json_each(?))" if ids else ""
    ordered = f"(SELECT * FROM epochs{chosen} ORDER BY run_id, idx)"
    grouped = f"SELECT run_id, {columns} FROM {ordered} GROUP BY run_id ORDER BY run_id"
    without = (None,) * len(_EPOCH_FIELDS)
    with database.complaints():
        # Both follow their tables' own order, so neither is sorted or held in memory.
        epochs = iter(database.connection.execute(grouped, values))
        group = next(epochs, None)
        for row in database.connection.execute(sql, values):
            while group is not None and group[0] < row[0]:  # of a run in the trash
                group = next(epochs, None)
            yield (*row, *(group[1:] if group is not None and group[0] == row[0] else without))


def all_ids(database: Database) -> list[int]:
    """Return the numbers of all stored runs, oldest first."""
    with database.complaints():
        sql = "SELECT id FROM runs WHERE deleted_at IS NULL ORDER BY id"
        return [row[0] for row in database.connection.execute(sql)]


def load_run(database: Database, run_id: int) -> Run:
    """Return a run with everything kept; raises UsageError if there is no such run."""
    summaries = list(list_runs(database, ids=[run_id]))
    if not summaries:
        raise missing_runs([run_id])
    with database.complaints():
        row = database.connection.execute(
            "SELECT runs.*, coalesce(parts, machine) AS machine FROM runs"
            " JOIN machines ON machines.id = machine_id"
            " LEFT JOIN machine_parts ON machine_parts.id = machine_parts_id WHERE runs.id = ?",
            (run_id,),
        ).fetchone()
        blocks = _rows(database, "step_blocks", "seq", run_id)
        run = Run(
            summary=summaries[0],
            spec=json.loads(row["spec"]),
            machine=json.loads(row["machine"]),
            environment=_json(row["environment"]),
            dataset=_json(row["dataset"]),
            model=_json(row["model"]),
            epochs=tuple(events.Epoch(index=values.pop("idx"), t_s=values.pop("t_s") or 0.0, **values)
                         for values in _rows(database, "epochs", "idx", run_id)),
            steps=tuple(events.Steps(**(values | {"durations_s": tuple(json.loads(values["durations_s"]))}))
                        for values in blocks),
            metrics={values["key"]: values["value"] for values in _rows(database, "metrics", "key", run_id)},
            warnings=tuple(events.Warn(**values) for values in _rows(database, "warnings", "seq", run_id)),
            samples=tuple(events.Sample(t_s=values["t_s"], telemetry=json.loads(values["telemetry"]))
                          for values in _rows(database, "samples", "rowid", run_id)),
            peak=peak_share(database, summaries[0]),
        )  # fmt: skip
    limit = explain(run)
    return dataclasses.replace(run, limit=limit.text if limit is not None else "")


def delete_runs(database: Database, ids: Sequence[int]) -> None:
    """Delete runs for good, all or none; raises UsageError if one does not exist or is still running."""
    with database.transaction() as connection:
        check_removable(connection, ids)
        connection.execute("DELETE FROM runs WHERE id IN (SELECT value FROM json_each(?))", (ids_text(ids),))


def check_removable(connection: sqlite3.Connection, ids: Sequence[int]) -> None:
    """Raise UsageError if one of the runs does not exist, is in the trash already or is still running."""
    sql = "SELECT id, status FROM runs WHERE deleted_at IS NULL AND id IN (SELECT value FROM json_each(?))"
    status = dict(connection.execute(sql, (ids_text(ids),)).fetchall())
    if missing := [run_id for run_id in ids if run_id not in status]:
        raise missing_runs(missing)
    if running := [run_id for run_id in ids if status[run_id] == "running"]:
        raise UsageError(f"Run {running[0]} is still running.", "Cancel it first.")


def missing_runs(ids: Sequence[int]) -> UsageError:
    """Return the error that says which runs do not exist."""
    numbers = ", ".join(map(str, ids[:10])) + (f" and {len(ids) - 10} more" if len(ids) > 10 else "")
    return UsageError(f"There is no run {numbers}.", "`results list` shows the runs there are.")


def ids_text(ids: Sequence[int]) -> str:
    """Return run numbers as one SQL value for json_each: any number of them, and of any size."""
    return json.dumps(list(ids))


def machine_text(machine: Machine) -> str:
    """Return what tells machines apart, as it is stored and found again: only what stays from run to run."""
    plain: dict[str, Any] = msgspec.to_builtins(machine)
    stays = {name: plain[name] for name in _MACHINE_STAYS}
    stays["gpus"] = [
        {name: gpu[name] for name in _GPU_STAYS} for gpu in plain["gpus"] if gpu["source"] in ("nvml", "gputil")
    ]
    return json.dumps(stays, sort_keys=True)


def _select(
    ids: Sequence[int] | None, *, limit: int | None = None, workload: str | None = None, oldest_first: bool = False
) -> tuple[str, list[Any]]:
    """Return the query for RunSummary's columns and its values."""
    columns = [f"{'parts' if name in _MACHINE_FIELDS else 'runs'}.{name}" for name in _SUMMARY_FIELDS]
    extracted = ", ".join(f"json_extract(machine, '$.{name}') AS {name}" for name in _MACHINE_FIELDS)
    # Materialised: a machine has many runs, and its JSON need be read only once.
    parts = f"WITH parts AS MATERIALIZED (SELECT id, {extracted} FROM machines)"
    conditions = ["runs.deleted_at IS NULL"]
    values: list[Any] = []
    if workload is not None:
        conditions.append("runs.workload = ?")
        values.append(workload)
    if ids is not None:
        conditions.append("runs.id IN (SELECT value FROM json_each(?))")
        values.append(ids_text(ids))
    order = f" ORDER BY runs.id {'ASC' if oldest_first else 'DESC'}"
    if limit is not None:
        order += " LIMIT ?"
        values.append(limit)
    joined = "runs JOIN parts ON parts.id = runs.machine_id"
    return f"{parts} SELECT {', '.join(columns)} FROM {joined} WHERE {' AND '.join(conditions)}{order}", values


def _summary(row: tuple[Any, ...]) -> RunSummary:
    values = dict(zip(_SUMMARY_FIELDS, row, strict=True))
    for name in ("jit", "virtual_machine"):
        values[name] = None if values[name] is None else bool(values[name])
    return RunSummary(**values)


def _rows(database: Database, table: str, order: str, run_id: int) -> Iterable[dict[str, Any]]:
    sql = f"SELECT * FROM {table} WHERE run_id = ? ORDER BY {order}"
    for row in database.connection.execute(sql, (run_id,)):
        values = dict(row)
        del values["run_id"]
        yield values


def _insert(table: str, values: dict[str, Any], how: str = "") -> tuple[str, Sequence[Any]]:
    names = ", ".join(values)
    marks = ", ".join("?" * len(values))
    return f"INSERT {how} INTO {table} ({names}) VALUES ({marks})", tuple(values.values())


def _plain(event: events.Event, *without: str) -> dict[str, Any]:
    plain: dict[str, Any] = msgspec.to_builtins(event)
    return {name: value for name, value in plain.items() if name not in without}


def _json(text: str | None) -> dict[str, Any] | None:
    return json.loads(text) if text else None


def _is_alive(pid: int | None, started_s: float | None) -> bool:
    """Say whether the very process is still there; a number alone may belong to another by now."""
    try:
        return pid is not None and abs(psutil.Process(pid).create_time() - (started_s or 0)) < 2
    except psutil.Error:
        return False
