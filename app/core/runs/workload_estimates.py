"""Estimates for all workloads, shown in the chooser: duration, memory and data on this computer."""

from dataclasses import dataclass

from app.core.analysis.published import comparable_rows
from app.core.datasets.install import list_datasets
from app.core.engines.choices import offered_workloads
from app.core.messages import Message
from app.core.paths import Paths
from app.core.runs.memory_check import memory_problem
from app.core.storage.database import Database
from app.core.storage.queries import expected_duration_s
from workloads.engines.registry import DEFAULT_ENGINE
from workloads.protocol.machine import Machine
from workloads.protocol.spec import RunSpec
from workloads.workload import Workload


@dataclass(frozen=True, slots=True)
class WorkloadEstimate:
    """An estimate for the standard run of a workload on this computer.

    Attributes:
        spec: Spec of the standard run, with the chosen engine and device if supported, otherwise with the
            defaults.
        duration_s: Duration of earlier runs in seconds; None if there is no comparable run.
        memory_bytes: Approximate memory requirement; None if unknown.
        problem: Reason why the run can't fit into memory; None unless this is certain.
        data: "real", "synthetic" (the real data isn't installed) or "generated" (no data set is needed).
        published: Number of published results, and how many of them use the default batch size.
    """

    workload: Workload
    spec: RunSpec
    duration_s: float | None
    memory_bytes: int | None
    problem: Message | None
    data: str
    published: tuple[int, int]

    @property
    def key(self) -> tuple[str, str, str]:
        """The result of `probe_key` for the spec."""
        return probe_key(self.spec)


def probe_key(spec: RunSpec) -> tuple[str, str, str]:
    return spec.workload, spec.engine, spec.device


def workload_estimates(
    paths: Paths, machine: Machine, engine: str = DEFAULT_ENGINE, device: str = "auto"
) -> list[WorkloadEstimate]:
    """Return an estimate for each workload, in the order of the catalogue."""
    installed = {dataset.id for dataset in list_datasets(paths) if dataset.installed}
    entries = []
    with Database(paths.database) as database:
        for workload in offered_workloads(machine):
            is_able = workload.engines is None or engine in workload.engines
            spec = workload.default_spec(engine=engine, device=device) if is_able else workload.default_spec()
            rows = comparable_rows(workload.id)
            data = "generated" if workload.dataset is None else "synthetic"
            entries.append(
                WorkloadEstimate(
                    workload=workload,
                    spec=spec,
                    duration_s=expected_duration_s(database, spec, machine),
                    memory_bytes=workload.memory_need_bytes(spec),
                    problem=memory_problem(spec, machine),
                    data="real" if workload.dataset in installed else data,
                    published=(len(rows), sum(row.batch_size in (None, workload.batch_size) for row in rows)),
                )
            )
    return entries
