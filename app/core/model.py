"""The plain records that cross boundaries between hardware, monitor, runner, database and views."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Gpu:
    """One graphics processor as its driver describes it. None means that the driver does not say."""

    name: str
    vendor: str  # "nvidia"; other vendors come with the issue about parts
    memory_bytes: int | None = None
    driver: str | None = None
    compute_capability: str | None = None  # "8.9"
    source: str = "nvml"  # which library said so: "nvml" or "gputil"


@dataclass(frozen=True, slots=True)
class Machine:
    """What this computer is, without anything that names its owner. None means unknown."""

    cpu_name: str | None
    physical_cores: int | None
    logical_cores: int | None
    memory_bytes: int | None
    os_name: str  # "Linux 6.1 (Debian GNU/Linux 12)", "Windows 11", "macOS 15.1"
    architecture: str  # "x86_64", "arm64"
    python_version: str
    virtual_machine: bool | None  # None: could not be told
    virtualization: str | None = None  # "kvm", "VMware", "wsl", "docker" …, or None
    gpus: tuple[Gpu, ...] = ()


@dataclass(frozen=True, slots=True)
class GpuReading:
    """One look at one GPU. None means that the driver does not give the value, never zero."""

    index: int
    utilization_pct: float | None = None
    memory_used_bytes: int | None = None
    temperature_c: float | None = None
    power_w: float | None = None
    clock_mhz: float | None = None


@dataclass(frozen=True, slots=True)
class Telemetry:
    """One look at the machine. None means not available here, never zero."""

    cpu_pct: float | None = None  # all cores together, 0 to 100
    cpu_clock_mhz: float | None = None
    cpu_temperature_c: float | None = None
    memory_used_bytes: int | None = None
    swap_used_bytes: int | None = None
    steal_pct: float | None = None  # CPU time that the host took from this virtual machine
    gpus: tuple[GpuReading, ...] = ()
