"""The machine in a few words, above the setup of a run."""

from app.core.analysis.published import short_name
from app.core.messages import sentence
from app.core.metrics import format_gpu_memory, format_installed_memory
from workloads.protocol.machine import Machine


def machine_facts(machine: Machine) -> list[str]:
    """Return the machine's parts in a few words each."""
    physical, logical = machine.physical_cores or "?", machine.logical_cores or "?"
    cores = sentence("setup.cores", physical=physical, logical=logical)
    gpus = [
        f"{short_name(gpu.name)} · {format_gpu_memory(gpu.memory_bytes)}"
        if gpu.memory_bytes
        else short_name(gpu.name)
        for gpu in machine.gpus
    ]
    virtual = [sentence("compare.virtual")] if machine.virtual_machine else []
    return [cores, format_installed_memory(machine.memory_bytes), *gpus, machine.os_name, *virtual]
