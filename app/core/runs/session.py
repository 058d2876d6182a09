"""A run in progress. The worker and the monitor fill a queue; a thread stores the events and passes them on."""

import logging
import os
import queue
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import msgspec

from app.core.analysis.position import position
from app.core.engines.builds import cards_for, idle_cards, no_build
from app.core.errors import AppError, refusal
from app.core.hardware.gpu.gpus import GpuReader
from app.core.hardware.telemetry.monitor import Monitor, TelemetryReader
from app.core.messages import message
from app.core.paths import Paths
from app.core.records import RunSummary
from app.core.redaction.private_texts import own_names
from app.core.redaction.scrubbing import scrub
from app.core.runs.awake import stay_awake
from app.core.runs.event_messages import failure, problem, warn
from app.core.runs.live_verdict import LiveVerdict
from app.core.runs.liveness import Liveness, RunLimits
from app.core.runs.state import RunState
from app.core.runs.worker import BadLine, StreamClosed, Worker, WorkerMessage, exit_message
from app.core.runs.worker_command import WorkerCommand
from app.core.storage.database import Database, DatabaseError, back_up
from app.core.storage.outcomes import NOT_SUMMARISED
from app.core.storage.owners import Ownership
from app.core.storage.recording import RunGoneError, RunWriter
from app.core.storage.runs import list_runs, missing_runs
from app.core.verdict.boost import is_burstable_instance
from workloads import CATALOGUE
from workloads.engines.registry import DEFAULT_ENGINE, ENGINES, is_included
from workloads.protocol import events
from workloads.protocol.folders import remove_leftovers
from workloads.protocol.machine import Machine
from workloads.protocol.messages import with_texts
from workloads.protocol.spec import ComputerPlace, Job, RunSpec
from workloads.protocol.telemetry import Telemetry

_log = logging.getLogger(__name__)
Listener = Callable[[events.Event], None]
# Large enough not to block a worker, and small enough that a runaway worker can't fill the memory.
QUEUE_LIMIT = 2_000
TICK_S = 0.1
WRITE_PATIENCE_S = 0.2
DAMAGED_REPORTED_MAX = 3
WARNINGS_OF_A_CODE, WARNINGS = 20, 100
# Limit for other events, which are sent at most a few times per run or replace an earlier event.
_OTHERS = 10_000
# A worker sends up to ten blocks of steps per second, and one at the end of each epoch.
_EPOCHS, _FIRST_BLOCKS, _BLOCKS_A_SECOND, _BLOCKS_OF_AN_EPOCH = 1_000_000, 1_000, 20, 3


class Flood:
    """Counts a run's events by kind. Events above the limit are dropped and counted."""

    def __init__(self) -> None:
        self.left_out = 0
        self._kept: Counter[str] = Counter()

    def lets_in(self, event: events.Event, elapsed_s: float) -> bool:
        """Return whether an event may be stored and shown.

        Args:
            elapsed_s: Time since the start of the run in seconds.
        """
        kept, kind = self._kept, event.type
        match event:
            case events.Log() | events.TelemetryEvent():  # never stored, or this process's own
                return True
            case events.Warn():
                of_code = f"warning {event.code}"
                fits = kept[kind] < WARNINGS and kept[of_code] < WARNINGS_OF_A_CODE
                kept[of_code] += fits
            case events.Epoch():
                fits = kept[kind] < _EPOCHS
            case events.Steps():
                most = _FIRST_BLOCKS + _BLOCKS_A_SECOND * elapsed_s + _BLOCKS_OF_AN_EPOCH * kept["epoch"]
                fits = kept[kind] < most
            case _:
                fits = kept[kind] < _OTHERS
        kept[kind] += fits
        self.left_out += not fits
        return fits


class Session:
    """A run in progress. `cancel`, `kill` and `wait` may be called from any thread; all other state is private."""

    def __init__(
        self,
        *,
        run_id: int,
        spec: RunSpec,
        command: WorkerCommand,
        paths: Paths,
        machine: Machine,
        limits: RunLimits,
        listener: Listener,
        ownership: Ownership,
        place: ComputerPlace | None = None,
    ) -> None:
        self.run_id = run_id
        self.status: str = "running"
        self.trouble: AppError | None = None
        # Not a daemon: storing a run must not be interrupted when the program exits.
        self._thread = threading.Thread(target=self._main, name=f"run-{run_id}")
        self._spec = spec
        self._command = command
        self._paths = paths
        self._machine = machine
        self._limits = limits
        self._listener = listener
        self._ownership = ownership
        self._place = place
        self._messages: queue.Queue[WorkerMessage] = queue.Queue(maxsize=QUEUE_LIMIT)
        self._worker: Worker | None = None
        self._cancel = threading.Event()
        self._kill = threading.Event()
        self._start_s = time.monotonic()
        self._seq = 0
        self._error: events.Error | None = None
        self._end: events.End | None = None
        self._damaged = 0
        self._flood = Flood()

    def cancel(self) -> None:
        """Ask the run to stop. It ends within cancel_s + terminate_s even if the worker doesn't respond."""
        self._cancel.set()

    def kill(self) -> None:
        """End the run immediately, even if its thread is stuck in a listener."""
        self._cancel.set()
        self._kill.set()
        if self._worker is not None:
            self._worker.end(force=True)

    def wait(self, timeout_s: float | None = None) -> bool:
        self._thread.join(timeout_s)
        return not self._thread.is_alive()

    def start(self) -> None:
        self._thread.start()

    def _main(self) -> None:
        try:
            # The timeout is short: while the database is busy, events are queued, and the run continues.
            with Database(self._paths.database, busy_timeout_s=WRITE_PATIENCE_S) as database:
                self._writer = RunWriter(database, self.run_id)
                try:
                    self._run(database)
                except AppError:
                    raise
                except Exception as error:  # noqa: BLE001 - see below
                    # Last resort: the run must end, and the log must contain the reason.
                    self._record_bug(error)
                    self._finish(database)
            back_up(self._paths.database)
        except AppError as error:
            self._give_up(error)
        except Exception as error:  # noqa: BLE001 - storing the end may fail as well
            self._give_up(self._record_bug(error))
        finally:
            self._ownership.release()

    def _record_bug(self, error: Exception) -> AppError:
        """Mark the run as failed because of an exception. Log it, unless the system refused a thread."""
        ended = refusal(error)
        if ended is None:
            _log.exception("Run %s ended by an error of Epochmark itself.", self.run_id)
            ended = self.trouble = AppError(message("run.fault"))
        self._error = failure("internal", problem(ended))
        return ended

    def _give_up(self, error: AppError) -> None:
        """End a run that can't be stored, so that it is recovered the next time the app starts."""
        self.trouble = error
        self.status = "failed"
        self._publish(failure("internal", problem(error)))
        self._publish(events.End(status="failed"))

    def _run(self, database: Database) -> None:
        summary = next(list_runs(database, ids=[self.run_id]), None)
        if summary is None:
            raise missing_runs([self.run_id])
        self._state = RunState(self._spec, summary, keeps_steps=True)
        self._live = LiveVerdict(
            self._state, database, self._machine, self._limits.verdict_s, is_burstable=is_burstable_instance()
        )
        self._publish(events.Run(run_id=self.run_id, spec=self._spec, machine=self._machine))
        worker = None
        try:
            folder = os.fsencode(self._paths.datasets)
            private = own_names(self._spec) if self._place is not None else {}
            job = Job(spec=self._spec, datasets_folder=folder, place=self._place, private=private)
            log = self._paths.logs / f"run-{self.run_id}.log"
            worker = self._worker = Worker(self._command, job, log, self._messages)
            self._liveness = Liveness(self._limits, has_computers=self._place is not None)
            with stay_awake(), Monitor(self._queue_telemetry, reader=TelemetryReader(GpuReader(), worker.pid)):
                self._listen(worker)
            code = worker.wait(self._limits.exit_s)
            # The worker couldn't report such an error itself.
            if self._end is None and self._error is None and not self._cancel.is_set():
                said = exit_message(code, worker.last_lines(), has_computers=self._place is not None)
                self._error = failure("crashed", said)
        except AppError as error:
            self._error = failure("internal", problem(error))
        finally:
            if worker is not None:
                worker.close()
            remove_leftovers()
        self._finish(database)

    def _listen(self, worker: Worker) -> None:
        is_notified = False
        while True:
            try:
                received = self._messages.get(timeout=TICK_S)
            except queue.Empty:
                received = None
                self._liveness.silent_s += TICK_S
                # Even if a child process still holds its stream open
                done = self._end is not None or self._kill.is_set() or worker.wait(0) is not None
                if done and self._liveness.silent_s > self._limits.exit_s:
                    return
            self._handle(received)
            if isinstance(received, StreamClosed):
                return
            self._liveness.count()
            for event in self._live.news():
                self._publish(event)
            if self._live.is_enough and not is_notified:
                is_notified = True
                worker.enough()
            self._enforce_limits(worker)

    def _handle(self, event: WorkerMessage | None) -> None:
        if isinstance(event, BadLine):
            # Up to a limit, so that a runaway worker can't fill the database with reports
            self._damaged += 1
            if self._damaged <= DAMAGED_REPORTED_MAX:
                said = message("run.damaged_event", reason=event.reason)
                self._publish(warn("damaged_event", said), stored=True)
        if not isinstance(event, events.Event):
            return
        self._liveness.hear(event)
        match event:
            case events.Alive():
                return
            case events.Hello():
                self._start_s = time.monotonic() - event.t_s
                if event.protocol != events.PROTOCOL:
                    said = message("run.other_protocol", theirs=event.protocol, ours=events.PROTOCOL)
                    self._error = failure("internal", said)
                    self._kill.set()
            case events.Environment():
                self._note_unused_gpu(event)
            case events.Error():
                if self._place is not None and event.said is not None:  # it may come from another computer
                    event = msgspec.structs.replace(event, said=with_texts(event.said, scrub))
                self._error = self._error or event
                return  # stored and passed on at the end, where it must be the last event but one
            case events.End():
                self._end = event
                return
        if self._flood.lets_in(event, time.monotonic() - self._start_s):
            self._publish(event, stored=True)
            self._state.follow(event)
            self._live.follow(event)

    def _enforce_limits(self, worker: Worker) -> None:
        if self._kill.is_set():
            worker.end(force=True)
        elif self._cancel.is_set():
            match self._liveness.cancelling():
                case "ask":
                    worker.cancel()
                case "terminate":
                    worker.end(force=False)
                case "kill":
                    worker.end(force=True)
        elif self._liveness.is_hung:
            self._error = failure("hung", message("run.hung", silent_s=self._liveness.silent_s))
            self._kill.set()
        elif (warning := self._liveness.warning()) is not None:
            self._publish(warning, stored=True)

    def _note_unused_gpu(self, event: events.Environment) -> None:
        if event.device != "cpu" or self._spec.device != "auto" or event.engine == "none":
            return
        engine = ENGINES[self._spec.engine]
        # Includes GPUs that the driver or the system hides from the engine.
        gpus = [gpu for gpu in self._machine.gpus if gpu.vendor in engine.vendors]
        if not is_included(self._spec.engine):
            gpus = [gpu for gpu in gpus if gpu in cards_for(engine.name, self._machine)]
        if gpus:
            # The doctor examines only the default engine.
            code = "run.gpu_not_used" if engine.name == DEFAULT_ENGINE else "run.gpu_not_used_by_other"
            self._publish(warn("gpu_not_used", message(code, engine=engine.title, gpu=gpus[0].name)), stored=True)
        elif idle := idle_cards(engine.name, self._machine):
            engines = CATALOGUE[self._spec.workload].engines
            reason = no_build(engine.name, idle[0], self._machine, engines)
            self._publish(warn("gpu_not_used", message("run.gpu_has_no_build", reason=reason)), stored=True)

    def _queue_telemetry(self, now_s: float, telemetry: Telemetry) -> None:
        try:
            event = events.TelemetryEvent(t_s=max(0.0, now_s - self._start_s), telemetry=telemetry)
            self._messages.put_nowait(event)
        except queue.Full:
            pass  # a worker floods the queue, and its events matter more

    def _finish(self, database: Database) -> None:
        status: events.EndStatus = self._end.status if self._end is not None else "cancelled"
        self.status = status = "failed" if self._error is not None else status
        if self._damaged > DAMAGED_REPORTED_MAX:
            self._publish(warn("damaged_event", message("run.damaged_events", lines=self._damaged)), stored=True)
        if count := self._flood.left_out:
            self._publish(warn("events_left_out", message("run.events_left_out", count=count)), stored=True)
        if self._error is not None:
            self._publish(self._error, stored=True)
        try:
            self._store_end()
        except DatabaseError as error:
            folders = (self._paths.data, Path(tempfile.gettempdir()))
            self.trouble = AppError(error.message, self._writer.rescue(folders) or error.advice)
            self.status = status = "failed"
            self._publish(failure("internal", problem(self.trouble)))
        else:
            for summary in list_runs(database, ids=[self.run_id]):  # none if it has just been deleted
                self._publish_result(summary)
        self._publish(events.End(status=status))

    def _publish_result(self, summary: RunSummary) -> None:
        if summary.error_code == NOT_SUMMARISED:
            self._publish(events.Warn(code=NOT_SUMMARISED, message=summary.error_message or ""))
        if summary.value is not None:
            self._publish(
                events.Result(
                    metric=summary.metric,
                    value=summary.value,
                    seconds_per_epoch_s=summary.seconds_per_epoch_s,
                    basis=summary.basis,
                    spread_pct=summary.spread_pct,
                    comparison=position(summary),
                )
            )

    def _store_end(self) -> None:
        """Store the end of the run. Retry while the database is locked or the disk is full, unless killed."""
        deadline_s = time.monotonic() + self._limits.store_s
        is_reported = False
        while True:
            try:
                self._writer.finish(self.status, self._error)
                return
            except DatabaseError as error:
                gone = isinstance(error, RunGoneError)
                if gone or time.monotonic() > deadline_s or self._kill.is_set():
                    raise
                if not is_reported:
                    is_reported = True
                    said = message("run.not_stored_yet", problem=problem(error), patience_s=self._limits.store_s)
                    self._publish(warn("not_stored", said))
                self._kill.wait(1)

    def _publish(self, event: events.Event, *, stored: bool = False) -> None:
        """Pass an event on, with its number in the merged stream and, if it has no time, the current time."""
        now_s = max(0.0, time.monotonic() - self._start_s)
        t_s = 0.0 if isinstance(event, events.Run) else event.t_s or now_s
        event = msgspec.structs.replace(event, seq=self._seq, t_s=t_s)
        self._seq += 1
        if stored:
            self._writer.add(event)
        try:
            self._listener(event)
        except Exception:  # noqa: BLE001 - see below
            # A bug in a view must not abort the run.
            _log.exception("The listener of run %s failed on %s.", self.run_id, event.type)
