"""Waits for work in threads and processes, and allows the user to cancel it."""

import os
from collections.abc import Callable
from concurrent.futures import Future, wait
from typing import TypeVar

from app.core.children import Child, CommandLine
from app.core.errors import AppError, refusal
from app.core.hardware.blocking import call_in_thread
from app.core.messages import message

_Value = TypeVar("_Value")
CancelCheck = Callable[[], None]  # called ten times a second; may raise an exception to cancel
_CHECK_S = 0.1
_TEXT_LIMIT_BYTES = 4 << 20


def wait_for(outcome: Future[_Value], check: CancelCheck) -> _Value:
    """Return the result of work in another thread, or raise its exception. Calls `check` at least once."""
    check()
    while not wait([outcome], _CHECK_S).done:
        check()
    return outcome.result()


def run_child(command: CommandLine, check: CancelCheck, *, closes_input: bool = True) -> tuple[int, str]:
    """Run a process to its end; return its exit code and output. If `check` raises, the process is terminated.

    Args:
        closes_input: Whether to close its input immediately. Some processes exit when their input is closed.

    Raises:
        AppError: The process can't be started.
    """
    try:
        process = Child(command, errors_in_output=True)
    except OSError as error:
        reason = error.strerror or str(error)
        not_started = AppError(message("engines.not_started", program=command.arguments[0], reason=reason))
        raise refusal(error) or not_started from error
    assert process.stdin is not None
    with process.stdin as stdin:
        try:
            if closes_input:
                stdin.close()
            text = wait_for(call_in_thread(lambda: _read(process), "engine child"), check)
            return process.wait(), text
        finally:
            if process.poll() is None:
                process.end(force=True)
                process.wait()


def _read(process: Child) -> str:
    """Return the end of a process's output. The pipe closes when the process group ends."""
    assert process.stdout is not None
    kept = bytearray()
    with process.stdout as pipe:
        while chunk := os.read(pipe.fileno(), 1 << 16):
            kept += chunk
            del kept[:-_TEXT_LIMIT_BYTES]
    return kept.decode("utf-8", "replace")
