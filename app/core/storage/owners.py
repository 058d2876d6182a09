"""Who owns a run that is going on: a lock that is held until the run is stored, or its process is gone.

Neither a clock that was set nor another container's process numbers change what it says.
"""

import contextlib
import logging
import re
import secrets
from pathlib import Path

import psutil

from app.core.errors import AppError
from app.core.locks import Hold, is_held, take
from app.core.paths import make_folder

_TOKEN = re.compile(r"[0-9a-f]{16}\Z")
_log = logging.getLogger(__name__)


class Ownership:
    """The lock of one run.

    Attributes:
        token: What is stored with the run; None where the folder cannot hold locks: then the process's number
            and start time must do.
    """

    def __init__(self, token: str | None, path: Path, hold: Hold | None) -> None:
        self.token = token
        self._path = path
        self._hold = hold

    def release(self) -> None:
        """Let go of the run; its file goes too."""
        if self._hold is not None:
            with contextlib.suppress(OSError):
                self._hold.release()
            self._hold = None
            _forget(self._path)


def own(database: Path) -> Ownership:
    """Take a new lock beside the database, for a run that is about to be stored there."""
    token = secrets.token_hex(8)
    path = _path(database, token)
    try:
        make_folder(path.parent)
        return Ownership(token, path, take(path))
    except AppError as error:
        _log.info("Runs are owned by process numbers: %s", error)
        return Ownership(None, path, None)


def is_owned(database: Path, token: object, pid: object, started_s: object) -> bool:
    """Say whether a running run still has an owner, by what is stored with it.

    Args:
        database: Where it is stored.
        token: Of its lock; None in records of older versions, and where there was none to be had.
        pid: Number of its process, which tells where there is no token.
        started_s: When that began, in seconds since the epoch.
    """
    if token is None:
        return _is_alive(pid, started_s)
    if not isinstance(token, str) or not _TOKEN.match(token):
        return False
    path = _path(database, token)
    try:
        held = is_held(path)
    except AppError as error:
        _log.info("It cannot be told who owns a run: %s", error)
        return _is_alive(pid, started_s)
    if not held:
        _forget(path)
    return held


def _path(database: Path, token: str) -> Path:
    return database.with_name("owners") / f"{token}.lock"


def _forget(path: Path) -> None:
    with contextlib.suppress(OSError):  # somebody else has done it, or looks at it just now
        path.unlink(missing_ok=True)


def _is_alive(pid: object, started_s: object) -> bool:
    """Say whether the very process is still there; a number alone may belong to another by now."""
    if not isinstance(pid, int) or not isinstance(started_s, int | float) or not 0 < pid < 2**31:
        return False
    try:
        return bool(abs(psutil.Process(pid).create_time() - started_s) < 2)
    except psutil.Error:
        return False
