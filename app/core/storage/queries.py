"""Queries stored runs: search, sorting, comments, trash, and the expected duration of the next run."""

# ruff: noqa: S608 - SQL is built from our own column names, never from values
import json
import re
import sqlite3
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial

from app.core.clock import now_text
from app.core.errors import UsageError
from app.core.messages import message
from app.core.records import RunSummary
from app.core.storage.database import Database
from app.core.storage.documents import as_json, change, json_field, machine_key
from app.core.storage.runs import check_removable, ids_text, list_runs, missing_runs
from app.core.titles import workload_title
from workloads import CATALOGUE
from workloads.protocol.machine import Machine
from workloads.protocol.spec import RunSpec, spec_as_dict
from workloads.settings import recorded_text

COMMENT_LIMIT = 200
SORT_KEYS = (
    "id",
    "started_at",
    "workload",
    "preset",
    "value",
    "verdict",
    "spread_pct",
    "epochs_done",
    "batch_size",
    "device",
    "data_source",
    "status",
    "comment",
    "work_per_j",
)
_CHOSEN = "id IN (SELECT value FROM json_each(?))"
# Named explicitly, because SQLite would otherwise read whole rows to avoid sorting, which is slower.
_LISTED = "runs INDEXED BY runs_listed"
# The most precise of the newest runs predicts the next one. Older runs may no longer be representative.
_RECENT_RUNS = 20
# At least a year, because shorter numbers would match most runs.
_DAY = re.compile("[0-9-]{4,10}")
_VERDICTS = ("valid", "caution", "invalid")


@dataclass(frozen=True, slots=True)
class Query:
    """The filter and order of the results table."""

    # Words that must all occur, ignoring case, in a run's comment, workload (id or title), CPU, device, status,
    # preset, data source, engine, id or day (UTC, as stored), or at the beginning of its verdict.
    text: str = ""
    # One of SORT_KEYS. Runs without a value come last in both directions; runs with equal values are sorted by id.
    sort: str = "id"
    descending: bool = True

    @property
    def is_filter(self) -> bool:
        return bool(self.text.split())


@dataclass(frozen=True, slots=True)
class History:
    """The runs that match a query."""

    query: Query = field(default_factory=Query)
    ids: Sequence[int] = ()  # ids of the runs, in order
    # Rows of the table with collapsed groups: the id of a run or, in place of the first run of a group, the
    # negative id of the group.
    rows: Sequence[int] = ()
    groups: Mapping[int, Sequence[int]] = field(default_factory=dict)  # ids of matching runs by group id, in order
    total: int = 0  # number of all stored runs
    workloads: frozenset[str] = frozenset()  # ids of the workloads of all stored runs


def find_ids(database: Database, query: Query) -> list[int]:
    """Return the ids of matching runs, in order. Raises UsageError for an unknown sort key."""
    order = _order(query)
    words = set(query.text.casefold().split())
    conditions = ["deleted_at IS NULL"]
    conditions += ["id IN (SELECT value FROM json_each(:ids))"] if words else []
    sql = f"SELECT id FROM {_LISTED} WHERE {' AND '.join(conditions)} ORDER BY {order}"
    with database.complaints():
        ids = ids_text(_ids_with(database.connection, words) if words else [])
        cursor = database.connection.cursor()
        cursor.row_factory = None  # plain tuples are faster
        return [run_id for (run_id,) in cursor.execute(sql, {"ids": ids})]


def has_running(database: Database) -> bool:
    """Return whether a stored run is in progress, in this or another program."""
    sql = "SELECT 1 FROM runs WHERE deleted_at IS NULL AND status = 'running' LIMIT 1"
    with database.complaints():
        return database.connection.execute(sql).fetchone() is not None


def find_history(database: Database, query: Query) -> History:
    """Return the runs for the results table. Raises UsageError for an unknown sort key."""
    sql = f"SELECT workload, count(*) FROM {_LISTED} WHERE deleted_at IS NULL GROUP BY workload"
    with database.snapshot():
        counts = {str(row[0]): int(row[1]) for row in database.connection.execute(sql)}
        ids = find_ids(database, query)
        rows, groups = _grouped(database.connection, ids)
        return History(query, ids, rows, groups, sum(counts.values()), frozenset(counts))


def set_comment(database: Database, run_id: int, comment: str | None) -> None:
    """Store the user's comment on a run. A blank comment or None removes the stored one.

    Raises:
        UsageError: The comment is too long or isn't a line of plain text, or the run doesn't exist.
    """
    text = (comment or "").strip()
    if len(text) > COMMENT_LIMIT:
        raise UsageError(message("runs.comment_too_long", limit=COMMENT_LIMIT, given=len(text)))
    # Control characters, line and paragraph separators, and lone surrogates, which can't be written to files.
    if any(unicodedata.category(char) in ("Cc", "Zl", "Zp", "Cs") for char in text):
        raise UsageError(message("runs.bad_comment"))
    with database.transaction() as connection:
        sql = f"SELECT 1 FROM runs WHERE deleted_at IS NULL AND {_CHOSEN}"
        if connection.execute(sql, (ids_text([run_id]),)).fetchone() is None:
            raise missing_runs([run_id])
        connection.execute(*change("summary", run_id, {"comment": text or None}))


def trash_runs(database: Database, ids: Sequence[int]) -> None:
    """Move runs to the trash, where they are hidden until they are restored or purged.

    Raises:
        UsageError: A run doesn't exist or is in progress; no run has been moved.
    """
    with database.transaction() as connection:
        check_removable(connection, ids)
        connection.execute(f"UPDATE runs SET deleted_at = ? WHERE {_CHOSEN}", (now_text(), ids_text(ids)))


def restore_runs(database: Database, ids: Sequence[int]) -> int:
    sql = f"UPDATE runs SET deleted_at = NULL WHERE deleted_at IS NOT NULL AND {_CHOSEN}"
    with database.transaction() as connection:
        return connection.execute(sql, (ids_text(ids),)).rowcount


def purge_trash(database: Database, ids: Sequence[int] | None = None, older_than_s: float = 0.0) -> int:
    """Permanently delete the runs in the trash: all, only the given ones, or only those trashed long enough ago.

    Returns:
        Number of deleted runs.
    """
    sql = "DELETE FROM runs WHERE deleted_at IS NOT NULL"
    values: list[str] = []
    if ids is not None:
        sql += f" AND {_CHOSEN}"
        values.append(ids_text(ids))
    if older_than_s > 0:
        sql += " AND deleted_at <= ?"
        values.append(now_text(older_than_s))
    with database.transaction() as connection:
        return connection.execute(sql, values).rowcount


def own_runs(database: Database, workload: str, limit: int) -> list[RunSummary]:
    """Return a workload's latest completed runs that have a headline, newest first."""
    sql = (
        "SELECT id FROM runs WHERE deleted_at IS NULL AND workload = ? AND status = 'completed'"
        " AND value IS NOT NULL ORDER BY id DESC LIMIT ?"
    )
    with database.complaints():
        ids = [row[0] for row in database.connection.execute(sql, (workload, limit))]
    return list(list_runs(database, ids=ids))


def expected_duration_s(database: Database, spec: RunSpec, machine: Machine) -> float | None:
    """Return the expected training time on this computer, in seconds, based on comparable completed runs.

    Returns None if there is no comparable run, and for Quick runs, which have a time limit.
    """
    if spec.preset == "quick":
        return None
    workload = CATALOGUE[spec.workload]
    if workload.fixed_duration_s is not None:
        return workload.fixed_duration_s
    plain = spec_as_dict(spec)
    values = {name: plain[name] for name in _SAME_SPEC} | {
        "machine_key": machine_key(machine),
        "workload_version": workload.version,
        "settings": recorded_text(spec),
        "parameters": as_json(plain["parameters"]),
        "recent": _RECENT_RUNS,
    }
    with database.complaints():
        row = database.connection.execute(_COMPARABLE, values).fetchone()
    if row is None:
        return None
    steps_per_epoch = workload.steps_per_epoch(spec)
    steps = spec.steps or steps_per_epoch
    epoch_s, step_s = row
    if epoch_s is not None:
        return float(epoch_s * spec.epochs * steps / steps_per_epoch)
    if step_s is None:
        return None
    return float(step_s * spec.epochs * steps + workload.after_steps_s(step_s / spec.batch_size))


# Compares the requested device and parameters; those that were used are in the summary.
_SAME_SPEC = ("workload", "engine", "device", "batch_size", "precision", "jit", "threads")
_COMPARABLE = f"""
    SELECT CASE WHEN seconds_per_epoch_s BETWEEN 0 AND 1e12 THEN seconds_per_epoch_s END,
        CASE WHEN step_median_s BETWEEN 0 AND 1e12 THEN step_median_s END
    FROM (
        SELECT id, {json_field("summary", "basis")} AS basis,
            {json_field("summary", "seconds_per_epoch_s")} AS seconds_per_epoch_s,
            {json_field("summary", "step_median_s")} AS step_median_s
        FROM runs
        WHERE workload = :workload AND status = 'completed' AND value IS NOT NULL AND deleted_at IS NULL
            AND machine_key = :machine_key AND batch_size = :batch_size
            AND {json_field("summary", "workload_version")} = :workload_version
            AND {json_field("summary", "precision")} = :precision
            AND {json_field("summary", "jit")} = :jit AND {json_field("summary", "threads")} IS :threads
            AND {json_field("summary", "settings")} = :settings
            AND coalesce({json_field("record", "spec.engine")}, 'tensorflow') = :engine
            AND {json_field("record", "spec.device")} = :device
            AND {json_field("record", "spec.parameters")} = json(:parameters)
        ORDER BY id DESC LIMIT :recent
    )
    ORDER BY CASE basis WHEN 'later_epochs' THEN 1 WHEN 'estimate' THEN 2 ELSE 3 END, id DESC LIMIT 1
"""


def _grouped(connection: sqlite3.Connection, ids: Sequence[int]) -> tuple[list[int], dict[int, list[int]]]:
    """Return the rows of a history, and its groups. A run whose group isn't stored has its own row."""
    # The index contains both columns. Reading whole rows would take longer than the rest of the query.
    sql = (
        "SELECT id, -plan_id FROM runs INDEXED BY runs_by_plan"
        " WHERE plan_id IS NOT NULL AND plan_id IN (SELECT id FROM plans WHERE id > 0)"
    )
    cursor = connection.cursor()
    cursor.row_factory = None  # plain tuples are faster
    group_of: dict[int, int] = dict(cursor.execute(sql))
    # The id of the run, or the negative id of its group. Without duplicates, these are the rows.
    entries = list(map(group_of.get, ids, ids))
    groups: dict[int, list[int]] = {}
    for entry, run_id in zip(entries, ids, strict=True):
        if entry < 0:
            groups.setdefault(-entry, []).append(run_id)
    return list(dict.fromkeys(entries)), groups


def _order(query: Query) -> str:
    if query.sort not in SORT_KEYS:
        unknown = message("runs.unknown_sort_key", key=query.sort[:60])
        raise UsageError(unknown, message("runs.sort_keys", keys=SORT_KEYS))
    key = query.sort
    if key == "device":
        key = "coalesce(device_name, cpu_name)"
    direction = "DESC" if query.descending else "ASC"
    return f"{key} COLLATE NOCASE {direction} NULLS LAST, id {direction}"


def _ids_with(connection: sqlite3.Connection, words: set[str]) -> list[int]:
    """Return the ids of runs that match all words. Strings that many runs share are searched only once."""
    sql = f"SELECT id, comment FROM {_LISTED} WHERE comment IS NOT NULL"
    comments = {row[0]: str(row[1]).casefold() for row in connection.execute(sql)}
    shared = "workload, preset, status, data_source, engine, device_name, cpu_name"
    sql = f"SELECT json_group_array(id), {shared} FROM {_LISTED} WHERE deleted_at IS NULL GROUP BY {shared}"
    of_day, judged = cache(partial(_ids_of_day, connection)), cache(partial(_ids_judged, connection))
    ids_with_all: list[int] = []
    for ids, workload, *texts in connection.execute(sql):
        texts += [workload, _title(workload)]
        text = "\n".join(str(part) for part in texts if part is not None).casefold()
        missing = [word for word in words if word not in text]
        numbers: list[int] = json.loads(ids)
        for word in missing:
            # Skipped if no run is left, because there may be thousands of words.
            of_text = of_day(word) | judged(word) if numbers else frozenset()
            numbers = [
                run_id
                for run_id in numbers
                if run_id in of_text or word in str(run_id) or word in comments.get(run_id, "")
            ]
        ids_with_all += numbers
    return ids_with_all


def _ids_of_day(connection: sqlite3.Connection, word: str) -> frozenset[int]:
    """Return the ids of runs whose day contains a word; empty if the word can't be part of a day."""
    if not _DAY.fullmatch(word):
        return frozenset()
    sql = f"SELECT id FROM {_LISTED} WHERE instr(substr(started_at, 1, 10), ?)"
    return frozenset(row[0] for row in connection.execute(sql, (word,)))


def _ids_judged(connection: sqlite3.Connection, word: str) -> frozenset[int]:
    """Return the ids of runs whose verdict starts with a word; "valid" doesn't match "invalid"."""
    verdicts = [verdict for verdict in _VERDICTS if verdict.startswith(word)]
    sql = f"SELECT id FROM {_LISTED} WHERE verdict IN (SELECT value FROM json_each(?))"
    rows = connection.execute(sql, (json.dumps(verdicts),)) if verdicts else ()
    return frozenset(row[0] for row in rows)


def _title(workload: str) -> str | None:
    return workload_title(workload) if workload in CATALOGUE else None
