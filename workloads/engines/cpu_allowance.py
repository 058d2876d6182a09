"""The CPUs available to this process, as limited by the system, a container, the user or a run's settings."""

import ctypes
import os
import struct
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

_PROCESSOR_CORE, _ALL = 0, 0xFFFF  # LOGICAL_PROCESSOR_RELATIONSHIP values from winnt.h
# On Windows 11 and Server 2022, a process can use all groups of up to 64 CPUs; on older versions, only one group
# (learn.microsoft.com, "Processor Groups").
_SPREADS_SINCE_BUILD = 20_348


def visible_cpus() -> int | None:
    """Return the number of logical CPUs on which this process may run; None if the system doesn't report it."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    if sys.platform == "win32":
        is_spread = sys.getwindowsversion().build >= _SPREADS_SINCE_BUILD
        return cpus_in_masks(*_windows_masks(), os.cpu_count(), is_spread)
    return os.cpu_count()


def can_limit_cpus() -> bool:
    """Return whether this system can pin a process to specific CPUs. macOS can't."""
    return hasattr(os, "sched_setaffinity") or sys.platform == "win32"


def limit_cpus(count: int) -> bool:
    """Limit this process to `count` logical CPUs, and return whether this succeeded. Fewer CPUs may be available.

    Call this before starting threads, because threads inherit the limit.
    """
    if hasattr(os, "sched_setaffinity"):
        chosen = choose_cpus(os.sched_getaffinity(0), linux_cores(), count)
        if len(chosen) == count:
            os.sched_setaffinity(0, chosen)
        return len(os.sched_getaffinity(0)) == count
    return sys.platform == "win32" and _limit_windows(count)


def choose_cpus(allowed: Iterable[int], cores: Mapping[int, tuple[int, str]], count: int) -> set[int]:
    """Return the logical CPUs to use: the fastest cores first, and one CPU of every core before any second one.

    Args:
        allowed: Numbers of the logical CPUs to choose from.
        cores: Speed (in any unit) and name of each CPU's core. CPUs without an entry are treated as separate
            cores.
        count: Number of CPUs. If fewer are allowed, all are returned.
    """
    taken: dict[str, int] = {}
    order = []
    for cpu in sorted(allowed):
        speed, core = cores.get(cpu, (0, f"cpu{cpu}"))
        taken[core] = taken.get(core, 0) + 1
        order.append((taken[core], -speed, cpu))
    return {cpu for _, _, cpu in sorted(order)[:count]}


def linux_cores(root: Path = Path("/")) -> dict[int, tuple[int, str]]:
    """Return the core of each logical CPU, as its maximum clock in kHz (0 if unknown) and its name."""
    cores = {}
    for folder in root.glob("sys/devices/system/cpu/cpu[0-9]*"):
        names = [_read_text(folder / "topology" / part).strip() for part in ("physical_package_id", "core_id")]
        clock = _read_text(folder / "cpufreq/cpuinfo_max_freq").strip()
        if all(names):
            cores[int(folder.name.removeprefix("cpu"))] = (int(clock) if clock.isdecimal() else 0, " ".join(names))
    return cores


def cpus_in_masks(process_mask: int, group_mask: int, cpus: int | None, is_spread: bool) -> int | None:
    """Return the number of logical CPUs that a Windows process may use, from its affinity masks.

    Args:
        process_mask: CPUs of the process; 0 if unknown or spread over several groups.
        group_mask: All CPUs of the process's group.
        cpus: Number of CPUs in all groups; None if unknown.
        is_spread: Whether a process without an affinity limit may use the CPUs of all groups.
    """
    if process_mask == 0 or (is_spread and process_mask == group_mask):
        return cpus
    return process_mask.bit_count()


def windows_cores(topology: bytes, group: int = 0) -> dict[int, tuple[int, str]]:
    """Return the core of each logical CPU in a group, as its efficiency class (higher is faster) and its name.

    Args:
        topology: PROCESSOR_RELATIONSHIP and other structures from winnt.h, as returned by `windows_topology`.
        group: The group that the CPU numbers refer to. A process's affinity mask covers a single group.
    """
    cores: dict[int, tuple[int, str]] = {}
    for at, kind, size in windows_relations(topology):
        if kind == _PROCESSOR_CORE and size >= 42:
            mask, its_group = struct.unpack_from("<QH", topology, at + 32)
            numbers = [number for number in range(64) if mask >> number & 1 and its_group == group]
            cores |= dict.fromkeys(numbers, (topology[at + 9], f"core {at}"))
    return cores


def windows_relations(topology: bytes) -> Iterator[tuple[int, int, int]]:
    """Yield the offset, kind and size in bytes of each structure in Windows' description of its CPUs."""
    at = 0
    while at + 8 <= len(topology):
        kind, size = struct.unpack_from("<II", topology, at)
        if size < 8 or at + size > len(topology):
            return
        yield at, kind, size
        at += size


def windows_topology() -> bytes:
    """Return Windows' description of its CPUs and caches; empty on other systems."""
    if sys.platform != "win32":
        return b""
    ask = ctypes.windll.kernel32.GetLogicalProcessorInformationEx
    size = ctypes.c_ulong(0)
    ask(_ALL, None, ctypes.byref(size))
    if not 0 < size.value < 2**24:
        return b""
    buffer = ctypes.create_string_buffer(size.value)
    return buffer.raw if ask(_ALL, buffer, ctypes.byref(size)) else b""


def _limit_windows(count: int) -> bool:
    if sys.platform != "win32":
        return False
    allowed = [cpu for cpu in range(64) if _windows_masks()[0] >> cpu & 1]
    chosen = choose_cpus(allowed, windows_cores(windows_topology(), _windows_group()), count)
    if len(chosen) < count:
        return False
    kernel, process = _windows_process()
    return bool(kernel.SetProcessAffinityMask(process, ctypes.c_size_t(sum(1 << cpu for cpu in chosen))))


def _windows_masks() -> tuple[int, int]:
    """Return the affinity masks of this process and of its group; 0 if the process spans several groups."""
    kernel, process = _windows_process()
    mine, all_of_them = ctypes.c_size_t(), ctypes.c_size_t()
    if not kernel.GetProcessAffinityMask(process, ctypes.byref(mine), ctypes.byref(all_of_them)):
        return 0, 0
    return mine.value, all_of_them.value


def _windows_group() -> int:
    """Return this thread's group, which is the process's group until threads start in others; 0 if unknown."""
    kernel, _ = _windows_process()
    kernel.GetCurrentThread.restype = ctypes.c_void_p
    affinity = ctypes.create_string_buffer(16)  # a GROUP_AFFINITY: mask, group, reserved
    if not kernel.GetThreadGroupAffinity(ctypes.c_void_p(kernel.GetCurrentThread()), affinity):
        return 0
    return int(struct.unpack_from("<QH", affinity.raw)[1])


def _windows_process() -> tuple[Any, ctypes.c_void_p]:
    windows: Any = ctypes  # these names exist only on Windows
    kernel = windows.WinDLL("kernel32", use_last_error=True)
    kernel.GetCurrentProcess.restype = ctypes.c_void_p
    return kernel, ctypes.c_void_p(kernel.GetCurrentProcess())


def cpu_quota(root: Path = Path("/")) -> float | None:
    """Return the CPU time, in CPUs, that Linux grants to this process's control groups; None if unlimited.

    Args:
        root: Folder that contains proc and sys.
    """
    quotas = [quota for folder in cgroup_folders(root) if (quota := _quota_of(folder)) is not None]
    return min(quotas, default=None)


def cgroup_folders(root: Path) -> list[Path]:
    """Return the folders of the control groups that may limit this process's CPU time: its own and all parents."""
    folders = []
    for line in _read_text(root / "proc/self/cgroup").splitlines():
        number, _, rest = line.partition(":")
        controllers, _, group = rest.partition(":")
        names = controllers.split(",")
        if number == "0" and not controllers:
            tops = [root / "sys/fs/cgroup", root / "sys/fs/cgroup/unified"]
        elif "cpu" in names:
            tops = [root / "sys/fs/cgroup" / name for name in (controllers, "cpu")]
        else:
            continue
        parts = [part for part in group.split("/") if part not in ("", ".", "..")]
        folders += [top.joinpath(*parts[:count]) for top in tops for count in range(len(parts) + 1)]
    return folders


def _quota_of(folder: Path) -> float | None:
    # Version 2 of control groups stores it as "200000 100000", version 1 in two files.
    parts = _read_text(folder / "cpu.max").split()
    if not parts:
        parts = [_read_text(folder / name).strip() for name in ("cpu.cfs_quota_us", "cpu.cfs_period_us")]
    try:
        quota_us, period_us = (float(word) for word in parts)
    except ValueError:  # "max" means no limit
        return None
    return quota_us / period_us if 0 < quota_us < 1e12 and 0 < period_us < 1e12 else None


def _read_text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")[:4_096]
    except (OSError, ValueError):  # ValueError: null byte in a group's name
        return ""
