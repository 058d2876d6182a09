"""Runs this computer's part of a run whose result another computer, rank 0, shows and stores."""

import os
import queue
import time

from app.core.messages import Message
from app.core.paths import Paths
from app.core.redaction.private_texts import own_names
from app.core.runs.liveness import RunLimits
from app.core.runs.runner import CheckedSpec
from app.core.runs.session import QUEUE_LIMIT
from app.core.runs.worker import StreamClosed, Worker, WorkerMessage, exit_message
from app.core.runs.worker_command import worker_command
from workloads.protocol import events
from workloads.protocol.spec import ComputerPlace, Job


class Follower:
    """A worker with a rank above 0. Its parent calls `wait` until it returns True.

    Attributes:
        problem: Why the run failed; None if it was completed or cancelled.
        is_cancelled: Whether the user cancelled it here.
    """

    def __init__(self, checked: CheckedSpec, place: ComputerPlace, paths: Paths) -> None:
        spec = checked.spec
        self.problem: Message | None = None
        self.is_cancelled = False
        self._messages: queue.Queue[WorkerMessage] = queue.Queue(QUEUE_LIMIT)
        self._cancelled_s: float | None = None
        self._has_ended = False
        job = Job(spec=spec, datasets_folder=os.fsencode(paths.datasets), place=place, private=own_names(spec))
        log = paths.logs / f"rank-{place.rank}.log"
        self._worker = Worker(worker_command(spec, paths), job, log, self._messages)

    def cancel(self) -> None:
        """Ask the worker to stop; it is ended if it doesn't."""
        self.is_cancelled, self._cancelled_s = True, time.monotonic()
        self._worker.cancel()

    def kill(self) -> None:
        self.is_cancelled = True
        self._worker.end(force=True)

    def wait(self, timeout_s: float | None = None) -> bool:
        """Handle one message of the worker, and return whether it has ended."""
        try:
            received = self._messages.get(timeout=timeout_s)
        except queue.Empty:
            received = None
        match received:
            case events.Error(said=said) if said is not None:
                self.problem = self.problem or said
            case events.End():
                self._has_ended = True
            case StreamClosed():
                code = self._worker.wait(RunLimits().exit_s)
                if not (self._has_ended or self.problem or self.is_cancelled):
                    self.problem = exit_message(code, self._worker.last_lines(), has_computers=True)
                return True
        if self._cancelled_s is not None and time.monotonic() - self._cancelled_s > RunLimits().cancel_s:
            self._worker.end(force=True)
        return False

    def close(self) -> None:
        self._worker.close()
