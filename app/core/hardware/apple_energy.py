"""Reads the energy counters of Apple's chips through zeus-apple-silicon, without administrator rights.

macOS estimates the energy from utilisation, clock speed and voltage (IOReport, "Energy Model"). Depending on the
chip, a counter is updated on each read or only every two seconds. In the first versions of macOS 27, the CPU's
counter may stop until the next restart (vladkens/macmon#76). Therefore, if a counter hasn't changed, the energy is
considered unknown, not zero.
"""

import logging
import sys
import time
from collections.abc import Callable
from typing import Any, Literal

from app.core.hardware.system_files import answer_of

_logger = logging.getLogger(__name__)

# Fields of zeus_apple_silicon.AppleEnergyMetrics.
Channel = Literal["cpu_total_mj", "gpu_mj"]
# No Mac uses this much, so a larger increase means that the counter was reset.
_MAX_POWER_W = 2_000.0
_COUNTER_LAG_S = 3.0
_LIMIT_S = 1.0
_FAILURES = (ImportError, OSError, RuntimeError, AttributeError)


class AppleEnergy:
    """Accumulates the increases of a counter, for use from one thread. The counter is opened on first use."""

    def __init__(self, channel: Channel, clock: Callable[[], float] = time.monotonic) -> None:
        self._channel = channel
        self._clock = clock
        self._monitor: Any = None
        self._is_open = False
        self._has_counter: bool | None = None
        self._before_mj: int | None = None
        self._changed_s: float | None = None
        self._energy_j = 0.0

    @property
    def is_there(self) -> bool:
        """Whether this computer has the counter, as determined on first use."""
        if self._has_counter is None:
            self._has_counter = self._count_mj() is not None
        return self._has_counter

    def read(self) -> tuple[float | None, float | None]:
        """Return the energy in joules since the counter first changed, and the latest mean power in watts.

        The power is the mean since the previous change. Energy and power are None if the counter can't be read or
        hasn't changed since the previous read.
        """
        now_s, count_mj = self._clock(), self._count_mj()
        before_mj, self._before_mj = self._before_mj, count_mj
        if count_mj is None or before_mj is None or count_mj == before_mj:
            return None, None
        changed_s, self._changed_s = self._changed_s, now_s
        if changed_s is None:  # only now it is known when the counter's period began
            return self._energy_j, None
        grown_j, elapsed_s = (count_mj - before_mj) / 1_000, now_s - changed_s
        if not 0 < grown_j <= _MAX_POWER_W * (elapsed_s + _COUNTER_LAG_S):
            return None, None
        self._energy_j += grown_j
        return self._energy_j, grown_j / elapsed_s if elapsed_s > 0 else None

    def _count_mj(self) -> int | None:
        if not self._is_open:
            self._is_open, self._monitor = True, _open()
        if self._monitor is None:
            return None
        try:
            count_mj = getattr(self._monitor.get_cumulative_energy(), self._channel)
        except _FAILURES as error:
            _logger.info("The energy counters cannot be read: %s", error)
            self._monitor = None
            return None
        return count_mj if isinstance(count_mj, int) and 0 <= count_mj < 2**62 else None


def _open() -> Any:
    """Return a zeus_apple_silicon.AppleEnergyMonitor; None on other computers and in virtual machines."""
    # In a virtual machine, macOS may lack these counters, and the package can't handle that.
    if sys.platform != "darwin" or answer_of(["sysctl", "-n", "kern.hv_vmm_present"], _LIMIT_S) != b"0\n":
        return None
    try:
        import zeus_apple_silicon

        return zeus_apple_silicon.AppleEnergyMonitor()
    except _FAILURES as error:  # a missing package or an unknown version of macOS
        _logger.info("The energy counters cannot be opened: %s", error)
        return None
