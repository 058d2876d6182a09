"""Commands that are interrupted: by Ctrl-C, by a kill, by a reader that goes away or does not read."""

import signal
import subprocess

import psutil
import pytest

from tests.cli.commands import posix_only, read_until, runs, start, waiting_bytes
from tests.conftest import CommandLine, command
from tests.waiting import wait_until

pytestmark = posix_only


@pytest.mark.slow
def test_a_second_ctrl_c_ends_a_deaf_worker_at_once(environment: dict[str, str]) -> None:
    process = start(environment, "run", "demo", "--json", "--set", "outcome=hang")
    worker = read_until(process, "hello")["pid"]
    read_until(process, "epoch")
    process.send_signal(signal.SIGINT)
    assert process.stderr is not None
    while "Cancelling" not in process.stderr.readline():
        pass
    process.send_signal(signal.SIGINT)
    assert process.wait(10) == 130
    process.communicate()
    assert not psutil.pid_exists(worker)


def test_a_reader_that_closes_the_stream_cancels_the_run(
    epochmark: CommandLine, environment: dict[str, str]
) -> None:
    process = start(environment, "run", "demo", "--json", "--epochs", "500")
    read_until(process, "epoch")
    assert process.stdout is not None
    process.stdout.close()
    assert process.wait(20) == 130
    assert process.stderr is not None
    assert process.stderr.read() == ""
    process.stderr.close()
    assert [run["status"] for run in runs(epochmark)] == ["cancelled"]


@pytest.mark.long
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
    descriptor = process.stdout.fileno()
    wait_until(lambda: waiting_bytes(descriptor) >= 60_000)
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
