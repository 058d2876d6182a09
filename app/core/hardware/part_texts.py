"""The machine part by part, in words, and for each part that is not known the reason."""

from dataclasses import dataclass

from app.core.hardware.telemetry.sensors import Power
from app.core.hardware.unknown import gpu_reason, instruction_sets_note, reason
from app.core.metrics import format_bytes
from app.core.records import Disk, Gpu, Machine, PowerState

NOT_KNOWN = "n/a"
READABLE = "readable"
NO_GPU = "none found"
_NO_GPU_REASON = "No driver and no bus knows of a graphics card. That is no fault: processors train, too."
# What app.core.hardware.machine calls containers; they say nothing about the machine that they run on.
_CONTAINERS = ("docker", "kubernetes", "lxc", "podman")
_LIMIT_ROWS = 8  # more graphics cards than a hobbyist's computer has are told in one line each


@dataclass(frozen=True, slots=True)
class Part:
    """One part.

    Attributes:
        group: Processor, Memory, Graphics, Storage, System or Power.
        value: In words with units; "n/a" where it is not known.
        reason: Why it is not known, or what else is to be said; "" for nothing.
    """

    group: str
    name: str
    value: str
    reason: str = ""


def machine_parts(machine: Machine, power: Power | None = None) -> tuple[Part, ...]:
    """Return all parts in the order in which people look for them.

    Args:
        machine: What was detected or stored.
        power: What it runs on right now, and its sensors; None leaves them out, as for a stored machine.
    """

    def part(group: str, name: str, value: str | None, *, is_forbidden: bool = False) -> Part:
        why = "" if value else reason(name, machine, is_forbidden=is_forbidden)
        return Part(group, name, value or NOT_KNOWN, why)

    parts = [
        part("Processor", "processor", machine.cpu_name),
        part("Processor", "cores", _cores(machine)),
        part("Processor", "base clock", _clock(machine.cpu_base_mhz)),
        part("Processor", "boost clock", _clock(machine.cpu_boost_mhz)),
        part("Processor", "caches", _caches(machine)),
        _instruction_sets_part(machine),
        part("Memory", "memory", format_bytes(machine.memory_bytes) if machine.memory_bytes else None),
        part("Memory", "memory speed", f"{machine.memory_speed_mts:,} MT/s" if machine.memory_speed_mts else None),
    ]
    for number, gpu in enumerate(machine.gpus):
        parts += _gpu_parts(f"GPU {number}" if len(machine.gpus) > 1 else "GPU", gpu, short=number >= _LIMIT_ROWS)
    if not machine.gpus:
        parts.append(Part("Graphics", "GPU", NO_GPU, _NO_GPU_REASON))
    parts += [
        part("Storage", "disk", _disks(machine)),
        Part("System", "system", f"{machine.os_name}, {machine.architecture}"),
        part("System", "kernel", machine.kernel),
        part("System", "virtual machine", _virtual(machine)),
        Part("System", "Python", machine.python_version),
        part("System", "machine id", machine.machine_id),
    ]
    if power is not None:
        forbidden = power.sensors.power_forbidden
        parts += [
            part("Power", "power source", _source(power.state)),
            part("Power", "power plan", power.state.plan),
            part("Power", "processor power", READABLE if power.sensors.power else None, is_forbidden=forbidden),
            part("Power", "temperature sensor", READABLE if power.sensors.temperature else None),
        ]
    return tuple(parts)


def split_virtualization(text: str | None) -> tuple[str | None, str | None]:
    """Return what a machine is virtual by, and the container: "docker in Xen" is ("Xen", "docker")."""
    first, _, rest = (text or "").partition(" in ")
    return (rest or None, first) if first in _CONTAINERS else (text, None)


def _cores(machine: Machine) -> str | None:
    if machine.physical_cores is None and machine.logical_cores is None:
        return None
    kinds = ""
    if machine.performance_cores is not None and machine.efficiency_cores is not None:
        kinds = f" ({machine.performance_cores} performance, {machine.efficiency_cores} efficiency)"
    return f"{machine.physical_cores or NOT_KNOWN} physical{kinds}, {machine.logical_cores or NOT_KNOWN} logical"


def _clock(clock_mhz: float | None) -> str | None:
    return None if clock_mhz is None else f"{clock_mhz / 1000:.2f} GHz"


def _caches(machine: Machine) -> str | None:
    sizes = (("L1 data", machine.l1_data_bytes), ("L2", machine.l2_bytes), ("L3", machine.l3_bytes))
    return ", ".join(f"{name} {_binary(size)}" for name, size in sizes if size) or None


def _binary(size_bytes: int) -> str:
    """Return a cache's size as makers write it."""
    for unit, factor in (("MB", 2**20), ("KB", 2**10)):
        if size_bytes >= factor:
            return f"{size_bytes / factor:.4g} {unit}"
    return f"{size_bytes} B"


def _instruction_sets_part(machine: Machine) -> Part:
    name = "instruction sets"
    if machine.instruction_sets is None:
        return Part("Processor", name, NOT_KNOWN, reason(name, machine))
    told = ", ".join(machine.instruction_sets) or "none that matter here"
    return Part("Processor", name, told, instruction_sets_note(machine))


def _gpu_parts(name: str, gpu: Gpu, *, short: bool) -> list[Part]:
    memory = f", {format_bytes(gpu.memory_bytes)}" if gpu.memory_bytes else ""
    memory += " of the computer's memory" if memory and gpu.shares_memory else ""
    parts = [Part("Graphics", name, f"{gpu.name}{memory}")]
    if short:
        return parts
    if not gpu.memory_bytes:
        parts.append(Part("Graphics", f"{name} memory", NOT_KNOWN, gpu_reason(gpu)))
    capability = f"compute capability {gpu.compute_capability}" if gpu.compute_capability else ""
    link = f"PCIe {gpu.pcie_generation}.0 × {gpu.pcie_lanes}" if gpu.pcie_generation and gpu.pcie_lanes else None
    display = None if gpu.drives_display is None else "attached" if gpu.drives_display else "none attached"
    told = (
        ("architecture", ", ".join(word for word in (gpu.architecture, capability) if word) or None),
        ("driver", gpu.driver),
        ("power limit", f"{gpu.power_limit_w:.0f} W" if gpu.power_limit_w else None),
        ("link", link),
        ("display", display),
    )
    for what, value in told:
        parts.append(
            Part("Graphics", f"{name} {what}", value or NOT_KNOWN, "" if value else gpu_reason(gpu, what))
        )
    return parts


def _disks(machine: Machine) -> str | None:
    told = " + ".join(text for disk in machine.disks if (text := _disk(disk)))
    return ", ".join(word for word in (told, machine.file_system) if word) or None


def _disk(disk: Disk) -> str:
    size = format_bytes(disk.size_bytes) if disk.size_bytes else None
    return ", ".join(word for word in (disk.kind, disk.name, size) if word)


def _virtual(machine: Machine) -> str | None:
    if machine.virtual_machine is None:
        return None
    kind, container = split_virtualization(machine.virtualization)
    told = ("yes" if machine.virtual_machine else "no") + (f" ({kind})" if kind else "")
    return told + (f", in {container}" if container else "")


def _source(power: PowerState) -> str | None:
    if power.on_battery is None:
        return None
    charge = f", charged to {power.battery_pct:.0f} %" if power.battery_pct is not None else ""
    return ("battery" if power.on_battery else "mains") + charge
