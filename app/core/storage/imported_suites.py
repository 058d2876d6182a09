"""Recognises suites from QR codes, whose results have fewer digits than results in files.

Two suites count as the same if they share at least one run of each test, because a user may have removed some of
the results.
"""

import bisect
import json
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from app.core.result_file.record import Result
from app.core.result_file.short_form import SUITE_ROUNDED_BY, SUITE_VERSION, is_run_of
from app.core.storage.imported_documents import read_document

# More results in one file aren't from a QR code.
RUNS_LIMIT = 100
_LIKE = (
    "SELECT id, source, imported_at, document FROM imported_results"
    " WHERE workload = ? AND value BETWEEN ? AND ? ORDER BY id DESC LIMIT 100"
)
_OWN_LIKE = (
    "SELECT id FROM runs WHERE workload = ? AND value BETWEEN ? AND ?"
    " AND workload_version = ? AND batch_size = ? AND precision = ? AND engine = ? AND deleted_at IS NULL"
    " LIMIT 100"
)
_CODES = (
    "SELECT DISTINCT source, imported_at FROM imported_results"
    " WHERE workload IN (SELECT value FROM json_each(?)) AND started_at IS NULL AND value BETWEEN ? AND ?"
    " AND json_valid(document) AND json_extract(document, '$.app_version') LIKE ? LIMIT 50"
)
_OF_FILE = "SELECT id, document FROM imported_results WHERE source = ? AND imported_at = ? ORDER BY id LIMIT 100"


@dataclass(frozen=True, slots=True)
class KnownSuite:
    """An imported suite.

    Attributes:
        ids: Ids of the results that are also in the QR code.
        others: Ids of all results of the suite if it is from a QR code with fewer runs and should be replaced;
            otherwise ().
    """

    ids: tuple[int, ...]
    others: tuple[int, ...] = ()


def is_suite(results: Sequence[Result]) -> bool:
    """Return whether results are from a suite's QR code."""
    versions = {result.app_version for result in results[: RUNS_LIMIT + 1]}
    is_of_code = len(versions) == 1 and next(iter(versions)).startswith(SUITE_VERSION)
    return is_of_code and len(results) <= RUNS_LIMIT


def own_suite(connection: sqlite3.Connection, code: Sequence[Result]) -> tuple[int, ...]:
    """Return the ids of the user's own runs in a QR code; () unless there is one for each test."""
    own: dict[int, Result] = {}
    for result in code:
        spec = result.spec
        same = (spec.workload_version, spec.batch_size, spec.precision, result.environment.engine)
        rows = connection.execute(_OWN_LIKE, (spec.workload, *_range(result.statistics.value), *same))
        own |= {row[0]: result for row in rows}
    return tuple(sorted(own)) if _tests(own.values()) == _tests(code) else ()


def known_suite(connection: sqlite3.Connection, code: Sequence[Result]) -> KnownSuite | None:
    """Return the imported suite that a QR code contains; None if there is none."""
    files: dict[tuple[str, str], dict[int, Result]] = {}
    for result in code:
        rows = connection.execute(_LIKE, (result.spec.workload, *_range(result.statistics.value)))
        for number, source, imported_at, document in rows:
            whole = read_document(document)
            if whole is not None and is_run_of(whole, result):
                files.setdefault((source, imported_at), {})[number] = whole
    suites = []
    for file, matches in files.items():
        if _tests(matches.values()) == _tests(code):
            is_longer = len(matches) < len(code)
            others = tuple(number for number, _ in _of_file(connection, *file)) if is_longer else ()
            suites.append(KnownSuite(tuple(sorted(matches)), others))
    return min(suites, key=lambda suite: len(suite.others), default=None)


def suites_of_file(connection: sqlite3.Connection, results: Sequence[Result]) -> tuple[dict[int, int], set[int]]:
    """Find suites that were imported from QR codes and are also contained in a file.

    Returns:
        The ids of the results to replace, by the index of their replacement in the file; and the ids of all
        results of these suites.
    """
    if len(results) < 2:
        return {}, set()
    workloads = json.dumps(sorted({result.spec.workload for result in results}))
    ends = [end for result in results for end in _range(result.statistics.value)]
    files = connection.execute(_CODES, (workloads, min(ends), max(ends), f"{SUITE_VERSION}%")).fetchall()
    runs = _Runs(results) if files else None
    replaced, all_ids = dict[int, int](), set[int]()
    for file in files:
        code = dict(_of_file(connection, *file))
        matches = runs.find(code) if runs is not None else {}
        if matches and _tests(code[number] for number in matches.values()) == _tests(code.values()):
            replaced |= matches
            all_ids |= code.keys()
    return replaced, all_ids


def _of_file(connection: sqlite3.Connection, source: str, imported_at: str) -> Iterator[tuple[int, Result]]:
    """Yield the results from a suite's QR code that were imported at this time, with their ids."""
    for number, document in connection.execute(_OF_FILE, (source, imported_at)).fetchall():
        result = read_document(document)
        if result is not None and result.app_version.startswith(SUITE_VERSION):
            yield number, result


class _Runs:
    """The results of a file, sorted by workload and value."""

    def __init__(self, results: Sequence[Result]) -> None:
        self._results = results
        self._sorted = sorted(
            (each.spec.workload, each.statistics.value, number) for number, each in enumerate(results)
        )

    def find(self, code: dict[int, Result]) -> dict[int, int]:
        """Return the ids of the QR code's results that are also in the file, by index in the file."""
        matches: dict[int, int] = {}
        for number, result in code.items():
            workload, (low, high) = result.spec.workload, _range(result.statistics.value)
            for _, _, place in self._sorted[bisect.bisect_left(self._sorted, (workload, low, -1)) :]:
                whole = self._results[place]
                if (whole.spec.workload, whole.statistics.value) > (workload, high):
                    break
                if place not in matches and is_run_of(whole, result):
                    matches[place] = number
                    break
        return matches


def _tests(results: Iterable[Result]) -> set[tuple[str, int, str]]:
    """Return the distinct tests of a suite: workload, batch size and precision."""
    return {(each.spec.workload, each.spec.batch_size, each.spec.precision) for each in results}


def _range(value: float) -> tuple[float, float]:
    return value * (1 - SUITE_ROUNDED_BY), value * (1 + SUITE_ROUNDED_BY)
