"""Reading ahead: a thread makes the next batches while the last one is used."""

import threading
from collections import deque
from collections.abc import Callable, Generator, Iterator
from typing import Generic, TypeVar

_Batch = TypeVar("_Batch")
# A thread that hangs, in a read from a lost drive for instance, mustn't hold up a cancelled run.
_PATIENCE_S = 0.5


class Prefetcher(Generic[_Batch]):
    """Batches that a thread makes ahead of their use. Each iteration begins anew, with a thread of its own.

    The thread starts with the first batch that is asked for, and has ended when the iterator is closed, dropped or
    exhausted. An error in it is raised where the batch is asked for, after the batches before it.

    Args:
        make: Returns a new iterator of batches; only the thread uses it, and drops it at the end.
        depth: How many batches may be finished or in the making before they are asked for.
        stop: Called when the iterator is closed, by the thread that closes it, to cut a batch in the making short.
        patience_s: How long closing waits for a batch in the making; the thread then ends by itself.
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
        # Daemonic: a thread that hangs must not keep the process alive.
        thread = threading.Thread(target=buffer.fill, args=(self._make,), name="reading ahead", daemon=True)
        thread.start()
        try:
            while buffer.is_filled():
                yield buffer.pop()
        finally:
            buffer.close()
            if self._stop is not None:
                self._stop()
            # Python may drop the iterator in any thread, even in this one.
            if threading.current_thread() is not thread:
                thread.join(self._patience_s)


class _Buffer(Generic[_Batch]):
    """What the thread has finished and nobody has taken yet."""

    def __init__(self, depth: int) -> None:
        self._depth = depth
        self._changed = threading.Condition()
        self._batches: deque[_Batch] = deque()
        self._error: BaseException | None = None
        self._is_complete = False
        self._is_closed = False

    def fill(self, make: Callable[[], Iterator[_Batch]]) -> None:
        """Put batches on the buffer until there are no more, or nobody wants them."""
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
            del batch  # whoever takes it is to be the last to hold it

    def _has_room(self) -> bool:
        """Wait for room; return False if nobody wants more."""
        with self._changed:
            self._changed.wait_for(lambda: self._is_closed or len(self._batches) < self._depth)
            return not self._is_closed

    def is_filled(self) -> bool:
        """Wait for a batch; return False after the last one, and raise the thread's error."""
        with self._changed:
            self._changed.wait_for(lambda: self._batches or self._is_complete)
            if self._batches:
                return True
            error, self._error = self._error, None
        if error is not None:
            raise error
        return False

    def pop(self) -> _Batch:
        """Take the oldest batch."""
        with self._changed:
            self._changed.notify_all()
            return self._batches.popleft()

    def close(self) -> None:
        """Drop what is left, and end the thread."""
        with self._changed:
            self._is_closed = True
            self._batches.clear()
            self._changed.notify_all()
