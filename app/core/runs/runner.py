"""Starts runs: checks what is asked, stores it, and begins a session."""

from collections.abc import Callable
from difflib import get_close_matches

from app.core.errors import UsageError
from app.core.messages import message
from app.core.paths import Paths, check_datasets_folder
from app.core.runs.memory_check import memory_problem
from app.core.runs.session import Limits, Listener, Session
from app.core.runs.worker_command import WorkerCommand, interpreter, worker_command
from app.core.storage.database import Database
from app.core.storage.outcomes import recover_runs
from app.core.storage.owners import own
from app.core.storage.recording import begin_run
from workloads import CATALOGUE
from workloads.engines.registry import engine_title
from workloads.protocol.errors import WorkloadError
from workloads.protocol.machine import Machine
from workloads.protocol.spec import Job, RunSpec, write_job
from workloads.workload import Workload


class Runner:
    """Starts runs. One at a time is what makes sense, but nothing here forbids more.

    Args:
        paths: Where results and data sets are.
        machine: What the results are stored for.
        limits: For tests.
        command: How a worker is started; for tests and other interpreters.
    """

    def __init__(
        self,
        paths: Paths,
        machine: Machine,
        limits: Limits | None = None,
        command: Callable[[RunSpec, Paths], WorkerCommand] = worker_command,
    ) -> None:
        self.paths = paths
        self.machine = machine
        self.limits = limits or Limits()
        self.command = command

    def start(
        self,
        spec: RunSpec,
        listener: Listener = lambda _: None,
        group: tuple[int, str | None] | None = None,
    ) -> Session:
        """Check and store the run, then begin it in the background.

        Args:
            spec: What to run.
            listener: Called with each event, in the session's thread, after the event was stored.
            group: The group that the run is made in and its side there, or None.

        Raises:
            UsageError: The spec cannot be run; nothing was stored.
            DatabaseError: The results cannot be written.
        """
        workload = self.check(spec)
        with Database(self.paths.database) as database:
            recover_runs(database)
            ownership = own(database.path)
            try:
                run_id = begin_run(database, spec, workload, self.machine, group=group, owner=ownership.token)
            except BaseException:
                ownership.release()
                raise
        session = Session(
            run_id=run_id,
            spec=spec,
            command=self.command(spec, self.paths),
            paths=self.paths,
            machine=self.machine,
            limits=self.limits,
            listener=listener,
            ownership=ownership,
        )
        session.start()
        return session

    def check(self, spec: RunSpec) -> Workload:
        """Return the spec's workload; raises UsageError if it cannot be run here as asked."""
        workload = checked_workload(spec)
        if not interpreter(spec.engine, self.paths).exists():
            raise UsageError(message("engine.not_installed", engine=engine_title(spec.engine)))
        if problem := memory_problem(spec, self.machine):
            raise UsageError(problem)
        if workload.dataset and spec.data == "real":
            check_datasets_folder(self.paths)
        return workload


def checked_workload(spec: RunSpec) -> Workload:
    """Return the spec's workload; raises UsageError if it cannot be run as asked."""
    workload = known_workload(spec.workload)
    try:
        workload.check(spec)
        write_job(Job(spec=spec, datasets_folder=b""))
    except WorkloadError as error:
        raise UsageError(error.said) from error
    except UnicodeEncodeError as error:  # a folder's name, for example
        raise UsageError(message("run.not_utf8"), message("run.rename_it")) from error
    return workload


def known_workload(workload_id: str) -> Workload:
    """Return the workload of that name; raises UsageError, with the names that are like it, if there is none."""
    if workload_id in CATALOGUE:
        return CATALOGUE[workload_id]
    near = get_close_matches(workload_id, CATALOGUE, n=4, cutoff=0.5)
    advice = message("workload.did_you_mean", near=near) if near else message("workload.see_list")
    raise UsageError(message("workload.unknown", workload=workload_id[:60]), advice)
