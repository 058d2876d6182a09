"""Stores new runs and writes their events as they arrive."""

# ruff: noqa: S608 - SQL is built from our own column names, never from values
import logging
import sqlite3
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

import app
from app.core.clock import now_text
from app.core.files import write_new
from app.core.messages import Message, message
from app.core.records import PlanPlace, RunSummary
from app.core.storage.database import Database, DatabaseError
from app.core.storage.documents import (
    MACHINE_FIELDS,
    as_json,
    change,
    machine_key,
    present,
    storable,
    summary_text,
)
from app.core.storage.outcomes import end_run, stored_message
from app.core.storage.owners import this_process
from app.core.uids import new_uid
from workloads.protocol import events
from workloads.protocol.machine import Machine
from workloads.protocol.spec import RunSpec, spec_as_dict
from workloads.settings import recorded_text
from workloads.workload import Workload

FLUSH_INTERVAL_S = 1.0
# What the summary of a run takes from the engine.
_OF_ENVIRONMENT = ("engine", "engine_version", "device", "device_name", "precision", "jit")
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
        machine: The computer on which the run takes place.
        place: Position in a plan; None for a single run.
        owner: Token of the lock that is held until the run ends; None if there is none.
    """
    summary = RunSummary(
        id=0,
        started_at=now_text(),
        status="running",
        workload=workload.id,
        workload_version=workload.version,
        preset=spec.preset,
        variant=workload.variant(spec),
        metric=workload.metric,
        batch_size=spec.batch_size,
        epochs=spec.epochs,
        epochs_done=0,
        steps=spec.steps,
        steps_per_epoch=workload.steps_per_epoch(spec),
        samples_per_epoch=workload.samples_per_epoch,
        precision=spec.precision,
        jit=spec.jit,
        threads=spec.threads,
        seed=spec.seed,
        engine=spec.engine,
        settings=recorded_text(spec),
        app_version=app.__version__,
        side=place.side if place is not None else None,
        **{name: getattr(machine, name) for name in MACHINE_FIELDS},
    )
    values = {
        "uid": new_uid(),
        "plan_id": place.group_id if place is not None else None,
        "plan_number": place.number if place is not None else None,
        "owner": as_json(this_process(owner)),
        "machine_key": machine_key(machine),
        "summary": summary_text(summary),
        "record": as_json({"spec": present(spec_as_dict(spec)), "machine": present(machine)}),
    }
    with database.transaction() as connection:
        cursor = connection.execute(*_insert("runs", values))
        if place is not None:  # stored, because deleted rows can't be counted later
            connection.execute("UPDATE plans SET begun = begun + 1 WHERE id = ?", (place.group_id,))
    assert cursor.lastrowid is not None
    return cursor.lastrowid


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
                yield (
                    "UPDATE runs SET summary = json_set(summary, '$.epochs_done', epochs_done + changes())"
                    " WHERE id = ?",
                    (run_id,),
                )
            case events.Steps() if event.durations_s:
                fields = _plain(event, "type", "durations_s")
                durations = as_json(event.durations_s)
                yield _insert("step_blocks", {"run_id": run_id, "durations_s": durations, **fields})
            case events.TelemetryEvent():
                values = {"run_id": run_id, "t_s": event.t_s, "telemetry": as_json(event.telemetry)}
                yield _insert("samples", values)
            case events.Metric():
                yield _insert("metrics", {"run_id": run_id, "key": event.key, "value": event.value}, "OR REPLACE")
            case events.Warn():
                values = {"run_id": run_id, "seq": event.seq, "code": event.code}
                yield _insert("warnings", values | {"said": as_json(stored_message(event))})
            case events.Environment():
                yield change("record", run_id, {"environment": _plain(event, "type", "seq", "t_s")})
                yield change("summary", run_id, {name: getattr(event, name) for name in _OF_ENVIRONMENT})
            case events.Dataset():
                yield change("record", run_id, {"dataset": _plain(event, "type", "seq", "t_s")})
                yield change("summary", run_id, {"data_source": event.source})
            case events.Model():
                yield change("record", run_id, {"model": _plain(event, "type", "seq", "t_s")})


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
