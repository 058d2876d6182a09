"""Determines whether a run or plan in progress has an owner: a process that holds its lock.

Locks aren't affected by clock changes or by process IDs in other containers.
"""

import contextlib
import logging
import re
import secrets
from pathlib import Path

import msgspec
import psutil

from app.core.errors import AppError, UsageError
from app.core.locks import Hold, acquire, is_held
from app.core.messages import message
from app.core.paths import make_folder
from workloads.protocol import typed

_TOKEN = re.compile(r"[0-9a-f]{16}\Z")
_log = logging.getLogger(__name__)


class Owner(msgspec.Struct, frozen=True):
    """The owner as stored with a run."""

    token: str | None = None  # token of the run's lock; None if the folder doesn't support locks
    pid: int = 0  # ID of the owner's process, used if there is no token
    started_s: float = 0.0  # start time of that process, in seconds since 1970


class Ownership:
    """The lock of a run or plan. `token` is that of `Owner`."""

    def __init__(self, token: str | None, path: Path, hold: Hold | None) -> None:
        self.token = token
        self._path = path
        self._hold = hold

    def release(self) -> None:
        """Release the lock and delete its file."""
        if self._hold is not None:
            with contextlib.suppress(OSError):
                self._hold.release()
            self._hold = None
            _forget(self._path)


def own(database: Path) -> Ownership:
    """Create and acquire a lock next to the database, for a run that is about to be stored."""
    token = secrets.token_hex(8)
    path = _path(database, token)
    try:
        make_folder(path.parent)
        return Ownership(token, path, acquire(path))
    except AppError as error:
        _log.info("Runs are owned by process numbers: %s", error)
        return Ownership(None, path, None)


def own_group(database: Path, group_id: int) -> Ownership:
    """Acquire the lock of a plan, so that other processes can't run the plan at the same time.

    Raises:
        UsageError: Another process is running the plan.
    """
    path = _path(database, f"group-{group_id}")
    try:
        make_folder(path.parent)
        hold = acquire(path)
    except AppError as error:
        _log.info("Plan %s can be run twice at the same time: %s", group_id, error)
        return Ownership(None, path, None)
    if hold is None:
        raise UsageError(message("groups.under_way", group_id=group_id), message("engines.wait_for_it"))
    return Ownership(None, path, hold)


def this_process(token: str | None) -> Owner:
    process = psutil.Process()
    return Owner(token, process.pid, process.create_time())


def is_owned(database: Path, stored: object) -> bool:
    """Return whether a run of this database has an owner, given the JSON that is stored with it."""
    try:
        owner = typed.decode(stored, Owner) if isinstance(stored, str) else Owner()
    except msgspec.DecodeError:
        return False
    if owner.token is None:
        return _is_alive(owner)
    if not _TOKEN.match(owner.token):
        return False
    path = _path(database, owner.token)
    try:
        held = is_held(path)
    except AppError as error:
        _log.info("The owner of a run could not be determined: %s", error)
        return _is_alive(owner)
    if not held:
        _forget(path)
    return held


def _path(database: Path, token: str) -> Path:
    return database.with_name("owners") / f"{token}.lock"


def _forget(path: Path) -> None:
    with contextlib.suppress(OSError):  # another process has deleted it or is checking it
        path.unlink(missing_ok=True)


def _is_alive(owner: Owner) -> bool:
    """Return whether the process is running and its ID hasn't been reused."""
    if not 0 < owner.pid < 2**31:
        return False
    try:
        return bool(abs(psutil.Process(owner.pid).create_time() - owner.started_s) < 2)
    except psutil.Error:
        return False
