"""Runs that are ended from outside, on every system: by a request, or by a kill."""

import contextlib
import ctypes
import os
import signal

import psutil
import pytest

from tests.cli.commands import read_until, runs, start
from tests.conftest import CommandLine

# Windows sends no Ctrl+C to a group of its own.
STOPS = [getattr(signal, "CTRL_BREAK_EVENT")] if os.name == "nt" else [signal.SIGINT, signal.SIGTERM]  # noqa: B009 - missing elsewhere


def has_console() -> bool:
    """Return whether this process could send Ctrl+Break; other systems need no console for signals."""
    return os.name != "nt" or bool(ctypes.windll.kernel32.GetConsoleCP())  # type: ignore[attr-defined,unused-ignore]


@pytest.mark.skipif(not has_console(), reason="without a console, Windows sends no Ctrl+Break")
@pytest.mark.parametrize("signal_number", STOPS)
def test_a_request_to_end_cancels_cleanly_and_keeps_the_epochs(
    epochmark: CommandLine, environment: dict[str, str], signal_number: int
) -> None:
    process = start(environment, "run", "demo", "--json", "--epochs", "500")
    worker = read_until(process, "hello")["pid"]
    read_until(process, "epoch")
    process.send_signal(signal_number)
    end = read_until(process, "end")
    assert end["status"] == "cancelled"
    assert process.wait(10) == 130
    process.communicate()
    assert not psutil.pid_exists(worker)
    (run,) = runs(epochmark)
    assert run["status"] == "cancelled"
    assert run["epochs_done"] >= 1


@pytest.mark.parametrize("outcome", ["ok", "hang"])
def test_a_killed_parent_leaves_no_worker_and_no_lost_epoch(
    epochmark: CommandLine, environment: dict[str, str], outcome: str
) -> None:
    process = start(environment, "run", "demo", "--json", "--epochs", "500", "--set", f"outcome={outcome}")
    worker = psutil.Process(read_until(process, "hello")["pid"])
    read_until(process, "epoch")
    # In an environment of Windows, what was started only waits for the real Python.
    children = psutil.Process(process.pid).children() if os.name == "nt" else []
    process.kill()
    for each in children:
        with contextlib.suppress(psutil.NoSuchProcess):  # it has gone with its launcher
            each.kill()
    process.communicate()
    psutil.wait_procs([worker], timeout=5)
    assert not worker.is_running() or worker.status() == psutil.STATUS_ZOMBIE
    (run,) = runs(epochmark)
    assert run["status"] == "interrupted"
    assert run["epochs_done"] >= 1
    assert run["first_epoch_s"] > 0
