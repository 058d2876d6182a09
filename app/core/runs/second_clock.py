"""Checks the worker's clock by comparing the arrival times of events with the times in the events."""

import time
from collections.abc import Callable

from app.core.metrics import CLOCKS
from workloads.protocol import events

# If reading a line took at least this long, the reader had to wait for it; otherwise it was already in the pipe.
WAITED_S = 0.001
# Only the fastest arrival in each interval of this length is kept.
SPAN_S = 0.25
# Three for each quarter.
ARRIVALS_AT_LEAST = 12
# Metrics that only the parent process may send.
PARENT_KEYS = frozenset(CLOCKS)


class SecondClock:
    """Compares the worker's clock with this process's clock during the timed steps.

    Both processes read the same system clock, so the times can differ only by the delivery time, which is never
    negative. Therefore the fastest arrivals in the first and last quarters are compared. An arrival counts only
    if the reader was waiting for it and for the next one. This excludes lines that accumulated while this process
    was blocked by a full queue, a slow database or a pause.

    Args:
        clock: Function that returns the time in seconds, from the same kind of clock as the worker's.
    """

    def __init__(self, clock: Callable[[], float] = time.perf_counter) -> None:
        self._clock = clock
        self._asked_s = clock()
        self._last: tuple[float, float] | None = None
        self._arrivals: list[tuple[float, float]] = []  # times by the worker's clock and by this process's clock

    def asked(self) -> None:
        self._asked_s = self._clock()

    def heard(self, event: events.Event | None) -> None:
        """Record that a line has arrived. `event` is None if the line isn't an event."""
        now_s = self._clock()
        was_waited_for = now_s - self._asked_s >= WAITED_S
        if self._last is not None and was_waited_for:
            self._keep(*self._last)
        self._last = (event.t_s, now_s) if was_waited_for and isinstance(event, events.Steps) else None

    def _keep(self, sent_s: float, arrived_s: float) -> None:
        if self._arrivals and arrived_s // SPAN_S == self._arrivals[-1][1] // SPAN_S:
            if arrived_s - sent_s >= self._arrivals[-1][1] - self._arrivals[-1][0]:
                return
            self._arrivals.pop()
        self._arrivals.append((sent_s, arrived_s))

    def metrics(self) -> dict[str, float]:
        """Return the time between the first and last quarters on each clock; empty after too few arrivals."""
        if len(self._arrivals) < ARRIVALS_AT_LEAST:
            return {}
        quarter = len(self._arrivals) // 4
        first, last = (
            min(part, key=lambda each: each[1] - each[0])
            for part in (self._arrivals[:quarter], self._arrivals[-quarter:])
        )
        return {"worker_clock_s": last[0] - first[0], "parent_clock_s": last[1] - first[1]}
