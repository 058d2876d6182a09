"""Groups of runs: repetitions, the two sides of an A/B, several engines, studies."""

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
from app.core.storage.reading import read_object
from app.core.storage.runs import list_runs
from workloads.protocol.spec import RunSpec
from workloads.protocol.stored import take_fitting


def begin_group(database: Database, plan: Plan) -> int:
    """Store a group that has no runs yet, and return its number."""
    text = json.dumps(msgspec.to_builtins(plan) | {"run_ids": [], "numbers": {}})
    with database.transaction() as connection:
        sql = "INSERT INTO groups (created_at, kind, plan) VALUES (?, ?, ?)"
        cursor = connection.execute(sql, (now_text(), plan.kind, text))
    assert cursor.lastrowid is not None
    return cursor.lastrowid


def list_groups(database: Database, kind: str | None = None, limit: int | None = None) -> list[Group]:
    """Return the groups that have runs left, newest first."""
    sql = (
        "SELECT id, created_at, kind, plan FROM groups"
        " WHERE id IN (SELECT group_id FROM runs WHERE group_id IS NOT NULL AND deleted_at IS NULL)"
        " AND (:kind IS NULL OR kind = :kind) ORDER BY id DESC LIMIT :limit"
    )
    with database.complaints():
        rows = database.connection.execute(sql, {"kind": kind, "limit": -1 if limit is None else limit}).fetchall()
    return _with_runs(database, rows)


def specs_of(database: Database, run_ids: Sequence[int]) -> dict[int, RunSpec]:
    """Return what was asked of runs, by number; those that are gone or can't be read are left out."""
    sql = "SELECT id, spec FROM runs WHERE deleted_at IS NULL AND id IN (SELECT value FROM json_each(?))"
    specs = {}
    with database.complaints():
        for run_id, text in database.connection.execute(sql, (json.dumps(list(run_ids)),)):
            with contextlib.suppress(msgspec.DecodeError, TypeError):
                specs[run_id] = msgspec.json.decode(text, type=RunSpec)
    return specs


def metric_values(database: Database, run_ids: Sequence[int], key: str) -> dict[int, float]:
    """Return what runs reported under a key, by number; those that didn't are left out."""
    sql = (
        "SELECT run_id, value FROM metrics WHERE key = ? AND value BETWEEN -1e300 AND 1e300"
        " AND run_id IN (SELECT value FROM json_each(?))"
    )
    with database.complaints():
        return dict(database.connection.execute(sql, (key, json.dumps(list(run_ids)))).fetchall())


def load_group(database: Database, group_id: int) -> Group:
    """Return a group with its remaining runs; raises UsageError if there is no such group."""
    groups = load_groups(database, [group_id])
    if not groups:
        raise UsageError(message("groups.unknown", group_id=group_id), message("groups.see_list"))
    return groups[0]


def load_groups(database: Database, group_ids: Sequence[int]) -> list[Group]:
    """Return groups with their remaining runs; those that don't exist are left out."""
    with database.complaints():
        sql = "SELECT id, created_at, kind, plan FROM groups WHERE id IN (SELECT value FROM json_each(?))"
        rows = database.connection.execute(sql, (json.dumps(list(group_ids)),)).fetchall()
    return _with_runs(database, rows)


def group_places(database: Database, runs: Iterable[RunSummary]) -> dict[int, str]:
    """Return each grouped run's place in its group as text, by run number.

    "run 2 of 5 in group 3" for repetitions, "side B of group 4" for an A/B test.
    """
    grouped = [run for run in runs if run.group_id is not None]
    plans: dict[int, tuple[Plan, tuple[int, ...]]] = {}
    with database.complaints():
        sql = "SELECT id, kind, plan FROM groups WHERE id IN (SELECT value FROM json_each(?))"
        ids = json.dumps(sorted({run.group_id for run in grouped if run.group_id is not None}))
        for row in database.connection.execute(sql, (ids,)):
            plan, begun, _ = _read_plan(row)
            plans[row["id"]] = (plan, begun or ())
    places = {}
    for run in grouped:
        plan, begun = plans.get(run.group_id or 0, (Plan(kind=""), ()))
        if run.side is not None:
            places[run.id] = sentence("groups.side", side=run.side, group_id=run.group_id)
        elif run.id in begun:
            places[run.id] = sentence(
                "groups.run_of",
                number=begun.index(run.id) + 1,
                planned=plan.count,
                group_id=run.group_id,
            )
        else:
            places[run.id] = sentence("groups.member", group_id=run.group_id)
    return places


class _PlanShape(msgspec.Struct):
    """The known fields of a stored plan; others may belong to another version."""

    specs: list[dict[str, Any]] = []
    times: int = 1
    label_a: str = "A"
    label_b: str = "B"
    by_hand: bool = False
    study: dict[str, Any] | None = None
    suite: dict[str, Any] | None = None
    run_ids: list[int] = []


def _read_plan(row: Mapping[str, Any]) -> tuple[Plan, tuple[int, ...] | None, dict[int, int]]:
    """Return a stored plan, the runs started for it and which of its runs they are, as far as they can be read."""
    plain = read_object(row["plan"], _PlanShape, "the plan", []) or {}
    run_ids, numbers = plain.pop("run_ids", None), plain.pop("numbers", None)
    plan = take_fitting(plain | {"kind": str(row["kind"])}, Plan)
    return plan, None if run_ids is None else tuple(run_ids), _read_numbers(numbers)


def _read_numbers(plain: object) -> dict[int, int]:
    """Return which run of a plan each is; empty if that isn't stored or can't be read."""
    try:
        return msgspec.convert(plain, dict[int, int], strict=False)
    except msgspec.ValidationError:
        return {}


def _members(database: Database, group_ids: Sequence[int]) -> dict[int, list[int]]:
    """Return the runs of groups whose plan can't be read, by number."""
    members: dict[int, list[int]] = {}
    with database.complaints():
        sql = "SELECT group_id, id FROM runs WHERE group_id IN (SELECT value FROM json_each(?)) ORDER BY id"
        for group_id, run_id in database.connection.execute(sql, (json.dumps(list(group_ids)),)):
            members.setdefault(group_id, []).append(run_id)
    return members


def _with_runs(database: Database, rows: Sequence[Any]) -> list[Group]:
    plans = [_read_plan(row) for row in rows]
    unread = [row["id"] for row, (_, begun, _) in zip(rows, plans, strict=True) if begun is None]
    members = _members(database, unread)
    runs_begun = [
        tuple(members.get(row["id"], ())) if begun is None else begun
        for row, (_, begun, _) in zip(rows, plans, strict=True)
    ]
    ids = [run_id for run_ids in runs_begun for run_id in run_ids]
    runs = {run.id: run for run in list_runs(database, ids=ids)}
    groups = []
    for row, (plan, _, numbers), run_ids in zip(rows, plans, runs_begun, strict=True):
        left = tuple(runs[run_id] for run_id in run_ids if run_id in runs)
        groups.append(
            Group(
                id=row["id"],
                created_at=str(row["created_at"]),
                kind=plan.kind,
                plan=plan,
                run_ids=run_ids,
                runs=left,
                numbers=numbers,
            )
        )
    return groups
