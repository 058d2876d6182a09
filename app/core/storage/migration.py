"""Brings a database of format 12, in which each field of a run was a column, to today's format."""

# ruff: noqa: S608 - SQL is built from our own column names, never from values
import json
import sqlite3
from typing import Any

from app.core.storage.documents import MACHINE_FIELDS, as_json, key_of, present
from app.core.storage.schema import DOCUMENTS, FORMAT
from app.core.uids import derived_uid, new_uid

OLD_FORMAT = 12
_BOOLEANS = ("jit", "virtual_machine", "on_battery")
# Columns that aren't part of the summary.
_NOT_IN_SUMMARY = {
    *("id", "deleted_at", "group_id", "plan_number", "owner", "owner_pid", "owner_started_s", "error_traceback"),
    *("machine_id", "machine_parts_id", "spec", "environment", "dataset", "model", "machine", "parts"),
}


def migrate(connection: sqlite3.Connection) -> None:
    """Convert the file in one transaction, unless another process has done so. Raises sqlite3.Error."""
    connection.execute("PRAGMA foreign_keys = OFF")
    connection.execute("BEGIN IMMEDIATE")
    try:
        if connection.execute("PRAGMA user_version").fetchone()[0] == OLD_FORMAT:
            _convert(connection)
        connection.execute("COMMIT")
    except BaseException:
        connection.execute("ROLLBACK")
        raise


def is_old(connection: sqlite3.Connection) -> bool:
    """Return whether a file has the tables of OLD_FORMAT."""
    sql = "SELECT count(*) FROM sqlite_master WHERE name IN ('machine_parts', 'groups', 'imported_results')"
    return bool(connection.execute(sql).fetchone()[0] == 3)


def _convert(connection: sqlite3.Connection) -> None:
    indexes = ("runs_by_workload", "runs_unfinished", "runs_listed")  # whose names are used again
    for index in indexes:
        connection.execute(f"DROP INDEX {index}")
    connection.execute("PRAGMA legacy_alter_table = ON")  # the tables of epochs and steps keep referring to runs
    connection.execute("ALTER TABLE runs RENAME TO old_runs")
    for statement in DOCUMENTS.split(";"):
        connection.execute(statement)
    _convert_plans(connection)
    _convert_runs(connection)
    convert_imports(connection)
    for old, new in {"old_runs": "runs", "groups": "plans", "imported_results": "imported"}.items():
        # Numbers of deleted rows aren't used again.
        connection.execute("DELETE FROM sqlite_sequence WHERE name = ?", (new,))
        connection.execute("UPDATE sqlite_sequence SET name = ? WHERE name = ?", (new, old))
    for table in ("old_runs", "imported_results", "groups", "machines", "machine_parts", "format"):
        connection.execute(f"DROP TABLE {table}")
    connection.execute(f"PRAGMA user_version = {FORMAT}")


def _convert_plans(connection: sqlite3.Connection) -> None:
    sql = "SELECT id, created_at, kind, plan, begun FROM groups"
    for row in connection.execute(sql).fetchall():
        connection.execute(
            "INSERT INTO plans (uid, id, created_at, kind, plan, begun) VALUES (?, ?, ?, ?, ?, ?)",
            (new_uid(), *row),
        )


def _convert_runs(connection: sqlite3.Connection) -> None:
    sql = (
        "SELECT old_runs.*, machine, parts FROM old_runs LEFT JOIN machines ON machines.id = machine_id"
        " LEFT JOIN machine_parts ON machine_parts.id = machine_parts_id ORDER BY old_runs.id"
    )
    for row in map(dict, connection.execute(sql)):
        stays = _object(row["machine"])
        machine = _object(row["parts"]) or stays
        summary = {name: value for name, value in row.items() if name not in _NOT_IN_SUMMARY}
        summary |= {name: bool(summary[name]) for name in _BOOLEANS if summary.get(name) in (0, 1)}
        # The row of a computer has precedence, as it had in lists.
        summary |= {name: stays.get(name) for name in MACHINE_FIELDS}
        summary["error_said"] = _object(row["error_said"]) or None
        record = {name: _object(row[name]) for name in ("environment", "dataset", "model")}
        record |= {"spec": present(_object(row["spec"])), "machine": present(machine)}
        record |= {"error_traceback": row["error_traceback"]}
        owner = {"token": row["owner"], "pid": row["owner_pid"] or 0, "started_s": row["owner_started_s"] or 0.0}
        values = {
            "id": row["id"],
            "uid": new_uid(),
            "plan_id": row["group_id"],
            "plan_number": row["plan_number"],
            "deleted_at": row["deleted_at"],
            "owner": as_json(owner),
            "machine_key": key_of(row["machine"] or ""),
            "summary": as_json(_present(summary)),
            "record": as_json(_present(record)),
        }
        marks = ", ".join("?" * len(values))
        connection.execute(f"INSERT INTO runs ({', '.join(values)}) VALUES ({marks})", (*values.values(),))


def convert_imports(connection: sqlite3.Connection) -> None:
    """Convert imported results. Their uids follow from their digests."""
    sql = "SELECT id, digest, label, source, imported_at, document FROM imported_results"
    for number, digest, label, source, imported_at, document in connection.execute(sql).fetchall():
        plan_uid = derived_uid(source, imported_at, label)  # what told that results are of one file and computer
        connection.execute(
            "INSERT INTO imported (id, uid, plan_uid, source, imported_at, document) VALUES (?, ?, ?, ?, ?, ?)",
            (number, derived_uid(digest[:8].upper()), plan_uid, source, imported_at, document),
        )


def _present(plain: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in plain.items() if value not in (None, {})}


def _object(text: str | None) -> dict[str, Any]:
    """Return the JSON of a cell as a dictionary; an empty one if there is none."""
    try:
        plain = json.loads(text or "{}")
    except ValueError:
        return {}
    return plain if isinstance(plain, dict) else {}
