"""Checks, before a run, for conditions that could distort its result. These conditions don't prevent the run."""

from collections.abc import Iterator, Sequence

import msgspec

from app.core.analysis.shared_host import shared_part
from app.core.engines.choices import numbered_gpus
from app.core.messages import Message, message, text
from app.core.verdict.conditions import CONDITIONS
from app.core.verdict.context import TelemetryWindow, gpu_index, reason
from workloads import CATALOGUE
from workloads.protocol import events
from workloads.protocol.machine import Machine
from workloads.protocol.spec import RunSpec
from workloads.protocol.telemetry import Telemetry

# Minimum memory for workloads without a measured need: TensorFlow, a small network and its data.
USUAL_NEED_BYTES = 1_000_000_000


# Conditions caused by running programs.
_OF_PROGRAMS = frozenset({"other_load", "cpu_pressure"})
# Conditions that may pass by themselves or when a program is closed.
_PASSING = _OF_PROGRAMS | {"host_steal", "memory_pressure", "swapping", "too_hot"}


def preflight(
    spec: RunSpec,
    machine: Machine,
    telemetry: Sequence[Telemetry],
    variant: str | None = None,
    programs: Sequence[str] = (),
) -> tuple[events.Reason, ...]:
    """Return current problems of a run that is about to start as cautions, with the codes used by verdicts.

    There are two or three records of telemetry. `programs` use most of the CPU. For the variant, see
    `numbered_gpus`.
    """
    cautions = [_naming(each, programs) for each in _conditions(telemetry, likely_gpu(spec, machine, variant))]
    if (said := _low_memory(spec, machine, telemetry)) is not None:
        cautions.append(reason("low_memory", "caution", said, "advice.free_memory"))
    return tuple(cautions)


def has_busy_programs(telemetry: Sequence[Telemetry]) -> bool:
    """Return whether other programs keep the CPU so busy that their names are of interest."""
    return any(caution.code in _OF_PROGRAMS for caution in _conditions(telemetry, None))


def passing(telemetry: Sequence[Telemetry], programs: Sequence[str] = ()) -> tuple[events.Reason, ...]:
    """Return the cautions whose causes may disappear before a run starts, except those about GPUs."""
    return tuple(_naming(each, programs) for each in _conditions(telemetry, None) if each.code in _PASSING)


def may_vary(spec: RunSpec, machine: Machine, variant: str | None) -> bool:
    """Return whether the next runs may differ because other users share the run's CPU."""
    gpu = likely_gpu(spec, machine, variant)
    return gpu is None and shared_part(machine, "cpu") is not None


def is_load_known(telemetry: Sequence[Telemetry]) -> bool:
    """Return whether the load of other programs was measured. Otherwise a busy computer may go unnoticed."""
    return any(record.other_cpu_pct is not None for record in telemetry)


def _conditions(telemetry: Sequence[Telemetry], gpu: int | None) -> Iterator[events.Reason]:
    window = TelemetryWindow(tuple(telemetry), (0.0,) * len(telemetry), gpu)
    codes = set()
    for condition in CONDITIONS:
        if condition.unless not in codes and (caution := condition.before(window)) is not None:
            codes.add(caution.code)
            yield caution


def _naming(caution: events.Reason, programs: Sequence[str]) -> events.Reason:
    """Add the names of busy programs to a caution about them. Other cautions are returned unchanged."""
    if caution.code not in _OF_PROGRAMS or caution.said is None or not programs:
        return caution
    said = message(f"preflight.{caution.code}_named", **caution.said.arguments, programs=list(programs))
    return msgspec.structs.replace(caution, text=text(said), said=said)


def likely_gpu(spec: RunSpec, machine: Machine, variant: str | None) -> int | None:
    """Return the index of the GPU that the run would use; None for the CPU."""
    if spec.device == "auto":
        return min(numbered_gpus(spec.engine, variant, machine), default=None)
    return gpu_index(spec.device)


def _low_memory(spec: RunSpec, machine: Machine, telemetry: Sequence[Telemetry]) -> Message | None:
    used_bytes = [record.memory_used_bytes for record in telemetry if record.memory_used_bytes is not None]
    if machine.memory_bytes is None or not used_bytes:
        return None
    free_bytes = max(0, machine.memory_bytes - used_bytes[-1])
    workload = CATALOGUE.get(spec.workload)
    if workload is not None and workload.is_demo:
        return None
    measured_bytes = workload.memory_need_bytes(spec) if workload is not None else None
    need_bytes = measured_bytes or USUAL_NEED_BYTES
    if free_bytes >= need_bytes:
        return None
    return message("preflight.low_memory", free_bytes=free_bytes, need_bytes=need_bytes)
