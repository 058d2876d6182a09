"""Locks between processes. A lock is released no later than when the process that holds it ends."""

import contextlib
import errno
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from app.core.errors import AppError
from app.core.messages import message

if TYPE_CHECKING:
    from filelock import BaseFileLock


class Hold:
    """A lock held by this process until `release` is called or a `with` block ends."""

    def __init__(self, lock: "BaseFileLock") -> None:
        self._lock = lock

    def release(self) -> None:
        """Release the lock. The lock file is kept, because other processes may be waiting for it."""
        self._lock.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()


def acquire(path: Path, patience_s: float = 0.0) -> Hold | None:
    """Acquire the lock of a file; None if another holder, even in this process, doesn't release it in time.

    Args:
        patience_s: How long to wait, in seconds.

    Raises:
        AppError: The lock file can't be created or locked.
    """
    # Imported late, because it imports asyncio, which takes a tenth of a second.
    from filelock import FileLock, Timeout

    # Usable from all threads, and separate from other locks of the same file in this process.
    # "Soft" locks would remain after a crash.
    lock = FileLock(
        path, patience_s, poll_interval=0.02, thread_local=False, is_singleton=False, fallback_to_soft=False
    )
    try:
        lock.acquire()
    except Timeout:
        return None
    except (OSError, NotImplementedError) as error:
        reason = getattr(error, "strerror", None) or error
        is_refused = isinstance(error, PermissionError) or getattr(error, "errno", None) == errno.EROFS
        advice = message("files.check_permissions" if is_refused else "database.use_own_disk")
        raise AppError(message("files.not_locked", path=str(path), reason=str(reason)), advice) from error
    return Hold(lock)


def is_held(path: Path) -> bool:
    """Return whether the lock of a file is held. Raises AppError if this can't be determined."""
    if not path.exists():
        return False
    hold = acquire(path)
    if hold is not None:
        with contextlib.suppress(OSError):
            hold.release()
    return hold is None
