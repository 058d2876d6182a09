"""Prefetching: a thread creates the next batches while the current one is used."""

import threading
from collections import deque
from collections.abc import Callable, Generator, Iterator
from typing import Generic, TypeVar

_Batch = TypeVar("_Batch")
# A hanging thread, for example reading from a disconnected drive, must not block a cancelled run.
_PATIENCE_S = 0.5


class Prefetcher(Generic[_Batch]):
    """Batches that a thread creates in advance. Each iteration starts from the beginning, with its own thread.

    The thread starts when the first batch is requested, and ends when the iterator is closed, dropped or
    exhausted. Its errors are raised where the affected batch is requested, after the preceding batches.

    Args:
        make: Returns a new iterator of batches, which only the thread uses and finally drops.
        depth: Maximum number of batches finished or in preparation before they are requested.
        stop: Called by the thread that closes the iterator, to abort a batch in preparation.
        patience_s: How long closing waits for a batch in preparation. After that, the thread ends by itself.
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
        # Daemon, because a hanging thread must not keep the process alive.
        thread = threading.Thread(target=buffer.fill, args=(self._make,), name="reading ahead", daemon=True)
        thread.start()
        try:
            while buffer.is_filled():
                yield buffer.pop()
        finally:
            buffer.close()
            if self._stop is not None:
                self._stop()
            # Python may drop the iterator in any thread, including this one.
            if threading.current_thread() is not thread:
                thread.join(self._patience_s)


class _Buffer(Generic[_Batch]):
    """Batches finished by the thread and not yet consumed."""

    def __init__(self, depth: int) -> None:
        self._depth = depth
        self._changed = threading.Condition()
        self._batches: deque[_Batch] = deque()
        self._error: BaseException | None = None
        self._is_complete = False
        self._is_closed = False

    def fill(self, make: Callable[[], Iterator[_Batch]]) -> None:
        """Add batches to the buffer until there are no more, or it is closed."""
        error: BaseException | None = None
        try:
            self._fill(make())
        except BaseException as raised:  # noqa: BLE001 - handed over, to be raised again where the batch is asked for
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
            del batch  # the consumer must hold the last reference

    def _has_room(self) -> bool:
        """Wait for space; return False if the buffer is closed."""
        with self._changed:
            self._changed.wait_for(lambda: self._is_closed or len(self._batches) < self._depth)
            return not self._is_closed

    def is_filled(self) -> bool:
        """Wait for a batch; return False after the last one, or raise the thread's error."""
        with self._changed:
            self._changed.wait_for(lambda: self._batches or self._is_complete)
            if self._batches:
                return True
            error, self._error = self._error, None
        if error is not None:
            raise error
        return False

    def pop(self) -> _Batch:
        """Remove and return the oldest batch."""
        with self._changed:
            self._changed.notify_all()
            return self._batches.popleft()

    def close(self) -> None:
        """Discard the remaining batches, and make the thread end."""
        with self._changed:
            self._is_closed = True
            self._batches.clear()
            self._changed.notify_all()
