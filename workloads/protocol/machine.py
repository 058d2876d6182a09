"""The computer used for a run, as a record shared by app, stream and database."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Gpu:
    """One GPU as described by its driver. Values that the driver doesn't report are None."""

    name: str
    vendor: str  # nvidia, amd, intel, apple, other
    memory_bytes: int | None = None  # its own memory, or the usable share of the computer's, see `shares_memory`
    driver: str | None = None
    compute_capability: str | None = None  # of NVIDIA GPUs: "8.9"
    source: str = "nvml"  # source of the data: nvml, gputil, sysfs, procfs, registry, ioreg
    architecture: str | None = None  # "Ada", "gfx1030", "Xe-LP", "Apple M2"
    power_limit_w: float | None = None  # the limit in force
    pcie_generation: int | None = None  # the highest supported by card and slot
    pcie_lanes: int | None = None
    shares_memory: bool | None = None  # whether it uses the computer's memory
    drives_display: bool | None = None  # whether a display is attached to it
    power_default_w: float | None = None  # the limit set by the manufacturer
    power_min_w: float | None = None  # the lowest and highest limits that the driver accepts
    power_max_w: float | None = None


@dataclass(frozen=True, slots=True)
class Disk:
    """One disk, without its serial number. None means unknown."""

    kind: str | None = None  # "NVMe SSD", "SSD", "hard disk", "virtual disk", "network"
    name: str | None = None  # the vendor's model name
    size_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class Machine:
    """This computer, without anything that identifies its owner. None means unknown.

    The current power source isn't included (see PowerState). Some of the other values may change between runs
    (limits, displays, the data set folder's disks); app.core.storage.runs identifies computers by values that
    don't change.
    """

    cpu_name: str | None
    physical_cores: int | None
    logical_cores: int | None
    memory_bytes: int | None
    os_name: str  # "Linux 6.1 (Debian GNU/Linux 12)", "Windows 11", "macOS 15.1"
    architecture: str  # "x86_64", "arm64"
    python_version: str
    virtual_machine: bool | None  # None: unknown
    virtualization: str | None = None  # "kvm", "VMware", "wsl", "docker" …, or None
    gpus: tuple[Gpu, ...] = ()  # NVIDIA's first, in TensorFlow's order
    performance_cores: int | None = None  # physical cores; None if all are the same, or unknown
    efficiency_cores: int | None = None
    cpu_base_mhz: float | None = None
    cpu_boost_mhz: float | None = None
    l1_data_bytes: int | None = None  # caches: total over all cores
    l2_bytes: int | None = None
    l3_bytes: int | None = None
    instruction_sets: tuple[str, ...] | None = None  # only relevant ones, see app.core.hardware.parts.cpu
    memory_speed_mts: int | None = None  # in MT/s: 3200 for DDR4-3200
    disks: tuple[Disk, ...] = ()  # behind the data set folder
    file_system: str | None = None  # of the data set folder: "ext4", "NTFS"
    kernel: str | None = None  # its version: "6.1.0", "10.0.26100"
    bios_version: str | None = None  # as written by its manufacturer
    machine_id: str | None = None  # a keyed hash that doesn't change across restarts


UNKNOWN_MACHINE = Machine(None, None, None, None, "n/a", "n/a", "n/a", None)
