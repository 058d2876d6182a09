"""Describes the computer's components as text, with a reason for each unknown value."""

from dataclasses import dataclass
from typing import Any

from app.core.formats import format_file_size, format_installed_memory
from app.core.hardware.telemetry.sensors import Power
from app.core.hardware.unknown import gpu_reason, instruction_sets_note, reason
from app.core.messages import Message, message, sentence, text
from app.core.records import PowerState
from workloads.protocol.machine import Disk, Gpu, Machine

NOT_KNOWN = "n/a"
# Names of containers in app.core.hardware.machine. They don't describe the physical computer.
_CONTAINERS = ("docker", "kubernetes", "lxc", "podman")
# Virtual machines on the user's own computer rather than on a host with other guests.
OWN_COMPUTER = ("wsl", "VirtualBox", "Parallels", "Apple Virtualization")
_LIMIT_ROWS = 8  # with more GPUs, each further one has a single line


@dataclass(frozen=True, slots=True)
class MachinePart:
    """A property of a component."""

    id: str  # identifier for programs, such as "base_clock" or "gpu0_driver"
    group: str  # heading of the component
    name: str  # label of the property
    value: str  # value with its unit; "n/a" if unknown
    reason: str = ""  # reason why the value is unknown, or a remark; "" if there is none


def machine_parts(machine: Machine, power: Power | None = None) -> tuple[MachinePart, ...]:
    """Return the properties of all components as text, in display order.

    Without the current power source and sensors, as for a stored record, these are omitted.
    """

    def part(group: str, part_id: str, value: str | None, *, is_forbidden: bool = False) -> MachinePart:
        why = None if value else reason(part_id, machine, is_forbidden=is_forbidden)
        return _part(group, part_id, value, why)

    memory = format_installed_memory(machine.memory_bytes) if machine.memory_bytes else None
    speed = machine.memory_speed_mts
    parts = [
        part("cpu", "cpu", machine.cpu_name),
        part("cpu", "cores", _cores(machine)),
        part("cpu", "base_clock", _clock(machine.cpu_base_mhz)),
        part("cpu", "boost_clock", _clock(machine.cpu_boost_mhz)),
        part("cpu", "caches", _caches(machine)),
        _instruction_sets_part(machine),
        part("memory", "memory", memory),
        part("memory", "memory_speed", sentence("part.memory_speed_value", speed_mts=speed) if speed else None),
    ]
    for number, gpu in enumerate(machine.gpus):
        parts += _gpu_parts(gpu, number if len(machine.gpus) > 1 else None, short=number >= _LIMIT_ROWS)
    if not machine.gpus:
        parts.append(_part("gpu", "gpu", sentence("part.no_gpu"), message("part.no_gpu_is_fine")))
    disks = " + ".join(disks for disk in machine.disks if (disks := _disk(disk)))
    parts += [
        part("storage", "disk", ", ".join(word for word in (disks, machine.file_system) if word) or None),
        part("system", "system", f"{machine.os_name}, {machine.architecture}"),
        part("system", "bios", machine.bios_version),
        part("system", "virtual_machine", _virtual(machine)),
        part("system", "python", machine.python_version),
    ]
    if power is not None:
        forbidden, readable = power.sensors.power_forbidden, sentence("part.readable")
        parts += [
            part("power", "power_source", _source(power.state)),
            part("power", "power_plan", power.state.plan),
            part("power", "cpu_power", readable if power.sensors.power else None, is_forbidden=forbidden),
            part("power", "cpu_temperature", readable if power.sensors.temperature else None),
        ]
    return tuple(parts)


def _part(group: str, part_id: str, value: str | None, remark: Message | None = None) -> MachinePart:
    return MachinePart(
        part_id, sentence(f"part.{group}"), sentence(f"part.{part_id}"), value or NOT_KNOWN, text(remark)
    )


def split_virtualization(kinds: str | None) -> tuple[str | None, str | None]:
    """Split a virtualisation text into its virtual machine and container: "docker in Xen" is ("Xen", "docker")."""
    first, _, rest = (kinds or "").partition(" in ")
    return (rest or None, first) if first in _CONTAINERS else (kinds, None)


def _cores(machine: Machine) -> str | None:
    if machine.physical_cores is None and machine.logical_cores is None:
        return None
    counts: dict[str, Any] = {
        "physical": machine.physical_cores or NOT_KNOWN,
        "logical": machine.logical_cores or NOT_KNOWN,
    }
    if machine.performance_cores is None or machine.efficiency_cores is None:
        return sentence("part.cores_value", **counts)
    return sentence(
        "part.cores_of_two_kinds",
        performance=machine.performance_cores,
        efficiency=machine.efficiency_cores,
        **counts,
    )


def _clock(clock_mhz: float | None) -> str | None:
    return None if clock_mhz is None else f"{clock_mhz / 1000:.2f} GHz"


def _caches(machine: Machine) -> str | None:
    sizes = ((sentence("part.l1_data"), machine.l1_data_bytes), ("L2", machine.l2_bytes), ("L3", machine.l3_bytes))
    return ", ".join(f"{name} {_binary(size)}" for name, size in sizes if size) or None


def _binary(size_bytes: int) -> str:
    for unit, factor in (("MB", 2**20), ("KB", 2**10)):
        if size_bytes >= factor:
            return f"{size_bytes / factor:.4g} {unit}"
    return f"{size_bytes} B"


def _instruction_sets_part(machine: Machine) -> MachinePart:
    part_id = "instruction_sets"
    if machine.instruction_sets is None:
        return _part("cpu", part_id, None, reason(part_id, machine))
    value = ", ".join(machine.instruction_sets) or sentence("part.no_instruction_sets")
    return _part("cpu", part_id, value, instruction_sets_note(machine))


def _gpu_parts(gpu: Gpu, number: int | None, *, short: bool) -> list[MachinePart]:
    """Return a GPU's properties. `number` is None for the only GPU; `short` omits the details."""
    gpu_id = "gpu" if number is None else f"gpu{number}"
    name = message("part.gpu") if number is None else message("setting_value.device_gpu", number=number)
    group = sentence("part.gpu")
    value = gpu.name
    if gpu.memory_bytes:
        code = "part.gpu_with_shared_memory" if gpu.shares_memory else "part.gpu_with_memory"
        value = sentence(code, name=gpu.name, memory_bytes=gpu.memory_bytes)
    parts = [MachinePart(gpu_id, group, text(name), value)]
    if short:
        return parts
    if not gpu.memory_bytes:
        label = sentence("part.gpu_memory", gpu=name)
        parts.append(MachinePart(f"{gpu_id}_memory", group, label, NOT_KNOWN, text(gpu_reason(gpu))))
    for what, value_or_none in _gpu_details(gpu).items():
        label = sentence(f"part.gpu_{what}", gpu=name)
        why = "" if value_or_none else text(gpu_reason(gpu, what))
        parts.append(MachinePart(f"{gpu_id}_{what}", group, label, value_or_none or NOT_KNOWN, why))
    return parts


def _gpu_details(gpu: Gpu) -> dict[str, str | None]:
    capability = None
    if gpu.compute_capability:
        capability = sentence("part.compute_capability", version=gpu.compute_capability)
    display = None
    if gpu.drives_display is not None:
        display = sentence("part.display_attached" if gpu.drives_display else "part.no_display")
    return {
        "architecture": ", ".join(word for word in (gpu.architecture, capability) if word) or None,
        "driver": gpu.driver,
        "power_limit": _power_limit(gpu),
        "link": f"PCIe {gpu.pcie_generation}.0 × {gpu.pcie_lanes}"
        if gpu.pcie_generation and gpu.pcie_lanes
        else None,
        "display": display,
    }


def _power_limit(gpu: Gpu) -> str | None:
    if not gpu.power_limit_w:
        return None
    parts = [f"{gpu.power_limit_w:.0f} W"]
    if gpu.power_default_w:
        parts.append(sentence("part.power_default", default_w=gpu.power_default_w))
    if gpu.power_min_w and gpu.power_max_w:
        parts.append(sentence("part.power_range", least_w=gpu.power_min_w, most_w=gpu.power_max_w))
    return ", ".join(parts)


_DISK_KINDS = {
    "hard disk": "part.disk_hard",
    "USB disk": "part.disk_usb",
    "virtual disk": "part.disk_virtual",
    "network": "part.disk_network",
}


def _disk(disk: Disk) -> str:
    size = format_file_size(disk.size_bytes) if disk.size_bytes else None
    kind = sentence(_DISK_KINDS[disk.kind]) if disk.kind in _DISK_KINDS else disk.kind
    return ", ".join(word for word in (kind, disk.name, size) if word)


def _virtual(machine: Machine) -> str | None:
    if machine.virtual_machine is None:
        return None
    kind, container = split_virtualization(machine.virtualization)
    code = f"part.virtual_{'yes' if machine.virtual_machine else 'no'}"
    what = sentence(f"{code}_kind", kind=kind) if kind else sentence(code)
    return sentence("part.in_container", machine=what, container=container) if container else what


def _source(power: PowerState) -> str | None:
    if power.on_battery is None:
        return None
    code = "part.on_battery" if power.on_battery else "part.on_mains"
    if power.battery_pct is None:
        return sentence(code)
    return sentence(f"{code}_charged", charge_pct=power.battery_pct)
