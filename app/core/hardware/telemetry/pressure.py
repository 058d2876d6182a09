"""On Linux, measures how long programs wait for CPUs or memory, or are throttled by a CPU quota.

Other systems don't report these waits. Sources: Linux, Documentation/accounting/psi.rst (pressure),
Documentation/admin-guide/cgroup-v2.rst (cpu.stat).
"""

import re
from dataclasses import dataclass
from pathlib import Path

from app.core.hardware.system_files import read_text
from workloads.engines.cpu_allowance import cgroup_folders

_SOME_US = re.compile(r"^some .*\btotal=(\d{1,18})\b", re.MULTILINE | re.ASCII)
_PERIODS = re.compile(r"^nr_periods (\d{1,18})$", re.MULTILINE | re.ASCII)
_HELD_PERIODS = re.compile(r"^nr_throttled (\d{1,18})$", re.MULTILINE | re.ASCII)


@dataclass(frozen=True, slots=True)
class Pressure:
    """Percentages since the previous read. Values that the system doesn't report are None."""

    cpu_pct: float | None = None  # percentage of time in which a program waited for a CPU
    memory_pct: float | None = None  # percentage of time in which a program waited for memory
    # Percentage of scheduling periods in which a CPU quota stopped this process's control groups.
    held_pct: float | None = None


class PressureReader:
    """Reads the pressure repeatedly from one thread. Each result covers the time since the previous read."""

    def __init__(self, root: Path = Path("/")) -> None:
        self._cpu, self._memory = (root / "proc/pressure" / name for name in ("cpu", "memory"))
        files = dict.fromkeys(folder / "cpu.stat" for folder in cgroup_folders(root))
        self._quotas = tuple(path for path in files if periods(read_text(path)) is not None)
        self.prime()

    def prime(self) -> None:
        self._waited_us = (waited_us(read_text(self._cpu)), waited_us(read_text(self._memory)))
        self._periods = {path: periods(read_text(path)) for path in self._quotas}

    def read(self, elapsed_s: float) -> Pressure:
        waited_before_us, periods_before = self._waited_us, self._periods
        self.prime()
        cpu_pct, memory_pct = (
            share_pct(before_us, after_us, elapsed_s * 1e6)
            for before_us, after_us in zip(waited_before_us, self._waited_us, strict=True)
        )
        held_pct = [held_share_pct(periods_before.get(path), after) for path, after in self._periods.items()]
        return Pressure(cpu_pct, memory_pct, max((each for each in held_pct if each is not None), default=None))


def waited_us(text: str) -> int | None:
    """Parse the total waiting time in microseconds from a file in /proc/pressure; None if missing."""
    match = _SOME_US.search(text)
    return int(match[1]) if match else None


def periods(text: str) -> tuple[int, int] | None:
    """Parse the number of quota periods, and how many of them were exhausted, from cpu.stat; None if missing."""
    both, held = _PERIODS.search(text), _HELD_PERIODS.search(text)
    return (int(both[1]), int(held[1])) if both and held else None


def share_pct(before: int | None, after: int | None, whole: float) -> float | None:
    """Return the increase of a counter as a percentage of `whole`; None if unknown or if the counter was reset."""
    if before is None or after is None or after < before or whole <= 0:
        return None
    return min(100.0, 100 * (after - before) / whole)


def held_share_pct(before: tuple[int, int] | None, after: tuple[int, int] | None) -> float | None:
    """Return the percentage of quota periods that were exhausted; None without a quota."""
    if before is None or after is None:
        return None
    return share_pct(before[1], after[1], after[0] - before[0])
