"""One look at the machine, as a typed record from the moment it is read."""

from dataclasses import dataclass
from typing import Annotated

import msgspec

# No reading of a computer comes near it, and sums of smaller ones stay finite.
Reading = Annotated[float, msgspec.Meta(ge=-1e18, le=1e18)]
Index = Annotated[int, msgspec.Meta(ge=-(10**18), le=10**18)]
Whole = Index | Reading  # a whole number, which some drivers give with a point


@dataclass(frozen=True, slots=True)
class GpuTelemetry:
    """One look at one GPU. None means that the driver does not give the value, never zero."""

    index: Index  # in Machine.gpus
    utilization_pct: Reading | None = None
    memory_used_bytes: Whole | None = None
    temperature_c: Reading | None = None
    power_w: Reading | None = None
    clock_mhz: Reading | None = None
    throttle_reasons: tuple[str, ...] | None = None  # why the clock is held down: "thermal" …; () for none
    other_memory_bytes: Whole | None = None  # of the GPU's memory, what other processes hold
    memory_utilization_pct: Reading | None = None  # share of time in which its memory was read or written
    memory_clock_mhz: Reading | None = None
    fan_pct: Reading | None = None
    energy_j: Reading | None = None  # by the card's own counter, since the reader's first look at it


@dataclass(frozen=True, slots=True)
class Telemetry:
    """One look at the machine. None means not available here, never zero."""

    cpu_pct: Reading | None = None  # all cores together, 0 to 100
    cpu_clock_mhz: Reading | None = None
    cpu_temperature_c: Reading | None = None
    memory_used_bytes: Whole | None = None
    swap_used_bytes: Whole | None = None
    steal_pct: Reading | None = None  # CPU time that the host took from this virtual machine
    other_cpu_pct: Reading | None = None  # of all cores, what neither the worker nor Epochmark used, 0 to 100
    swap_bytes_per_s: Reading | None = None  # read from and written to swap
    throttle_count: Whole | None = None  # times that the processor held its clock down since the look before
    on_battery: bool | None = None
    power_plan: str | None = None  # as the system calls it: "performance", "powersave", "balanced" …
    clock_step_s: Reading | None = None  # how far the wall clock was set since the look before; 0.0 if it was not
    suspended_s: Reading | None = None  # how long the computer slept since the look before
    gpus: tuple[GpuTelemetry, ...] = ()
    core_pct: tuple[Reading, ...] | None = None  # each logical processor, 0 to 100, in the system's order
    cpu_power_w: Reading | None = None  # of all processor packages, since the look before
    cpu_energy_j: Reading | None = None  # the same by their counters, since the first look
    disk_read_bytes_per_s: Reading | None = None  # all disks
    disk_write_bytes_per_s: Reading | None = None

    def gpu(self, index: int | None) -> GpuTelemetry | None:
        """Return the reading of a GPU; None if there is none."""
        return next((gpu for gpu in self.gpus if gpu.index == index), None)
