"""Records that describe the computer executing a run, for the app, the event stream and the database."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Gpu:
    """A GPU as described by its driver. Values that the driver doesn't report are None."""

    name: str
    vendor: str  # nvidia, amd, intel, apple, other
    memory_bytes: int | None = None  # own memory or, if `shares_memory`, the usable part of the computer's memory
    driver: str | None = None
    compute_capability: str | None = None  # NVIDIA GPUs only, for example "8.9"
    source: str = "nvml"  # data source: nvml, gputil, sysfs, procfs, registry, ioreg
    architecture: str | None = None  # "Ada", "gfx1030", "Xe-LP", "Apple M2"
    power_limit_w: float | None = None  # the limit in force
    pcie_generation: int | None = None  # highest generation that both card and slot support
    pcie_lanes: int | None = None
    shares_memory: bool | None = None  # whether it uses the computer's memory
    drives_display: bool | None = None  # whether a display is connected to it
    power_default_w: float | None = None  # the limit set by the manufacturer
    power_min_w: float | None = None  # the lowest and highest limits that the driver accepts
    power_max_w: float | None = None


@dataclass(frozen=True, slots=True)
class Disk:
    """A disk, without its serial number. None means unknown."""

    kind: str | None = None  # "NVMe SSD", "SSD", "hard disk", "virtual disk", "network"
    name: str | None = None  # vendor's model name
    size_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class Machine:
    """This computer, without information that identifies its owner. None means unknown.

    The current power source is excluded (see PowerState). Some values may change between runs (limits, displays,
    the disks of the data set folder). app.core.storage.runs identifies computers by values that don't change.
    """

    cpu_name: str | None
    physical_cores: int | None
    logical_cores: int | None
    memory_bytes: int | None
    os_name: str  # "Linux 6.1 (Debian GNU/Linux 12)", "Windows 11", "macOS 15.1"
    architecture: str  # "x86_64", "arm64"
    python_version: str
    virtual_machine: bool | None  # None if unknown
    virtualization: str | None = None  # "kvm", "VMware", "wsl", "docker", etc., or None
    gpus: tuple[Gpu, ...] = ()  # NVIDIA GPUs first, in TensorFlow's order
    performance_cores: int | None = None  # physical cores; None if all are the same, or unknown
    efficiency_cores: int | None = None
    cpu_base_mhz: float | None = None
    cpu_boost_mhz: float | None = None
    l1_data_bytes: int | None = None  # cache sizes are totals over all cores
    l2_bytes: int | None = None
    l3_bytes: int | None = None
    instruction_sets: tuple[str, ...] | None = None  # only relevant ones, see app.core.hardware.parts.cpu
    memory_speed_mts: int | None = None  # in MT/s: 3200 for DDR4-3200
    disks: tuple[Disk, ...] = ()  # disks that contain the data set folder
    file_system: str | None = None  # of the data set folder: "ext4", "NTFS"
    kernel: str | None = None  # kernel version: "6.1.0", "10.0.26100"
    bios_version: str | None = None  # as reported by the manufacturer
    machine_id: str | None = None  # keyed hash that persists across restarts
    cpu_power_limit_w: float | None = None  # the long-term limits in force, all CPU packages together
    cpu_power_rated_w: float | None = None  # rated power (TDP) of all packages


UNKNOWN_MACHINE = Machine(None, None, None, None, "n/a", "n/a", "n/a", None)
