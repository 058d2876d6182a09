"""All workloads as one chooses among them: how long here, how much memory, which data."""

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
    """One workload, in its standard run on this machine.

    Attributes:
        duration_s: By earlier runs; None if nothing like it ran here.
        memory_bytes: About what it needs; None if that was never measured.
        problem: Why it is certain not to fit; None where it is not certain.
        data: "real", "synthetic" (the real data is not installed) or "generated" (it needs none).
        published: How many published measurements there are, and how many of them at the usual batch.
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
