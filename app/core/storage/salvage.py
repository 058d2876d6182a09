"""Copies the readable contents of a damaged database to a new file. The damaged file isn't changed."""

import contextlib
import logging
import os
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

from app.core.storage.schema import (
    APPLICATION_ID,
    FORMAT,
    LOGS_AS_RESULTS,
    SCHEMA,
    add_functions,
    statements,
)

# Tables and their keys. Ranges of keys are copied, and split in half if they can't be read.
_KEYS = {
    **dict.fromkeys(("machines", "machine_parts", "groups", "imported_results", "runs"), "id"),
    **dict.fromkeys(("epochs", "step_blocks", "metrics", "warnings"), "run_id"),
    "samples": "rowid",
}
_SECOND_KEYS = {"epochs": "idx", "step_blocks": "seq", "metrics": "key", "warnings": "seq"}
# Assumed if the largest key can't be read.
_LARGEST = 1_000_000
# Number of consecutive unreadable ranges after which a table is abandoned.
_FAILURES = 500
# Number of keys per query.
_RANGE = 256
# Maximum number of ranges that are tried without checking whether they contain rows.
_RANGES = 20_000
# UnicodeError is raised because Python decodes SQLite's messages strictly, and they may quote damaged bytes.
_DAMAGE = (sqlite3.DatabaseError, UnicodeError)
_log = logging.getLogger(__name__)


def salvage(damaged: Path, fresh: Path) -> int:
    """Create a database with all readable rows; return the number of runs in it.

    From a file with an earlier format, only columns that exist in the current format are copied.

    Args:
        damaged: Path of the damaged file. The write-ahead log of this file is used as well.
        fresh: Path of the new file.

    Raises:
        OSError, sqlite3.Error: The new file can't be written.
    """
    with tempfile.TemporaryDirectory(prefix="epochmark-", dir=fresh.parent, ignore_cleanup_errors=True) as folder:
        copy = Path(folder) / damaged.name
        for suffix in ("", "-wal"):
            source = damaged.with_name(damaged.name + suffix)
            if source.exists():
                shutil.copyfile(source, copy.with_name(copy.name + suffix))
        with contextlib.closing(sqlite3.connect(fresh, isolation_level=None)) as connection:
            # Each range is committed separately, because a joint commit would also write to the attached file. If
            # the process crashes, only the new file is lost, and the next start tries again.
            connection.execute("PRAGMA journal_mode = MEMORY")
            connection.execute("PRAGMA synchronous = OFF")
            make_schema(connection)
            # This also allows opening files that are shorter than stated in the header, or whose schema is
            # invalid.
            connection.execute("PRAGMA writable_schema = ON")
            try:
                connection.execute("ATTACH ? AS old", (str(copy),))
            except _DAMAGE as error:
                _log.info("Nothing of %s can be read (%s).", damaged, error)
                return 0
            _copy_tables(connection)
            count: int = connection.execute("SELECT count(*) FROM runs").fetchone()[0]
        with fresh.open("r+b") as file:
            os.fsync(file.fileno())
        return count


def differs(connection: sqlite3.Connection) -> bool:
    """Return whether tables, columns, indexes or references differ from the schema.

    Even one changed letter counts as a difference, because SQLite would fail on the first query.
    """
    try:
        return not _template() <= _shape(connection)
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode != sqlite3.SQLITE_ERROR:  # another error, for example because the file is locked
            raise
        return True


@cache
def _template() -> frozenset[tuple[object, ...]]:
    with contextlib.closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        make_schema(connection)
        return _shape(connection)


def _shape(connection: sqlite3.Connection) -> frozenset[tuple[object, ...]]:
    """Return the schema as parsed by SQLite, because its text differs between versions of SQLite."""
    shape: set[tuple[object, ...]] = set()
    for pragma in ("table_info", "foreign_key_list", "index_info"):
        kind = "index" if pragma == "index_info" else "table"
        sql = (
            f"SELECT '{pragma}', m.name, p.* FROM sqlite_master AS m, pragma_{pragma}(m.name) AS p"  # noqa: S608
            f" WHERE m.type = '{kind}' AND m.name NOT LIKE 'sqlite_%'"
        )
        shape.update(tuple(row) for row in connection.execute(sql))
    return frozenset(shape)


def make_schema(connection: sqlite3.Connection) -> None:
    """Create the tables of a new file."""
    connection.execute("BEGIN")
    for statement in statements(SCHEMA):
        connection.execute(statement)
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.execute(f"PRAGMA user_version = {FORMAT}")
    connection.execute("COMMIT")


def _copy_tables(connection: sqlite3.Connection) -> None:
    for table, key in _KEYS.items():
        columns = [row[1] for row in connection.execute(f"PRAGMA main.table_info({table})")]
        with contextlib.suppress(*_DAMAGE):  # all columns if the format is unreadable
            there = {row[1] for row in connection.execute(f"PRAGMA old.table_info({table})")}
            columns = [name for name in columns if name in there] or columns
        with contextlib.suppress(*_DAMAGE):  # the whole table is unreadable
            _Copier(connection, table, columns, key).copy()
    with contextlib.suppress(*_DAMAGE):  # formats before 10
        add_functions(connection)
        connection.execute(LOGS_AS_RESULTS)
    for table in ("epochs", "step_blocks", "metrics", "warnings", "samples"):
        connection.execute(f"DELETE FROM main.{table} WHERE run_id NOT IN (SELECT id FROM main.runs)")  # noqa: S608


class _Copier:
    """Copies a table from the attached file, splitting unreadable ranges in half down to single rows."""

    def __init__(self, connection: sqlite3.Connection, table: str, columns: Sequence[str], key: str) -> None:
        self._connection = connection
        self._table, self._key = table, key
        if key == "rowid":  # identifies rows that are copied twice
            columns = [key, *columns]
        self._names = ", ".join(columns)
        self._marks = ", ".join("?" * len(columns))
        self._failures = 0

    def copy(self) -> None:
        """Copy all readable rows."""
        low, high = self._limits()
        leaps = high - low > _RANGES * _RANGE  # a damaged key may be any number
        while low <= high and self._failures <= _FAILURES:
            end = min(low + _RANGE - 1, high)
            self._copy_range(low, end)
            low = self._after(end) if leaps else end + 1

    def _after(self, end: int) -> int:
        """Return the next existing key, or a number larger than all keys if there is none."""
        sql = f"SELECT min({self._key}) FROM old.{self._table} WHERE {self._key} > ?"  # noqa: S608
        try:
            next_rowid = self._connection.execute(sql, (end,)).fetchone()[0]
        except _DAMAGE:
            self._failures += 1
            return end + 1
        return next_rowid if isinstance(next_rowid, int) else 2**63

    def _limits(self) -> tuple[int, int]:
        """Return the lowest and highest key. Run ids have been copied already; other keys may be damaged."""
        source = "main.runs" if self._table in _SECOND_KEYS else f"old.{self._table}"
        key = "id" if self._table in _SECOND_KEYS else self._key
        try:
            row = self._connection.execute(f"SELECT min({key}), max({key}) FROM {source}").fetchone()  # noqa: S608
        except _DAMAGE:
            row = (1, _LARGEST)
        low, high = row
        return (low, high) if isinstance(low, int) and isinstance(high, int) else (1, 0)

    def _copy_range(self, low: int, high: int) -> None:
        if self._failures > _FAILURES:
            return
        sql = (
            f"INSERT OR IGNORE INTO main.{self._table} ({self._names}) SELECT {self._names}"  # noqa: S608
            f" FROM old.{self._table} WHERE {self._key} BETWEEN ? AND ? ORDER BY {self._key}"
        )
        try:
            # From both ends, because reading stops at a damaged key that is out of range.
            self._connection.execute(f"{sql} ASC", (low, high))
            self._connection.execute(f"{sql} DESC", (low, high))
            self._failures = 0
        except _DAMAGE:
            self._failures += 1
            if low < high:
                middle = (low + high) // 2
                self._copy_range(low, middle)
                self._copy_range(middle + 1, high)
            elif self._table in _SECOND_KEYS:
                self._copy_singly(low)

    def _copy_singly(self, run_id: int) -> None:
        """Copy the rows of a run from both ends, up to the first unreadable ones."""
        sql = f"INSERT OR IGNORE INTO main.{self._table} ({self._names}) VALUES ({self._marks})"  # noqa: S608
        for direction in ("ASC", "DESC"):
            with contextlib.suppress(*_DAMAGE):
                for row in self._rows(run_id, direction):
                    self._connection.execute(sql, row)

    def _rows(self, run_id: int, direction: str) -> Iterator[tuple[object, ...]]:
        order = f"{_SECOND_KEYS[self._table]} {direction}"
        sql = f"SELECT {self._names} FROM old.{self._table} WHERE run_id = ? ORDER BY {order}"  # noqa: S608
        yield from self._connection.execute(sql, (run_id,))
