"""A command line whose output nobody reads can still be ended."""

import signal
import struct
import subprocess
import threading

import psutil
import pytest

fcntl = pytest.importorskip("fcntl", reason="POSIX pipes")
termios = pytest.importorskip("termios", reason="POSIX pipes")

from tests.conftest import CommandLine, command  # noqa: E402 - after the skip


def waiting_bytes(descriptor: int) -> int:
    """Return how much is in a pipe that was not read yet."""
    answer = fcntl.ioctl(descriptor, termios.FIONREAD, b"\0\0\0\0")
    size_bytes: int = struct.unpack("i", answer)[0]
    return size_bytes


def test_a_second_ctrl_c_ends_a_run_that_is_stuck_in_its_output(
    epochmark: CommandLine, environment: dict[str, str]
) -> None:
    process = subprocess.Popen(
        command("run", "demo", "--json", "--epochs", "100000", "--set", "step_s=0"),
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    # Nothing is read, so that the pipe fills and the run is stuck in writing to it.
    while waiting_bytes(process.stdout.fileno()) < 60_000:
        threading.Event().wait(0.05)
    workers = psutil.Process(process.pid).children()
    process.send_signal(signal.SIGINT)
    while "Cancelling" not in process.stderr.readline():
        pass
    process.send_signal(signal.SIGINT)
    assert process.wait(10) == 130
    psutil.wait_procs(workers, timeout=5)
    assert not [worker for worker in workers if worker.is_running() and worker.status() != psutil.STATUS_ZOMBIE]
    process.stdout.close()
    process.stderr.close()
    listed = epochmark("results", "list").stdout
    assert "interrupted" in listed or "cancelled" in listed
