"""The computer that a run is made on, as a record shared by app, stream and database."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Gpu:
    """One GPU as its driver describes it. None means that the driver doesn't say."""

    name: str
    vendor: str  # nvidia, amd, intel, apple, other
    memory_bytes: int | None = None  # its own, or the part of the computer's that it may use, see `shares_memory`
    driver: str | None = None
    compute_capability: str | None = None  # of NVIDIA's: "8.9"
    source: str = "nvml"  # where this is from: nvml, gputil, sysfs, procfs, registry, ioreg
    architecture: str | None = None  # "Ada", "gfx1030", "Xe-LP", "Apple M2"
    power_limit_w: float | None = None
    pcie_generation: int | None = None  # the highest that card and slot support
    pcie_lanes: int | None = None
    shares_memory: bool | None = None  # whether it uses the computer's memory
    drives_display: bool | None = None  # whether a display is attached to it


@dataclass(frozen=True, slots=True)
class Disk:
    """One disk, without its serial number. None means unknown."""

    kind: str | None = None  # "NVMe SSD", "SSD", "hard disk", "virtual disk", "network"
    name: str | None = None  # the vendor's model name
    size_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class Machine:
    """This computer, without anything that identifies its owner. None means unknown.

    What it runs on at the moment isn't included, see PowerState. Some of the rest may change between runs (limits,
    displays, the data set folder's disks): app.core.storage.runs identifies machines by what stays the same.
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
    gpus: tuple[Gpu, ...] = ()  # NVIDIA's first, as TensorFlow numbers them
    performance_cores: int | None = None  # physical ones; None if all are alike, or unknown
    efficiency_cores: int | None = None
    cpu_base_mhz: float | None = None
    cpu_boost_mhz: float | None = None
    l1_data_bytes: int | None = None  # caches: of all cores together
    l2_bytes: int | None = None
    l3_bytes: int | None = None
    instruction_sets: tuple[str, ...] | None = None  # of those that matter here: see app.core.hardware.parts.cpu
    memory_speed_mts: int | None = None  # in MT/s: 3200 for DDR4-3200
    disks: tuple[Disk, ...] = ()  # behind the data set folder
    file_system: str | None = None  # there: "ext4", "NTFS"
    kernel: str | None = None  # its version: "6.1.0", "10.0.26100"
    bios_version: str | None = None  # as its maker writes it
    machine_id: str | None = None  # a keyed hash that stays the same across restarts


UNKNOWN_MACHINE = Machine(None, None, None, None, "n/a", "n/a", "n/a", None)
