"""A plan of several runs, one after another, each in a fresh process: repetitions, an A/B, a study."""

import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from app.core.errors import AppError, UsageError
from app.core.records import Group, Plan, PlannedRun, RunSummary, Side
from app.core.runs.runner import Runner
from app.core.runs.session import Listener, Session
from app.core.storage.database import Database
from app.core.storage.groups import begin_group, load_group
from app.core.storage.owners import Ownership, own_group
from app.core.storage.runs import list_runs
from workloads.protocol import events

REPEATS_LIMIT, PAIRS_LIMIT = 100, 100
LABEL_LIMIT = 60


@dataclass(frozen=True, slots=True)
class Watch:
    """Callbacks of a plan, all called in other threads than the caller's.

    Attributes:
        listener: Called with each event of each run, as for a single run.
        begun: Called with the run's number when it is stored, before its first event.
        ended: Called with the stored run when it ends.
        ask: Called at each change of side, including the first; only in plans "by hand". Returning False ends the
            plan. It must return soon after `Sequence.cancel`.
    """

    listener: Listener = lambda _: None
    begun: Callable[[PlannedRun, int], None] = lambda _, __: None
    ended: Callable[[PlannedRun, RunSummary], None] = lambda _, __: None
    ask: Callable[[PlannedRun], bool] = lambda _: True


class Sequence:
    """A plan in progress. `cancel`, `kill` and `wait` may be called from any thread, as for a session.

    Attributes:
        group_id: The stored group.
        status: running, then completed, cancelled (also if `ask` returned False) or failed.
        trouble: Why it couldn't continue, other than a failed run; or None.
        refusals: Why runs couldn't begin, in a plan that goes on without them.

    Args:
        plan: The plan.
        runner: Starts its runs.
        watch: Callbacks.
        group_id: The stored group.
        runs: Those to make.
        ownership: The lock of the group, released at the end.
    """

    def __init__(
        self,
        plan: Plan,
        runner: Runner,
        watch: Watch,
        group_id: int,
        runs: Iterable[PlannedRun],
        *,
        ownership: Ownership,
    ) -> None:
        self.plan = plan
        self.group_id = group_id
        self.status: str = "running"
        self.trouble: AppError | None = None
        self.refusals: list[AppError] = []
        self._runs = tuple(runs)
        self._runner = runner
        self._watch = watch
        self._ownership = ownership
        self._session: Session | None = None
        self._cancel = threading.Event()
        self._kill = threading.Event()
        # Not a daemon: storing a run must not be cut short when the program exits.
        self._thread = threading.Thread(target=self._main, name=f"group-{group_id}")

    @property
    def is_cancelled(self) -> bool:
        """Whether it was asked to stop."""
        return self._cancel.is_set()

    def cancel(self) -> None:
        """Ask the current run to stop, and start no more runs."""
        self._cancel.set()
        if self._session is not None:
            self._session.cancel()

    def kill(self) -> None:
        """End the current run now, and start no more runs."""
        self._kill.set()
        self._cancel.set()
        if self._session is not None:
            self._session.kill()

    def wait(self, timeout_s: float | None = None) -> bool:
        """Wait for the plan to end; return whether it has."""
        self._thread.join(timeout_s)
        return not self._thread.is_alive()

    def start(self) -> None:
        """Start; called once, by `run_plan`."""
        self._thread.start()

    def _main(self) -> None:
        status = "failed"
        try:
            status = self._carry_out()
        except AppError as error:
            self.trouble = error
        finally:
            self._ownership.release()
            self.status = status

    def _carry_out(self) -> str:
        side: Side | None = None
        for planned in self._runs:
            is_asked = self.plan.by_hand and planned.side != side and not self._cancel.is_set()
            if is_asked and not self._watch.ask(planned):
                return "cancelled"
            side = planned.side
            if self._cancel.is_set():
                return "cancelled"
            try:
                status = self._run(planned)
            except UsageError as error:  # such as an engine that was removed meanwhile
                if not self.plan.survives_failures:
                    raise
                self.refusals.append(error)
                continue
            if status == "failed" and self.plan.survives_failures:
                continue
            if status != "completed":
                return "cancelled" if status == "cancelled" else "failed"
        return "completed"

    def _run(self, planned: PlannedRun) -> str:
        begun = threading.Event()

        def listener(event: events.Event) -> None:
            begun.wait()  # briefly, and only at the first event
            self._watch.listener(event)

        group = self.group_id, planned.side
        session = self._runner.start(planned.spec, listener, group, planned.number)
        self._session = session
        try:
            # A request to stop that came before there was a session.
            if self._kill.is_set():
                session.kill()
            elif self._cancel.is_set():
                session.cancel()
            self._watch.begun(planned, session.run_id)
        finally:
            begun.set()
            session.wait()
            self._session = None
        if session.trouble is not None:
            raise session.trouble
        with Database(self._runner.paths.database) as database:
            summary = next(list_runs(database, ids=[session.run_id]), None)
        if summary is not None:  # None if it has just been deleted
            self._watch.ended(planned, summary)
        return session.status


def run_plan(plan: Plan, runner: Runner, watch: Watch | None = None) -> Sequence:
    """Check and store the plan, then start it in the background.

    Args:
        plan: The plan.
        runner: Starts the runs.
        watch: Callbacks.

    Raises:
        UsageError: One of its runs can't be run; nothing was stored.
        DatabaseError: The results can't be written.
    """
    for spec in plan.specs:
        runner.check(spec)
    with Database(runner.paths.database) as database:
        group_id = begin_group(database, plan)
    ownership = own_group(runner.paths.database, group_id)
    sequence = Sequence(plan, runner, watch or Watch(), group_id, plan.runs(), ownership=ownership)
    sequence.start()
    return sequence


def resume_plan(group: Group, runs: Iterable[PlannedRun], runner: Runner, watch: Watch | None = None) -> Sequence:
    """Start those runs of a stored plan, in the background; they are added to its group.

    Runs that someone else has made since the group was read are left out.

    Args:
        group: The stored plan.
        runs: Which of its runs.
        runner: Starts them.
        watch: Callbacks.

    Raises:
        UsageError: Its runs are being made right now, or the group is gone.
    """
    ownership = own_group(runner.paths.database, group.id)
    try:
        with Database(runner.paths.database) as database:
            now = load_group(database, group.id)
        made = {number for run_id, number in now.numbers.items() if run_id not in group.numbers}
        left = [planned for planned in runs if planned.number not in made]
        sequence = Sequence(group.plan, runner, watch or Watch(), group.id, left, ownership=ownership)
        sequence.start()
    except BaseException:
        ownership.release()
        raise
    return sequence
