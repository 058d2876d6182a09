"""Determines which of a computer's GPUs an engine can use."""

from workloads.engines.registry import engine_named
from workloads.protocol.errors import WorkloadError
from workloads.protocol.machine import Gpu, Machine


def usable_gpus(machine: Machine, engine: str) -> tuple[Gpu, ...]:
    """Return the GPUs that an engine can use, in the engine's order.

    Only GPUs with their vendor's driver are usable. Drivers for AMD and Intel GPUs are part of Linux. The source
    of a GPU's data shows whether NVIDIA's driver is installed.
    """
    try:
        asked = engine_named(engine)
    except (KeyError, WorkloadError):  # unknown or broken
        return ()
    return tuple(
        gpu
        for gpu in machine.gpus
        if (gpu.source != "sysfs" or gpu.vendor != "nvidia") and asked.may_use(gpu.vendor, machine.os_name)
    )
