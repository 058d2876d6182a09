"""Estimates for all workloads, shown in the chooser: their durations on this computer, and whether they fit."""

from dataclasses import dataclass

from app.core.engines.choices import offered_workloads
from app.core.messages import Message
from app.core.paths import Paths
from app.core.runs.memory_check import memory_problem
from app.core.storage.database import Database
from app.core.storage.queries import expected_duration_s
from workloads.engines.registry import DEFAULT_ENGINE
from workloads.protocol.machine import Machine
from workloads.workload import Workload


@dataclass(frozen=True, slots=True)
class WorkloadEstimate:
    """An estimate for the standard run of a workload on this computer."""

    workload: Workload
    duration_s: float | None  # duration of earlier runs in seconds; None if there is no comparable run
    problem: Message | None  # reason why the run can't fit into memory; None unless this is certain


def workload_estimates(
    paths: Paths, machine: Machine, engine: str = DEFAULT_ENGINE, device: str = "auto"
) -> list[WorkloadEstimate]:
    """Return an estimate for each workload, in the order of the catalogue."""
    entries = []
    with Database(paths.database) as database:
        for workload in offered_workloads(machine):
            is_able = workload.engines is None or engine in workload.engines
            spec = workload.default_spec(engine=engine, device=device) if is_able else workload.default_spec()
            entries.append(
                WorkloadEstimate(
                    workload=workload,
                    duration_s=expected_duration_s(database, spec, machine),
                    problem=memory_problem(spec, machine),
                )
            )
    return entries
