"""A run in progress. The worker and the monitor fill a queue; a thread stores the events and passes them on."""

import logging
import os
import queue
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import msgspec

from app.core.analysis.position import position
from app.core.engines.builds import cards_for, idle_cards, no_build
from app.core.errors import AppError, refusal
from app.core.hardware.gpu.gpus import GpuReader
from app.core.hardware.telemetry.monitor import Monitor, TelemetryReader
from app.core.messages import message
from app.core.paths import Paths
from app.core.redaction.private_texts import own_names
from app.core.redaction.scrubbing import scrub
from app.core.runs.awake import stay_awake
from app.core.runs.event_messages import failure, problem, warn
from app.core.runs.live_verdict import VERDICT_INTERVAL_S, LiveVerdict
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
from workloads.engines.registry import DEFAULT_ENGINE, engine_named, is_included
from workloads.protocol import events
from workloads.protocol.folders import remove_leftovers
from workloads.protocol.machine import Machine
from workloads.protocol.messages import with_texts
from workloads.protocol.spec import Job, Place, RunSpec
from workloads.protocol.telemetry import Telemetry

_log = logging.getLogger(__name__)
Listener = Callable[[events.Event], None]
# Large enough not to block a worker, and small enough that a runaway worker can't fill the memory.
QUEUE_LIMIT = 2_000
TICK_S = 0.1
COUNTED_S = 1.0
WRITE_PATIENCE_S = 0.2
DAMAGED_REPORTED_MAX = 3


@dataclass(frozen=True, slots=True)
class Limits:
    """Time limits in seconds.

    Attributes:
        silence_s: Silence before a warning. The run isn't ended before `start_s`, because compiling the first step
            may take a long time.
        slow_s, slow_steps: Silence before a warning if several computers take part, in seconds and as a number of
            typical steps; the longer one applies.
        start_s: Silence after which a worker counts as hung if it hasn't completed the first step. According to
            NVIDIA, compiling kernels for a GPU without prebuilt code can take up to 30 minutes.
        unheard_s: Silence after which a worker that regularly sends `alive` counts as hung.
        loads_s: The same as `unheard_s`, but until the engine has been imported.
        hung_s, hung_steps: Silence after which a worker counts as hung once the first step is done, in seconds and
            as a number of typical steps; the longer one applies.
        cancel_s: Time between asking a worker to stop and terminating it.
        terminate_s: Time between terminating a worker and killing it.
        exit_s: Time between a worker's last event and killing its process and any remaining children; also the
            time between killing a process and abandoning it, because a process stuck in a driver can't be killed.
        store_s: How long to retry storing a run's end while the database is locked or the disk is full.
        verdict_s: Time between live verdicts.
    """

    silence_s: float = 120.0
    slow_s: float = 10.0
    slow_steps: float = 20.0
    start_s: float = 2_400.0
    unheard_s: float = events.HUNG_S
    loads_s: float = events.LOADS_S
    hung_s: float = 300.0
    hung_steps: float = 400.0
    cancel_s: float = 5.0
    terminate_s: float = 3.0
    exit_s: float = 5.0
    store_s: float = 60.0
    verdict_s: float = VERDICT_INTERVAL_S


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
        limits: Limits,
        listener: Listener,
        ownership: Ownership,
        place: Place | None = None,
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
        self._cancelled_s: float | None = None
        self._terminated = False
        # Counted in waits for the empty queue rather than by the clock: the worker isn't silent just because this
        # process was suspended or a view was slow.
        self._silent_s = 0.0
        self._unheard_s = None if place is None else 0.0  # also reset by `alive`; None until it is expected
        self._has_engine = False
        self._counted_s = time.monotonic()
        self._silence_reported = self._slowness_reported = False
        self._damaged = 0
        self._flood = Flood()
        self._step_s: float | None = None
        self._store_reported = False
        self._enough_reported = False

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
        """Wait for the run to end; return whether it has ended."""
        self._thread.join(timeout_s)
        return not self._thread.is_alive()

    def start(self) -> None:
        """Start the thread. Called once."""
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
            if self._place is not None:
                self._unheard_s = 0.0
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
        while True:
            try:
                received = self._messages.get(timeout=TICK_S)
            except queue.Empty:
                received = None
                self._silent_s += TICK_S
                # Even if a child process still holds its stream open
                done = self._end is not None or self._kill.is_set() or worker.wait(0) is not None
                if done and self._silent_s > self._limits.exit_s:
                    return
            self._handle(received)
            if isinstance(received, StreamClosed):
                return
            # Capped in case this process was suspended or a view was slow
            now_s = time.monotonic()
            if self._unheard_s is not None:
                self._unheard_s += min(now_s - self._counted_s, COUNTED_S)
            self._counted_s = now_s
            for event in self._live.news():
                self._publish(event)
            if self._live.is_enough and not self._enough_reported:
                self._enough_reported = True
                worker.enough()
            self._enforce_limits(worker)

    def _handle(self, received: WorkerMessage | None) -> None:
        if isinstance(received, events.Event) and not isinstance(received, events.TelemetryEvent):
            self._hear(received)
        match received:
            case BadLine():
                # Up to a limit, so that a runaway worker can't fill the database with reports
                self._damaged += 1
                if self._damaged <= DAMAGED_REPORTED_MAX:
                    said = message("run.damaged_event", reason=received.reason)
                    self._store_and_publish(warn("damaged_event", said))
            case events.Event():
                self._on_event(received)

    def _hear(self, event: events.Event) -> None:
        self._has_engine = self._has_engine or isinstance(event, events.Environment)
        if self._unheard_s is not None or isinstance(event, events.Alive):
            self._unheard_s = 0.0
        if not isinstance(event, events.Alive):
            self._silent_s = 0.0
            self._silence_reported = False

    def _on_event(self, event: events.Event) -> None:
        match event:
            case events.Alive():
                return
            case events.Hello():
                self._start_s = time.monotonic() - event.t_s
                if event.protocol != events.PROTOCOL:
                    said = message("run.other_protocol", theirs=event.protocol, ours=events.PROTOCOL)
                    self._error = failure("internal", said)
                    self._kill.set()
            case events.Steps():
                self._step_s = sum(event.durations_s) / max(1, len(event.durations_s))
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
        is_own = isinstance(event, events.TelemetryEvent)
        if not is_own and not self._flood.lets_in(event, time.monotonic() - self._start_s):
            return
        self._store_and_publish(event)
        self._state.follow(event)
        self._live.follow(event)

    def _enforce_limits(self, worker: Worker) -> None:
        """Enforce the time limits: cancel, terminate, then kill. Also detect a hung worker."""
        now_s = time.monotonic()
        if self._kill.is_set():
            worker.end(force=True)
        elif self._cancel.is_set():
            if self._cancelled_s is None:
                self._cancelled_s = now_s
                worker.cancel()
            elif now_s - self._cancelled_s > self._limits.cancel_s + self._limits.terminate_s:
                worker.end(force=True)
            elif now_s - self._cancelled_s > self._limits.cancel_s and not self._terminated:
                self._terminated = True
                worker.end(force=False)
        elif self._silent_s > self._patience_s() or (self._unheard_s or 0.0) > self._unheard_limit_s():
            self._error = failure("hung", message("run.hung", silent_s=self._silent_s))
            self._kill.set()
        elif self._silent_s > self._limits.silence_s and not self._silence_reported:
            self._silence_reported = True
            self._store_and_publish(warn("silent_worker", message("run.silent", silent_s=self._silent_s)))
        elif self._is_slowed_down():
            self._slowness_reported = True
            said = message("run.slow_peers", silent_s=self._silent_s, step_s=self._step_s)
            self._store_and_publish(warn("slow_peers", said))

    def _is_slowed_down(self) -> bool:
        """Return whether a step is taking so long that other computers or the network must have slowed down."""
        if self._slowness_reported or self._step_s is None or self._place is None:
            return False
        return self._silent_s > max(self._limits.slow_s, self._limits.slow_steps * self._step_s)

    def _unheard_limit_s(self) -> float:
        return self._limits.unheard_s if self._has_engine else self._limits.loads_s

    def _patience_s(self) -> float:
        if self._step_s is None:
            return self._limits.start_s
        return max(self._limits.hung_s, self._limits.hung_steps * self._step_s)

    def _note_unused_gpu(self, event: events.Environment) -> None:
        if event.device != "cpu" or self._spec.device != "auto" or event.engine == "none":
            return
        engine = engine_named(self._spec.engine)
        # Includes GPUs that the driver or the system hides from the engine.
        gpus = [gpu for gpu in self._machine.gpus if gpu.vendor in engine.vendors]
        if not is_included(self._spec.engine):
            gpus = [gpu for gpu in gpus if gpu in cards_for(engine.name, self._machine)]
        if gpus:
            # The doctor examines only the default engine.
            code = "run.gpu_not_used" if engine.name == DEFAULT_ENGINE else "run.gpu_not_used_by_other"
            self._store_and_publish(warn("gpu_not_used", message(code, engine=engine.title, gpu=gpus[0].name)))
        elif idle := idle_cards(engine.name, self._machine):
            engines = CATALOGUE[self._spec.workload].engines
            reason = no_build(engine.name, idle[0], self._machine, engines)
            self._store_and_publish(warn("gpu_not_used", message("run.gpu_has_no_build", reason=reason)))

    def _queue_telemetry(self, now_s: float, telemetry: Telemetry) -> None:
        """Queue telemetry. Called in the monitor's thread."""
        try:
            event = events.TelemetryEvent(t_s=max(0.0, now_s - self._start_s), telemetry=telemetry)
            self._messages.put_nowait(event)
        except queue.Full:
            pass  # a worker floods the queue, and its events matter more

    def _finish(self, database: Database) -> None:
        end_status = self._end.status if self._end is not None else "cancelled"
        self.status = "failed" if self._error is not None else end_status
        if self._damaged > DAMAGED_REPORTED_MAX:
            self._store_and_publish(warn("damaged_event", message("run.damaged_events", lines=self._damaged)))
        if self._flood.left_out:
            self._store_and_publish(
                warn("events_left_out", message("run.events_left_out", count=self._flood.left_out))
            )
        if self._error is not None:
            self._store_and_publish(self._error)
        try:
            self._store_end()
        except DatabaseError as error:
            folders = (self._paths.data, Path(tempfile.gettempdir()))
            self.trouble = AppError(error.message, self._writer.rescue(folders) or error.advice)
            self.status = "failed"
            self._publish(failure("internal", problem(self.trouble)))
        else:
            summary = next(list_runs(database, ids=[self.run_id]), None)
            if summary is not None and summary.error_code == NOT_SUMMARISED:
                self._publish(events.Warn(code=NOT_SUMMARISED, message=summary.error_message or ""))
            if summary is not None and summary.value is not None:
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
        self._publish(events.End(status=_end_status(self.status)))

    def _store_end(self) -> None:
        """Store the end of the run. Retry while the database is locked or the disk is full, unless killed."""
        deadline_s = time.monotonic() + self._limits.store_s
        while True:
            try:
                self._writer.finish(self.status, self._error)
                return
            except DatabaseError as error:
                gone = isinstance(error, RunGoneError)
                if gone or time.monotonic() > deadline_s or self._kill.is_set():
                    raise
                if not self._store_reported:
                    self._store_reported = True
                    said = message("run.not_stored_yet", problem=problem(error), patience_s=self._limits.store_s)
                    self._publish(warn("not_stored", said))
                self._kill.wait(1)

    def _store_and_publish(self, event: events.Event) -> None:
        stamped = self._stamp(event)
        self._writer.add(stamped)
        self._pass_on(stamped)

    def _publish(self, event: events.Event) -> None:
        self._pass_on(self._stamp(event))

    def _stamp(self, event: events.Event) -> events.Event:
        """Return an event with its number in the merged stream and, if it has no time, the current time."""
        t_s = event.t_s or max(0.0, time.monotonic() - self._start_s)
        if isinstance(event, events.Run):
            t_s = 0.0
        stamped = msgspec.structs.replace(event, seq=self._seq, t_s=t_s)
        self._seq += 1
        return stamped

    def _pass_on(self, event: events.Event) -> None:
        try:
            self._listener(event)
        except Exception:  # noqa: BLE001 - see below
            # A bug in a view must not abort the run.
            _log.exception("The listener of run %s failed on %s.", self.run_id, event.type)


def _end_status(status: str) -> events.EndStatus:
    return "completed" if status == "completed" else "cancelled" if status == "cancelled" else "failed"


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
            event: The event as sent by the worker.
            elapsed_s: Time since the start of the run in seconds.
        """
        kept, kind = self._kept, event.type
        match event:
            case events.Log():  # never stored
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
