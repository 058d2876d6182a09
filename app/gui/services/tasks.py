"""Runs slow work (longer than a frame) in threads, and delivers the results in the GUI thread."""

import threading
from collections.abc import Callable
from functools import partial
from typing import TypeVar

from PySide6.QtCore import QObject, Qt, Signal

from app.core.errors import AppError
from app.core.messages import message

_Result = TypeVar("_Result")


class Latest:
    """Ignores the answers to all requests except the latest."""

    def __init__(self) -> None:
        self._number = 0

    def only(self, done: Callable[[_Result], None]) -> Callable[[_Result], None]:
        """Return a callback that passes an answer to `done`, unless there is a later request."""
        self.drop()
        number = self._number

        def hand_over(result: _Result) -> None:
            if number == self._number:
                done(result)

        return hand_over

    def drop(self) -> None:
        self._number += 1


class Tasks(QObject):
    """Runs functions in the background. Results are ignored after `close`."""

    finished = Signal(object)

    def __init__(self) -> None:
        super().__init__()
        self._closed = False
        self._running: set[threading.Thread] = set()
        self.finished.connect(self._hand_over, Qt.ConnectionType.QueuedConnection)

    def start(
        self, work: Callable[[], _Result], done: Callable[[_Result], None], failed: Callable[[AppError], None]
    ) -> None:
        """Run `work` in a new thread, then call `done` or `failed` in the GUI thread.

        Exceptions other than AppError are bugs in Epochmark. Such exceptions are re-raised in the GUI thread after
        `failed` has been called.
        """

        def run() -> None:
            outcome: Callable[[], None]
            try:
                result = work()
            except AppError as error:
                outcome = partial(failed, error)
            except BaseException as error:  # noqa: BLE001 - re-raised in the GUI thread
                outcome = partial(_fail, failed, error)
            else:
                outcome = partial(done, result)
            if not self._closed:
                self.finished.emit(outcome)
            # This must come last, because `close` waits for threads that are emitting. Otherwise Qt could be
            # destroyed while they do.
            self._running.discard(threading.current_thread())

        # Daemon, so that a download waiting for its server doesn't keep the process alive.
        thread = threading.Thread(target=run, daemon=True, name="task")
        self._running.add(thread)
        thread.start()

    def close(self, patience_s: float = 2.0) -> None:
        self._closed = True
        for thread in list(self._running):
            thread.join(patience_s / max(1, len(self._running)))

    def _hand_over(self, outcome: Callable[[], None]) -> None:
        if not self._closed:
            outcome()


def _fail(failed: Callable[[AppError], None], error: BaseException) -> None:
    failed(AppError(message("fault.task_stopped", reason=str(error))))
    raise error
