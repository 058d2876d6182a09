"""The SQLite file: opening, migrating, and turning SQLite's complaints into sentences. Knows no run."""

import contextlib
import itertools
import logging
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path

from app.core.errors import AppError
from app.core.keeping.schema import APPLICATION_ID, MIGRATIONS
from app.core.paths import make_folder

BUSY_TIMEOUT_S = 5.0
_log = logging.getLogger(__name__)


class DatabaseError(AppError):
    """The database cannot be used right now; what was to be written is still with the caller."""


class Database:
    """One connection, for one thread.

    Args:
        path: The file; made if it does not exist, set aside (never deleted) if it is no database.
        busy_timeout_s: How long to wait for another Epochmark that is writing.

    Raises:
        DatabaseError: It is from a newer Epochmark, locked, or on a disk that is full or read-only.
    """

    def __init__(self, path: Path, busy_timeout_s: float = BUSY_TIMEOUT_S) -> None:
        self.path = path
        self._busy_timeout_s = busy_timeout_s
        make_folder(path.parent)
        with self.complaints():
            try:
                self.connection = self._open_patiently()
            except sqlite3.DatabaseError as error:
                if not _is_damage(error):
                    raise
                self._set_aside(error)
                self.connection = self._open_patiently()

    def close(self) -> None:
        """Close the file."""
        self.connection.close()

    def __enter__(self) -> "Database":
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    @contextlib.contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Write all of a block or nothing of it; raises DatabaseError."""
        with self.complaints():
            self.connection.execute("BEGIN IMMEDIATE")
            try:
                yield self.connection
                self.connection.execute("COMMIT")
            except BaseException:
                with contextlib.suppress(sqlite3.Error):
                    self.connection.execute("ROLLBACK")
                raise

    @contextlib.contextmanager
    def complaints(self) -> Iterator[None]:
        """Turn SQLite's errors inside the block into DatabaseError with a sentence."""
        try:
            yield
        except sqlite3.DatabaseError as error:
            raise DatabaseError(*_sentence(error, self.path)) from error

    def _open_patiently(self) -> sqlite3.Connection:
        """Open the file; SQLite itself does not wait while another process switches a new file to WAL."""
        deadline_s = time.monotonic() + self._busy_timeout_s
        while True:
            try:
                return self._open()
            except sqlite3.OperationalError as error:
                if _code(error) != sqlite3.SQLITE_BUSY or time.monotonic() > deadline_s:
                    raise
                time.sleep(0.02)

    def _set_aside(self, error: sqlite3.Error) -> None:
        """Rename a damaged file, never over another one; raises DatabaseError if that cannot be done."""
        stem = f"{self.path.stem}.damaged-{time.strftime('%Y%m%d-%H%M%S')}"
        names = (f"{stem}-{number}" if number else stem for number in itertools.count())
        aside = next(free for name in names if not (free := self.path.with_name(name + self.path.suffix)).exists())
        try:
            for suffix in ("", "-wal", "-shm"):
                source = self.path.with_name(self.path.name + suffix)
                if source.exists():
                    source.rename(aside.with_name(aside.name + suffix))
        except OSError as refusal:
            sentence = f"The results in {self.path} are damaged and cannot be set aside ({refusal.strerror})."
            raise DatabaseError(sentence, "Move the file away by hand.") from refusal
        _log.warning(
            "The results in %s are damaged (%s); the file was kept as %s, and a new one was begun.",
            self.path,
            error,
            aside.name,
        )

    def _open(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self.path, timeout=self._busy_timeout_s, isolation_level=None)
        try:
            connection.row_factory = sqlite3.Row
            # In this order: another Epochmark may be making the tables, and signs them in the same transaction.
            tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
            owner = connection.execute("PRAGMA application_id").fetchone()[0]
            version = connection.execute("PRAGMA user_version").fetchone()[0]
            if version > len(MIGRATIONS) or (owner != APPLICATION_ID and tables):
                raise _foreign(self.path, version, owner)
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = NORMAL")
            connection.execute("PRAGMA foreign_keys = ON")
            if version < len(MIGRATIONS):
                _migrate(connection, self.path, version)
        except BaseException:
            connection.close()
            raise
        return connection


def _foreign(path: Path, version: int, owner: int) -> DatabaseError:
    if owner != APPLICATION_ID:
        return DatabaseError(
            f"{path} is another program's database.", "Move it away, or set EPOCHMARK_HOME to another folder."
        )
    return DatabaseError(
        f"The results in {path} were written by a newer Epochmark (format {version}, this one knows "
        f"{len(MIGRATIONS)}).",
        "Update Epochmark, or set EPOCHMARK_HOME to another folder.",
    )


def _migrate(connection: sqlite3.Connection, path: Path, version: int) -> None:
    if version:
        backup = path.with_name(f"{path.stem}.before-format-{len(MIGRATIONS)}{path.suffix}")
        with contextlib.closing(sqlite3.connect(backup)) as copy:
            connection.backup(copy)
    connection.execute("BEGIN IMMEDIATE")
    try:
        # Another Epochmark may have been quicker.
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        for step in MIGRATIONS[version:]:
            for statement in _statements(step):
                connection.execute(statement)
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {len(MIGRATIONS)}")
        connection.execute("COMMIT")
    except BaseException:
        connection.execute("ROLLBACK")
        raise


def _statements(script: str) -> Iterator[str]:
    """Split a script; executescript would commit behind the transaction's back."""
    statement = ""
    for line in script.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""


def _is_damage(error: sqlite3.Error) -> bool:
    return _code(error) in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


def _code(error: sqlite3.Error) -> int:
    """Return SQLite's primary result code, 0 if the error has none."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF


def _sentence(error: sqlite3.DatabaseError, path: Path) -> tuple[str, str]:
    code = _code(error)
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return (
            f"The results in {path} are locked by another program.",
            "Close the other program, then try again.",
        )
    if code == sqlite3.SQLITE_FULL:
        return (
            f"The disk is full: the results in {path} cannot be written.",
            "Free some space, then try again.",
        )
    if code in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM, sqlite3.SQLITE_IOERR):
        return (
            f"The results in {path} cannot be written or read ({error}).",
            "Check the folder's permissions, or set EPOCHMARK_HOME to a folder that can be written.",
        )
    if _is_damage(error):
        return (
            f"The results in {path} are damaged ({error}).",
            "Move the file to another place; Epochmark then begins a new one.",
        )
    return f"The results in {path} cannot be used ({error}).", "Try again, or set EPOCHMARK_HOME elsewhere."
