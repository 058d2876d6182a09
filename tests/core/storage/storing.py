"""What tests of stored runs share: storing them as a session does, but without running anything."""

import json
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

from app.core.storage.database import Database
from app.core.storage.documents import change
from app.core.storage.recording import RunWriter, begin_run
from workloads import CATALOGUE
from workloads.protocol import events
from workloads.protocol.machine import Machine

# What is no field of a document.
COLUMNS = ("id", "uid", "plan_id", "plan_number", "deleted_at", "owner", "machine_key", "summary", "record")
PARTS = ("spec", "machine", "environment", "dataset", "model")
NEW_UID = " || ".join(["char(97 + abs(random() % 26))"] * 10)
Arguments = ParamSpec("Arguments")
Outcome = TypeVar("Outcome")


def in_database(
    path: Path,
    do: Callable[Concatenate[Database, Arguments], Outcome],
    *arguments: Arguments.args,
    **named: Arguments.kwargs,
) -> Outcome:
    with Database(path) as database:
        return do(database, *arguments, **named)


def begin(database: Database, machine: Machine, **changes: Any) -> int:
    workload = CATALOGUE[changes.pop("workload", "cifar10_keras_cnn")]
    return begin_run(database, workload.default_spec(**changes), workload, machine)


def add_epochs(writer: RunWriter, *durations_s: float) -> None:
    for index, duration_s in enumerate(durations_s):
        writer.add(
            events.Epoch(index=index, duration_s=duration_s, train_s=0.95 * duration_s, loss=1.5, seq=index)
        )


def measured(*durations_s: float, phase: str = "measure", epoch: int = 0, seq: int = 0) -> events.Steps:
    return events.Steps(seq=seq, phase=phase, epoch=epoch, first_index=0, durations_s=durations_s)  # type: ignore[arg-type]


def record(
    database: Database, machine: Machine, *seen: events.Event, status: str = "completed", **changes: Any
) -> int:
    run_id = begin(database, machine, **changes)
    writer = RunWriter(database, run_id)
    for event in seen:
        writer.add(event)
    writer.finish(status, None)
    return run_id


def store(
    database: Database,
    /,
    machine: Machine,
    *durations_s: float,
    status: str = "completed",
    columns: dict[str, Any] | None = None,
    **changes: Any,
) -> int:
    """Store a run that is over; `columns` are then set to other values."""
    run_id = begin(database, machine, **changes)
    writer = RunWriter(database, run_id)
    add_epochs(writer, *durations_s)
    writer.finish(status, None)
    set_fields(database, f"id = {run_id}", **(columns or {}))
    return run_id


def set_fields(database: Database | sqlite3.Connection, where: str = "TRUE", /, **fields: Any) -> None:
    """Set fields of stored runs, in whichever document or column they are. A function gets the value before."""
    connection = database.connection if isinstance(database, Database) else database
    for run_id, summary in connection.execute(f"SELECT id, summary FROM runs WHERE {where}").fetchall():
        before = json.loads(summary)
        for name, value in sorted(fields.items(), key=lambda field: field[0] == "id"):
            new = value(before[name]) if callable(value) else value
            column = "plan_id" if name == "group_id" else name
            if column in COLUMNS:
                connection.execute(f"UPDATE runs SET {column} = ? WHERE id = ?", (new, run_id))
            else:
                connection.execute(*change("record" if name in PARTS else "summary", run_id, {name: new}))


def make_many(database: Database, run_id: int, count: int) -> list[int]:
    """Copy a run, without its epochs, until there are `count` runs; returns all numbers."""
    names = ", ".join(set(COLUMNS) - {"id", "uid"})
    numbers = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)"
    sql = f"{numbers} INSERT INTO runs (uid, {names}) SELECT {NEW_UID}, {names} FROM n, runs WHERE id = ?"
    database.connection.execute(sql, (count - 1, run_id))
    return [row[0] for row in database.connection.execute("SELECT id FROM runs ORDER BY id")]
