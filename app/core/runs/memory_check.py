"""Checks whether a run fits into memory before it is started."""

from collections.abc import Iterable
from dataclasses import replace

import msgspec

from app.core.engines.choices import numbered_gpus
from app.core.messages import Message, message
from app.core.records import RunSummary
from workloads import CATALOGUE
from workloads.engines.registry import ENGINES
from workloads.protocol.machine import Gpu, Machine
from workloads.protocol.spec import RunSpec
from workloads.workload import BYTES_PER_PARAMETER

# Measured needs are extrapolated to other batch sizes and computers, so only a clear excess is certain.
CERTAIN = 1.2


def memory_problem(spec: RunSpec, machine: Machine, variant: str | None = None) -> Message | None:
    """Explain why a run can't fit into memory, and what would fit; None unless this is certain.

    Args:
        variant: Installed variant of the engine; for None, see `numbered_gpus`.
    """
    workload = CATALOGUE[spec.workload]
    need = workload.memory_need_of(spec)
    there_bytes, gpu = _memory(spec, machine, variant)
    if need is None or there_bytes is None:
        return None
    parts = 1
    if gpu is not None:  # the engine and the data are in the computer's memory
        least_bytes = BYTES_PER_PARAMETER * (workload.expected_parameters(spec) or workload.parameters_count or 0)
        need = replace(need, base_bytes=min(need.base_bytes, least_bytes))
        parts = spec.device_count
    elif ENGINES[spec.engine].has_process_per_device:
        need = replace(need, base_bytes=spec.devices_here * need.base_bytes)
        parts = spec.machine_count
    need_bytes = need.at(spec.batch_size // parts)
    if need_bytes <= CERTAIN * there_bytes:
        return None
    fitting = parts * ((there_bytes - need.base_bytes) // max(1, need.per_example_bytes))
    if fitting >= 1:
        advice = message("memory.smaller_batch", fitting=fitting)
    else:
        advice = message("memory.smaller_network" if workload.variant(spec) else "memory.other_workload")
    sizes = {"need_bytes": need_bytes, "there_bytes": there_bytes}
    arguments = {"batch_size": spec.batch_size, **sizes, "advice": advice}
    if gpu is None:
        return message("memory.computer_too_small", **arguments)
    return message("memory.gpu_too_small", **arguments, gpu=gpu.name)


def filled_batch(spec: RunSpec, runs: Iterable[tuple[RunSpec, RunSummary]]) -> int | None:
    """Return the smallest batch size that filled the memory; None if the run's batch isn't larger.

    Args:
        spec: Spec of the run.
        runs: Earlier runs with their specs. Only runs whose spec differs at most in the batch size are used.
    """
    sizes = [other.batch_size for other, run in runs if _has_filled(run) and _is_smaller(other, spec)]
    return min(sizes, default=None)


def _has_filled(run: RunSummary) -> bool:
    return run.error_code == "out_of_memory" or "memory_spilled" in (run.reasons or "").split()


def _is_smaller(spec: RunSpec, other: RunSpec) -> bool:
    """Return whether two specs differ only in the batch size, and the first spec has the smaller batches."""
    is_alike = msgspec.structs.replace(spec, batch_size=other.batch_size) == other
    return is_alike and spec.batch_size < other.batch_size


def _memory(spec: RunSpec, machine: Machine, variant: str | None) -> tuple[int | None, Gpu | None]:
    """Return the memory of the run's device in bytes (None if unknown), and its GPU (None for the CPU)."""
    gpus = numbered_gpus(spec.engine, variant, machine)
    if spec.device == "cpu" or not gpus:
        return machine.memory_bytes, None
    number = min(gpus) if spec.device == "auto" else int(spec.device.removeprefix("gpu:"))
    gpu = gpus.get(number)
    if gpu is None:
        return None, None
    # For "auto", the size is unknown, because the engine uses the CPU if it can't use the GPU.
    return gpu.memory_bytes if spec.device != "auto" else None, gpu
