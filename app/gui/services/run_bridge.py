"""Connects a session's thread with the GUI. A timer processes the queue of events."""

import queue
import statistics
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from PySide6.QtCore import QObject, Qt, Signal

from app.core.errors import AppError
from app.core.messages import message, sentence
from app.core.paths import Paths
from app.core.records import Group, Plan, PlannedRun, RunSummary
from app.core.runs.liveness import RunLimits
from app.core.runs.plan_session import (
    PlanCallbacks,
    PlanSession,
    StartCondition,
    Wait,
    conditions_of,
    resume_plan,
    run_plan,
)
from app.core.runs.quiet import QuietComputer
from app.core.runs.runner import Runner
from app.core.runs.state import RunState
from app.core.storage.database import Database
from app.core.storage.groups import specs_of
from app.core.storage.outcomes import recover_runs
from app.core.storage.queries import has_running
from app.core.storage.runs import list_runs, missing_runs
from app.core.titles import status_title
from app.gui.services.tasks import Tasks
from app.gui.widgets.timers import timer
from workloads.protocol import events
from workloads.protocol.machine import Machine
from workloads.protocol.spec import RunSpec

# As often as texts are updated. Waking up costs more than the work itself.
TICK_MS = 250
LINES_KEPT = 2_000
Resumed = tuple[Group, Sequence[PlannedRun]]
# Page code for single runs.
RUNS_PAGE = "benchmark"


class BusyError(AppError):
    """Another instance of Epochmark is measuring on this computer."""


class RunBridge(QObject):
    """Starts plans, one at a time, and follows their runs.

    Signals:
        advanced: Events have arrived. The argument is the set of their types; empty if only `waiting` has changed.
        ended: The plan has ended. The argument is the number of its last run, or 0 if there was none. If `trouble`
            is set, the run may be stored incompletely.
    """

    started = Signal()  # a plan was started; `state` is a new object
    moved_on = Signal()  # a run, with its own `state`, has started or ended, or `asks` has changed
    advanced = Signal(object)
    ended = Signal(int)
    refused = Signal(object)  # no run could be started: an AppError

    def __init__(
        self,
        paths: Callable[[], Paths],
        tasks: Tasks,
        limits: RunLimits | None = None,
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._paths = paths
        self._tasks = tasks
        self.limits = limits
        # Events, interleaved with callbacks of the plan, for the GUI thread.
        self._events: deque[events.Event | Callable[[], None]] = deque()
        self._session: PlanSession | None = None
        self._answers: queue.SimpleQueue[bool] = queue.SimpleQueue()
        self._starting = False
        self._timer = timer(self, TICK_MS)
        self._timer.setTimerType(Qt.TimerType.CoarseTimer)
        self._timer.timeout.connect(self._on_tick)
        self.is_cancelled = False
        self.state: RunState | None = None
        self.trouble: AppError | None = None
        self.plan: Plan | None = None
        self.planned: PlannedRun | None = None  # the current run of the plan; None before the first run
        self.asks: PlannedRun | None = None  # the run that waits for `answer`; None if there is none
        self.waiting: Wait | None = None  # what a run waits for before it starts
        self.restore_command: str | None = None  # restores the GPU's default power limit after the plan
        self.done: list[RunSummary] = []
        self.group_id: int | None = None  # None until the plan is stored, and for single runs
        self.planned_runs = 1  # number of runs in the plan, or of remaining runs if it was resumed
        self._resumed: Group | None = None
        self._asked_of: dict[int, RunSpec] = {}
        self._numbers: dict[int, int] = {}  # number within the plan, by run number
        self.lines: deque[str] = deque(maxlen=LINES_KEPT)

    @property
    def is_running(self) -> bool:
        return self._starting or self._session is not None

    @property
    def page(self) -> str:
        return page_of(self.plan)

    @property
    def has_own_page(self) -> bool:
        """Whether the current or latest plan has its own page instead of the Benchmark page."""
        return self.page != RUNS_PAGE

    @property
    def busy_text(self) -> str:
        """A sentence about the plan that must end before anything else can start; "" if none is running."""
        return sentence("benchmark.running") if self.is_running else ""

    @property
    def fraction(self) -> float | None:
        within = self.state.progress.fraction if self.state is not None else None
        if self.plan is None or self.plan.is_single:
            return within
        return min(1.0, (len(self.done) + self._within) / max(1, self.planned_runs))

    @property
    def _within(self) -> float:
        """Completed share of the current run, 0 to 1; 0 for a run that already counts as done."""
        state, latest = self.state, self.done[-1].id if self.done else None
        if state is None or (state.summary is not None and state.summary.id == latest):
            return 0.0
        return state.progress.fraction or 0.0

    def group(self) -> Group | None:
        """Return the results of the plan so far; None for single runs."""
        if self.plan is None or self.plan.is_single:
            return None
        return Group(
            id=self.group_id or 0, created_at="", plan=self.plan, runs=tuple(self.done), numbers=self._numbers
        )

    def whole_group(self) -> tuple[Group, dict[int, RunSpec]] | None:
        """Return all results of the plan, and the requested specs by run number; None for single runs."""
        earlier = self._resumed
        if (group := self.group()) is None:
            return None
        if earlier is not None:
            runs, numbers = (*earlier.runs, *self.done), {**earlier.numbers, **self._numbers}
            group = replace(earlier, plan=group.plan, runs=runs, numbers=numbers)
        return group, self._asked_of

    def left_s(self) -> float | None:
        """Estimate the remaining runs' time in seconds from the finished runs; None if no run has finished."""
        finished_s = [run.wall_s for run in self.done if run.wall_s is not None]
        if not finished_s:
            return None
        runs = self.planned_runs - len(self.done) - self._within
        return max(1.0, runs * statistics.fmean(finished_s))

    def start(
        self,
        plan: Plan,
        machine: Machine,
        *,
        allow_concurrent: bool = False,
        resumed: Resumed | None = None,
        when_quiet: bool = False,
    ) -> None:
        """Start the runs of a plan in the background, one after another. If this fails, `refused` is emitted.

        Args:
            allow_concurrent: Whether to run even if another instance of Epochmark is measuring. If not, the plan
                is refused with BusyError. This is checked only before the first run.
            resumed: A stored group and its remaining runs; None for a new plan.
            when_quiet: Whether a new plan first waits for a quiet computer, for a limited time.
        """
        if self.is_running:
            return
        runs = plan.runs() if resumed is None else resumed[1]
        self._reset(runs[0].spec, plan)
        self.planned_runs = len(runs)
        self._resumed = resumed[0] if resumed is not None else None
        paths = self._paths()
        runner, callbacks, asked_of = Runner(paths, machine, self.limits), self._callbacks(paths), self._asked_of

        def begin() -> PlanSession:
            with Database(paths.database) as database:
                recover_runs(database)
                if not allow_concurrent and has_running(database):
                    raise BusyError(message("busy.other_epochmark"))
                if resumed is not None:
                    asked_of.update(specs_of(database, [run.id for run in resumed[0].runs]))
            if resumed is None:
                conditions: list[StartCondition] = [QuietComputer()] if when_quiet else []
                conditions += conditions_of(plan, runner, callbacks)
                session = run_plan(plan, runner, callbacks, conditions)
            else:
                session = resume_plan(*resumed, runner, callbacks)
            if self.is_cancelled:  # the user may have cancelled or closed the window
                session.cancel()
            return session

        self._tasks.start(begin, self._on_begun, self._on_refused)
        self.started.emit()

    def _callbacks(self, paths: Paths) -> PlanCallbacks:
        """Return the callbacks of a plan, which pass everything on to the GUI thread."""
        waiting, answers, asked_of, numbers = self._events, self._answers, self._asked_of, self._numbers

        def on_started(planned: PlannedRun, run_id: int) -> None:
            asked_of[run_id], numbers[run_id] = planned.spec, planned.number
            with Database(paths.database) as database:
                summary = _stored(database, run_id)
            waiting.append(partial(self._on_planned, planned, summary))

        def confirm(planned: PlannedRun) -> bool:
            waiting.append(partial(self._on_asked, planned))
            return answers.get()

        return PlanCallbacks(
            on_event=waiting.append,
            on_run_started=on_started,
            on_run_ended=lambda _, summary: waiting.append(partial(self._on_done, summary)),
            confirm=confirm,
            on_waiting=lambda _, wait: waiting.append(partial(self._on_waiting, wait)),
        )

    def answer(self, go_on: bool) -> None:
        if self.asks is not None:
            self.asks = None
            self._answers.put(go_on)
            self.moved_on.emit()

    def cancel(self) -> None:
        self.is_cancelled = True
        self._answers.put(False)
        if self._session is not None:
            self._session.cancel()

    def kill(self) -> None:
        if self._session is not None:
            self._session.kill()

    def finish(self, timeout_s: float) -> bool:
        """Cancel the run and wait for its end, killing it if necessary. Return whether it has ended."""
        self.cancel()
        session = self._session
        if session is None:
            return True
        self._timer.stop()
        ended = session.wait(timeout_s)
        if not ended:
            session.kill()
            ended = session.wait(timeout_s)
        if ended:
            self._session = None
        return ended

    def apply(self, event: events.Event) -> None:
        assert self.state is not None
        self.state.follow(event)
        if line := _line(event):
            self.lines.append(f"{event.t_s:8.2f} s  {line}")

    def _reset(self, spec: RunSpec, plan: Plan) -> None:
        self._starting, self.is_cancelled = True, False
        self.state, self.trouble = RunState(spec), None
        self.plan, self.planned, self.asks, self.done, self.group_id = plan, None, None, [], None
        self.waiting = None
        self._asked_of, self._numbers = {}, {}
        self.lines.clear()
        self._events = deque()
        self._answers = queue.SimpleQueue()

    def _on_begun(self, session: PlanSession) -> None:
        self._starting = False
        self._session, self.group_id = session, session.group_id
        self._timer.start()
        if self.is_cancelled:
            session.cancel()

    def _on_planned(self, planned: PlannedRun, summary: RunSummary) -> None:
        self.planned, self.asks, self.waiting = planned, None, None
        self.state = RunState(planned.spec, summary)
        place = {"number": planned.number, "planned": planned.count}
        if planned.side:
            self.lines.append(sentence("log.side", **place, side=planned.side))
        elif planned.count > 1:
            self.lines.append(sentence("log.run", **place))
        self.moved_on.emit()

    def _on_done(self, summary: RunSummary) -> None:
        self.done.append(summary)
        self.moved_on.emit()

    def _on_asked(self, planned: PlannedRun) -> None:
        if not self.is_cancelled:
            self.asks = planned
            self.moved_on.emit()

    def _on_waiting(self, wait: Wait) -> None:
        self.waiting = wait

    def _on_refused(self, error: AppError) -> None:
        self._starting = False
        self.refused.emit(error)

    def _on_tick(self) -> None:
        session = self._session
        # Check this first. Then the queue contains the last events of the session.
        over = session is not None and session.wait(0)
        kinds, before = set(), self.waiting
        while self._events:
            event = self._events.popleft()
            if isinstance(event, events.Event):
                kinds.add(type(event))
                self.apply(event)
            else:
                event()
        if kinds or self.waiting is not before:
            self.advanced.emit(kinds)
        if session is not None and over:
            self._timer.stop()
            self.restore_command = session.restore_command
            self._session = self.asks = self.waiting = None
            self.trouble = session.trouble
            if self.trouble is None:  # a plan may have continued without some of its runs
                self.trouble = next(iter(session.refusals), None)
            summary = self.state.summary if self.state is not None else None
            if self.trouble is not None and summary is None:
                self.refused.emit(self.trouble)  # not even the first run of the plan has started
            else:
                self.ended.emit(summary.id if summary is not None else 0)


def page_of(plan: Plan | None) -> str:
    if plan is None:
        return RUNS_PAGE
    from app.core.plans.experiments import experiment_of  # imported late, because a new window has no plan

    return experiment_of(plan).page


def _stored(database: Database, run_id: int) -> RunSummary:
    summary = next(list_runs(database, ids=[run_id]), None)
    if summary is None:
        raise missing_runs([run_id])
    return summary


def _line(event: events.Event) -> str:
    """Return the line for an event in the log; "" for frequent events."""
    text = ""
    match event:
        case events.Phase():
            text = sentence("log.phase", name=event.name)
        case events.Epoch():
            text = sentence("log.epoch", number=event.index + 1, duration_s=event.duration_s)
        case events.Warn():
            text = sentence("cli.note", note=event.message)
        case events.Error():
            text = sentence("log.error", error=event.message)
        case events.Log():
            text = event.message
        case events.End():
            text = sentence("log.end", status=status_title(event.status))
    return text
