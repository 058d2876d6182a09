"""Executes plans: single runs, repetitions, A/B tests and studies. Runs are sequential, each in a new process."""

import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Protocol

from app.core.errors import AppError, UsageError, refusal
from app.core.messages import message
from app.core.records import Group, Plan, PlannedRun, PlanPlace, RunSummary
from app.core.runs.memory_check import filled_by
from app.core.runs.power_limit import power_limits_for
from app.core.runs.runner import CheckedSpec, Runner
from app.core.runs.session import Listener, Session
from app.core.storage.database import Database
from app.core.storage.groups import begin_group, load_group
from app.core.storage.owners import Ownership, own_group
from app.core.storage.runs import list_runs
from workloads.protocol import events
from workloads.protocol.spec import RunSpec

REPEATS_LIMIT, PAIRS_LIMIT = 100, 100
LABEL_LIMIT = 60


class Wait(Protocol):
    """A condition that a run waits for before it starts."""

    @property
    def text(self) -> str:
        """A description of the wait."""

    @property
    def command(self) -> str | None:
        """The command that the user must run; None if there is none."""


class StartCondition(Protocol):
    """Something that must hold before a run starts."""

    @property
    def restore_command(self) -> str | None:
        """The command that undoes what the user has changed for the plan; None if there is nothing to undo."""

    def wait(self, planned: PlannedRun, stop: threading.Event, on_waiting: Callable[[Wait], None]) -> bool:
        """Wait until a run may start or the event is set; return whether the plan continues.

        `on_waiting` is called with each state of the wait. Raises UsageError if the condition can't be met.
        """


@dataclass(frozen=True, slots=True)
class PlanCallbacks:
    """Callbacks of a plan, called in threads other than the caller's."""

    on_event: Listener = lambda _: None  # called with each event of each run
    # Called with the planned run and the id of the stored run, before the run's first event.
    on_run_started: Callable[[PlannedRun, int], None] = lambda _, __: None
    # Called with the planned run and the stored run when it has ended.
    on_run_ended: Callable[[PlannedRun, RunSummary], None] = lambda _, __: None
    # In plans with manual changes, called before each change, including the first. If it returns False, the plan
    # ends. The callback must return soon after `PlanSession.cancel`.
    confirm: Callable[[PlannedRun], bool] = lambda _: True
    # Called regularly with the planned run while it waits for a quiet computer or its power limit.
    on_waiting: Callable[[PlannedRun, Wait], None] = lambda _, __: None


class ByHand:
    """The user changes something between the sides or, in a plan without sides, between the configurations."""

    restore_command = None

    def __init__(self, confirm: Callable[[PlannedRun], bool]) -> None:
        self._confirm = confirm
        self._set_up: object = None

    def wait(self, planned: PlannedRun, stop: threading.Event, on_waiting: Callable[[Wait], None]) -> bool:
        needed = planned.side or planned.spec
        if needed == self._set_up or stop.is_set():
            return True
        self._set_up = needed
        return self._confirm(planned)


class PlanSession:
    """A plan in progress. `cancel`, `kill` and `wait` may be called from any thread.

    Attributes:
        group_id: Id of the stored group; None for a single run.
        run_id: Id of the latest run; 0 before the first one.
        status: "running", then "completed", "cancelled" (also if a start condition ended it) or "failed".
        trouble: Error that ended the plan, other than a failed run; None if there was none.
        refusals: Errors of runs that can't be started, if the plan continues without them.

    Args:
        callbacks: Callbacks of the plan; None if there are none.
        group_id: Id of the stored group; None for a single run.
        ownership: Lock of the group, released at the end; None if there is none.
        conditions: What must hold before each run, in this order.
    """

    def __init__(
        self,
        plan: Plan,
        runner: Runner,
        callbacks: PlanCallbacks | None,
        group_id: int | None,
        runs: Iterable[tuple[PlannedRun, CheckedSpec]],
        *,
        ownership: Ownership | None,
        conditions: Sequence[StartCondition],
    ) -> None:
        self.plan = plan
        self.group_id = group_id
        self.run_id = 0
        self.status: str = "running"
        self.trouble: AppError | None = None
        self.refusals: list[AppError] = []
        self._runs = tuple(runs)
        self._runner = runner
        self._callbacks = callbacks or PlanCallbacks()
        self._ownership = ownership
        self._conditions = tuple(conditions)
        self._session: Session | None = None
        self._ended: list[tuple[RunSpec, RunSummary]] = []
        self._cancel = threading.Event()
        self._kill = threading.Event()
        # Not a daemon: storing a run must not be interrupted when the program exits.
        self._thread = threading.Thread(target=self._main, name="plan")

    @property
    def restore_command(self) -> str | None:
        """The command that undoes what the user has changed for the plan; None if there is nothing to undo."""
        return next(filter(None, (condition.restore_command for condition in self._conditions)), None)

    @property
    def is_cancelled(self) -> bool:
        return self._cancel.is_set()

    def cancel(self) -> None:
        """Ask the current run to stop, and don't start any more runs."""
        self._cancel.set()
        if self._session is not None:
            self._session.cancel()

    def kill(self) -> None:
        """Kill the current run, and don't start any more runs."""
        self._kill.set()
        self._cancel.set()
        if self._session is not None:
            self._session.kill()

    def wait(self, timeout_s: float | None = None) -> bool:
        self._thread.join(timeout_s)
        return not self._thread.is_alive()

    def start(self) -> None:
        self._thread.start()

    def _main(self) -> None:
        status = "failed"
        try:
            status = self._carry_out()
        except AppError as error:
            self.trouble = error
        except Exception as error:  # a bug in our code, reported by the program
            self.trouble = refusal(error)
            if self.trouble is None:
                self.trouble = AppError(message("fault.task_stopped", reason=str(error)))
                raise
        finally:
            if self._ownership is not None:
                self._ownership.release()
            self.status = status

    def _carry_out(self) -> str:
        for planned, checked in self._runs:
            if self.plan.study is not None and filled_by(planned.spec, self._ended) is not None:
                continue
            try:
                on_waiting = partial(self._callbacks.on_waiting, planned)
                if not all(condition.wait(planned, self._cancel, on_waiting) for condition in self._conditions):
                    return "cancelled"
                if self._cancel.is_set():
                    return "cancelled"
                status = self._run(planned, checked)
            except UsageError as error:  # for example, because the engine has been removed
                if not self.plan.survives_failures:
                    raise
                self.refusals.append(error)
                continue
            if status == "failed" and self.plan.survives_failures:
                continue
            if status != "completed":
                return "cancelled" if status == "cancelled" else "failed"
        return "completed"

    def _run(self, planned: PlannedRun, checked: CheckedSpec) -> str:
        begun = threading.Event()

        def listener(event: events.Event) -> None:
            begun.wait()  # blocks only briefly, at the first event
            self._callbacks.on_event(event)

        group_id = self.group_id
        place = PlanPlace(group_id, planned.number, planned.side) if group_id is not None else None
        self._session = session = self._runner.start(checked, listener, place)
        self.run_id = session.run_id
        try:
            # The plan may have been cancelled before the session existed.
            if self._kill.is_set():
                session.kill()
            elif self._cancel.is_set():
                session.cancel()
            self._callbacks.on_run_started(planned, session.run_id)
        finally:
            begun.set()
            session.wait()
            self._session = None
        if session.trouble is not None:
            raise session.trouble
        with Database(self._runner.paths.database) as database:
            summary = next(list_runs(database, ids=[session.run_id]), None)
        if summary is not None:  # None if the run has just been deleted
            self._ended.append((planned.spec, summary))
            self._callbacks.on_run_ended(planned, summary)
        return session.status


def conditions_of(plan: Plan, runner: Runner, callbacks: PlanCallbacks | None) -> list[StartCondition]:
    """Return what must hold before each run of a plan: what the user sets up by hand, and power limits."""
    by_hand = [ByHand((callbacks or PlanCallbacks()).confirm)] if plan.by_hand else []
    power_limits = power_limits_for(plan, runner)
    return [*by_hand, *([power_limits] if power_limits is not None else [])]


def run_plan(
    plan: Plan,
    runner: Runner,
    callbacks: PlanCallbacks | None = None,
    conditions: Sequence[StartCondition] | None = None,
) -> PlanSession:
    """Check and store a plan, then start it in the background. Single runs are stored without a group.

    Args:
        callbacks: Callbacks of the plan; None if there are none.
        conditions: What must hold before each run; None for `conditions_of`.

    Raises:
        UsageError: A run can't be started. Nothing has been stored.
        DatabaseError: The results can't be written.
    """
    runs = [(planned, runner.check(planned.spec)) for planned in plan.runs()]
    group_id, ownership = None, None
    if not plan.is_single:
        with Database(runner.paths.database) as database:
            group_id = begin_group(database, plan)
        ownership = own_group(runner.paths.database, group_id)
    conditions = conditions_of(plan, runner, callbacks) if conditions is None else conditions
    session = PlanSession(plan, runner, callbacks, group_id, runs, ownership=ownership, conditions=conditions)
    session.start()
    return session


def resume_plan(
    group: Group, runs: Iterable[PlannedRun], runner: Runner, callbacks: PlanCallbacks | None = None
) -> PlanSession:
    """Start runs of a stored plan in the background, and add them to its group.

    Runs that another process has started since the group was read are skipped.

    Raises:
        UsageError: The plan is already running, the group no longer exists, or a run can't be started.
    """
    ownership = own_group(runner.paths.database, group.id)
    try:
        with Database(runner.paths.database) as database:
            now = load_group(database, group.id)
        made = {number for run_id, number in now.numbers.items() if run_id not in group.numbers}
        left: list[tuple[PlannedRun, CheckedSpec]] = []
        refusals: list[AppError] = []
        for planned in runs:
            if planned.number not in made:
                try:
                    left.append((planned, runner.check(planned.spec)))
                except UsageError as error:  # for example, because an engine was removed
                    if not group.plan.survives_failures:
                        raise
                    refusals.append(error)
        conditions = conditions_of(group.plan, runner, callbacks)
        session = PlanSession(
            group.plan, runner, callbacks, group.id, left, ownership=ownership, conditions=conditions
        )
        session.refusals += refusals
        session.start()
    except BaseException:
        ownership.release()
        raise
    return session
