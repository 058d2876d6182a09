"""Stores results from other computers separately. Statistics include only the user's own runs."""

# ruff: noqa: S608 - SQL is built from our own texts, never from values
import json
import logging
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import msgspec

from app.core.analysis.credibility import with_credible_verdict
from app.core.analysis.own_runs import run_name
from app.core.clock import now_text
from app.core.errors import UsageError
from app.core.external_results import ImportedResult
from app.core.messages import message
from app.core.plain_text import one_line
from app.core.records import RunSummary
from app.core.result_file.canonical import UnfitError, canonical, check, without_durations
from app.core.result_file.identity import code_difference, plan_uids, result_difference, run_difference, uid_of
from app.core.result_file.record import Result
from app.core.result_file.short_form import ROUNDED_BY, SUITE_ROUNDED_BY, is_of_code
from app.core.result_file.summary import summary_of
from app.core.storage.database import Database
from app.core.storage.documents import read_summary, storable
from workloads.protocol import typed

LABEL_LIMIT, SOURCE_LIMIT = 80, 200
# Maximum number of bars; the newest results are shown.
SHOWN_LIMIT = 200
_log = logging.getLogger(__name__)
_COLUMNS = "id, uid, plan_uid, imported_at, source, document"


@dataclass(frozen=True, slots=True)
class Added:
    """The outcome of adding the results of a file."""

    imported: tuple[int, ...] = ()  # ids of new results
    # Ids of results that had been imported before, from any kind of file or a QR code.
    duplicates: tuple[int, ...] = ()
    # Ids of results that had been imported from a QR code and were replaced by full results.
    upgraded: tuple[int, ...] = ()
    own_runs: tuple[int, ...] = ()  # ids of the user's own runs among the results


@dataclass(frozen=True, slots=True, eq=False)
class _Entry:
    """A result to add, or a known one: an import, or one of the user's own runs, which has no `result`."""

    id: int
    uid: str
    plan_uid: str | None
    summary: RunSummary
    result: Result | None = None

    @property
    def is_code(self) -> bool:
        return is_of_code(self.summary.app_version)

    @property
    def test(self) -> tuple[object, ...]:
        """What the runs of a plan that measure the same have in common."""
        return self.plan_uid, self.summary.workload, self.summary.batch_size, self.summary.precision

    @property
    def start(self) -> tuple[object, ...]:
        return self.summary.workload, self.summary.started_at, self.summary.value

    def difference(self, other: "_Entry") -> str | None:
        if self.is_code or other.is_code:
            rounded_by = ROUNDED_BY if self.plan_uid is None or other.plan_uid is None else SUITE_ROUNDED_BY
            return code_difference(self.summary, other.summary, rounded_by)
        if self.result is None or other.result is None:
            return run_difference(self.summary, other.summary)
        return result_difference(self.result, other.result)


class _Known:
    """Results that are known, by uid, and by what they measure in a plan."""

    def __init__(self, entries: Iterable[_Entry]) -> None:
        self._by_uid: dict[str, _Entry] = {}
        self._by_test: dict[tuple[object, ...], list[_Entry]] = {}
        self._by_start: dict[tuple[object, ...], _Entry] = {}
        for entry in entries:
            self.add(entry)

    def add(self, entry: _Entry) -> None:
        self._by_uid[entry.uid] = entry
        if entry.result is None:
            self._by_start[entry.start] = entry
        if entry.plan_uid is not None:
            self._by_test.setdefault((entry.is_code, entry.test), []).append(entry)

    def remove(self, entry: _Entry) -> None:
        del self._by_uid[entry.uid]
        if entry.plan_uid is not None:
            self._by_test[entry.is_code, entry.test].remove(entry)

    def find(self, entry: _Entry) -> _Entry | None:
        """Return the known result that an entry repeats; None if it is new."""
        if (same := self._by_uid.get(entry.uid)) is not None:
            return same
        if entry.result is not None and entry.result.uid is None and entry.summary.started_at:
            return self._by_start.get(entry.start)  # of a version without uids
        return self.twin(entry)

    def twin(self, entry: _Entry) -> _Entry | None:
        """Return the same run in the other form: in a suite's code, which has no uids of runs, or in a file."""
        return next((each for each in self.others(entry) if each.difference(entry) is None), None)

    def others(self, entry: _Entry) -> Sequence[_Entry]:
        """Return what is known in the other form of an entry's test."""
        return self._by_test.get((not entry.is_code, entry.test), ())


def add_results(database: Database, results: Sequence[Result], source: str) -> Added:
    """Store the results that aren't stored yet: all of them, or none after an error.

    Args:
        database: Database of the results.

    Raises:
        UnfitError: A result has the uid of a known one, but other content.
    """
    entries = [
        _Entry(0, uid_of(result), plan_uid, summary_of(result), result)
        for result, plan_uid in zip(results, plan_uids(results), strict=True)
    ]
    origin = {"source": storable(one_line(source, SOURCE_LIMIT)), "imported_at": now_text()}
    added: dict[str, list[int]] = {"imported": [], "duplicates": [], "upgraded": [], "own_runs": []}
    with database.transaction() as connection:
        own, imported = _Known(_own_runs(connection, entries)), _Known(_imported(connection, entries))
        rounds = Counter(entry.test for entry in entries if entry.is_code)
        for entry in entries:
            mine, other = own.find(entry), imported.find(entry)
            stored = mine or other
            if stored is not None and (place := stored.difference(entry)) is not None:
                raise _other_content(entry, place)
            if stored is not None and (mine is not None or entry.is_code or not stored.is_code):
                added["duplicates" if mine is None else "own_runs"].append(stored.id)
            elif entry.is_code and own.others(entry):
                continue  # a run that the user has deleted
            elif entry.is_code and len(imported.others(entry)) >= rounds[entry.test]:
                raise _other_content(entry, "value")
            else:
                codes = dict.fromkeys(filter(None, (other, imported.twin(entry))))
                for code in codes:
                    imported.remove(code)
                number = _store(connection, entry, origin, [code.id for code in codes])
                imported.add(replace(entry, id=number))
                added["upgraded" if codes else "imported"].append(number)
    if not any(added.values()):  # the code of an own suite, of which nothing agrees
        raise _other_content(entries[0], "value")
    return Added(**{kind: tuple(dict.fromkeys(ids)) for kind, ids in added.items()})


def _other_content(entry: _Entry, place: str) -> UnfitError:
    return UnfitError("exchange.other_content", uid=entry.uid, place=place)


def _store(connection: sqlite3.Connection, entry: _Entry, origin: dict[str, str], replaced: Sequence[int]) -> int:
    """Store a result in place of others, and return its id."""
    assert entry.result is not None
    connection.executemany("DELETE FROM imported WHERE id = ?", [(number,) for number in replaced])
    values = {
        "id": next(iter(replaced), None),
        "uid": entry.uid,
        "plan_uid": entry.plan_uid,
        "document": canonical(without_durations(entry.result)).decode("utf-8"),
        **origin,
    }
    sql = (
        "INSERT INTO imported (id, uid, plan_uid, source, imported_at, document)"
        " VALUES (:id, :uid, :plan_uid, :source, :imported_at, :document)"
    )
    number = connection.execute(sql, values).lastrowid
    assert number is not None
    return number


def _own_runs(connection: sqlite3.Connection, entries: Sequence[_Entry]) -> list[_Entry]:
    """Return the user's own runs with the uids, of the plans or from the times of results."""
    uids, plans = _names(entries)
    old = [entry.summary.started_at for entry in entries if entry.result is not None and entry.result.uid is None]
    sql = (
        "SELECT id FROM runs WHERE uid IN (SELECT value FROM json_each(:uids))"
        " UNION SELECT id FROM runs WHERE plan_id IN"
        " (SELECT id FROM plans WHERE uid IN (SELECT value FROM json_each(:plans)))"
    )
    if old:  # results of earlier versions have no uid
        sql += (
            " UNION SELECT id FROM runs INDEXED BY runs_listed"
            " WHERE started_at IN (SELECT value FROM json_each(:moments))"
        )
    rows = connection.execute(
        "SELECT runs.id, runs.uid, plan_id, summary, plans.uid FROM runs LEFT JOIN plans ON plans.id = plan_id"
        f" WHERE deleted_at IS NULL AND runs.id IN ({sql})",
        {"uids": uids, "plans": plans, "moments": json.dumps(old)},
    )
    return [_Entry(row[0], row[1], row[4], read_summary(*tuple(row)[:4])) for row in rows]


def _imported(connection: sqlite3.Connection, entries: Sequence[_Entry]) -> Iterator[_Entry]:
    sql = (
        "SELECT id, uid, plan_uid, document FROM imported WHERE id IN (SELECT id FROM imported"
        " WHERE uid IN (SELECT value FROM json_each(?)) UNION SELECT id FROM imported"
        " WHERE plan_uid IN (SELECT value FROM json_each(?)))"
    )
    for number, uid, plan_uid, document in connection.execute(sql, _names(entries)):
        if (result := _read(document)) is not None:
            yield _Entry(number, uid, plan_uid, summary_of(result), result)


def _names(entries: Sequence[_Entry]) -> tuple[str, str]:
    """Return the uids of results, and of their plans, as JSON."""
    plans = {entry.plan_uid for entry in entries if entry.plan_uid is not None}
    return json.dumps([entry.uid for entry in entries]), json.dumps(sorted(plans))


def list_results(
    database: Database, workload: str | None = None, limit: int | None = None
) -> list[ImportedResult]:
    """Return the readable imported results, newest first.

    Args:
        limit: Maximum number of results; None for no limit.
    """
    chosen = "" if workload is None else "WHERE workload = :workload"
    sql = f"SELECT {_COLUMNS} FROM imported {chosen} ORDER BY id DESC LIMIT :limit"
    return _results(database, sql, {"workload": workload, "limit": -1 if limit is None else limit})


def results_of_plans(database: Database, workloads: Sequence[str]) -> list[ImportedResult]:
    """Return the results of plans that contain all of these workloads, newest first."""
    wanted = sorted(set(workloads))
    sql = (
        "WITH wanted AS (SELECT value FROM json_each(:wanted)), whole AS (SELECT plan_uid FROM imported"
        " WHERE plan_uid IS NOT NULL AND workload IN wanted GROUP BY plan_uid"
        " HAVING COUNT(DISTINCT workload) = :count)"
        f" SELECT {_COLUMNS} FROM imported JOIN whole USING (plan_uid)"
        " WHERE workload IN wanted ORDER BY id DESC LIMIT :limit"
    )
    values = {"wanted": json.dumps(wanted), "count": len(wanted), "limit": SHOWN_LIMIT * len(wanted)}
    return _results(database, sql, values)


def has_results(database: Database) -> bool:
    with database.complaints():
        return bool(database.connection.execute("SELECT EXISTS (SELECT 1 FROM imported)").fetchone()[0])


def load_result(database: Database, number: int) -> Result:
    """Return an imported result with all stored details. Raises UsageError if there is none with this id."""
    with database.complaints():
        sql = "SELECT document FROM imported WHERE id = ?"
        row = database.connection.execute(sql, (number,)).fetchone()
    result = _read(row["document"]) if row is not None else None
    if result is None:
        raise _missing(number)
    return result


def remove_result(database: Database, number: int) -> None:
    """Delete an imported result. Raises UsageError if there is none with this id."""
    with database.transaction() as connection:
        if not connection.execute("DELETE FROM imported WHERE id = ?", (number,)).rowcount:
            raise _missing(number)


def _missing(number: int) -> UsageError:
    return UsageError(message("imports.unknown", number=number), message("imports.see_list"))


def _results(database: Database, sql: str, values: dict[str, Any]) -> list[ImportedResult]:
    results = []
    with database.complaints():
        rows = database.connection.execute(sql, values).fetchall()
    for number, uid, plan_uid, imported_at, source, document in rows:
        result = _read(document)
        if result is None:
            _log.info("The imported result %s cannot be read.", number)
            continue
        summary = with_credible_verdict(summary_of(result))
        label = one_line(run_name(summary), LABEL_LIMIT)
        results.append(
            ImportedResult(
                id=number,
                uid=str(uid),
                plan_uid=plan_uid,
                imported_at=str(imported_at),
                digest=result.digest or "",
                label=label,
                source=str(source),
                summary=summary,
            )
        )
    return results


def _read(document: object) -> Result | None:
    """Return a stored result; None if it is damaged."""
    try:
        result = typed.decode(document, Result) if isinstance(document, str | bytes) else None
        if result is not None:
            check(result, with_digest=False)
    except (msgspec.DecodeError, UnfitError):
        return None
    return result
