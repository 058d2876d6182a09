"""All workloads as the chooser shows them: duration, memory and data on this computer."""

from dataclasses import dataclass

from app.core.analysis.published import comparable_rows
from app.core.datasets.install import list_datasets
from app.core.messages import Message
from app.core.paths import Paths
from app.core.runs.memory_check import memory_problem
from app.core.storage.database import Database
from app.core.storage.queries import expected_duration_s
from workloads import CATALOGUE
from workloads.protocol.machine import Machine
from workloads.workload import Workload


@dataclass(frozen=True, slots=True)
class Entry:
    """One workload in its standard run on this machine.

    Attributes:
        duration_s: From earlier runs; None without a comparable run.
        memory_bytes: Approximate need; None if it was never measured.
        problem: Why it is certain not to fit; None if it isn't certain.
        data: "real", "synthetic" (the real data isn't installed) or "generated" (it needs none).
        published: Number of published results, and how many of them have the usual batch size.
    """

    workload: Workload
    duration_s: float | None
    memory_bytes: int | None
    problem: Message | None
    data: str
    published: tuple[int, int]


def overview(paths: Paths, machine: Machine) -> list[Entry]:
    """Return an entry for each workload, in the order of the catalogue."""
    installed = {dataset.id for dataset in list_datasets(paths) if dataset.installed}
    entries = []
    with Database(paths.database) as database:
        for workload in CATALOGUE.values():
            spec = workload.default_spec()
            rows = comparable_rows(workload.id)
            data = "generated" if workload.dataset is None else "synthetic"
            entries.append(
                Entry(
                    workload=workload,
                    duration_s=expected_duration_s(database, spec, machine),
                    memory_bytes=workload.memory_need_bytes(spec),
                    problem=memory_problem(spec, machine),
                    data="real" if workload.dataset in installed else data,
                    published=(len(rows), sum(row.batch_size in (None, workload.batch_size) for row in rows)),
                )
            )
    return entries
