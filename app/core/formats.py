"""Formats numbers with their units, independently of the language."""

import math

_GIB_BYTES = 2**30
# Largest ratio of installed to reported memory, and largest relative difference for GPUs.
_KEPT_BY_SYSTEM = 1.04
_KEPT_BY_DRIVER = 0.02


def rounded(value: float, uncertain: float | None) -> float:
    """Return a value rounded to the second digit of its uncertainty, given in the same unit; None if unknown."""
    return round(value, 1 - math.floor(math.log10(uncertain))) if uncertain else value


def format_within(half_pct: float) -> str:
    """Format a margin with two significant digits, such as "± 33 %" or "± 2.3 %"; "± <0.1 %" if it is smaller."""
    if half_pct < 0.05:
        return "± <0.1 %"
    return f"± {half_pct:.{0 if half_pct >= 9.95 else 1}f} %"


def format_seconds(duration_s: float | None) -> str:
    """Format a duration in seconds with three significant digits, such as "0.0213", "4.12", "66.3" or "12,345"."""
    if duration_s is None:
        return "n/a"
    for limit, digits in ((99.95, 0), (9.995, 1), (0.9995, 2), (0.09995, 3)):
        if duration_s >= limit:
            return f"{duration_s:,.{digits}f}"
    return f"{duration_s:.4f}"


def format_ratio(ratio: float | None) -> str:
    """Format a ratio with two significant digits, such as "4.8×", "53×" or "0.27×"; "n/a" for None."""
    if ratio is None:
        return "n/a"
    for limit, digits in ((9.95, 0), (0.995, 1), (0.0995, 2), (0.00995, 3)):
        if ratio >= limit:
            return f"{ratio:.{digits}f}×"
    return f"{ratio:.4f}×"


def format_rate(per_s: float | None) -> str:
    """Format a rate with one decimal place, or two significant digits below 1: "2.8", "0.27" or "0.015"."""
    if per_s is None:
        return "n/a"
    return f"{per_s:,.1f}" if per_s >= 0.995 or per_s <= 0 else format_ratio(per_s).removesuffix("×")


def format_energy(energy_j: float | None) -> str:
    """Format an energy in J or kJ and in Wh: "870 J (0.24 Wh)", "12.3 kJ (3.4 Wh)"; "n/a" for None."""
    if energy_j is None:
        return "n/a"
    joules = f"{energy_j / 1e3:,.1f} kJ" if energy_j >= 1e3 else f"{energy_j:.0f} J"
    return f"{joules} ({energy_j / 3600:,.{1 if energy_j >= 3600 else 2}f} Wh)"


def format_file_size(size_bytes: float | None) -> str:
    """Format the size of a file or download in decimal units, such as "170 MB", "15.6 GB" or "2.0 TB"."""
    return "n/a" if size_bytes is None else _sized(size_bytes, 1000)


def format_memory(memory_bytes: float | None) -> str:
    """Format an amount of memory in binary units with their common names: "1.5 GB" is 1.5 × 2³⁰ bytes."""
    return "n/a" if memory_bytes is None else _sized(memory_bytes, 1024)


def format_installed_memory(memory_bytes: float | None) -> str:
    """Format a computer's memory as sold, such as "24 GB" if 23.6 GiB are usable.

    Firmware and kernel reserve some memory, so a system reports 7.7 of 8, 15.5 of 16, 62.6 of 64 or 125.6 of 128.
    The result is the next common size (in steps of 1 GB below 16, 2 below 32, 4 below 64 …) if it is at most 4 %
    larger. Otherwise it is the reported amount, because a virtual machine can have any amount.
    """
    if memory_bytes is None or memory_bytes < _GIB_BYTES:
        return format_memory(memory_bytes)
    memory_gib = memory_bytes / _GIB_BYTES
    step_gib = max(1, 2 ** (int(memory_gib).bit_length() - 4))
    nominal_gib = math.ceil(memory_gib / step_gib) * step_gib
    return _sold(nominal_gib) if nominal_gib <= _KEPT_BY_SYSTEM * memory_gib else format_memory(memory_bytes)


def format_gpu_memory(memory_bytes: float | None) -> str:
    """Format a GPU's memory as sold, such as "80 GB" for 81,559 MiB. The driver reserves a small part.

    The result is a whole number if one is within 2 %, otherwise the reported amount.
    """
    if memory_bytes is None:
        return "n/a"
    memory_gib = memory_bytes / _GIB_BYTES
    nominal_gib = round(memory_gib)
    is_near = abs(nominal_gib - memory_gib) <= _KEPT_BY_DRIVER * nominal_gib
    return _sold(nominal_gib) if nominal_gib and is_near else format_memory(memory_bytes)


def _sold(size_gib: int) -> str:
    return f"{size_gib} GB" if size_gib < 1024 else f"{size_gib / 1024:.4g} TB"


def _sized(size_bytes: float, base: int) -> str:
    """Format a size in the first unit in which it is less than `base` after rounding; never as "1000 MB"."""
    *units, largest = (("B", 0), ("kB", 0), ("MB", 0), ("GB", 1), ("TB", 1))
    for power, (unit, digits) in enumerate(units):
        if round(size_bytes / base**power, digits) < base:
            return f"{size_bytes / base**power:.{digits}f} {unit}"
    return f"{size_bytes / base ** len(units):.{largest[1]}f} {largest[0]}"
