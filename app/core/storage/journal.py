"""Chooses SQLite's journal mode. WAL needs a folder on this computer; network folders get a rollback journal."""

import contextlib
import functools
import sqlite3
import tempfile
from pathlib import Path

from app.core.hardware.parts.disks import is_shared_folder

WAL, ROLLBACK = "wal", "delete"
# What SQLite reports for a folder without shared mappings or without locks.
_REFUSALS = frozenset(
    (
        sqlite3.SQLITE_BUSY,
        sqlite3.SQLITE_IOERR,
        sqlite3.SQLITE_PROTOCOL,
        sqlite3.SQLITE_PERM,
        sqlite3.SQLITE_CANTOPEN,
    )
)


def is_refusal(error: sqlite3.Error) -> bool:
    """Return whether an error may mean that the folder doesn't support the file's journal mode, or any."""
    return code_of(error) in _REFUSALS


def code_of(error: sqlite3.Error) -> int:
    """Return SQLite's primary result code; 0 if the error has none."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF


@functools.cache
def works(path: Path, mode: str) -> bool:
    """Return whether a journal mode works in a file's folder. Raises OSError if nothing can be written there."""
    with tempfile.TemporaryDirectory(prefix=".journal-", dir=path.parent, ignore_cleanup_errors=True) as place:
        try:
            file = Path(place, path.name)
            with contextlib.closing(sqlite3.connect(file, timeout=0, isolation_level=None)) as draft:
                draft.execute("PRAGMA synchronous = OFF")
                current_mode = draft.execute(f"PRAGMA journal_mode = {mode}").fetchone()[0]
                draft.execute("CREATE TABLE tried (x)")
        except sqlite3.Error as error:
            if not is_refusal(error):
                raise OSError(str(error)) from error
            return False
        return bool(current_mode == mode)


def supports(path: Path, *, wal: bool, rollback: bool) -> bool:
    """Return whether exactly these modes work in a file's folder; False if nothing can be written there."""
    try:
        return works(path, WAL) == wal and works(path, ROLLBACK) == rollback
    except OSError:
        return False


def set_mode(connection: sqlite3.Connection, path: Path) -> None:
    """Give an open file the journal mode that suits its folder. Raises sqlite3.Error."""
    mode = current_mode = connection.execute("PRAGMA journal_mode").fetchone()[0]
    if is_shared_folder(path.parent):
        mode = ROLLBACK  # WAL would damage a file that several computers use, though it works on each of them
    elif current_mode != WAL and supports(path, wal=True, rollback=True):
        mode = WAL
    if mode != current_mode:
        mode = connection.execute(f"PRAGMA journal_mode = {mode}").fetchone()[0]
    # With WAL, a power failure can't damage the file even if not every transaction is flushed.
    connection.execute(f"PRAGMA synchronous = {'NORMAL' if mode == WAL else 'FULL'}")


def leave_wal(path: Path, busy_timeout_s: float) -> None:
    """Change a WAL file, with all that its log contains, so that it can be used in a folder without WAL.

    Raises:
        sqlite3.Error: Another program has the file open, or it isn't writable.
    """
    with contextlib.closing(sqlite3.connect(path, timeout=busy_timeout_s, isolation_level=None)) as connection:
        connection.execute("PRAGMA locking_mode = EXCLUSIVE")  # keeps WAL's index in this process's memory
        connection.execute(f"PRAGMA journal_mode = {ROLLBACK}")
