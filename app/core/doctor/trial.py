"""Tests engines in disposable processes: lists their devices and does real work on each.

No process can hang forever or continue running after the test.
"""

import contextlib
import os
import subprocess
import threading
import time
from concurrent.futures import wait
from dataclasses import dataclass, field
from functools import partial
from typing import IO, Literal, TypeAlias

import msgspec

from app.core.children import Child
from app.core.errors import AppError, refusal
from app.core.hardware.blocking import call_in_thread
from app.core.messages import message
from app.core.paths import Paths
from app.core.runs.worker_command import WorkerCommand, trial_command
from workloads.engines.registry import DEFAULT_ENGINE
from workloads.protocol import typed

LIST_LIMIT_S = 120.0
DEVICE_LIMIT_S = 180.0
_LOOK_EVERY_S = 0.1
_CLOSE_LIMIT_S = 2.0
_LINE_LIMIT_BYTES = 65_536
_ANSWERS_AT_MOST = 1_000
# Only the first and last bytes are kept, because they matter most and the output may be large.
_HEAD_BYTES, _TAIL_BYTES = 256 << 10, 256 << 10
TrialStatus: TypeAlias = Literal["completed", "failed", "crashed", "timed_out", "cancelled", "absent"]


class Device(msgspec.Struct, frozen=True):
    """A device that an engine lists. Values that the engine doesn't report are None."""

    id: str  # "cpu", "gpu:0"
    name: str | None = None
    capability: str | None = None


class Build(msgspec.Struct, frozen=True, tag_field="type", tag="build"):
    """Build information reported by an engine."""

    version: str
    keras: str
    cuda: bool
    rocm: bool = False
    cuda_version: str | None = None
    cudnn_version: str | None = None
    capabilities: tuple[str, ...] = ()


class Step(msgspec.Struct, frozen=True, tag_field="type", tag="step"):
    """One step of a device's work: "matmul", "convolution", "xla", "gradients" or "convolution_gradients"."""

    name: str
    duration_s: float
    error: str | None = None


class _Import(msgspec.Struct, frozen=True, tag_field="type", tag="import"):
    error: str | None = None
    duration_s: float | None = None


class _Devices(msgspec.Struct, frozen=True, tag_field="type", tag="devices"):
    devices: tuple[Device, ...]


class _End(msgspec.Struct, frozen=True, tag_field="type", tag="end"):
    good: bool


_Answer: TypeAlias = Build | Step | _Import | _Devices | _End


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """The result of one test process."""

    target: str  # "list", or the tested device
    # "completed": all steps succeeded. "failed": an error was reported. "absent": the engine isn't installed, so
    # there was no process. Other values: how the process ended.
    status: TrialStatus
    exit_code: int | None = None  # the process's exit code, negative for a signal; None if we terminated it
    duration_s: float = 0.0
    import_s: float | None = None  # duration of the engine's import in seconds; None if it wasn't reached
    import_error: str | None = None
    build: Build | None = None
    devices: tuple[Device, ...] = ()
    steps: tuple[Step, ...] = ()
    log: str = ""  # the first and last parts of the process's output


def run_trial(
    target: str, paths: Paths, cancel: threading.Event | None = None, engine: str = DEFAULT_ENGINE
) -> Trial:
    """Run one test process to completion, for "list" or a device. Raises AppError if it can't be started."""
    command = trial_command(("list",) if target == "list" else ("device", target), paths, engine=engine)
    limit_s = LIST_LIMIT_S if target == "list" else DEVICE_LIMIT_S
    return run_command(target, command, limit_s, cancel or threading.Event())


def run_command(target: str, command: WorkerCommand, limit_s: float, cancel: threading.Event) -> Trial:
    """Run a command as a trial. Arguments and errors are as in `run_trial`."""
    start_s = time.monotonic()
    try:
        process = Child(command)
    except OSError as error:
        said = message("doctor.trial_not_started", reason=error.strerror)
        raise refusal(error) or AppError(said) from error
    answers, log = _Told(), _Log()
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    readers = [
        call_in_thread(partial(answers.read, process.stdout), "trial-answers"),
        call_in_thread(partial(log.read, process.stderr), "trial-log"),
    ]
    status: TrialStatus | None = None
    try:
        status = _wait(process, start_s + limit_s, cancel)
    finally:
        process.end(force=True)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_CLOSE_LIMIT_S)
        # Not closed while a thread reads, because a process outside the group may hold the other end.
        if not wait(readers, _CLOSE_LIMIT_S).not_done:
            for stream in (process.stdin, process.stdout, process.stderr):
                with contextlib.suppress(OSError):
                    stream.close()
    code = process.poll()
    return Trial(
        target=target,
        status=status or _status(answers, code),
        exit_code=None if status else code,
        duration_s=time.monotonic() - start_s,
        import_s=answers.imported.duration_s if answers.imported else None,
        import_error=answers.imported.error if answers.imported else None,
        build=answers.build,
        devices=answers.devices,
        steps=tuple(answers.steps),
        log=log.text(),
    )


@dataclass(slots=True)
class _Told:
    """Messages from a trial's process, one per line. Other lines are skipped."""

    imported: _Import | None = None
    build: Build | None = None
    devices: tuple[Device, ...] = ()
    steps: list[Step] = field(default_factory=list)
    end: _End | None = None

    def read(self, stream: IO[bytes]) -> None:
        decoder = typed.decoder(_Answer)
        left = _ANSWERS_AT_MOST
        for line in iter(lambda: stream.readline(_LINE_LIMIT_BYTES), b""):
            left -= 1
            with contextlib.suppress(msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
                if left >= 0:
                    self._take(decoder.decode(line))

    def _take(self, answer: _Answer) -> None:
        match answer:
            case _Import():
                self.imported = answer
            case Build():
                self.build = answer
            case _Devices():
                self.devices = answer.devices[:64]
            case Step():
                self.steps.append(answer)
            case _End():
                self.end = answer


class _Log:
    """The first and last parts of a process's output."""

    def __init__(self) -> None:
        self._head = bytearray()
        self._tail = bytearray()
        self._dropped = 0

    def read(self, stream: IO[bytes]) -> None:
        for chunk in iter(lambda: os.read(stream.fileno(), 65_536), b""):
            room = max(_HEAD_BYTES - len(self._head), 0)
            self._head += chunk[:room]
            self._tail += chunk[room:]
            if (over := len(self._tail) - _TAIL_BYTES) > 0:
                self._dropped += over
                del self._tail[:over]

    def text(self) -> str:
        gap = f"\n[{self._dropped} bytes left out]\n".encode() if self._dropped else b""
        return (bytes(self._head) + gap + bytes(self._tail)).decode("utf-8", errors="replace")


def _wait(process: "subprocess.Popen[bytes]", end_s: float, cancel: threading.Event) -> TrialStatus | None:
    """Wait for the process; return None if it ended by itself, otherwise the reason to terminate it."""
    while process.poll() is None:
        if cancel.wait(_LOOK_EVERY_S):
            return "cancelled"
        if time.monotonic() > end_s:
            return "timed_out"
    return None


def _status(answers: _Told, code: int | None) -> TrialStatus:
    if answers.end is not None:
        return "completed" if answers.end.good and code == 0 else "failed"
    return "failed" if answers.imported is not None and answers.imported.error else "crashed"
