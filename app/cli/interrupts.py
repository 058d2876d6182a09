"""What Ctrl-C does while something runs."""

import os
import signal
import sys
import time
from typing import Protocol

STUCK_S = 3.0


class Stoppable(Protocol):
    """A run, or several: app.core.running.session.Session, app.core.running.sequence.Sequence."""

    def cancel(self) -> None:
        """Ask it to stop."""

    def kill(self) -> None:
        """End it now."""

    def wait(self, timeout_s: float | None = None) -> bool:
        """Wait for its end; returns whether it has ended."""


class Interrupts:
    """Ctrl-C, or a request to end: the first one cancels the run, the second one ends its worker at once."""

    def __init__(self) -> None:
        self._running: Stoppable | None = None
        self._presses = 0
        self._killed_s: float | None = None

    @property
    def is_pressed(self) -> bool:
        """Whether the user wants it to stop."""
        return self._presses > 0

    def __enter__(self) -> "Interrupts":
        self._before = {number: signal.signal(number, self._press) for number in (signal.SIGINT, signal.SIGTERM)}
        return self

    def __exit__(self, *exception: object) -> None:
        for number, old in self._before.items():
            signal.signal(number, old)

    def wait(self, running: Stoppable) -> None:
        """Wait for the end of the run, or leave it when it is stuck in an output that nobody reads."""
        self._running = running
        if self._presses:
            running.cancel()
        while not running.wait(0.2):
            if self._killed_s is not None and time.monotonic() - self._killed_s > STUCK_S:
                # The next start finds the run interrupted, with its epochs.
                os._exit(130)

    def _press(self, number: int, frame: object) -> None:
        self._presses += 1
        if self._presses == 1:
            if self._running is not None:
                self._running.cancel()
            print("\nCancelling; what was measured is kept (Ctrl-C again ends it at once).", file=sys.stderr)
        elif self._running is not None:
            self._killed_s = time.monotonic()
            self._running.kill()
