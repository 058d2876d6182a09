"""Work that may take longer than a frame: run in a thread, with the result delivered in the window's thread."""

import threading
from collections.abc import Callable
from functools import partial
from typing import TypeVar

from PySide6.QtCore import QObject, Qt, Signal

from app.core.errors import AppError
from app.core.messages import message

_Result = TypeVar("_Result")


class Latest:
    """Drops all answers except the answer to the latest of several requests."""

    def __init__(self) -> None:
        self._number = 0

    def only(self, done: Callable[[_Result], None]) -> Callable[[_Result], None]:
        """Return a callback that passes an answer to `done`, unless a later request has been made."""
        self.drop()
        number = self._number

        def hand_over(result: _Result) -> None:
            if number == self._number:
                done(result)

        return hand_over

    def drop(self) -> None:
        """Drop the answers to all previous requests."""
        self._number += 1


class Tasks(QObject):
    """Runs functions in the background. Results that arrive after `close` are dropped."""

    finished = Signal(object)

    def __init__(self) -> None:
        super().__init__()
        self._closed = False
        self._running: set[threading.Thread] = set()
        self.finished.connect(self._hand_over, Qt.ConnectionType.QueuedConnection)

    def start(
        self,
        work: Callable[[], _Result],
        done: Callable[[_Result], None],
        failed: Callable[[AppError], None],
    ) -> None:
        """Run the work in a new thread, then call `done` or `failed` in the window's thread.

        Errors other than AppError are bugs in Epochmark. `failed` is called, and they are raised again in the
        window's thread.
        """

        def run() -> None:
            outcome: Callable[[], None]
            try:
                result = work()
            except AppError as error:
                outcome = partial(failed, error)
            except BaseException as error:  # noqa: BLE001 - handed over, to be raised where it is seen
                outcome = partial(_fail, failed, error)
            else:
                outcome = partial(done, result)
            if not self._closed:
                self.finished.emit(outcome)
            # Last, because `close` waits for threads that are delivering; otherwise Qt would be gone during their
            # signal.
            self._running.discard(threading.current_thread())

        # A daemon, so that a download waiting for its server doesn't keep the program running.
        thread = threading.Thread(target=run, daemon=True, name="task")
        self._running.add(thread)
        thread.start()

    def close(self, patience_s: float = 2.0) -> None:
        """Drop waiting tasks, and give running ones a moment to finish."""
        self._closed = True
        for thread in list(self._running):
            thread.join(patience_s / max(1, len(self._running)))

    def _hand_over(self, outcome: Callable[[], None]) -> None:
        if not self._closed:
            outcome()


def _fail(failed: Callable[[AppError], None], error: BaseException) -> None:
    failed(AppError(message("fault.task_stopped", reason=str(error))))
    raise error
