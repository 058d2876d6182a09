"""Stores new runs and writes their events as they arrive."""

# ruff: noqa: S608 - SQL is built from our own column names, never from values
import json
import logging
import sqlite3
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import psutil

import app
from app.core.clock import now_text
from app.core.files import write_new
from app.core.messages import Message, message
from app.core.records import PlanPlace
from app.core.storage.database import Database, DatabaseError, storable
from app.core.storage.outcomes import end_run, stored_message
from app.core.storage.runs import machine_text
from workloads.protocol import events
from workloads.protocol.machine import Machine
from workloads.protocol.spec import RunSpec, spec_as_dict
from workloads.settings import recorded_text
from workloads.workload import Workload

FLUSH_INTERVAL_S = 1.0
_log = logging.getLogger(__name__)


class RunGoneError(DatabaseError):
    """The run is no longer in the database, so its events can't be stored."""


def begin_run(
    database: Database,
    spec: RunSpec,
    workload: Workload,
    machine: Machine,
    *,
    place: PlanPlace | None = None,
    owner: str | None = None,
) -> int:
    """Store a new run, owned by this process, with the status "running"; return its id.

    Args:
        database: Database to write to.
        spec: Spec of the run.
        workload: The workload of the spec.
        machine: The computer on which the run takes place.
        place: Position in a plan; None for a single run.
        owner: Token of the lock that is held until the run ends; None if there is none.
    """
    machine_json, parts_json = machine_text(machine), json.dumps(msgspec.to_builtins(machine), sort_keys=True)
    values = _first_values(spec, workload) | {"owner": owner}
    if place is not None:
        values |= {"group_id": place.group_id, "side": place.side, "plan_number": place.number}
    with database.transaction() as connection:
        connection.execute("INSERT OR IGNORE INTO machines (machine) VALUES (?)", (machine_json,))
        values["machine_id"] = connection.execute(
            "SELECT id FROM machines WHERE machine = ?", (machine_json,)
        ).fetchone()[0]
        connection.execute("INSERT OR IGNORE INTO machine_parts (parts) VALUES (?)", (parts_json,))
        parts_row = connection.execute("SELECT id FROM machine_parts WHERE parts = ?", (parts_json,))
        values["machine_parts_id"] = parts_row.fetchone()[0]
        cursor = connection.execute(*_insert("runs", values))
        if place is not None:  # stored, because deleted rows can't be counted later
            connection.execute("UPDATE groups SET begun = begun + 1 WHERE id = ?", (place.group_id,))
    assert cursor.lastrowid is not None
    return cursor.lastrowid


def _first_values(spec: RunSpec, workload: Workload) -> dict[str, Any]:
    process = psutil.Process()
    return {
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
        "settings": recorded_text(spec),
        "app_version": app.__version__,
        "owner_pid": process.pid,
        "owner_started_s": process.create_time(),
        "spec": json.dumps(spec_as_dict(spec)),
    }


class RunWriter:
    """Writes the events of a run. If writing fails, events are kept in memory until the next flush."""

    def __init__(self, database: Database, run_id: int) -> None:
        self._database = database
        self._run_id = run_id
        self._pending: list[tuple[events.Event, str, Sequence[Any]]] = []
        self._flushed_s = time.monotonic()
        self.trouble: DatabaseError | None = None

    def add(self, event: events.Event) -> None:
        """Add an event. All events except steps and telemetry are committed immediately."""
        self._pending.extend((event, sql, values) for sql, values in self._statements(event))
        # After a failure, wait until the next flush is due, because an attempt may block on the disk.
        waits = isinstance(event, events.Steps | events.TelemetryEvent) or self.trouble is not None
        if not waits or time.monotonic() - self._flushed_s >= FLUSH_INTERVAL_S:
            self.flush()

    def flush(self) -> None:
        """Write pending events. After a failure, `trouble` contains the error, and the events remain pending."""
        try:
            self._write(self._pending)
        except DatabaseError as error:
            self.trouble = error
            if isinstance(error.__cause__, sqlite3.IntegrityError):
                if self._is_gone():
                    self.trouble = _gone(self._run_id, self._database)
                else:
                    self._write_singly()
        else:
            self._pending.clear()
            self.trouble = None
        self._flushed_s = time.monotonic()

    def unsaved(self) -> list[events.Event]:
        """Return the events that haven't been written to the database."""
        return list({event.seq: event for event, _, _ in self._pending}.values())

    def rescue(self, folders: Iterable[Path]) -> Message | None:
        """Write the events that the database rejected to a new file in the first folder that accepts it.

        Returns:
            Message with the path or the failure; None if there is nothing to write.
        """
        unsaved = self.unsaved()
        if not unsaved:
            return None
        for folder in folders:
            try:
                path = write_new(folder, f"run-{self._run_id}.unsaved.jsonl", map(events.encode, unsaved))
            except OSError:
                continue
            return message("runs.rescued", path=str(path))
        return message("runs.rescue_failed")

    def finish(self, status: str, error: events.Error | None) -> None:
        """Store the end of the run and its headline. Raises DatabaseError if pending events can't be written."""
        self.flush()
        if self.trouble:
            raise self.trouble
        if self._is_gone() or self._database.is_replaced:
            raise _gone(self._run_id, self._database)
        end_run(self._database, self._run_id, status, error)

    def _is_gone(self) -> bool:
        with self._database.complaints():
            sql = "SELECT 1 FROM runs WHERE id = ?"
            return self._database.connection.execute(sql, (self._run_id,)).fetchone() is None

    def _write(self, pending: Sequence[tuple[events.Event, str, Sequence[Any]]]) -> None:
        if pending:
            with self._database.transaction() as connection:
                for _, sql, values in pending:
                    connection.execute(sql, values)

    def _write_singly(self) -> None:
        """Write pending events one by one. Drop those that contradict stored rows, such as an epoch sent twice."""
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
                yield _insert("epochs", {"run_id": run_id, "idx": event.index, **fields}, "OR IGNORE")
                # Incremented instead of counting, because a run may have a hundred thousand epochs.
                yield "UPDATE runs SET epochs_done = epochs_done + changes() WHERE id = ?", (run_id,)
            case events.Steps() if event.durations_s:
                fields = _plain(event, "type", "durations_s")
                durations = _json(event.durations_s)
                yield _insert("step_blocks", {"run_id": run_id, "durations_s": durations, **fields})
            case events.TelemetryEvent():
                values = {"run_id": run_id, "t_s": event.t_s, "telemetry": _json(event.telemetry)}
                yield _insert("samples", values)
            case events.Metric():
                yield _insert("metrics", {"run_id": run_id, "key": event.key, "value": event.value}, "OR REPLACE")
            case events.Warn():
                values = {"run_id": run_id, "seq": event.seq, "code": event.code}
                yield _insert("warnings", values | {"said": _json(stored_message(event))})
            case events.Environment():
                values = _plain(event, "type", "seq", "t_s")
                yield self._update(
                    environment=_json(values),
                    engine=event.engine,
                    engine_version=event.engine_version,
                    device=event.device,
                    device_name=event.device_name,
                    precision=event.precision,
                    jit=event.jit,
                )
            case events.Dataset():
                yield self._update(dataset=_json(_plain(event, "type", "seq", "t_s")), data_source=event.source)
            case events.Model():
                yield self._update(model=_json(_plain(event, "type", "seq", "t_s")))

    def _update(self, **values: Any) -> tuple[str, Sequence[Any]]:
        columns = ", ".join(f"{name} = ?" for name in values)
        return f"UPDATE runs SET {columns} WHERE id = ?", (*map(storable, values.values()), self._run_id)


def _gone(run_id: int, database: Database) -> RunGoneError:
    if database.is_replaced:
        replaced = message("runs.replaced", path=str(database.path), run_id=run_id)
        return RunGoneError(replaced, message("runs.written_aside"))
    gone = message("runs.gone", run_id=run_id, path=str(database.path))
    return RunGoneError(gone, message("runs.deleted_or_replaced"))


def _insert(table: str, values: dict[str, Any], how: str = "") -> tuple[str, Sequence[Any]]:
    names = ", ".join(values)
    marks = ", ".join("?" * len(values))
    return f"INSERT {how} INTO {table} ({names}) VALUES ({marks})", tuple(map(storable, values.values()))


def _plain(event: events.Event, *without: str) -> dict[str, Any]:
    plain: dict[str, Any] = msgspec.to_builtins(event)
    return {name: value for name, value in plain.items() if name not in without}


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()
