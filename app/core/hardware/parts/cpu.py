"""Describes the CPU: kinds of cores, clocks, caches, and the instruction sets relevant to neural networks.

Parsers are pure functions of text, bytes or a root folder, so tests can run on any system.
"""

import ctypes
import struct
import sys
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from app.core.hardware.system_files import count_of, numbers_in, output_of, read_count, read_text, read_word
from workloads.engines.cpu_allowance import windows_relations, windows_topology

# Linux's names in /proc/cpuinfo, by common name.
_LINUX_FLAGS = {
    "AVX2": ("avx2",),
    "AVX-512": ("avx512f",),
    "VNNI": ("avx512_vnni", "avx_vnni"),
    "BF16": ("avx512_bf16", "bf16", "amx_bf16"),
    "AMX": ("amx_tile",),
    "NEON": ("asimd",),
    "I8MM": ("i8mm",),
    "SVE": ("sve",),
}
# Names in sysctl on macOS.
_MACOS_FLAGS = {
    "AVX2": ("hw.optional.avx2_0",),
    "AVX-512": ("hw.optional.avx512f",),
    "BF16": ("hw.optional.arm.FEAT_BF16",),
    "NEON": ("hw.optional.neon", "hw.optional.AdvSIMD"),
    "I8MM": ("hw.optional.arm.FEAT_I8MM",),
}
# Constants of IsProcessorFeaturePresent, from winnt.h, which has none for the other instruction sets.
_WINDOWS_FLAGS = {"AVX2": 40, "AVX-512": 41, "NEON": 19}
_MACOS_NAMES = [
    f"hw.perflevel{level}.{name}"
    for level in (0, 1)
    for name in ("physicalcpu", "l1dcachesize", "l2cachesize", "cpusperl2")
]
_MACOS_NAMES += ["hw.physicalcpu", "hw.packages", "hw.l1dcachesize", "hw.l2cachesize", "hw.l3cachesize"]
_MACOS_NAMES += ["hw.cpufrequency", "hw.cpufrequency_max"]
_PROCESSOR_CORE, _CACHE = 0, 2  # LOGICAL_PROCESSOR_RELATIONSHIP, from winnt.h
_UNIFIED, _DATA = 0, 2  # values of PROCESSOR_CACHE_TYPE
# No processor is sold with a faster clock. Some drivers compute a maximum that isn't possible, such as 7,253 MHz.
_MAX_MHZ = 6_500.0
# Equal cores differ by a few percent, and favoured ones by more. Two kinds differ by at least this factor.
_KINDS_FACTOR = 1.3
_BOOST_FACTOR = 1.05  # smaller increases of acpi-cpufreq's highest clock over the base clock are rounding errors


@dataclass(frozen=True, slots=True)
class Cpu:
    """Properties of a CPU, as in workloads.protocol.machine.Machine."""

    performance_cores: int | None = None
    efficiency_cores: int | None = None
    cpu_base_mhz: float | None = None
    cpu_boost_mhz: float | None = None
    l1_data_bytes: int | None = None
    l2_bytes: int | None = None
    l3_bytes: int | None = None
    instruction_sets: tuple[str, ...] | None = None


def read_cpu(root: Path = Path("/")) -> Cpu:
    """Describe this computer's CPU."""
    if sys.platform == "win32":
        return windows_cpu(windows_topology(), _windows_flags(), windows_base_mhz())
    if sys.platform == "darwin":
        names = (*_MACOS_NAMES, *(name for names in _MACOS_FLAGS.values() for name in names))
        return macos_cpu(output_of(["sysctl", *names]).decode("utf-8", errors="replace"))
    return linux_cpu(root)


def linux_cpu(root: Path) -> Cpu:
    """Describe a CPU from Linux's proc and sys folders."""
    folders = sorted(root.glob("sys/devices/system/cpu/cpu[0-9]*"))
    performance, efficiency = _linux_kinds(root, folders)
    base_mhz, boost_mhz = _linux_clocks_mhz(folders)
    sizes = _linux_caches(folders)
    return Cpu(
        performance_cores=performance,
        efficiency_cores=efficiency,
        cpu_base_mhz=_clock_mhz(base_mhz),
        cpu_boost_mhz=_clock_mhz(boost_mhz),
        l1_data_bytes=sizes.get((1, "Data")),
        l2_bytes=sizes.get((2, "Unified")),
        l3_bytes=sizes.get((3, "Unified")),
        instruction_sets=linux_instruction_sets(read_text(root / "proc/cpuinfo")),
    )


def linux_instruction_sets(cpuinfo: str) -> tuple[str, ...] | None:
    """Return the instruction sets of the first CPU in /proc/cpuinfo; None if no flags are listed."""
    for line in cpuinfo.splitlines():
        key, _, value = line.partition(":")
        if key.strip() in ("flags", "Features") and value.strip():
            has = set(value.split())
            return tuple(name for name, flags in _LINUX_FLAGS.items() if has.intersection(flags))
    return None


def cache_bytes(text: str) -> int | None:
    """Parse a cache size as written by Linux, such as "48K" or "32M"; None if it is invalid."""
    factor = {"K": 2**10, "M": 2**20, "G": 2**30}.get(text[-1:])
    count = count_of(text[:-1] if factor else text)
    return None if not count else count * (factor or 1)


def macos_cpu(sysctl: str) -> Cpu:
    """Describe a CPU from sysctl's output."""
    values = dict(line.partition(": ")[::2] for line in sysctl.splitlines())
    counts = {name: count for name, text in values.items() if (count := count_of(text.strip())) is not None}
    performance, efficiency = counts.get("hw.perflevel0.physicalcpu"), counts.get("hw.perflevel1.physicalcpu")
    sets = [name for name, keys in _MACOS_FLAGS.items() if any(counts.get(key) == 1 for key in keys)]
    are_known = any(key in counts for keys in _MACOS_FLAGS.values() for key in keys)
    base_hz, boost_hz = counts.get("hw.cpufrequency"), counts.get("hw.cpufrequency_max")
    return Cpu(
        performance_cores=performance if efficiency else None,
        efficiency_cores=efficiency,
        cpu_base_mhz=_clock_mhz(base_hz / 1e6 if base_hz else None),
        cpu_boost_mhz=_clock_mhz(boost_hz / 1e6 if boost_hz and boost_hz != base_hz else None),
        l1_data_bytes=_macos_cache(counts, "l1dcachesize"),
        l2_bytes=_macos_cache(counts, "l2cachesize"),
        l3_bytes=_times(counts.get("hw.l3cachesize"), counts.get("hw.packages", 1)),
        instruction_sets=tuple(sets) if are_known else None,
    )


def windows_cpu(topology: bytes, flags: Mapping[str, bool] | None, base_mhz: float | None) -> Cpu:
    """Describe a CPU from GetLogicalProcessorInformationEx, feature flags and the clock in the registry."""
    classes: list[int] = []
    sizes: Counter[int] = Counter()
    for at, kind, size in windows_relations(topology):
        if kind == _PROCESSOR_CORE and size >= 10:
            classes.append(topology[at + 9])
        elif kind == _CACHE and size >= 20:
            level, _, _, cache_size, cache_kind = struct.unpack_from("<BBHII", topology, at + 8)
            if cache_kind in (_UNIFIED, _DATA):
                sizes[level] += cache_size
    mixed = len(set(classes)) > 1
    performance = classes.count(max(classes)) if mixed else None
    return Cpu(
        performance_cores=performance,
        efficiency_cores=len(classes) - performance if performance is not None else None,
        cpu_base_mhz=_clock_mhz(base_mhz),
        l1_data_bytes=sizes.get(1) or None,
        l2_bytes=sizes.get(2) or None,
        l3_bytes=sizes.get(3) or None,
        # Windows only reports whether a feature is present.
        instruction_sets=None if flags is None else tuple(name for name, there in flags.items() if there),
    )


def _linux_clocks_mhz(folders: list[Path]) -> tuple[float | None, float | None]:
    """Return the base and boost clocks in MHz. Without boost, acpi-cpufreq's maximum is the base clock."""
    base_khz = _highest(folders, "cpufreq/base_frequency")
    nominal_mhz = _highest(folders, "acpi_cppc/nominal_freq")
    highest_khz = _highest(folders, "cpufreq/cpuinfo_max_freq")
    base_mhz = base_khz / 1000 if base_khz else nominal_mhz
    highest_mhz = highest_khz / 1000 if highest_khz else None
    is_acpi = any(read_word(folder / "cpufreq/scaling_driver") == "acpi-cpufreq" for folder in folders[:1])
    if not is_acpi or highest_mhz is None or (base_mhz and highest_mhz > _BOOST_FACTOR * base_mhz):
        return base_mhz, highest_mhz
    return base_mhz or highest_mhz, None


def _linux_kinds(root: Path, folders: list[Path]) -> tuple[int | None, int | None]:
    """Count performance and efficiency cores based on Intel's names or ARM's capacities; None if all are equal."""
    named = [numbers_in(read_text(root / f"sys/devices/cpu_{kind}/cpus")) for kind in ("core", "atom")]
    if not all(named):
        capacities = {folder: read_count(folder / "cpu_capacity") or 0 for folder in folders}
        steps = sorted({capacity for capacity in capacities.values() if capacity})
        factor, lowest = max(((high / low, high) for low, high in pairwise(steps)), default=(1.0, 0))
        if factor < _KINDS_FACTOR:
            return None, None
        fast = {folder for folder, capacity in capacities.items() if capacity >= lowest}
        named = [frozenset(map(_number, fast)), frozenset(map(_number, set(folders) - fast))]
    cores = [
        len({_core(folder) for folder in folders if _number(folder) in numbers and folder.is_dir()})
        for numbers in named
    ]
    return (cores[0], cores[1]) if all(cores) else (None, None)


def _number(folder: Path) -> int:
    return int(folder.name.removeprefix("cpu"))


def _core(folder: Path) -> tuple[str, str]:
    core = read_word(folder / "topology/core_id")
    return read_word(folder / "topology/physical_package_id"), core or folder.name


def _linux_caches(folders: list[Path]) -> dict[tuple[int, str], int]:
    caches: dict[tuple[int, str, str], int] = {}
    for folder in folders:
        for cache in sorted(folder.glob("cache/index[0-9]*")):
            level, kind = read_count(cache / "level"), read_word(cache / "type")
            size = cache_bytes(read_word(cache / "size"))
            if level is not None and size is not None:
                shared = read_word(cache / "shared_cpu_list") or folder.name
                caches[level, kind, shared] = size
    sizes: Counter[tuple[int, str]] = Counter()
    for (level, kind, _), size in caches.items():
        sizes[level, kind] += size
    return sizes


def _highest(folders: list[Path], name: str) -> int | None:
    return max((count for folder in folders if (count := read_count(folder / name))), default=None)


def _clock_mhz(value_mhz: float | None) -> float | None:
    return float(value_mhz) if value_mhz and 1 <= value_mhz <= _MAX_MHZ else None


def _macos_cache(counts: Mapping[str, int], name: str) -> int | None:
    """Return the total size of an L1 or L2 cache, for which older systems report only the size per core."""
    total = 0
    for level in ("perflevel0", "perflevel1"):
        size, cores = counts.get(f"hw.{level}.{name}"), counts.get(f"hw.{level}.physicalcpu")
        if size and cores:
            sharing = counts.get(f"hw.{level}.cpusperl2", 1) if name == "l2cachesize" else 1
            total += size * max(1, cores // max(1, sharing))
    return total or _times(counts.get(f"hw.{name}"), counts.get("hw.physicalcpu"))


def _times(size_bytes: int | None, count: int | None) -> int | None:
    return size_bytes * count if size_bytes and count else None


def _windows_flags() -> dict[str, bool] | None:
    if sys.platform != "win32":
        return None
    ask = ctypes.windll.kernel32.IsProcessorFeaturePresent
    return {name: bool(ask(number)) for name, number in _WINDOWS_FLAGS.items()}


def windows_base_mhz() -> float | None:
    """Return the base clock that Windows measured at startup, from the registry; None if unknown."""
    from app.core.hardware.registry import read_value

    value = read_value(r"HARDWARE\DESCRIPTION\System\CentralProcessor\0", "~MHz")
    return float(value) if isinstance(value, int) else None
