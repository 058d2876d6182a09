"""Between a session's thread and the window: events wait in a queue that a timer empties ten times a second."""

from collections import deque
from collections.abc import Callable
from dataclasses import replace

from PySide6.QtCore import QObject, Qt, QTimer, Signal

from app.core.errors import AppError
from app.core.judging.series import RunSeries, live_summary
from app.core.keeping.database import Database
from app.core.keeping.history import Query, find_ids
from app.core.keeping.runs import list_runs, recover_runs
from app.core.model import Machine, RunSummary
from app.core.paths import Paths
from app.core.running.progress import Progress
from app.core.running.runner import Runner
from app.core.running.session import Limits, Session
from app.gui.tasks import Tasks
from workloads import events
from workloads.spec import RunSpec

TICK_MS = 100
LINES_KEPT = 2_000


class BusyError(AppError):
    """Another Epochmark is measuring on this computer."""


class RunBridge(QObject):
    """Starts runs, one at a time, and follows the one that is going on.

    Signals:
        started: A run was asked for; `spec`, `series` and `progress` are new.
        advanced: Events came since the last time; with the kinds that came (a set of types of event).
        ended: The run is over; with its number. If `trouble` is set, it may not be stored as it was.
        refused: The run could not begin; with the AppError.
    """

    started = Signal()
    advanced = Signal(object)
    ended = Signal(int)
    refused = Signal(object)

    def __init__(
        self, paths: Callable[[], Paths], tasks: Tasks, limits: Limits | None = None, parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self._paths = paths
        self._tasks = tasks
        self._limits = limits
        self._events: deque[events.Event] = deque()
        self._session: Session | None = None
        self._starting = False
        self._timer = QTimer(self, interval=TICK_MS)
        self._timer.setTimerType(Qt.TimerType.CoarseTimer)
        self._timer.timeout.connect(self._on_tick)
        self.is_cancelled = False
        self.spec: RunSpec | None = None
        self.progress: Progress | None = None
        self.series = RunSeries(1)
        self.summary: RunSummary | None = None
        self.trouble: AppError | None = None
        self.lines: deque[str] = deque(maxlen=LINES_KEPT)

    @property
    def is_running(self) -> bool:
        """Whether a run is about to begin or going on."""
        return self._starting or self._session is not None

    def live(self) -> RunSummary | None:
        """Return the run's record with what it comes to so far; None before it was stored."""
        return None if self.summary is None else live_summary(self.summary, self.series)

    def start(self, spec: RunSpec, machine: Machine, *, beside: bool = False) -> None:
        """Begin a run in the background; `refused` says why if it cannot.

        Args:
            spec: What to run.
            machine: What the result is stored for.
            beside: Whether to run although another Epochmark runs something too (else BusyError).
        """
        if self.is_running:
            return
        self._starting, self.is_cancelled = True, False
        self.spec, self.progress, self.summary = spec, Progress(spec), None
        self.series, self.trouble = RunSeries(spec.steps or 1), None
        self.lines.clear()
        self._events = deque()
        paths = self._paths()
        runner = Runner(paths, machine, self._limits)
        listener = self._events.append

        def begin() -> tuple[Session, RunSummary]:
            with Database(paths.database) as database:
                recover_runs(database)
                if not beside and find_ids(database, Query(status="running")):
                    raise BusyError("Another Epochmark is running a benchmark on this computer.")
                session = runner.start(spec, listener)
                if self.is_cancelled:  # the window may be gone by now
                    session.cancel()
                return session, next(list_runs(database, ids=[session.run_id]))

        self._tasks.start(begin, self._on_begun, self._on_refused)
        self.started.emit()

    def cancel(self) -> None:
        """Ask the run to stop; what was measured is kept."""
        self.is_cancelled = True
        if self._session is not None:
            self._session.cancel()

    def kill(self) -> None:
        """End the run at once."""
        if self._session is not None:
            self._session.kill()

    def finish(self, timeout_s: float) -> bool:
        """Cancel the run and wait for its end, at last by force; returns whether it has ended."""
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

    def take(self, event: events.Event) -> None:
        """Follow one event of the run."""
        assert self.progress is not None
        self.progress.follow(event)
        self.series.follow(event)
        text = _line(event)
        if text:
            self.lines.append(f"{event.t_s:8.2f} s  {text}")
        if self.summary is None:
            return
        if isinstance(event, events.Environment):
            self.summary = replace(
                self.summary,
                engine=event.engine,
                engine_version=event.engine_version,
                device=event.device,
                device_name=event.device_name,
                precision=event.precision,
                jit=event.jit,
            )
        elif isinstance(event, events.Dataset):
            self.summary = replace(self.summary, data_source=event.source)

    def _on_begun(self, begun: tuple[Session, RunSummary]) -> None:
        self._starting = False
        self._session, self.summary = begun
        self.series = RunSeries(self.summary.steps or self.summary.steps_per_epoch)
        self._timer.start()
        if self.is_cancelled:
            self._session.cancel()

    def _on_refused(self, error: AppError) -> None:
        self._starting = False
        self.refused.emit(error)

    def _on_tick(self) -> None:
        session = self._session
        # Asked before the queue is emptied: what the session said last is in it by then.
        over = session is not None and session.wait(0)
        kinds = set()
        while self._events:
            event = self._events.popleft()
            kinds.add(type(event))
            self.take(event)
        if kinds:
            self.advanced.emit(kinds)
        if session is not None and over:
            self._timer.stop()
            self._session = None
            self.trouble = session.trouble
            self.ended.emit(session.run_id)


def _line(event: events.Event) -> str:
    """Return what the log shows of an event; "" for those that come many times a second."""
    text = ""
    match event:
        case events.Phase():
            text = f"Phase: {event.name}"
        case events.Epoch():
            text = f"Epoch {event.index + 1}: {event.duration_s:.2f} s"
        case events.Warn():
            text = f"Note: {event.message}"
        case events.Error():
            text = f"Error: {event.message}"
        case events.Log():
            text = event.message
        case events.End():
            text = f"End: {event.status}"
    return text
