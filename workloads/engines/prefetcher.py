"""Prefetching: a thread prepares the next batches while the current one is in use."""

import threading
from collections import deque
from collections.abc import Callable, Generator, Iterator
from typing import Generic, TypeVar

_Batch = TypeVar("_Batch")
# A hung thread, for example one reading from a disconnected drive, must not block a cancelled run.
_PATIENCE_S = 0.5


class Prefetcher(Generic[_Batch]):
    """Batches that a thread prepares in advance. Each iteration starts from the beginning, with a new thread.

    The thread starts when the first batch is requested, and ends when the iterator is closed, garbage-collected or
    exhausted. If preparing a batch fails, the error is raised when that batch is requested.

    Args:
        make: Returns a new iterator of batches. Only the thread uses it.
        depth: Maximum number of batches ready or in preparation.
        stop: Called from the thread that closes the iterator, to abort a batch in preparation.
        patience_s: Maximum time, in seconds, to wait for a batch in preparation when closing. After that, the
            thread ends on its own.
    """

    def __init__(
        self,
        make: Callable[[], Iterator[_Batch]],
        depth: int = 2,
        *,
        stop: Callable[[], None] | None = None,
        patience_s: float = _PATIENCE_S,
    ) -> None:
        self._make, self._depth, self._stop, self._patience_s = make, depth, stop, patience_s

    def __iter__(self) -> Generator[_Batch, None, None]:
        buffer = _Buffer[_Batch](self._depth)
        # Daemon, because a hung thread must not keep the process alive.
        thread = threading.Thread(target=buffer.fill, args=(self._make,), name="reading ahead", daemon=True)
        thread.start()
        try:
            while buffer.is_filled():
                yield buffer.pop()
        finally:
            buffer.close()
            if self._stop is not None:
                self._stop()
            # Python may finalise the iterator in any thread, including this one.
            if threading.current_thread() is not thread:
                thread.join(self._patience_s)


class _Buffer(Generic[_Batch]):
    """Batches that are ready but not yet consumed."""

    def __init__(self, depth: int) -> None:
        self._depth = depth
        self._changed = threading.Condition()
        self._batches: deque[_Batch] = deque()
        self._error: BaseException | None = None
        self._is_complete = False
        self._is_closed = False

    def fill(self, make: Callable[[], Iterator[_Batch]]) -> None:
        """Add batches to the buffer until there are no more or the buffer is closed."""
        error: BaseException | None = None
        try:
            self._fill(make())
        except BaseException as raised:  # noqa: BLE001 - raised again where the batch is requested
            error = raised
        with self._changed:
            self._error, self._is_complete = error, True
            self._changed.notify_all()

    def _fill(self, batches: Iterator[_Batch]) -> None:
        while self._has_room():
            try:
                batch = next(batches)
            except StopIteration:
                return
            with self._changed:
                self._batches.append(batch)
                self._changed.notify_all()
            del batch  # only the consumer may keep a reference

    def _has_room(self) -> bool:
        """Wait for free space. Return False if the buffer is closed."""
        with self._changed:
            self._changed.wait_for(lambda: self._is_closed or len(self._batches) < self._depth)
            return not self._is_closed

    def is_filled(self) -> bool:
        """Wait for a batch. Return False after the last batch, or raise the thread's error."""
        with self._changed:
            self._changed.wait_for(lambda: self._batches or self._is_complete)
            if self._batches:
                return True
            error, self._error = self._error, None
        if error is not None:
            raise error
        return False

    def pop(self) -> _Batch:
        with self._changed:
            self._changed.notify_all()
            return self._batches.popleft()

    def close(self) -> None:
        """Discard the remaining batches and stop the thread."""
        with self._changed:
            self._is_closed = True
            self._batches.clear()
            self._changed.notify_all()
