"""The commands that users can run to change a graphics card's power limit. Epochmark never runs them itself.

For NVIDIA cards, nvidia-smi sets the limit in watts (`-pl`): https://docs.nvidia.com/deploy/nvidia-smi/. For other
cards on Linux, administrators can write the limit in microwatts to `power1_cap` (amdgpu) or `power1_max` (i915 and
xe): https://docs.kernel.org/gpu/amdgpu/thermal.html
"""

import sys
from pathlib import Path

from app.core.hardware.gpu.linux import LIMITS, find_cards
from workloads.protocol.machine import Machine


def limit_command(machine: Machine, index: int, limit_w: float, root: Path = Path("/")) -> str | None:
    """Return the command that sets the power limit of a GPU; None if there is none on this system.

    Args:
        machine: This computer.
        index: Index of the GPU in the record of the computer.
        limit_w: The new limit.
        root: Folder that contains Linux's sys.
    """
    gpu = machine.gpus[index]
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
