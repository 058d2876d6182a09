"""Opens and backs up the SQLite file, and converts SQLite's errors to messages."""

import contextlib
import itertools
import logging
import os
import secrets
import shutil
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path

from app.core.errors import AppError
from app.core.files import has_no_room, patiently
from app.core.locks import acquire
from app.core.messages import Message, message, sentence
from app.core.paths import make_folder
from app.core.storage.journal import code_of, is_refusal, leave_wal, set_mode, supports
from app.core.storage.migration import OLD_FORMAT, is_old, migrate
from app.core.storage.schema import APPLICATION_ID, FORMAT, SCHEMA

BUSY_TIMEOUT_S = 5.0
# Files up to this size are checked completely when a process first opens them, which takes a few milliseconds.
LOOKED_THROUGH_BYTES = 8 << 20
_MEND_PATIENCE_S = 60.0
_BACKUP_AGE_S = 86_400.0
# Message for a UnicodeDecodeError, which Python raises if SQLite quotes damaged bytes.
_MISQUOTED = "malformed schema"
_log = logging.getLogger(__name__)


class DatabaseError(AppError):
    """The database can't be used at the moment. The caller keeps any data that hasn't been written."""


class Database:
    """A connection to the database, for use from one thread.

    Args:
        path: Path of the file; created if missing. A damaged file is renamed (never deleted) and replaced by its
            last backup.
        busy_timeout_s: How long, in seconds, to wait while another instance of Epochmark is writing.

    Raises:
        DatabaseError: The file is from a newer version of Epochmark, is locked, or is on a disk that is full or
            read-only.
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
                self.mend()
                self.connection = self._open_patiently()
        self._file = _identity(path)

    @property
    def is_replaced(self) -> bool:
        """Whether another process has replaced the file because it was damaged."""
        return _identity(self.path) != self._file

    def close(self) -> None:
        self.connection.close()

    def __enter__(self) -> "Database":
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    @contextlib.contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Commit all changes in the `with` block, or none. Raises DatabaseError."""
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
    def snapshot(self) -> Iterator[None]:
        """Read the same state throughout the `with` block, unaffected by other writers. Raises DatabaseError."""
        if self.connection.in_transaction:  # inside another transaction
            yield
            return
        with self.complaints():
            self.connection.execute("BEGIN")
            try:
                yield
            finally:
                self.connection.execute("ROLLBACK")

    @contextlib.contextmanager
    def complaints(self) -> Iterator[None]:
        """Convert SQLite's errors in the `with` block to DatabaseError."""
        try:
            try:
                yield
            except UnicodeDecodeError as error:
                raise _DamagedError(_MISQUOTED) from error
        except sqlite3.DatabaseError as error:
            if _is_damage(error):
                with contextlib.suppress(OSError):  # otherwise the whole file is checked when it is next opened
                    _suspicion(self.path).touch()
            raise DatabaseError(*_explanation(error, self.path)) from error

    def _open_patiently(self) -> sqlite3.Connection:
        """Open the file. Retry, because SQLite doesn't wait while another process switches a new file to WAL."""
        deadline_s, is_changed = time.monotonic() + self._busy_timeout_s, False
        while True:
            try:
                return self._open()
            except UnicodeDecodeError as error:
                raise _DamagedError(_MISQUOTED) from error
            except sqlite3.OperationalError as error:
                if not is_changed and is_refusal(error) and supports(self.path, wal=False, rollback=True):
                    is_changed = True
                    leave_wal(self.path, self._busy_timeout_s)
                    continue
                if code_of(error) != sqlite3.SQLITE_BUSY or time.monotonic() > deadline_s:
                    raise
                time.sleep(0.02)

    def mend(self) -> None:
        """Rename a damaged file and replace it with its last backup. Raises DatabaseError.

        If another process has repaired the file, it isn't changed.
        """
        with contextlib.ExitStack() as stack:
            lock = acquire(self.path.with_name(self.path.name + ".lock"), _MEND_PATIENCE_S)
            if lock is None:
                raise DatabaseError(
                    message("database.being_repaired", path=str(self.path)), message("database.try_later")
                )
            stack.enter_context(lock)
            try:
                self._open_patiently().close()
            except sqlite3.DatabaseError as error:
                if not _is_damage(error):
                    raise
                self._replace(error)
            # Otherwise another process has repaired it.

    def _replace(self, error: sqlite3.Error) -> None:
        backup, code, made_at = backup_path(self.path), "database.begun_anew", ""
        draft = self.path.with_name(f"{self.path.name}.{secrets.token_hex(4)}")
        try:
            if _is_sound(backup):
                shutil.copyfile(backup, draft)  # first, because the disk may be full
                code = "database.restored"
                made_at = time.strftime("%Y-%m-%d %H:%M", time.localtime(backup.stat().st_mtime))
            aside = self._set_aside()
            if draft.exists():
                patiently(lambda: draft.rename(self.path))
            _suspicion(self.path).unlink(missing_ok=True)
        except OSError as refusal:
            with contextlib.suppress(OSError):
                draft.unlink(missing_ok=True)
            raise DatabaseError(
                message("database.not_set_aside", path=str(self.path), reason=refusal.strerror),
                message("database.move_it_away"),
            ) from refusal
        text = sentence(code, path=str(self.path), reason=str(error), kept=aside.name, made_at=made_at)
        _log.warning("%s", text)

    def _set_aside(self) -> Path:
        """Rename the file without overwriting an existing one. Raises OSError."""
        aside = _free(self.path, f"{self.path.stem}.damaged-{time.strftime('%Y%m%d-%H%M%S')}")
        for suffix in ("", "-wal", "-shm"):
            source = self.path.with_name(self.path.name + suffix)
            if source.exists():
                source.rename(aside.with_name(aside.name + suffix))
        return aside

    def _open(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self.path, timeout=self._busy_timeout_s, isolation_level=None)
        try:
            connection.row_factory = sqlite3.Row
            # One string with invalid UTF-8 must not prevent the others from being read.
            connection.text_factory = lambda text: text.decode("utf-8", "replace")
            version = _checked_version(connection, self.path)
            set_mode(connection, self.path)
            if version == OLD_FORMAT:
                migrate(connection)
            connection.execute("PRAGMA foreign_keys = ON")
            # Otherwise deleted contents could still be read from the file. Only some builds of SQLite enable this
            # by default.
            connection.execute("PRAGMA secure_delete = ON")
            if not version:
                _create(connection)
            _look_through(connection, self.path)
        except BaseException:
            connection.close()
            raise
        return connection


def backup_path(path: Path) -> Path:
    return path.with_name(f"{path.stem}.backup{path.suffix}")


def back_up(path: Path) -> None:
    """Back up a database unless this was done in the last day. Does nothing if it fails."""
    backup = backup_path(path)
    draft = path.with_name(f"{backup.name}.{secrets.token_hex(4)}")
    try:
        if backup.exists() and abs(time.time() - backup.stat().st_mtime) < _BACKUP_AGE_S:
            return
        with contextlib.closing(sqlite3.connect(path, timeout=BUSY_TIMEOUT_S)) as connection:
            connection.execute("VACUUM INTO CAST(? AS TEXT)", (os.fsencode(draft),))  # names may not be UTF-8
        if _is_sound(draft):
            patiently(lambda: draft.replace(backup))
    except (OSError, sqlite3.Error) as error:
        _log.info("%s wasn't backed up.", path, exc_info=error)
    finally:
        with contextlib.suppress(OSError):
            draft.unlink(missing_ok=True)


def _is_sound(path: Path) -> bool:
    if not path.exists():
        return False
    try:
        with contextlib.closing(sqlite3.connect(path)) as connection:
            answer = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
            version = connection.execute("PRAGMA user_version").fetchone()[0]
            return bool(answer == "ok" and version in (FORMAT, OLD_FORMAT))
    except (sqlite3.Error, UnicodeDecodeError):
        return False


class _DamagedError(sqlite3.DatabaseError):
    """The file is damaged, although SQLite didn't report it."""

    sqlite_errorcode = sqlite3.SQLITE_CORRUPT


def _checked_version(connection: sqlite3.Connection, path: Path) -> int:
    """Return the file's format, 0 for a new file. Raises DatabaseError for a file that isn't ours or newer."""
    before, version = -1, 0
    while before != version:  # another process may be creating the file: tables, ID and format in one transaction
        before = connection.execute("PRAGMA user_version").fetchone()[0]
        tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
        owner = connection.execute("PRAGMA application_id").fetchone()[0]
        version = connection.execute("PRAGMA user_version").fetchone()[0]
    if not tables and not version:
        return 0
    if owner != APPLICATION_ID:
        raise DatabaseError(message("database.of_another_program", path=str(path)), message("folders.move_away"))
    if version == OLD_FORMAT and not is_old(connection):
        raise _DamagedError(_MISQUOTED)  # its number is wrong
    if version not in (FORMAT, OLD_FORMAT):
        code, advice = ("too_new", "database.update") if version > FORMAT else ("too_old", "folders.move_away")
        said = message(f"database.{code}", path=str(path), version=version, known_version=FORMAT)
        raise DatabaseError(said, message(advice))
    return version


def _look_through(connection: sqlite3.Connection, path: Path) -> None:
    """Raise sqlite3.Error if the file has damage that only some queries would reveal.

    Large files are checked only if damage is suspected.
    """
    state = path.stat()
    identity = (str(path), state.st_dev, state.st_ino)
    suspected = _suspicion(path).exists()
    if not suspected and (identity in looked_through or state.st_size > LOOKED_THROUGH_BYTES):
        return
    answer = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
    if answer != "ok":
        raise _DamagedError(str(answer).splitlines()[-1])
    looked_through.add(identity)
    if suspected:
        with contextlib.suppress(OSError):
            _suspicion(path).unlink(missing_ok=True)


# Files that this process has checked.
looked_through: set[tuple[str, int, int]] = set()


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        state = path.stat()
    except OSError:
        return None
    return state.st_dev, state.st_ino


def _suspicion(path: Path) -> Path:
    """Return the path of the marker file that requests a check when the database is next opened."""
    return path.with_name(path.name + ".suspect")


def _free(path: Path, stem: str) -> Path:
    names = (f"{stem}-{number}" if number else stem for number in itertools.count())
    return next(free for name in names if not os.path.lexists(free := path.with_name(name + path.suffix)))


def _create(connection: sqlite3.Connection) -> None:
    """Create the tables of a new file, unless another process has done so."""
    header = f"PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {FORMAT};"
    try:
        connection.executescript(f"BEGIN IMMEDIATE; {SCHEMA} {header} COMMIT;")
    except sqlite3.Error:
        with contextlib.suppress(sqlite3.Error):  # if the disk is full, SQLite has already rolled back
            connection.execute("ROLLBACK")
        if connection.execute("PRAGMA user_version").fetchone()[0] != FORMAT:
            raise


def _is_damage(error: sqlite3.Error) -> bool:
    return code_of(error) in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


_OF_FILES = (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_IOERR)


def _explanation(error: sqlite3.DatabaseError, path: Path) -> tuple[Message, Message]:
    """Return a message that explains SQLite's error, and a message with advice."""
    code, where, reason = code_of(error), str(path), str(error)
    # If the disk is full, SQLite reports a generic error for the files next to the database.
    if code == sqlite3.SQLITE_FULL or (code in _OF_FILES and has_no_room(path.parent)):
        return message("database.disk_full", path=where), message("files.free_space")
    if is_refusal(error) and supports(path, wal=False, rollback=False):
        return message("database.no_locks", folder=str(path.parent)), message("database.use_own_disk")
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return message("database.locked", path=where), message("database.close_other_program")
    if code in (*_OF_FILES, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM):
        return message("database.no_access", path=where, reason=reason), message("database.check_permissions")
    if _is_damage(error):
        return message("database.damaged", path=where, reason=reason), message("database.try_again_to_repair")
    return message("database.unusable", path=where, reason=reason), message("database.try_elsewhere")
