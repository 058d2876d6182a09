"""Records of telemetry at one point in time."""

from dataclasses import dataclass
from typing import Annotated

import msgspec

# Far beyond real values. The limit keeps sums finite.
Reading = Annotated[float, msgspec.Meta(ge=-1e18, le=1e18)]
Index = Annotated[int, msgspec.Meta(ge=-(10**18), le=10**18)]
Whole = Index | Reading  # an integer, which some drivers report as a float


@dataclass(frozen=True, slots=True)
class GpuTelemetry:
    """Telemetry of one GPU. Values that the driver doesn't report are None, never zero."""

    index: Index  # index into Machine.gpus
    utilization_pct: Reading | None = None
    memory_used_bytes: Whole | None = None
    temperature_c: Reading | None = None
    power_w: Reading | None = None
    clock_mhz: Reading | None = None
    throttle_reasons: tuple[str, ...] | None = None  # why the clock is reduced: "thermal", etc.; () if it isn't
    other_memory_bytes: Whole | None = None  # GPU memory used by other processes
    memory_utilization_pct: Reading | None = None  # percentage of time during which its memory is accessed
    memory_clock_mhz: Reading | None = None
    fan_pct: Reading | None = None
    energy_j: Reading | None = None  # from the GPU's own counter, since telemetry started
    other_utilization_pct: Reading | None = None  # percentage of time during which other processes use it
    power_limit_w: Reading | None = None  # the limit in force, which laptops raise only under load
    own_shared_bytes: Whole | None = None  # the computer's memory that the run's processes use through the GPU


@dataclass(frozen=True, slots=True)
class Telemetry:
    """Telemetry of the computer. Unavailable values are None, never zero."""

    cpu_pct: Reading | None = None  # all CPUs together, 0 to 100
    cpu_clock_mhz: Reading | None = None
    cpu_temperature_c: Reading | None = None
    memory_used_bytes: Whole | None = None
    swap_used_bytes: Whole | None = None
    steal_pct: Reading | None = None  # CPU time that the host took from this virtual machine
    other_cpu_pct: Reading | None = None  # all CPUs together, 0 to 100; without Epochmark and the worker
    swap_bytes_per_s: Reading | None = None  # read from and written to swap
    throttle_count: Whole | None = None  # number of times the CPU reduced its clock since the previous sample
    on_battery: bool | None = None
    power_plan: str | None = None  # system's name of the power plan: "performance", "powersave", "balanced", etc.
    clock_step_s: Reading | None = None  # seconds by which the wall clock was set since the previous sample
    suspended_s: Reading | None = None  # seconds that the computer was asleep since the previous sample
    gpus: tuple[GpuTelemetry, ...] = ()
    core_pct: tuple[Reading, ...] | None = None  # each logical CPU, 0 to 100, in the system's order
    cpu_power_w: Reading | None = None  # all CPU packages, averaged since the previous sample
    cpu_energy_j: Reading | None = None  # from the CPU's counters, since the first sample
    disk_read_bytes_per_s: Reading | None = None  # all disks together
    disk_write_bytes_per_s: Reading | None = None
    memory_available_bytes: Whole | None = None  # available to programs without swapping
    cpu_pressure_pct: Reading | None = None  # percentage of time in which a task waited for a CPU (Linux PSI)
    memory_pressure_pct: Reading | None = None  # percentage of time in which a task waited for memory (Linux PSI)
    cpu_held_pct: Reading | None = None  # percentage of scheduling periods in which a CPU quota paused the run
    cpu_power_limit_w: Reading | None = None  # the long-term limits in force, all CPU packages together

    def gpu(self, index: int | None) -> GpuTelemetry | None:
        return next((gpu for gpu in self.gpus if gpu.index == index), None)
