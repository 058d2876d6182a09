"""Determines which of a computer's GPUs an engine can use."""

from workloads.engines.registry import ENGINES
from workloads.protocol.machine import Gpu, Machine


def usable_gpus(machine: Machine, engine: str) -> tuple[Gpu, ...]:
    """Return the GPUs that an engine can use, in the engine's order.

    Only GPUs with their vendor's driver are usable. Drivers for AMD and Intel GPUs are part of Linux. The source
    of a GPU's data shows whether NVIDIA's driver is installed.
    """
    info = ENGINES.get(engine)
    return tuple(
        gpu
        for gpu in machine.gpus
        if info is not None
        and (gpu.source != "sysfs" or gpu.vendor != "nvidia")
        and info.may_use(gpu.vendor, machine.os_name)
    )
