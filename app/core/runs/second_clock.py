"""A second clock: when a worker's events arrive, against when it says that it sent them."""

import time
from collections.abc import Callable

from workloads.protocol import events

# A line that took at least this long to come was waited for; others had been waiting in the pipe.
WAITED_S = 0.001
# At most one arrival in this time is kept: the promptest.
SPAN_S = 0.25
# Three for each quarter.
ARRIVALS_AT_LEAST = 12
# Only the parent may send these.
PARENT_KEYS = frozenset({"worker_clock_s", "parent_clock_s"})


class SecondClock:
    """Compares the worker's clock with this process's over the timed steps.

    Both processes read the same clock of the system, which runs on or stops for both alike. Only the delivery
    differs, and only ever adds time: so the promptest arrivals are compared, of the first and of the last quarter.
    An arrival counts if the reader was waiting for it, and for the next one as well: whatever piled up while this
    process was held up, by a full queue, a slow database or a stop, does not.

    Args:
        clock: Must be the worker's kind of clock.
    """

    def __init__(self, clock: Callable[[], float] = time.perf_counter) -> None:
        self._clock = clock
        self._asked_s = clock()
        self._last: tuple[float, float] | None = None
        self._arrivals: list[tuple[float, float]] = []  # by the worker's clock, and by this process's

    def asked(self) -> None:
        """Note that the reader begins to wait for a line."""
        self._asked_s = self._clock()

    def heard(self, event: events.Event | None) -> None:
        """Note that the line has come; None if it isn't an event."""
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
        """Return the time from the first quarter to the last by both clocks; nothing with too few arrivals."""
        if len(self._arrivals) < ARRIVALS_AT_LEAST:
            return {}
        quarter = len(self._arrivals) // 4
        first, last = (
            min(part, key=lambda each: each[1] - each[0])
            for part in (self._arrivals[:quarter], self._arrivals[-quarter:])
        )
        return {"worker_clock_s": last[0] - first[0], "parent_clock_s": last[1] - first[1]}
