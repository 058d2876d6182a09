"""Summarises a run's telemetry as a table with the minimum, median and maximum of each value."""

import statistics
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from app.core.messages import sentence
from app.core.records import Run
from app.core.titles import throttle_title
from app.core.verdict.judged_run import JudgedRun


@dataclass(frozen=True, slots=True)
class _Unit:
    """The unit and format of a value.

    Attributes:
        scale: Factor from the stored to the displayed value.
    """

    name: str
    digits: int
    scale: float = 1.0


_PERCENT, _CELSIUS, _WATT = _Unit("%", 0), _Unit("°C", 0), _Unit("W", 1)
_GIGAHERTZ, _MEMORY, _RATE = _Unit("GHz", 2, 1e-3), _Unit("GB", 1, 2**-30), _Unit("MB/s", 1, 1e-6)
# Units by field of workloads.protocol.telemetry.Telemetry. Fields whose range isn't meaningful are omitted.
_UNITS = {
    "cpu_pct": _PERCENT,
    "other_cpu_pct": _PERCENT,
    "steal_pct": _PERCENT,
    "cpu_clock_mhz": _GIGAHERTZ,
    "cpu_temperature_c": _CELSIUS,
    "cpu_power_w": _WATT,
    "memory_used_bytes": _MEMORY,
    "swap_used_bytes": _MEMORY,
    "swap_bytes_per_s": _RATE,
    "disk_read_bytes_per_s": _RATE,
    "disk_write_bytes_per_s": _RATE,
    "memory_available_bytes": _MEMORY,
    "cpu_pressure_pct": _PERCENT,
    "memory_pressure_pct": _PERCENT,
    "cpu_held_pct": _PERCENT,
}
# Units by field of GpuTelemetry.
_GPU_UNITS = {
    "utilization_pct": _PERCENT,
    "memory_utilization_pct": _PERCENT,
    "memory_used_bytes": _MEMORY,
    "temperature_c": _CELSIUS,
    "power_w": _WATT,
    "clock_mhz": _GIGAHERTZ,
    "memory_clock_mhz": _GIGAHERTZ,
    "fan_pct": _PERCENT,
    "other_utilization_pct": _PERCENT,
}
Row = tuple[str, str, str, str]


def telemetry_rows(run: JudgedRun) -> list[Row]:
    """Return the name, minimum, median and maximum of each recorded value."""
    rows = []
    for name, curve in run.series.telemetry.items():
        values = [value for value in curve.y if value is not None]
        unit = _UNITS.get(name) or _GPU_UNITS.get(_of_gpu(name)[1])
        if unit is not None:
            rows += _row(telemetry_name(name), unit, values)
    cores = [core_pct for event in run.run.telemetry if (core_pct := event.telemetry.core_pct)]
    rows += _row(sentence("telemetry.busiest_core"), _PERCENT, [max(each) for each in cores])
    rows += _row(sentence("telemetry.idlest_core"), _PERCENT, [min(each) for each in cores])
    return [*rows, *_held_down(run.run)]


def telemetry_name(name: str) -> str:
    """Return the display name of a curve: "GPU 0 power" for "gpu0_power_w". Unknown names are unchanged."""
    gpu, key = _of_gpu(name)
    if name in _UNITS:
        return sentence(f"telemetry.{name}")
    return sentence(f"telemetry.gpu_{key}", gpu=gpu) if key in _GPU_UNITS else name


def _of_gpu(name: str) -> tuple[str, str]:
    """Split a curve name, such as "gpu0_power_w", into GPU number and field; ("", "") if it isn't a GPU's."""
    gpu, _, key = name.removeprefix("gpu").partition("_")
    return (gpu, key) if name.startswith("gpu") and gpu.isdigit() else ("", "")


def _row(label: str, unit: _Unit, values: list[float]) -> list[Row]:
    if not values:
        return []
    low, middle, high = (
        f"{value * unit.scale:,.{unit.digits}f} {unit.name}"
        for value in (min(values), statistics.median(values), max(values))
    )
    return [(label, low, middle, high)]


def _held_down(run: Run) -> Iterator[Row]:
    """Yield the reasons why each GPU's clock was limited, with the share of time for each reason."""
    answers: Counter[int] = Counter()
    held: Counter[tuple[int, str]] = Counter()
    for event in run.telemetry:
        for gpu in event.telemetry.gpus:
            if gpu.throttle_reasons is not None:
                answers[gpu.index] += 1
                held.update((gpu.index, word) for word in gpu.throttle_reasons)
    for (index, word), count in held.items():
        share = sentence("telemetry.share_of_time", share_pct=100 * count / answers[index])
        yield sentence("telemetry.gpu_held_down", gpu=index, reason=throttle_title(word)), "", share, ""
