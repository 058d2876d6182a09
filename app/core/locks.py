"""Locks between processes: a lock lives exactly as long as the process that took it."""

import contextlib
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from app.core.errors import AppError
from app.core.messages import message

if TYPE_CHECKING:
    from filelock import BaseFileLock


class Hold:
    """A lock that this process holds; `release`, or leaving its block, releases it."""

    def __init__(self, lock: "BaseFileLock") -> None:
        self._lock = lock

    def release(self) -> None:
        """Release the lock; the file stays, as others may be waiting for it."""
        self._lock.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()


def acquire(path: Path, patience_s: float = 0.0) -> Hold | None:
    """Take a file's lock; None if another holder, even in this process, keeps it for longer than the wait.

    Args:
        path: The lock file; created if missing.
        patience_s: How long to wait.

    Raises:
        AppError: The file can't be created.
    """
    # Imported late: it imports asyncio, which takes a tenth of a second and no start needs.
    from filelock import FileLock, Timeout

    # Neither one lock per thread, nor one shared with other parts of this process.
    lock = FileLock(path, timeout=patience_s, poll_interval=0.02, thread_local=False, is_singleton=False)
    try:
        lock.acquire()
    except Timeout:
        return None
    except (OSError, NotImplementedError) as error:
        reason = getattr(error, "strerror", None) or error
        raise AppError(
            message("files.not_locked", path=str(path), reason=str(reason)), message("files.check_permissions")
        ) from error
    return Hold(lock)


def is_held(path: Path) -> bool:
    """Return whether anyone holds the lock; raises AppError if unknown."""
    if not path.exists():
        return False
    hold = acquire(path)
    if hold is not None:
        with contextlib.suppress(OSError):
            hold.release()
    return hold is None
