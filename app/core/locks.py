"""Locks between processes: one lives as long as the process that took it, whatever clocks and numbers say."""

import contextlib
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from app.core.errors import AppError
from app.core.messages import message

if TYPE_CHECKING:
    from filelock import BaseFileLock


class Hold:
    """A lock that this process has; leaving its block, or `release`, gives it back."""

    def __init__(self, lock: "BaseFileLock") -> None:
        self._lock = lock

    def release(self) -> None:
        """Give the lock back; the file stays, for others may be waiting for it."""
        self._lock.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()


def take(path: Path, patience_s: float = 0.0) -> Hold | None:
    """Take the lock that a file stands for; None if somebody, also in this process, has it for longer than that.

    Args:
        path: The file; made if it is not there.
        patience_s: How long to wait for it.

    Raises:
        AppError: The file cannot be made.
    """
    # Imported late: it brings asyncio along, which takes a tenth of a second and no start needs.
    from filelock import FileLock, Timeout

    # Not one for each thread, and not the one that another part of this process has taken already.
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
    """Say whether somebody has the lock; raises AppError if it cannot be told."""
    if not path.exists():
        return False
    hold = take(path)
    if hold is not None:
        with contextlib.suppress(OSError):
            hold.release()
    return hold is None
