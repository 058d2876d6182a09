"""Transfer rates."""

import time
from collections.abc import Callable

_SETTLED_S = 1.0  # before this time, a rate isn't meaningful


class Rate:
    """Bytes per second since the first call of `note`, excluding data present before.

    Args:
        clock: Returns seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._begun: tuple[float, int] | None = None  # the start time, and the bytes present by then

    def note(self, done_bytes: int) -> None:
        """Start measuring, unless already started."""
        if self._begun is None:
            self._begun = self._clock(), done_bytes

    def bytes_per_s(self, done_bytes: int) -> float | None:
        """Return the rate; None in the first second, and while nothing arrives."""
        if self._begun is None:
            return None
        elapsed_s, arrived_bytes = self._clock() - self._begun[0], done_bytes - self._begun[1]
        return arrived_bytes / elapsed_s if elapsed_s >= _SETTLED_S and arrived_bytes > 0 else None
