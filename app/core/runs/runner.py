"""Starts runs: checks the spec, stores the run and starts a session."""

from collections.abc import Callable
from dataclasses import dataclass
from difflib import get_close_matches

import msgspec

from app.core.engines.choices import installed_variant, numbered_gpus
from app.core.engines.locations import engine_folder, is_busy, put_back
from app.core.errors import UsageError
from app.core.hardware.device_limit import limit_problem
from app.core.messages import Message, message, text
from app.core.paths import Paths
from app.core.records import PlanPlace
from app.core.runs.liveness import RunLimits
from app.core.runs.memory_check import memory_problem
from app.core.runs.session import Listener, Session
from app.core.runs.worker_command import WorkerCommand, worker_command
from app.core.storage.database import Database
from app.core.storage.outcomes import recover_runs
from app.core.storage.owners import own
from app.core.storage.recording import begin_run
from app.core.verdict.preflight import likely_gpu
from workloads import CATALOGUE, STANDARD
from workloads.engines.cpu_allowance import can_limit_cpus, visible_cpus
from workloads.engines.registry import DEFAULT_ENGINE, engine_title, is_included
from workloads.protocol import typed
from workloads.protocol.errors import WorkloadError
from workloads.protocol.machine import Machine
from workloads.protocol.spec import ComputerPlace, Job, RunSpec, write_job
from workloads.workload import Workload

NEAR_LIMIT = 1


@dataclass(frozen=True, slots=True)
class CheckedSpec:
    """A spec with values of the declared types that this computer can run. Only `Runner.check` makes one."""

    spec: RunSpec
    workload: Workload


class Runner:
    """Starts runs. Results are meaningful only if runs don't overlap, but this isn't enforced.

    Args:
        limits: Time limits; None for the defaults.
        command: Function that returns the command for a worker.
        computers: This computer's place in a run on several computers; None for a run on this computer alone.
    """

    def __init__(
        self,
        paths: Paths,
        machine: Machine,
        limits: RunLimits | None = None,
        command: Callable[[RunSpec, Paths], WorkerCommand] = worker_command,
        computers: ComputerPlace | None = None,
    ) -> None:
        self.paths = paths
        self.machine = machine
        self.limits = limits or RunLimits()
        self.command = command
        self.computers = computers

    def start(
        self, checked: CheckedSpec, listener: Listener = lambda _: None, place: PlanPlace | None = None
    ) -> Session:
        """Store a run, then start it in the background.

        Args:
            checked: Spec of the run, from `check`.
            listener: Called with each event in the session's thread, after the event has been stored.
            place: Position in a plan; None for a single run.

        Raises:
            UsageError: The engine has been removed since the check, which a long plan makes hours earlier.
            DatabaseError: The results can't be written.
        """
        spec, workload = checked.spec, checked.workload
        if not workload.is_demo:
            check_engine_is_there(spec.engine, self.paths)
        with Database(self.paths.database) as database:
            recover_runs(database)
            ownership = own(database.path)
            try:
                token = ownership.token
                run_id = begin_run(database, spec, workload, self.machine, place=place, owner=token)
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
            place=self.computers,
        )
        session.start()
        return session

    def is_there(self, engine: str) -> bool:
        return is_included(engine) or engine_folder(self.paths, engine).look().state != "absent"

    def check(self, spec: RunSpec) -> CheckedSpec:
        """Return a spec that can be started. Raises UsageError if this computer can't run it."""
        spec, workload = exact_spec(spec), known_workload(spec.workload)
        if spec.machine_count > 1 and self.computers is None:
            raise UsageError(message("run.needs_computers"), message("run.start_on_each"))
        if not (workload.is_demo and spec.engine == DEFAULT_ENGINE):  # the demo uses no engine
            check_engine_is_there(spec.engine, self.paths)
        variant = installed_variant(self.paths, spec.engine)
        need = workload.gpu_need(spec)
        if need is not None and (spec.device == "cpu" or not numbered_gpus(spec.engine, variant, self.machine)):
            raise UsageError(need)
        self._check_cpus(spec)
        if problem := device_problem(spec, self.machine, variant):
            raise UsageError(problem)
        return CheckedSpec(spec, workload)

    def _check_cpus(self, spec: RunSpec) -> None:
        cpus, there = spec.settings.get("cpus"), visible_cpus()
        if cpus is None:
            return
        if not can_limit_cpus():
            raise UsageError(message("run.cpus_cannot_be_limited"))
        if isinstance(cpus, int) and there is not None and cpus > there:
            raise UsageError(message("run.too_many_cpus", cpus=cpus, there=there))


def device_problem(spec: RunSpec, machine: Machine, variant: str | None) -> Message | None:
    """Explain why a device can't use a run's power limit or has too little memory; None if the device is suitable.

    Args:
        variant: Installed variant of the engine; for None, see `numbered_gpus`.
    """
    limit_w = spec.settings.get("power_limit_w")
    of_limit = limit_problem(machine, likely_gpu(spec, machine, variant), limit_w)
    return of_limit or memory_problem(spec, machine, variant)


def check_engine_is_there(engine: str, paths: Paths) -> None:
    """Raise UsageError unless the engine's folder contains an installation for this Python version."""
    if is_included(engine):
        return
    if is_busy(paths, engine):
        raise UsageError(message("engines.busy", title=engine_title(engine)), message("engines.wait_for_it"))
    put_back(paths, engine)
    seen = engine_folder(paths, engine).look()
    if seen.problem is not None:
        raise UsageError(seen.problem)
    if seen.state == "absent":
        said = message("engine.not_installed", engine=engine_title(engine))
        raise UsageError(said, message("engines.install_it", engine=engine))


def check_spec(spec: RunSpec) -> None:
    """Raise UsageError if a spec is invalid on any computer."""
    try:
        known_workload(spec.workload).check(spec)
        write_job(Job(spec=spec, datasets_folder=b""))
    except WorkloadError as error:
        raise UsageError(error.message) from error
    except UnicodeEncodeError as error:  # for example, from the name of a folder
        raise UsageError(message("run.not_utf8"), message("run.rename_it")) from error


def exact_spec(spec: RunSpec) -> RunSpec:
    """Check a spec, and convert its fields to the declared types. Raises UsageError if a value is invalid."""
    check_spec(spec)
    try:
        return typed.convert(msgspec.to_builtins(spec), RunSpec)
    except msgspec.ValidationError as error:
        raise UsageError(message("setting.out_of_range", problem=str(error))) from error


def known_workload(workload_id: str) -> Workload:
    """Return a workload by id or title. If it doesn't exist, raises UsageError and suggests a similar name."""
    part = workload_id.strip().lower()
    for workload in CATALOGUE.values():
        if part in (workload.id, text(workload.title).lower()):
            return workload
    within = [name for name in CATALOGUE if part in name] if len(part) > 1 else []
    within.sort(key=lambda name: name != STANDARD)
    alike = get_close_matches(part, CATALOGUE, n=NEAR_LIMIT, cutoff=0.5)
    near = list(dict.fromkeys((*within, *alike)))[:NEAR_LIMIT]
    advice = message("workload.did_you_mean", near=near) if near else message("workload.see_list")
    raise UsageError(message("workload.unknown", workload=workload_id[:60]), advice)
