"""Which of a computer's GPUs an engine can use."""

from workloads.engines.registry import ENGINES, engine_named
from workloads.protocol.machine import Gpu, Machine


def usable_gpus(machine: Machine, engine: str) -> tuple[Gpu, ...]:
    """Return the GPUs that an engine may use, in its order: those with their vendor's driver."""
    if engine not in ENGINES:
        return ()
    asked = engine_named(engine)
    return tuple(
        gpu for gpu in machine.gpus if gpu.source != "sysfs" and asked.may_use(gpu.vendor, machine.os_name)
    )
