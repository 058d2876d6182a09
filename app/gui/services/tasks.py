"""Work that may take longer than a frame: done in a thread, with the result delivered in the window's thread."""

import threading
from collections.abc import Callable
from functools import partial
from typing import TypeVar

from PySide6.QtCore import QObject, Qt, Signal

from app.core.errors import AppError
from app.core.messages import message

_Result = TypeVar("_Result")


class Latest:
    """Lets only the answer to the latest of several questions count; those to earlier ones are dropped."""

    def __init__(self) -> None:
        self._number = 0

    def only(self, done: Callable[[_Result], None]) -> Callable[[_Result], None]:
        """Return what hands an answer to `done`, unless a later question has been asked by then."""
        self.drop()
        number = self._number

        def hand_over(result: _Result) -> None:
            if number == self._number:
                done(result)

        return hand_over

    def drop(self) -> None:
        """Drop the answers to all questions so far."""
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
        """Do the work in a thread of its own; then call `done` or `failed` in the window's thread.

        Errors other than AppError are bugs in Epochmark: `failed` is called, and they are raised again in the
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
            # Last: `close` waits for threads that are delivering, or Qt would be gone under their signal.
            self._running.discard(threading.current_thread())

        # A daemon, so that a download waiting for its server doesn't keep the program alive.
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
