"""Runs a worker process, queues its events, and ensures that it can be ended."""

import contextlib
import queue
import subprocess
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TypeAlias

from app.core.children import Child
from app.core.errors import AppError, refusal
from app.core.known_lines.logs import telling_lines
from app.core.logs import LogCopier
from app.core.messages import Message, message, sentence
from app.core.metrics import CLOCKS
from app.core.plain_text import one_line
from app.core.runs.event_messages import readable
from app.core.runs.worker_command import WorkerCommand
from workloads.protocol import events
from workloads.protocol.errors import is_refused_thread
from workloads.protocol.spec import Job, write_job

GIVEN_UP_S = 5.0
LAST_WORDS_S = 2.0
_EXITS = {
    -9: "exit.killed",
    -11: "exit.segmentation_fault",
    -6: "exit.aborted",
    -4: "exit.illegal_instruction",
    -15: "exit.terminated",
    0xC0000005: "exit.access_violation",
    0xC0000409: "exit.fast_fail",
}
_ABORTED = (-6, 134)
_LINE_CHARS = 500


@dataclass(frozen=True, slots=True)
class BadLine:
    """A line from the worker that isn't a valid event."""

    reason: Message | str


@dataclass(frozen=True, slots=True)
class StreamClosed:
    """The worker has closed its stream, so no more messages follow."""


WorkerMessage: TypeAlias = events.Event | BadLine | StreamClosed


class Worker:
    """A running worker, whose events are put into the `messages` queue. The queue may have other producers.

    The last message is `StreamClosed`, preceded by metrics that compare the worker's clock with this process's
    clock.

    Raises:
        AppError: The worker can't be started.
    """

    def __init__(
        self, command: WorkerCommand, job: Job, log: Path, messages: "queue.Queue[WorkerMessage]"
    ) -> None:
        self._messages = messages
        self._second_clock = SecondClock()
        try:
            self._process = Child(command)
        except OSError as error:
            said = message("run.worker_not_started", reason=error.strerror or str(error))
            raise refusal(error) or AppError(said) from error
        assert self._process.stdout is not None
        assert self._process.stderr is not None
        self._log = LogCopier(self._process.stderr, log)  # type: ignore[arg-type] # a binary pipe
        self._reader = threading.Thread(target=self._read, daemon=True, name="worker-events")
        try:
            self._log.start()
            self._reader.start()
        except RuntimeError:  # the system refuses threads
            self.close()
            raise
        self._write(write_job(job))

    @property
    def pid(self) -> int:
        """The worker's process ID, invalid after `wait` has returned an exit code."""
        return self._process.pid

    def cancel(self) -> None:
        self._write(b"cancel\n")

    def enough(self) -> None:
        self._write(b"enough\n")

    def end(self, *, force: bool) -> None:
        """Terminate the worker and all its children, or kill them if `force` is set."""
        self._process.end(force=force)

    def wait(self, timeout_s: float) -> int | None:
        """Return the exit code, negative for a signal; None if the worker is still running after the timeout."""
        try:
            return self._process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            return None

    def close(self) -> None:
        """Clean up, so that neither processes nor open pipes remain.

        A process that can't be killed is abandoned after GIVEN_UP_S.
        """
        self.end(force=True)
        self.wait(GIVEN_UP_S)
        for thread in (self._reader, self._log):
            if thread.is_alive():  # otherwise, the system may have refused it
                thread.join(2)
        for stream in (self._process.stdin, self._process.stdout, self._process.stderr):
            # Not closed while a thread is still reading, because a descendant may hold the other end.
            if stream is not None and not self._reader.is_alive() and not self._log.is_alive():
                with contextlib.suppress(OSError):
                    stream.close()

    def last_lines(self) -> list[str]:
        """Return the last lines printed by the worker. Call this after the worker has ended."""
        self._log.join(LAST_WORDS_S)  # on a busy computer, they arrive after the last event
        return self._log.last_lines()

    def _write(self, line: bytes) -> None:
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):  # if the worker has ended, the reader detects it
            self._process.stdin.write(line)
            self._process.stdin.flush()

    def _read(self) -> None:
        stream = self._process.stdout
        assert stream is not None
        limit = events.LINE_LIMIT_BYTES + 1
        with contextlib.suppress(OSError, ValueError):
            for line in iter(lambda: self._next_line(stream, limit), b""):
                heard = _parse(line)
                self._second_clock.heard(heard if isinstance(heard, events.Event) else None)
                if not isinstance(heard, events.Metric) or heard.key not in PARENT_KEYS:
                    self._messages.put(heard)
        for key, value in self._second_clock.metrics().items():
            self._messages.put(events.Metric(key=key, value=value))
        self._messages.put(StreamClosed())

    def _next_line(self, stream: IO[bytes], limit: int) -> bytes:
        self._second_clock.asked()
        return stream.readline(limit)


def _parse(line: bytes) -> WorkerMessage:
    if not line.endswith(b"\n"):
        return BadLine(message("run.line_without_end"))
    try:
        event = events.decode(line)
    except events.DamagedEventError as error:
        return BadLine(str(error))
    return readable(event) if event is not None else events.Log(message=sentence("run.unknown_event"))


def exit_message(code: int | None, last_lines: list[str], *, has_computers: bool) -> Message:
    """Describe the unreported end of a worker, with the last lines that it printed.

    Args:
        code: Exit code, negative for a signal; None if the worker didn't exit.
        last_lines: From `Worker.last_lines`.
        has_computers: Whether other computers take part. If one is lost, some engines abort the process.
    """
    if has_computers and code in _ABORTED:
        return message("computers.aborted")
    if any(map(is_refused_thread, last_lines)):
        return message("worker.threads_refused")
    ended = explain_exit(code)
    lines = [one_line(line, _LINE_CHARS) for line in telling_lines(last_lines)]
    return (
        message("run.crashed_after_saying", exit=ended, lines=lines)
        if lines
        else message("run.crashed", exit=ended)
    )


def explain_exit(code: int | None) -> Message:
    """Describe the unreported end of a worker, as a predicate such as "crashed (SIGSEGV)"."""
    if code is None:
        return message("exit.had_to_be_killed")
    if code in _EXITS:
        return message(_EXITS[code])
    return message("exit.code", code=code) if code >= 0 else message("exit.signal", signal=-code)


# If reading a line took at least this long, the reader had to wait for it; otherwise it was already in the pipe.
WAITED_S = 0.001
# Only the fastest arrival in each interval of this length is kept.
SPAN_S = 0.25
# Three for each quarter.
ARRIVALS_AT_LEAST = 12
# Metrics that only the parent process may send.
PARENT_KEYS = frozenset(CLOCKS)


class SecondClock:
    """Compares the worker's clock with this process's clock during the timed steps.

    Both processes read the same system clock, so the times can differ only by the delivery time, which is never
    negative. Therefore the fastest arrivals in the first and last quarters are compared. An arrival counts only
    if the reader was waiting for it and for the next one. This excludes lines that accumulated while this process
    was blocked by a full queue, a slow database or a pause.

    Args:
        clock: Function that returns the time in seconds, from the same kind of clock as the worker's.
    """

    def __init__(self, clock: Callable[[], float] = time.perf_counter) -> None:
        self._clock = clock
        self._asked_s = clock()
        self._last: tuple[float, float] | None = None
        self._arrivals: list[tuple[float, float]] = []  # times by the worker's clock and by this process's clock

    def asked(self) -> None:
        self._asked_s = self._clock()

    def heard(self, event: events.Event | None) -> None:
        """Record that a line has arrived. `event` is None if the line isn't an event."""
        now_s = self._clock()
        was_waited_for = now_s - self._asked_s >= WAITED_S
        if self._last is not None and was_waited_for:
            self._keep(*self._last)
        self._last = (event.t_s, now_s) if was_waited_for and isinstance(event, events.Steps) else None

    def _keep(self, sent_s: float, arrived_s: float) -> None:
        if self._arrivals and arrived_s // SPAN_S == self._arrivals[-1][1] // SPAN_S:
            if arrived_s - sent_s >= self._arrivals[-1][1] - self._arrivals[-1][0]:
                return
            self._arrivals.pop()
        self._arrivals.append((sent_s, arrived_s))

    def metrics(self) -> dict[str, float]:
        """Return the time between the first and last quarters on each clock; empty after too few arrivals."""
        if len(self._arrivals) < ARRIVALS_AT_LEAST:
            return {}
        quarter = len(self._arrivals) // 4
        first, last = (
            min(part, key=lambda each: each[1] - each[0])
            for part in (self._arrivals[:quarter], self._arrivals[-quarter:])
        )
        return {"worker_clock_s": last[0] - first[0], "parent_clock_s": last[1] - first[1]}
