"""Stores groups of runs: repetitions, A/B tests, engine comparisons, studies and suites."""

import contextlib
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from app.core.clock import now_text
from app.core.errors import UsageError
from app.core.messages import message, sentence
from app.core.records import Group, Plan, RunSummary
from app.core.storage.database import Database
from app.core.storage.documents import as_json, json_field, read_object
from app.core.storage.runs import list_runs
from app.core.uids import new_uid
from workloads.protocol import typed
from workloads.protocol.spec import RunSpec
from workloads.protocol.stored import decode_leniently


def begin_group(database: Database, plan: Plan) -> int:
    """Store a new group without runs, and return its id."""
    with database.transaction() as connection:
        sql = "INSERT INTO plans (uid, created_at, kind, plan) VALUES (?, ?, ?, ?)"
        cursor = connection.execute(sql, (new_uid(), now_text(), plan.kind, as_json(plan)))
    assert cursor.lastrowid is not None
    return cursor.lastrowid


def list_groups(database: Database, kind: str | None = None, limit: int | None = None) -> list[Group]:
    """Return the groups that have runs, newest first."""
    sql = (
        "SELECT * FROM plans"
        " WHERE id IN (SELECT plan_id FROM runs WHERE plan_id IS NOT NULL AND deleted_at IS NULL)"
        " AND (:kind IS NULL OR kind = :kind) ORDER BY id DESC LIMIT :limit"
    )
    with database.complaints():
        rows = database.connection.execute(sql, {"kind": kind, "limit": -1 if limit is None else limit}).fetchall()
    return _with_runs(database, rows)


def specs_of(database: Database, run_ids: Sequence[int]) -> dict[int, RunSpec]:
    """Return the requested specs of runs, by run id. Missing and unreadable specs are omitted."""
    spec = json_field("record", "spec")
    chosen = "deleted_at IS NULL AND id IN (SELECT value FROM json_each(?))"
    sql = f"SELECT id, {spec} FROM runs WHERE {chosen}"  # noqa: S608 - our own column names
    specs = {}
    with database.complaints():
        for run_id, text in database.connection.execute(sql, (json.dumps(list(run_ids)),)):
            with contextlib.suppress(msgspec.DecodeError, TypeError):
                specs[run_id] = typed.decode(text, RunSpec)
    return specs


def metric_values(database: Database, run_ids: Sequence[int], key: str) -> dict[int, float]:
    """Return the values that runs reported for a key, by run id. Runs without a value are omitted."""
    sql = (
        "SELECT run_id, value FROM metrics WHERE key = ? AND value BETWEEN -1e300 AND 1e300"
        " AND run_id IN (SELECT value FROM json_each(?))"
    )
    with database.complaints():
        return dict(database.connection.execute(sql, (key, json.dumps(list(run_ids)))).fetchall())


def load_group(database: Database, group_id: int) -> Group:
    """Return a group with its existing runs. Raises UsageError if there is no such group."""
    groups = load_groups(database, [group_id])
    if not groups:
        raise UsageError(message("groups.unknown", group_id=group_id), message("runs.see_list"))
    return groups[0]


def load_groups(database: Database, group_ids: Sequence[int]) -> list[Group]:
    """Return groups with their existing runs. Ids without a group are ignored."""
    with database.complaints():
        sql = "SELECT * FROM plans WHERE id IN (SELECT value FROM json_each(?))"
        rows = database.connection.execute(sql, (json.dumps(list(group_ids)),)).fetchall()
    return _with_runs(database, rows)


def group_places(database: Database, runs: Iterable[RunSummary]) -> dict[int, str]:
    """Return the place of each grouped run in its group as text, by run id.

    Examples: "run 2 of 5 in group 3" for repetitions, "side B of group 4" for an A/B test.
    """
    grouped = [run for run in runs if run.group_id is not None]
    ids = sorted({run.group_id for run in grouped if run.group_id is not None})
    plans = {}
    with database.complaints():
        sql = "SELECT id, kind, plan FROM plans WHERE id IN (SELECT value FROM json_each(?))"
        for row in database.connection.execute(sql, (json.dumps(ids),)):
            plans[row["id"]] = _read_plan(row)
    numbers = _numbers(database, ids)
    places = {}
    for run in grouped:
        group_id = run.group_id or 0
        number = numbers.get(group_id, {}).get(run.id)
        if run.side is not None:
            places[run.id] = sentence("groups.side", side=run.side, group_id=group_id)
        elif number is not None and group_id in plans:
            planned = plans[group_id].count
            places[run.id] = sentence("groups.run_of", number=number, planned=planned, group_id=group_id)
        else:
            places[run.id] = sentence("groups.member", group_id=group_id)
    return places


def _read_plan(row: Mapping[str, Any]) -> Plan:
    plain = read_object(row["plan"], dict[str, Any], "the plan", []) or {}
    return decode_leniently(plain | {"kind": str(row["kind"])}, Plan)


def _numbers(database: Database, group_ids: Sequence[int]) -> dict[int, dict[int, int]]:
    """Return runs' numbers in their plans, by group id and run id. Runs without a number get their position."""
    numbers: dict[int, dict[int, int]] = {group_id: {} for group_id in group_ids}
    sql = "SELECT id, plan_id, plan_number FROM runs WHERE plan_id IN (SELECT value FROM json_each(?)) ORDER BY id"
    with database.complaints():
        for run_id, group_id, number in database.connection.execute(sql, (json.dumps(list(group_ids)),)):
            members = numbers.setdefault(group_id, {})
            members[run_id] = number if isinstance(number, int) and number > 0 else len(members) + 1
    return numbers


def _with_runs(database: Database, rows: Sequence[Any]) -> list[Group]:
    numbers = _numbers(database, [row["id"] for row in rows])
    ids = [run_id for members in numbers.values() for run_id in members]
    runs = {run.id: run for run in list_runs(database, ids=ids)}
    groups = []
    for row in rows:
        members = {run_id: number for run_id, number in numbers[row["id"]].items() if run_id in runs}
        groups.append(
            Group(
                id=row["id"],
                uid=str(row["uid"]),
                created_at=str(row["created_at"]),
                plan=_read_plan(row),
                runs=tuple(runs[run_id] for run_id in members),
                numbers=members,
                begun=row["begun"] if isinstance(row["begun"], int) else len(members),
            )
        )
    return groups
