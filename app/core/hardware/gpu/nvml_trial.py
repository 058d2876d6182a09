"""Tests NVIDIA's library in a disposable process before it is used.

A broken library crashes the process that loads or calls it, and one that hangs while loading blocks all Python
threads. Therefore, this process uses the library only after another process has survived using it. The test is run
once, only on computers with the library, and takes a fifth of a second.
"""

import contextlib
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Literal, TypeAlias

from app.core.children import Child, CommandLine
from app.core.hardware.blocking import call_in_thread
from app.core.hardware.gpu import nvml_child
from app.core.hardware.gpu.libraries import find_library

Outcome: TypeAlias = Literal["answers", "crashes", "hangs"]
LINUX_NAME = "libnvidia-ml.so.1"
_CLOSE_LIMIT_S = 1.0
# On Windows, the exit code of a crashed process is the number of the exception.
_FIRST_EXCEPTION = 0xC0000000

_lock = threading.Lock()
# Outcomes of the trials in this process, by command line. Each trial is run only once.
_outcomes: dict[tuple[str, ...], Outcome] = {}


def nvml_library() -> str | None:
    """Return the name or path of NVIDIA's library, without loading it; None if this computer doesn't have it."""
    if sys.platform.startswith("linux"):
        return LINUX_NAME if find_library(LINUX_NAME) is not None else None
    if sys.platform != "win32":
        return None
    system, programs = os.environ.get("WINDIR", "C:/Windows"), os.environ.get("PROGRAMFILES", "C:/Program Files")
    places = (Path(system, "System32/nvml.dll"), Path(programs, "NVIDIA Corporation/NVSMI/nvml.dll"))
    return next((str(path) for path in places if path.is_file()), None)


def trial_arguments(library: str) -> tuple[str, ...]:
    return (sys.executable, "-I", "-S", nvml_child.__file__, library, *filter(None, sys.path))


@contextlib.contextmanager
def asked_first(arguments: tuple[str, ...] | None, limit_s: float) -> Iterator[Outcome]:
    """Test the library in another process, unless it has been tested before or there is none.

    Inside the `with` block, that process keeps the driver running. After `limit_s`, it counts as hung.
    """
    child: Child | None = None
    outcome: Outcome = "answers"
    if arguments is not None:
        with _lock:
            if arguments not in _outcomes:
                child, _outcomes[arguments] = _ask(arguments, limit_s)
            outcome = _outcomes[arguments]
    try:
        yield outcome
    finally:
        if child is not None:
            _end(child)


def forget() -> None:
    with _lock:
        _outcomes.clear()


def _ask(arguments: tuple[str, ...], limit_s: float) -> tuple[Child | None, Outcome]:
    try:
        child = Child(CommandLine(arguments, os.environ), errors_in_output=True)
    except OSError:  # too many processes, which isn't the library's fault
        return None, "answers"
    try:
        survived = call_in_thread(lambda: _is_done(child), "nvml trial").result(limit_s)
    except TimeoutError:
        child.end(force=True)
        return child, "hangs"
    if survived:
        return child, "answers"
    try:
        code = child.wait(_CLOSE_LIMIT_S)
    except subprocess.TimeoutExpired:
        return child, "hangs"
    return child, "crashes" if code < 0 or code >= _FIRST_EXCEPTION else "answers"


def _is_done(child: Child) -> bool:
    assert child.stdout is not None
    return any(line.strip() == nvml_child.DONE for line in iter(child.stdout.readline, b""))


def _end(child: Child) -> None:
    assert child.stdin is not None
    assert child.stdout is not None
    with contextlib.suppress(OSError):
        child.stdin.close()
    try:
        child.wait(_CLOSE_LIMIT_S)
    except subprocess.TimeoutExpired:
        child.end(force=True)
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(_CLOSE_LIMIT_S)
    if child.poll() is not None:  # a process that the driver prevents from ending is still being read
        child.stdout.close()
