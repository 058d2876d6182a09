"""Transfer rates."""

import time
from collections.abc import Callable

_SETTLED_S = 1.0  # earlier rates aren't meaningful


class Rate:
    """Transfer rate since the first call to `note`, excluding data that was already present."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._begun: tuple[float, int] | None = None  # start time, and number of bytes present then

    def note(self, done_bytes: int) -> None:
        if self._begun is None:
            self._begun = self._clock(), done_bytes

    def bytes_per_s(self, done_bytes: int) -> float | None:
        """Return the rate in bytes per second; None in the first second or if nothing has been received."""
        if self._begun is None:
            return None
        elapsed_s, arrived_bytes = self._clock() - self._begun[0], done_bytes - self._begun[1]
        return arrived_bytes / elapsed_s if elapsed_s >= _SETTLED_S and arrived_bytes > 0 else None
