"""All readings of the machine during a run as a table: the lowest, the typical and the highest of each."""

import statistics
from collections import Counter
from collections.abc import Iterator

from app.core.analysis.series import series_of
from app.core.metrics import Metric
from app.core.records import Run, number

# By the fields of app.core.records.Telemetry and GpuReading; what is not here says nothing as three numbers.
_READINGS = {
    "cpu_pct": Metric("Processor, busy", "%", 0),
    "other_cpu_pct": Metric("Processor, other programs", "%", 0),
    "steal_pct": Metric("Processor, taken by the host", "%", 0),
    "cpu_clock_mhz": Metric("Processor, clock", "GHz", 2, 1e-3),
    "cpu_temperature_c": Metric("Processor, temperature", "°C", 0),
    "cpu_power_w": Metric("Processor, power", "W", 1),
    "memory_used_bytes": Metric("Memory used", "GB", 1, 1e-9),
    "swap_used_bytes": Metric("Swap used", "GB", 1, 1e-9),
    "swap_bytes_per_s": Metric("Swapping", "MB/s", 1, 1e-6),
    "disk_read_bytes_per_s": Metric("Disk reads", "MB/s", 1, 1e-6),
    "disk_write_bytes_per_s": Metric("Disk writes", "MB/s", 1, 1e-6),
    "utilization_pct": Metric("busy", "%", 0),
    "memory_utilization_pct": Metric("memory busy", "%", 0),
    "temperature_c": Metric("temperature", "°C", 0),
    "power_w": Metric("power", "W", 1),
    "clock_mhz": Metric("clock", "GHz", 2, 1e-3),
    "memory_clock_mhz": Metric("memory clock", "GHz", 2, 1e-3),
    "fan_pct": Metric("fan", "%", 0),
}
_GPU_MEMORY = Metric("memory used", "GB", 1, 1e-9)
Row = tuple[str, str, str, str]


def reading_rows(run: Run) -> list[Row]:
    """Return name, lowest, median and highest of each reading that the run's machine gave."""
    rows = []
    for name, curve in series_of(run).telemetry.items():
        gpu = name.startswith("gpu")
        key = name.partition("_")[2] if gpu else name
        metric = _GPU_MEMORY if gpu and key == "memory_used_bytes" else _READINGS.get(key)
        if metric is not None:
            label = f"GPU {name[3 : name.index('_')]}, {metric.label}" if gpu else metric.label
            rows += _row(label, metric, [value for value in curve.y if value is not None])
    cores = [told for sample in run.samples if (told := _cores(sample.telemetry.get("core_pct")))]
    for label, pick in (("Busiest logical processor", max), ("Idlest logical processor", min)):
        rows += _row(label, Metric(label, "%", 0), [pick(each) for each in cores])
    return [*rows, *_held_down(run)]


def _row(label: str, metric: Metric, values: list[float]) -> list[Row]:
    if not values:
        return []
    low, middle, high = (
        f"{value * metric.scale:,.{metric.digits}f} {metric.unit}"
        for value in (min(values), statistics.median(values), max(values))
    )
    return [(label, low, middle, high)]


def _cores(told: object) -> list[float]:
    each = told if isinstance(told, list | tuple) else ()
    return [value for core in each if (value := number(core)) is not None]


def _held_down(run: Run) -> Iterator[Row]:
    """Yield for each GPU and each reason that held its clock down, for which share of the looks."""
    looks: Counter[str] = Counter()
    held: Counter[tuple[str, str]] = Counter()
    for sample in run.samples:
        gpus = sample.telemetry.get("gpus")
        for gpu in gpus if isinstance(gpus, list | tuple) else ():
            words = gpu.get("throttle_reasons") if isinstance(gpu, dict) else None
            if isinstance(words, list | tuple):
                looks[str(gpu.get("index"))] += 1
                held.update((str(gpu.get("index")), str(word)) for word in words)
    for (index, word), count in held.items():
        yield f"GPU {index}, held down by {word}", "", f"{100 * count / looks[index]:.0f} % of the time", ""
