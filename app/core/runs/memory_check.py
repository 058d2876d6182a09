"""Checks whether a run fits into memory before it is started."""

import math
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
_OF_BATCHES = {"sequence", "micro_batch"}  # parameters that only determine what a batch consists of


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
    if workload.memory_advice is not None:
        advice = workload.memory_advice
    elif fitting >= 1:
        advice = message("memory.smaller_batch", fitting=fitting)
    else:
        advice = message("memory.smaller_network" if workload.variant(spec) else "memory.other_workload")
    sizes = {"need_bytes": need_bytes, "there_bytes": there_bytes}
    arguments = {"batch_size": spec.batch_size, **sizes, "advice": advice}
    if gpu is None:
        return message("memory.computer_too_small", **arguments)
    return message("memory.gpu_too_small", **arguments, gpu=gpu.name)


def filled_by(spec: RunSpec, runs: Iterable[tuple[RunSpec, RunSummary]]) -> RunSpec | None:
    """Return the smallest spec that filled the memory; None if it isn't smaller than the run's.

    Args:
        spec: Spec of the run.
        runs: Earlier runs with their specs. Only those are used that differ at most in what a batch consists of.
    """
    full = [other for other, run in runs if _has_filled(run) and _is_smaller(other, spec)]
    return min(full, key=tokens_at_a_time, default=None)


def tokens_at_a_time(spec: RunSpec) -> int:
    """Return the number of tokens trained at a time; the number of examples if their length isn't a parameter."""
    return math.prod(_at_a_time(spec))


def _at_a_time(spec: RunSpec) -> tuple[int, int]:
    """Return the number of examples trained at a time, and their length."""
    size = int(spec.parameters.get("micro_batch", spec.batch_size))
    return min(size, spec.batch_size), int(spec.parameters.get("sequence", 1))


def _has_filled(run: RunSummary) -> bool:
    return run.error_code == "out_of_memory" or "memory_spilled" in (run.reasons or "").split()


def _is_smaller(spec: RunSpec, other: RunSpec) -> bool:
    """Return whether two specs differ only in their batches, and the first has fewer or shorter examples."""
    parameters = spec.parameters | {name: other.parameters[name] for name in _OF_BATCHES & other.parameters.keys()}
    is_alike = msgspec.structs.replace(spec, batch_size=other.batch_size, parameters=parameters) == other
    pairs = list(zip(_at_a_time(spec), _at_a_time(other), strict=True))
    return is_alike and all(one <= two for one, two in pairs) and any(one < two for one, two in pairs)


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
