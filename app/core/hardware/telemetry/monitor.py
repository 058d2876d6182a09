"""Collects telemetry, once or at intervals in a thread.

Telemetry is collected in the app's process, never in the worker that is being measured.
"""

import logging
import math
import os
import re
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

import psutil

from app.core.hardware.apple_energy import AppleEnergy
from app.core.hardware.blocking import call_in_thread
from app.core.hardware.gpu.gpus import GpuReader
from app.core.hardware.powercap import CpuLimits
from app.core.hardware.system_files import attempt, read_text
from app.core.hardware.telemetry.energy_counters import PackageEnergy
from app.core.hardware.telemetry.processes import OwnProcesses
from app.core.hardware.telemetry.sensors import CpuClock, CpuTemperature
from app.core.hardware.telemetry.slowdowns import ConditionsReader, rate_per_s
from app.core.messages import sentence
from workloads.engines.cpu_allowance import cgroup_folders
from workloads.protocol.telemetry import Telemetry

_logger = logging.getLogger(__name__)

ROOT = Path("/")
STOP_LIMIT_S = 3.0
# Shorter CPU times aren't conclusive, because systems count them in ticks of up to 16 ms and don't update them
# all at once.
OWN_AT_LEAST_S = 0.2
# The ratio is low because a child that is detected late adds the CPU time of several seconds at once, which
# exceeds the busy time of one second.
BUSY_OF_OWN = 0.1
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


class TelemetryReader:
    """Collects telemetry when called, for use from one thread. CPU use and changes are relative to the last call.

    Without a reader, GPUs are omitted, so that they aren't woken. The worker's load counts as the run's own,
    together with that of its descendants and this process. If it is unknown, so is other programs' load.
    """

    def __init__(self, gpus: GpuReader | None = None, worker_pid: int | None = None, root: Path = ROOT) -> None:
        self._gpus = gpus
        self._own = OwnProcesses(worker_pid, root / "proc")
        self._conditions = ConditionsReader(root)
        self._energy = PackageEnergy(root)
        self._limits = CpuLimits(root)
        self._apple = AppleEnergy("cpu_total_mj") if root == ROOT else None
        self._temperature = CpuTemperature(root)
        self._clock = CpuClock()
        self._disks = DiskCounters(root)
        self._pressure = PressureReader(root)
        self._cpu_times_s: dict[str, float] = {}
        self._energy_j: float | None = None
        self.prime()

    def prime(self) -> None:
        """Start measuring CPU use and changes for the next read."""
        self._conditions.prime()
        self._pressure.prime()
        self._own.spent_s()
        self._cpu_times_s = _cpu_times_s()
        self._core_times_s = _core_times_s()
        self._looked_s = time.monotonic()
        self._read_energy(0.0)
        self._disk_bytes = self._disks.read_bytes()

    def read(self) -> Telemetry:
        """Collect telemetry once. Unknown values are None, including CPU use directly after another read."""
        before, own_s, self._cpu_times_s = self._cpu_times_s, self._own.spent_s(), _cpu_times_s()
        cores_before, self._core_times_s = self._core_times_s, _core_times_s()
        looked_s, self._looked_s = self._looked_s, time.monotonic()
        elapsed_s = self._looked_s - looked_s
        cpu_energy_j, cpu_power_w = self._read_energy(elapsed_s)
        disk_before, self._disk_bytes = self._disk_bytes, self._disks.read_bytes()
        if not are_believable(before, self._cpu_times_s, own_s, time.process_time()):
            before, cores_before = {}, []  # unknown, not 0
        busy_pct, steal_pct = cpu_shares_pct(before, self._cpu_times_s)
        pressure, memory = self._pressure.read(elapsed_s), attempt(psutil.virtual_memory)
        return replace(
            self._conditions.read(),
            cpu_pct=busy_pct,
            cpu_clock_mhz=attempt(self._clock.read_mhz),
            cpu_temperature_c=self._temperature.read_c(),
            memory_used_bytes=None if memory is None else int(memory.used),
            swap_used_bytes=attempt(lambda: int(psutil.swap_memory().used)),
            steal_pct=steal_pct,
            other_cpu_pct=other_share_pct(before, self._cpu_times_s, own_s),
            gpus=() if self._gpus is None else self._gpus.read(self._own.pids),
            core_pct=core_shares_pct(cores_before, self._core_times_s),
            cpu_power_w=cpu_power_w,
            cpu_energy_j=cpu_energy_j,
            disk_read_bytes_per_s=rate_per_s(disk_before[0], self._disk_bytes[0], elapsed_s),
            disk_write_bytes_per_s=rate_per_s(disk_before[1], self._disk_bytes[1], elapsed_s),
            memory_available_bytes=None if memory is None else int(memory.available),
            cpu_pressure_pct=pressure.cpu_pct,
            memory_pressure_pct=pressure.memory_pct,
            cpu_held_pct=pressure.held_pct,
            cpu_power_limit_w=self._limits.read_w(),
        )

    def _read_energy(self, elapsed_s: float) -> tuple[float | None, float | None]:
        """Return the CPU's energy in joules since the first read and mean power in watts since the last read."""
        if self._apple is not None and self._apple.is_there:
            return self._apple.read()
        before_j, self._energy_j = self._energy_j, self._energy.read_j(elapsed_s)
        return self._energy_j, _power_w(before_j, self._energy_j, elapsed_s)

    def close(self) -> None:
        """Close Windows' counters and release the GPU driver. The next read opens them again."""
        self._clock.close()
        if self._gpus is not None:
            self._gpus.close()


class DiskCounters:
    """Counts bytes read and written by disks, excluding Linux's layers on top (RAID, volumes, encryption)."""

    def __init__(self, root: Path = Path("/")) -> None:
        self._blocks = root / "sys/block"
        self._names: frozenset[str] = frozenset()
        self._disks: frozenset[str] = frozenset()

    def read_bytes(self) -> tuple[int | None, int | None]:
        """Return the total bytes read and written by all disks since startup; None if unknown."""
        counts = attempt(lambda: psutil.disk_io_counters(perdisk=True, nowrap=False)) or {}
        if self._names != counts.keys():  # checking each disk takes longer than reading all counters
            self._names = frozenset(counts)
            self._disks = frozenset(filter(self._is_disk, counts))
        disks = [count for name, count in counts.items() if name in self._disks]
        if not disks:
            return None, None
        return sum(int(count.read_bytes) for count in disks), sum(int(count.write_bytes) for count in disks)

    def _is_disk(self, name: str) -> bool:
        if not sys.platform.startswith("linux"):
            return True
        try:
            folder = (self._blocks / name.replace("/", "!")).resolve(strict=True)
        except OSError:
            return False
        # For a multipath NVMe disk, the paths are counted rather than the device that combines them.
        return (folder / "device").exists() and "/devices/virtual/" not in folder.as_posix()


class Monitor:
    """Calls `on_telemetry(monotonic_s, telemetry)` once per interval from its own thread, until stopped.

    Args:
        on_telemetry: Called in the monitor's thread. Exceptions are logged, and the monitor continues.
        interval_s: Seconds between reads, and before the first one.
        reader: A reader, or a function that creates one in the monitor's thread. By default, GPUs are also read.
            The reader is closed when the thread ends.
        stop_limit_s: How long `stop` waits for a hanging driver, in seconds.
        clock: Function that returns monotonic time in seconds.
        wait: Function that waits for an event with a timeout in seconds, and returns whether it is set.
    """

    def __init__(
        self,
        on_telemetry: Callable[[float, Telemetry], None],
        interval_s: float = 1.0,
        reader: TelemetryReader | Callable[[], TelemetryReader] = lambda: TelemetryReader(GpuReader()),
        *,
        stop_limit_s: float = STOP_LIMIT_S,
        clock: Callable[[], float] = time.monotonic,
        wait: Callable[[threading.Event, float], bool] = threading.Event.wait,
    ) -> None:
        self._on_telemetry = on_telemetry
        self._interval_s = interval_s
        self._reader = reader
        self._stop_limit_s = stop_limit_s
        self._clock = clock
        self._wait = wait
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        if self._thread is not None:
            return
        self._stopping = threading.Event()  # a hung thread keeps its own event, so it ends later
        self._thread = threading.Thread(target=self._run, args=(self._stopping,), name="monitor", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Stop reading and reporting telemetry. Returns within `stop_limit_s` even if a driver hangs."""
        thread, self._thread = self._thread, None
        self._stopping.set()
        if thread is None or thread is threading.current_thread():
            return
        thread.join(self._stop_limit_s)
        if thread.is_alive():
            _logger.warning("%s", sentence("hardware.telemetry_not_responding"))

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _run(self, stopping: threading.Event) -> None:
        reader = self._reader if isinstance(self._reader, TelemetryReader) else self._reader()
        reader.prime()
        started_s, tick, last_failure = self._clock(), 0, ""
        while True:
            tick = next_tick(tick, self._clock() - started_s, self._interval_s)
            if self._wait(stopping, max(0.0, started_s + tick * self._interval_s - self._clock())):
                break
            try:
                sampled_s = self._clock()
                telemetry = reader.read()
                if not stopping.is_set():
                    self._on_telemetry(sampled_s, telemetry)
                last_failure = ""
            except Exception as error:  # the monitor must survive any exception, including its callback's
                if repr(error) != last_failure:  # log it once, not every second for hours
                    _logger.exception("Reading telemetry failed")
                last_failure = repr(error)
        reader.close()


def read_telemetry(
    duration_s: float = 1.0,
    count: int = 2,
    *,
    with_gpus: bool = True,
    stop: threading.Event | None = None,
    patience_s: float = STOP_LIMIT_S,
) -> tuple[Telemetry, ...]:
    """Collect telemetry for some time, for example before a run. All other processes count as other load.

    Reading GPUs starts their driver and wakes sleeping ones. `stop` ends the collection early. If a driver hangs,
    the function returns up to `patience_s` later, without the telemetry that was delayed.
    """
    pause = stop or threading.Event()
    telemetry: list[Telemetry] = []

    def keep_reading() -> None:
        reader = TelemetryReader(GpuReader() if with_gpus else None, os.getpid())
        try:
            while len(telemetry) < count and not pause.wait(duration_s / count):
                telemetry.append(reader.read())
        finally:
            reader.close()

    try:
        call_in_thread(keep_reading, "look").result(duration_s + patience_s)
    except TimeoutError:
        _logger.warning("%s", sentence("hardware.telemetry_not_responding"))
    return tuple(telemetry)


def next_tick(tick: int, elapsed_s: float, interval_s: float) -> int:
    """Return the number of the next interval at which to read, skipping those missed by a slow read."""
    return max(tick + 1, math.ceil(elapsed_s / interval_s))


def cpu_shares_pct(
    before_s: Mapping[str, float], after_s: Mapping[str, float]
) -> tuple[float | None, float | None]:
    """Return the busy and stolen percentages of CPU time between two readings of psutil's CPU times.

    As in psutil, stolen time counts as busy. Both percentages are None if no CPU time was counted.
    """
    total_s, busy_s, steal_s = _spent_s(before_s, after_s)
    if total_s <= 0:
        return None, None
    steal_pct = None if steal_s is None else min(100.0, 100 * steal_s / total_s)
    return min(100.0, max(0.0, 100 * busy_s / total_s)), steal_pct


def are_believable(
    before_s: Mapping[str, float], after_s: Mapping[str, float], own_s: float | None, process_s: float
) -> bool:
    """Return whether CPU times are plausible: the CPUs can't be busy for less time than our processes."""
    _, busy_s, _ = _spent_s(before_s, after_s)
    since_boot_s = _spent_s(dict.fromkeys(after_s, 0.0), after_s)[1]
    return not any(
        used_s >= OWN_AT_LEAST_S and counted_s < BUSY_OF_OWN * used_s
        for used_s, counted_s in ((own_s or 0.0, busy_s), (process_s, since_boot_s))
    )


def core_shares_pct(
    before_s: Sequence[Mapping[str, float]], after_s: Sequence[Mapping[str, float]]
) -> tuple[float, ...] | None:
    """Return the busy percentage of each logical CPU; None if the number of CPUs has changed."""
    shares = [cpu_shares_pct(*both)[0] for both in zip(before_s, after_s, strict=False)]
    rounded = tuple(round(share, 1) for share in shares if share is not None)
    return rounded if rounded and len(rounded) == len(before_s) == len(after_s) else None


def other_share_pct(
    before_s: Mapping[str, float], after_s: Mapping[str, float], own_s: float | None
) -> float | None:
    """Return the percentage of CPU time used by other programs, excluding stolen time.

    None if no CPU time was counted, or if the run's own time is unknown.
    """
    total_s, busy_s, steal_s = _spent_s(before_s, after_s)
    if total_s <= 0 or own_s is None:
        return None
    return min(100.0, max(0.0, 100 * (busy_s - (steal_s or 0.0) - own_s) / total_s))


def _spent_s(before_s: Mapping[str, float], after_s: Mapping[str, float]) -> tuple[float, float, float | None]:
    """Return the total, busy and stolen CPU time between two readings; (0, 0, None) if not counted."""
    spent_s = {name: max(0.0, after_s[name] - before_s[name]) for name in after_s if name in before_s}
    if "idle" not in spent_s:
        return 0.0, 0.0, None
    # On Linux, user and nice already include the time of guests.
    total_s = sum(share_s for name, share_s in spent_s.items() if name not in {"guest", "guest_nice"})
    return total_s, total_s - spent_s["idle"] - spent_s.get("iowait", 0.0), spent_s.get("steal")


def _cpu_times_s() -> dict[str, float]:
    # psutil.cpu_percent keeps its state per thread, and its first value in a new thread is a false 0.
    return attempt(lambda: dict(psutil.cpu_times()._asdict())) or {}


def _core_times_s() -> list[dict[str, float]]:
    return attempt(lambda: [dict(times._asdict()) for times in psutil.cpu_times(percpu=True)]) or []


def _power_w(before_j: float | None, after_j: float | None, elapsed_s: float) -> float | None:
    if before_j is None or after_j is None or elapsed_s <= 0 or after_j <= before_j:
        return None  # a running CPU always uses energy
    return (after_j - before_j) / elapsed_s
