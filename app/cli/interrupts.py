"""Ends commands and cancels runs on Ctrl-C, SIGTERM and Ctrl-Break (Windows)."""

import contextlib
import os
import select
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable
from typing import Any, NoReturn, Protocol

from app.core.messages import sentence

STUCK_S = 3.0
EXIT_INTERRUPTED = 130
_LOST_S = 0.01

# SIGBREAK is Ctrl-Break on Windows. It is also sent when the console is closed or the user logs off, but then the
# process ends immediately, and the next start marks the run as interrupted.
SIGNALS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGBREAK") if hasattr(signal, name))
_Handlers = dict[int, Any]


class TerminatedError(BaseException):
    """This process received SIGTERM and is cleaning up before it exits."""


class Ending:
    """Ends a command on the first Ctrl-C or SIGTERM, at any time, without a traceback.

    Further signals don't interrupt the clean-up unless it takes too long.
    """

    def __init__(self) -> None:
        self._before: _Handlers = {}
        self._pressed_s: float | None = None
        self._code: int | None = None

    def begin(self) -> None:
        """Install the signal handlers. Call this inside the `try` block that catches their exceptions."""
        self._unraisable, sys.unraisablehook = sys.unraisablehook, self._catch_lost
        self._before = _handle(self._press)

    def end(self, code: int) -> None:
        """Restore the signal handlers.

        If `code` indicates an interruption, further signals are ignored, so that they can't change the exit code.
        """
        self._code = code  # handlers don't run between these calls, so none raises from now on
        is_ending = code == EXIT_INTERRUPTED
        _give_back(
            {
                number: signal.SIG_IGN if is_ending and old is signal.SIG_DFL else old
                for number, old in self._before.items()
            }
        )
        sys.unraisablehook = self._unraisable

    def _press(self, number: int, frame: object) -> None:
        if self._code is not None:
            if self._code != EXIT_INTERRUPTED:
                die_by(number)
        elif self._pressed_s is None:
            self._pressed_s = time.monotonic()
            raise KeyboardInterrupt if number == signal.SIGINT else TerminatedError
        elif time.monotonic() - self._pressed_s > STUCK_S:
            die_by(number)

    def _catch_lost(self, lost: "sys.UnraisableHookArgs") -> None:
        """Send the signal again if Python couldn't raise its exception, for example in a destructor."""
        if not issubclass(lost.exc_type, KeyboardInterrupt | TerminatedError):
            self._unraisable(lost)
            return
        number = signal.SIGINT if issubclass(lost.exc_type, KeyboardInterrupt) else signal.SIGTERM
        self._pressed_s = None
        again = threading.Timer(_LOST_S, _send_to_main_thread, (number,))
        again.daemon = True
        again.start()


class Stoppable(Protocol):
    """A run or a plan: app.core.runs.session.Session or app.core.runs.plan_session.PlanSession."""

    def cancel(self) -> None: ...  # request cancellation

    def kill(self) -> None: ...  # kill the worker immediately

    def wait(self, timeout_s: float | None = None) -> bool: ...  # return whether it has ended


class Interrupts:
    """Handles Ctrl-C and SIGTERM during runs: the first signal cancels the run, and the second kills its worker.

    The signal handlers do nothing, because they may run between any two instructions, even while the main thread
    holds a lock. Python itself writes each signal's number to a socket, which a thread of this class reads. This
    works even if the main thread is blocked writing output. If the run doesn't end in time, the process exits
    anyway.
    """

    def __init__(self) -> None:
        self._running: Stoppable | None = None
        self._presses = 0
        self._lock = threading.Lock()
        self._ended = threading.Event()

    @property
    def is_pressed(self) -> bool:
        return self._presses > 0

    def __enter__(self) -> "Interrupts":
        self._reading, self._writing = socket.socketpair()
        self._writing.setblocking(False)
        threading.Thread(target=self._watch, daemon=True, name="interrupts").start()
        self._wakeup = signal.set_wakeup_fd(self._writing.fileno(), warn_on_full_buffer=False)
        self._before = _handle(lambda *_: None)
        return self

    def __exit__(self, *exception: object) -> None:
        _give_back(self._before)
        signal.set_wakeup_fd(self._wakeup)
        self._ended.set()
        self._writing.close()

    def wait(self, running: Stoppable) -> None:
        with self._lock:
            self._running = running
            presses = self._presses
        self._carry_out(running, presses)
        while not running.wait(0.2):  # short waits, because Windows delivers signals only in between
            pass

    def _watch(self) -> None:
        with self._reading:
            while numbers := self._reading.recv(64):
                for number in numbers:
                    if number in SIGNALS:
                        self._count()

    def _count(self) -> None:
        with self._lock:
            self._presses += 1
            running, presses = self._running, self._presses
        if presses == 2:
            threading.Thread(target=self._leave_if_stuck, daemon=True, name="stuck").start()
        if running is not None and presses <= 2:
            self._carry_out(running, presses)
        if presses == 1:
            with contextlib.suppress(OSError, ValueError):
                if os.name != "posix" or select.select([], [2], [], 0)[1]:  # writing wouldn't block
                    os.write(2, ("\n" + sentence("cli.cancelling") + "\n").encode("ascii", "replace"))

    def _carry_out(self, running: Stoppable, presses: int) -> None:
        if presses == 1:
            running.cancel()
        elif presses > 1:
            running.kill()

    def _leave_if_stuck(self) -> None:
        if not self._ended.wait(STUCK_S):
            # The next start marks the run as interrupted and keeps its epochs.
            os._exit(EXIT_INTERRUPTED)


def die_by(number: int) -> NoReturn:
    """End this process with a signal, as if the signal had no handler."""
    signal.signal(number, signal.SIG_DFL)
    signal.raise_signal(number)
    os._exit(128 + number)  # in case the signal is blocked


def _send_to_main_thread(number: int) -> None:
    main_thread = threading.main_thread().ident
    if sys.platform != "win32" and main_thread is not None:
        signal.pthread_kill(main_thread, number)  # interrupts any blocking call
    else:
        signal.raise_signal(number)


def _handle(handler: Callable[[int, Any], None]) -> _Handlers:
    """Install a handler for all signals that aren't ignored, and return the previous handlers."""
    if threading.current_thread() is not threading.main_thread():
        return {}
    kept: _Handlers = {number: signal.getsignal(number) for number in SIGNALS}
    # nohup ignores them, as do shells for background processes.
    mine = {number: old for number, old in kept.items() if old is not signal.SIG_IGN}
    for number in mine:
        signal.signal(number, handler)
    return mine


def _give_back(handlers: _Handlers) -> None:
    for number, handler in handlers.items():
        signal.signal(number, handler)
