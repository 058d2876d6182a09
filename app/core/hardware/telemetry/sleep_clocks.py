"""Clocks for measuring how long the computer slept: one that stops during sleep, and one that continues.

- Linux: CLOCK_MONOTONIC, CLOCK_BOOTTIME.
- Windows: the unbiased interrupt time, which excludes sleep, and the milliseconds since startup (Microsoft,
  QueryUnbiasedInterruptTime and GetTickCount64). Python's own clock includes sleep.
- macOS: mach_absolute_time and mach_continuous_time, available as CLOCK_UPTIME_RAW and CLOCK_MONOTONIC_RAW.
"""

import ctypes
import sys
import time
from collections.abc import Callable
from types import ModuleType
from typing import Any

Clock = Callable[[], float]


def clocks_of_this_system() -> tuple[Clock, Clock | None]:
    """Return a clock that stops while the computer sleeps and one that continues, both in seconds.

    The second is None if the system has no such clock or doesn't document it.
    """
    if sys.platform.startswith("linux"):
        return time.monotonic, lambda: time.clock_gettime(time.CLOCK_BOOTTIME)
    pair = windows_clocks(_kernel32()) if sys.platform == "win32" else macos_clocks(time)
    return pair if pair is not None else (time.monotonic, None)


def windows_clocks(kernel32: Any) -> tuple[Clock, Clock] | None:
    """Return Windows' clocks; None if the library doesn't provide them.

    Args:
        kernel32: Library with QueryUnbiasedInterruptTime and GetTickCount64, or None.
    """
    try:
        query, ticks = kernel32.QueryUnbiasedInterruptTime, kernel32.GetTickCount64
        ticks.restype = ctypes.c_ulonglong
    except AttributeError:
        return None
    count = ctypes.c_ulonglong()
    if not query(ctypes.byref(count)):
        return None

    def awake_s() -> float:
        query(ctypes.byref(count))
        return count.value / 1e7  # in units of 100 ns

    return awake_s, lambda: ticks() / 1000


def macos_clocks(clocks: ModuleType) -> tuple[Clock, Clock] | None:
    """Return macOS's clocks; None on other systems.

    Args:
        clocks: The `time` module.
    """
    awake, always = (getattr(clocks, name, None) for name in ("CLOCK_UPTIME_RAW", "CLOCK_MONOTONIC_RAW"))
    if awake is None or always is None:
        return None
    return lambda: clocks.clock_gettime(awake), lambda: clocks.clock_gettime(always)


def _kernel32() -> Any:
    return getattr(getattr(ctypes, "windll", None), "kernel32", None)
