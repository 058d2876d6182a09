"""Telemetry at one moment, as a typed record."""

from dataclasses import dataclass
from typing import Annotated

import msgspec

# Real values are far below, and sums of smaller ones are finite.
Reading = Annotated[float, msgspec.Meta(ge=-1e18, le=1e18)]
Index = Annotated[int, msgspec.Meta(ge=-(10**18), le=10**18)]
Whole = Index | Reading  # a whole number, which some drivers report with a decimal point


@dataclass(frozen=True, slots=True)
class GpuTelemetry:
    """Telemetry of one GPU. Values that the driver doesn't report are None, never zero."""

    index: Index  # in Machine.gpus
    utilization_pct: Reading | None = None
    memory_used_bytes: Whole | None = None
    temperature_c: Reading | None = None
    power_w: Reading | None = None
    clock_mhz: Reading | None = None
    throttle_reasons: tuple[str, ...] | None = None  # reason for a limited clock: "thermal" …; () for none
    other_memory_bytes: Whole | None = None  # GPU memory used by other processes
    memory_utilization_pct: Reading | None = None  # share of time in which its memory is accessed
    memory_clock_mhz: Reading | None = None
    fan_pct: Reading | None = None
    energy_j: Reading | None = None  # from the GPU's own counter, since the reader's first read
    other_utilization_pct: Reading | None = None  # share of time in which other processes compute on it
    power_limit_w: Reading | None = None  # the limit in force, which laptops raise only under load


@dataclass(frozen=True, slots=True)
class Telemetry:
    """Telemetry of the computer. Values that aren't available are None, never zero."""

    cpu_pct: Reading | None = None  # all CPUs together, 0 to 100
    cpu_clock_mhz: Reading | None = None
    cpu_temperature_c: Reading | None = None
    memory_used_bytes: Whole | None = None
    swap_used_bytes: Whole | None = None
    steal_pct: Reading | None = None  # CPU time taken from this virtual machine by the host
    other_cpu_pct: Reading | None = None  # by processes other than worker and Epochmark, of all CPUs, 0 to 100
    swap_bytes_per_s: Reading | None = None  # read from and written to swap
    throttle_count: Whole | None = None  # times the CPU limited its clock since the previous telemetry
    on_battery: bool | None = None
    power_plan: str | None = None  # the system's name for the plan: "performance", "powersave", "balanced" …
    clock_step_s: Reading | None = None  # seconds the wall clock was set since the previous telemetry
    suspended_s: Reading | None = None  # seconds the computer slept since the previous telemetry
    gpus: tuple[GpuTelemetry, ...] = ()
    core_pct: tuple[Reading, ...] | None = None  # each logical CPU, 0 to 100, in the system's order
    cpu_power_w: Reading | None = None  # of all CPU packages, since the previous telemetry
    cpu_energy_j: Reading | None = None  # from the CPU's counters, since the first telemetry
    disk_read_bytes_per_s: Reading | None = None  # all disks
    disk_write_bytes_per_s: Reading | None = None
    memory_available_bytes: Whole | None = None  # available to programs without swapping
    cpu_pressure_pct: Reading | None = None  # share of time in which something waited for a CPU (Linux's PSI)
    memory_pressure_pct: Reading | None = None  # … waited because memory was full
    cpu_held_pct: Reading | None = None  # share of scheduling periods in which a CPU quota stopped the run

    def gpu(self, index: int | None) -> GpuTelemetry | None:
        """Return the telemetry of a GPU; None if there is none."""
        return next((gpu for gpu in self.gpus if gpu.index == index), None)
