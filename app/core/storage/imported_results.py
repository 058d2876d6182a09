"""Stores results from other computers separately. Statistics include only the user's own runs."""

# ruff: noqa: S608 - SQL is built from our own texts, never from values
import json
import logging
import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from app.core.analysis.credibility import with_credible_verdict
from app.core.analysis.own_runs import run_name
from app.core.clock import now_text, second_after
from app.core.errors import UsageError
from app.core.external_results import ImportedResult
from app.core.messages import message
from app.core.plain_text import one_line
from app.core.result_file.canonical import canonical, without_durations
from app.core.result_file.record import Result
from app.core.result_file.short_form import RESULTS_LIMIT, ROUNDED_BY, UNKNOWN_VERSION, are_same, may_be
from app.core.result_file.summary import summary_of
from app.core.storage.database import Database, storable
from app.core.storage.imported_documents import read_document
from app.core.storage.imported_suites import is_suite, known_suite, own_suite, suites_of_file

LABEL_LIMIT, SOURCE_LIMIT = 80, 200
# Maximum number of bars; the newest results are shown.
SHOWN_LIMIT = 200
_log = logging.getLogger(__name__)


# The date may be NULL. :is_exact states whether all digits of the headline are known. There is a SELECT for each
# case, because with OR, SQLite would read all runs of a workload.
_OWN_OF = "SELECT id FROM runs WHERE workload = :workload AND value = :value AND deleted_at IS NULL"
OWN_AGAIN = f"{_OWN_OF} AND started_at = :date UNION ALL {_OWN_OF} AND :date IS NULL AND :is_exact"
_EARLIER_OF = "SELECT id FROM imported_results WHERE workload = :workload AND value = :value"
IMPORTED_AGAIN = (
    f"SELECT id FROM imported_results WHERE digest = :digest UNION ALL {_EARLIER_OF} AND started_at = :date"
    f" UNION ALL {_EARLIER_OF} AND started_at IS NULL AND :is_exact"
    f" UNION ALL {_EARLIER_OF} AND :date IS NULL AND :is_exact"
)
# Results that may be the same as a QR import, of which only a few digits are known, and vice versa.
_LIKE = "SELECT id, document FROM imported_results WHERE workload = ? AND value BETWEEN ? AND ?"
_OWN_LIKE = (
    "SELECT id, value, value_low, value_high FROM runs WHERE workload = ? AND value BETWEEN ? AND ?"
    " AND workload_version = ? AND batch_size = ? AND precision = ? AND engine = ? AND deleted_at IS NULL"
)
_CODES = (
    "SELECT id, document FROM imported_results WHERE workload IN (SELECT value FROM json_each(?))"
    " AND started_at IS NULL AND value BETWEEN ? AND ?"
    " AND json_valid(document) AND json_extract(document, '$.app_version') = ? ORDER BY id DESC LIMIT 500"
)
# The id is that of an upgraded QR import, or NULL.
_STORE = (
    "INSERT OR REPLACE INTO imported_results"
    " (id, imported_at, digest, label, source, workload, started_at, value, document)"
    " VALUES (:id, :imported_at, :digest, :label, :source, :workload, :date, :value, :document)"
)


@dataclass(frozen=True, slots=True)
class Added:
    """The outcome of adding the results of a file.

    Attributes:
        imported: Ids of new results.
        duplicates: Ids of results that had been imported before, from any kind of file or a QR code.
        upgraded: Ids of results that had been imported from a QR code and were replaced by full results.
        own_runs: Ids of the user's own runs among the results.
    """

    imported: tuple[int, ...] = ()
    duplicates: tuple[int, ...] = ()
    upgraded: tuple[int, ...] = ()
    own_runs: tuple[int, ...] = ()


def add_results(database: Database, results: Sequence[Result], source: str) -> Added:
    """Store the results that aren't stored yet: all of them, or none after an error.

    Args:
        database: Database of the results.
        results: Validated results with digests, from one file.
        source: File name without the folder.
    """
    taken, present, replaced, own = list[int](), list[int](), list[int](), list[int]()
    name = storable(one_line(source, SOURCE_LIMIT))
    # Prepared in advance, because other processes wait during the transaction.
    entries = [_entry(result, is_one_of_many=len(results) > RESULTS_LIMIT) for result in results]
    with database.transaction() as connection:
        moment = _moment(connection, source) if len(results) > 1 else now_text()
        entries = [entry | {"imported_at": moment, "source": name} for entry in entries]
        if is_suite(results):
            return _add_suite(connection, results, entries)
        codes = _codes(connection, results)
        of_suites, outdated = suites_of_file(connection, results)
        for place, (result, entry) in enumerate(zip(results, entries, strict=True)):
            mine = connection.execute(OWN_AGAIN, entry).fetchone()
            mine = mine[0] if mine is not None else None if entry["is_exact"] else _own_match(connection, result)
            if mine is not None:
                own.append(mine)
                continue
            code = of_suites.get(place)
            if code is None and (earlier := _earlier(connection, result, entry, codes)) is not None:
                present.append(earlier)
                continue
            alone = _code(codes, result) if entry["is_exact"] else None
            if code is not None and alone is not None:  # the code of the run was imported, and that of the suite
                outdated.add(alone)
            code = alone if code is None else code
            number = _store(connection, entry, code)
            (replaced if code is not None else taken).append(number)
        _remove(connection, outdated.difference(replaced))
    return Added(tuple(taken), tuple(present), tuple(replaced), tuple(own))


def _add_suite(
    connection: sqlite3.Connection, results: Sequence[Result], entries: Sequence[dict[str, Any]]
) -> Added:
    """Store the results of a suite's QR code: all of them, or none if they are already stored."""
    own = own_suite(connection, results)
    there = known_suite(connection, results) if not own else None
    if own or (there is not None and not there.others):
        return Added(duplicates=there.ids if there is not None else (), own_runs=own)
    if there is not None:
        _remove(connection, there.others)
    ids = tuple(_store(connection, entry) for entry in entries)
    return Added(imported=ids) if there is None else Added(upgraded=ids)


def _store(connection: sqlite3.Connection, entry: dict[str, Any], number: int | None = None) -> int:
    """Store a result and return its id. Any result with the id `number` or the same digest is replaced."""
    stored = connection.execute(_STORE, entry | {"id": number}).lastrowid
    assert stored is not None
    return stored


def _remove(connection: sqlite3.Connection, ids: Iterable[int]) -> None:
    connection.executemany("DELETE FROM imported_results WHERE id = ?", [(number,) for number in ids])


def _earlier(
    connection: sqlite3.Connection, result: Result, entry: dict[str, Any], codes: dict[int, Result]
) -> int | None:
    """Return the id of an earlier import of the result; None if there is none, or only a QR import to upgrade."""
    # A QR import is upgraded even if its few digits happen to be all digits of the headline.
    rows = connection.execute(IMPORTED_AGAIN, entry)
    earlier = next((row[0] for row in rows if not (entry["is_exact"] and row[0] in codes)), None)
    return _whole(connection, result) if earlier is None and not entry["is_exact"] else earlier


def _entry(result: Result, *, is_one_of_many: bool) -> dict[str, Any]:
    summary = summary_of(result)
    return {
        "workload": summary.workload,
        "date": result.started_at,
        "value": summary.value,
        # All digits of the headline identify a run even without a date; a short form contains only four.
        "is_exact": result.app_version != UNKNOWN_VERSION or is_one_of_many,
        "digest": result.digest,
        "label": one_line(run_name(summary), LABEL_LIMIT),
        "document": canonical(without_durations(result)).decode("utf-8"),
    }


def _moment(connection: sqlite3.Connection, source: str) -> str:
    """Return an import time later than any other for this file name, because name and time identify a file."""
    sql = "SELECT MAX(imported_at) FROM imported_results WHERE source = ?"
    latest = connection.execute(sql, (storable(one_line(source, SOURCE_LIMIT)),)).fetchone()[0]
    now = now_text()
    if not isinstance(latest, str) or latest < now:
        return now
    try:
        return second_after(latest)
    except (ValueError, OverflowError):
        return now


def _own_match(connection: sqlite3.Connection, code: Result) -> int | None:
    """Return the id of the user's own run that matches a scanned QR code; None if there is none."""
    numbers, spec = code.statistics, code.spec
    if numbers.low is None or numbers.high is None:
        return None
    same = (spec.workload_version, spec.batch_size, spec.precision, code.environment.engine)
    of_code = (numbers.value, numbers.low, numbers.high)
    for number, *amounts in connection.execute(_OWN_LIKE, (spec.workload, *_range(code), *same)):
        if all(isinstance(amount, float) for amount in amounts) and are_same(of_code, amounts):
            return int(number)
    return None


def _whole(connection: sqlite3.Connection, code: Result) -> int | None:
    """Return the id of the imported result that matches a scanned QR code; None if there is none."""
    for number, document in connection.execute(_LIKE, (code.spec.workload, *_range(code))):
        whole = read_document(document)
        if whole is not None and may_be(whole, code):
            return int(number)
    return None


def _codes(connection: sqlite3.Connection, results: Sequence[Result]) -> dict[int, Result]:
    """Return QR imports that may match one of a file's results, by id. One query serves all of them."""
    workloads = json.dumps(sorted({result.spec.workload for result in results}))
    ends = [end for result in results for end in _range(result)]
    rows = connection.execute(_CODES, (workloads, min(ends), max(ends), UNKNOWN_VERSION)) if ends else ()
    codes = ((number, read_document(document)) for number, document in rows)
    return {number: code for number, code in codes if code is not None}


def _code(codes: dict[int, Result], whole: Result) -> int | None:
    """Remove from `codes` the QR import that a full result replaces, and return its id; None if there is none."""
    low, high = _range(whole)
    for number, code in codes.items():
        if (
            low <= code.statistics.value <= high
            and code.spec.workload == whole.spec.workload
            and may_be(whole, code)
        ):
            del codes[number]
            return number
    return None


def _range(result: Result) -> tuple[float, float]:
    value = result.statistics.value
    return value * (1 - ROUNDED_BY), value * (1 + ROUNDED_BY)


def list_results(
    database: Database, workload: str | None = None, limit: int | None = None
) -> list[ImportedResult]:
    """Return the readable imported results, newest first.

    Args:
        database: Database of the results.
        workload: Id of the workload; None for all.
        limit: Maximum number of results; None for no limit.
    """
    sql = (
        "SELECT id, imported_at, digest, label, source, document FROM imported_results"
        " WHERE :workload IS NULL OR workload = :workload ORDER BY id DESC LIMIT :limit"
    )
    with database.complaints():
        rows = database.connection.execute(
            sql, {"workload": workload, "limit": -1 if limit is None else limit}
        ).fetchall()
    results = (_stored(dict(row)) for row in rows)
    return [result for result in results if result is not None]


def results_of_whole_files(database: Database, workloads: Sequence[str]) -> list[ImportedResult]:
    """Return the results of these workloads from files that contain all of these workloads, newest first.

    A file is identified by its name and the time of its import.
    """
    wanted = sorted(set(workloads))
    sql = (
        "WITH wanted AS (SELECT value FROM json_each(?)), whole AS (SELECT source, imported_at FROM"
        " imported_results WHERE workload IN wanted GROUP BY source, imported_at"
        " HAVING COUNT(DISTINCT workload) = ?)"
        " SELECT id, imported_at, digest, label, source, document FROM imported_results JOIN whole"
        " USING (source, imported_at) WHERE workload IN wanted ORDER BY id DESC LIMIT ?"
    )
    with database.complaints():
        values = (json.dumps(wanted), len(wanted), SHOWN_LIMIT * len(wanted))
        rows = database.connection.execute(sql, values).fetchall()
    results = (_stored(dict(row)) for row in rows)
    return [result for result in results if result is not None]


def has_results(database: Database) -> bool:
    with database.complaints():
        return bool(database.connection.execute("SELECT EXISTS (SELECT 1 FROM imported_results)").fetchone()[0])


def load_result(database: Database, number: int) -> Result:
    """Return an imported result with all stored details. Raises UsageError if there is none with this id."""
    with database.complaints():
        sql = "SELECT document FROM imported_results WHERE id = ?"
        row = database.connection.execute(sql, (number,)).fetchone()
    result = read_document(row["document"]) if row is not None else None
    if result is None:
        raise _missing(number)
    return result


def remove_result(database: Database, number: int) -> None:
    """Delete an imported result. Raises UsageError if there is none with this id."""
    with database.transaction() as connection:
        if not connection.execute("DELETE FROM imported_results WHERE id = ?", (number,)).rowcount:
            raise _missing(number)


def _missing(number: int) -> UsageError:
    return UsageError(message("imports.unknown", number=number), message("imports.see_list"))


def _stored(row: dict[str, Any]) -> ImportedResult | None:
    result = read_document(row.pop("document"))
    texts = [row[name] for name in ("imported_at", "digest", "label", "source")]
    if result is None or not all(isinstance(text, str) for text in texts):
        _log.info("The imported result %s cannot be read.", row["id"])
        return None
    return ImportedResult(**row, summary=with_credible_verdict(summary_of(result)))
