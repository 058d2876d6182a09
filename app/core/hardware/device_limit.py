"""The power limits of devices, and the commands that users can run to change them. Epochmark never runs them.

For NVIDIA cards, nvidia-smi sets the limit in watts (`-pl`): https://docs.nvidia.com/deploy/nvidia-smi/. For other
cards on Linux, administrators can write the limit in microwatts to `power1_cap` (amdgpu) or `power1_max` (i915 and
xe): https://docs.kernel.org/gpu/amdgpu/thermal.html. For CPUs, see `powercap`.
"""

import sys
from dataclasses import dataclass
from pathlib import Path

from app.core.hardware.gpu.linux import LIMITS, find_cards
from app.core.hardware.powercap import CpuLimits
from app.core.messages import Message, message
from workloads.protocol.machine import Machine
from workloads.protocol.telemetry import Telemetry

# Some firmware sets a limit so high that it is never reached.
_UNREACHED = 4


@dataclass(frozen=True, slots=True)
class DeviceLimit:
    """The power limit of a GPU, or of all CPU packages together."""

    name: str  # name of the device
    limit_w: float  # the limit in force
    default_w: float | None  # the GPU's default limit or the CPU's rated power; None if unknown
    full_w: float | None  # the limit at which the device isn't restricted; None if unknown
    least_w: float  # the lowest and highest limits that are accepted
    most_w: float


def device_limit(machine: Machine, index: int | None) -> DeviceLimit | None:
    """Return the power limit of a GPU, by index, or of the CPU if `index` is None; None if it isn't reported."""
    if index is None:
        limit_w, rated_w = machine.cpu_power_limit_w, machine.cpu_power_rated_w
        if limit_w is None:
            return None
        full_w = rated_w if rated_w and limit_w > _UNREACHED * rated_w else limit_w
        return DeviceLimit(machine.cpu_name or "CPU", limit_w, rated_w, full_w, 1.0, max(limit_w, rated_w or 0.0))
    gpu = dict(enumerate(machine.gpus)).get(index)
    if gpu is None or gpu.power_limit_w is None:
        return None
    default_w = gpu.power_default_w
    most_w = gpu.power_max_w or default_w or gpu.power_limit_w
    return DeviceLimit(gpu.name, gpu.power_limit_w, default_w, default_w, gpu.power_min_w or 1.0, most_w)


def limit_problem(machine: Machine, index: int | None, limit_w: object) -> Message | None:
    """Explain why a device doesn't accept a power limit; None if it does, or if none is required.

    The index is that of a GPU in the record of the computer, None for the CPU.
    """
    if not isinstance(limit_w, int):
        return None
    device = device_limit(machine, index)
    if device is None:
        return message("run.no_power_limit")
    if device.least_w <= limit_w <= device.most_w:
        return None
    about = {"device": device.name, "least_w": device.least_w, "most_w": device.most_w, "limit_w": limit_w}
    return message("run.limit_out_of_range", **about)


def limit_in_force_w(telemetry: Telemetry, index: int | None) -> float | None:
    """Return the power limit of a GPU, by index, or of the CPU if `index` is None; None if unknown."""
    if index is None:
        return telemetry.cpu_power_limit_w
    gpu = telemetry.gpu(index)
    return None if gpu is None else gpu.power_limit_w


def limit_command(
    machine: Machine, index: int | None, limit_w: float | None, root: Path = Path("/")
) -> str | None:
    """Return the command that sets the power limit of a device; None if there is none on this system.

    Without a limit, it restores a GPU's default limit, or the CPU's limits now in force.
    """
    if index is None:
        return CpuLimits(root).command(limit_w)
    gpu = machine.gpus[index]
    limit_w = gpu.power_default_w if limit_w is None else limit_w
    if limit_w is None:
        return None
    if gpu.vendor == "nvidia":
        # NVIDIA's GPUs come first in the record, in the order of their driver.
        sudo = "" if sys.platform == "win32" else "sudo "
        return f"{sudo}nvidia-smi -i {index} -pl {limit_w:.0f}"
    if sys.platform != "linux":
        return None
    cards = [card for card in find_cards(root) if card.vendor != "nvidia"]
    place = index - sum(each.vendor == "nvidia" for each in machine.gpus[:index])
    if not 0 <= place < len(cards):
        return None
    files = [path for name in LIMITS for path in sorted(cards[place].folder.glob(f"hwmon/hwmon*/power1_{name}"))]
    return f"echo {limit_w * 1e6:.0f} | sudo tee {files[0]}" if files else None
