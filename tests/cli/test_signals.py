"""Commands that are interrupted: by signals, few or many, at any place, or by a reader that goes away."""

import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from app.core.messages import sentence
from app.core.paths import default_paths
from app.core.storage.database import Database
from tests.build import make_many
from tests.cli.commands import posix_only, read_until, runs, start, waiting_bytes
from tests.cli.storms import drain, send_storm
from tests.conftest import ROOT, CommandLine, command
from tests.saying import said
from tests.sure import sure
from tests.waiting import wait_until

pytestmark = posix_only
ENDLESS = ("--epochs", "500", "--set", "step_s=0.001")
SHORT = ("--epochs", "2", "--set", "step_s=0.001", "--json")
VERB = """
import signal, sys, threading
from app.cli import main
from app.cli.grammar import command
signal.signal(signal.SIGINT, signal.SIG_DFL)  # as app.__main__ does
class Lost:
    def __del__(self): {lost}
def verb(options, paths):
    try:
        Lost()
        {body}
    finally:
        {last}
    return 0
command("workloads")(verb)
code = main(["workloads"])
{after}
sys.exit(code)
"""


def run_verb(**parts: str) -> "subprocess.CompletedProcess[str]":
    code = VERB.format(**({"lost": "pass", "body": "pass", "last": "pass", "after": "pass"} | parts))
    return subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=60, check=False
    )


@pytest.mark.parametrize(
    ("seed", "arguments"),
    [
        (1, ("run", "demo", *ENDLESS, "--json")),
        (2, ("run", "demo", "--preset", "standard", "--json", "--set", "outcome=hang")),
        (3, ("run", "demo", "--repeat", "50", *SHORT)),
        (4, ("ab", "demo", "--a", "seed=1", "--pairs", "50", *SHORT)),
    ],
)
def test_a_storm_ends_whatever_is_measured(
    epochmark: CommandLine, environment: dict[str, str], seed: int, arguments: tuple[str, ...]
) -> None:
    process = start(environment, *arguments)
    worker = psutil.Process(read_until(process, "hello")["pid"])
    read_until(process, "epoch")
    reader = drain(process)
    send_storm(process, seed, 40)
    assert process.wait(15) == 130
    reader.join(5)
    assert said("cli.cancelling").is_all_of(sure(process.stderr).read().strip())
    process.communicate()
    psutil.wait_procs([worker], timeout=5)
    assert not worker.is_running() or worker.status() == psutil.STATUS_ZOMBIE
    assert {run["status"] for run in runs(epochmark)} <= {"completed", "cancelled"}


@pytest.mark.slow
def test_a_storm_ends_a_plan_that_waits_for_hands(environment: dict[str, str]) -> None:
    process = start(environment, "ab", "demo", "--a", "seed=1", "--by-hand", *SHORT)
    assert process.stderr is not None
    assert said("cli.set_up").is_in(process.stderr.readline())
    reader = drain(process)
    send_storm(process, 5, 20, (signal.SIGINT, signal.SIGTERM))
    assert process.wait(15) in (130, -signal.SIGTERM)
    reader.join(5)
    assert "Traceback" not in process.stderr.read()
    process.communicate()


def test_ignored_interrupts_stay_ignored(epochmark: CommandLine, environment: dict[str, str]) -> None:
    process = subprocess.Popen(
        ["/bin/sh", "-c", 'trap "" INT; exec "$@"', "sh", *command("run", "demo", "--epochs", "10", "--json")],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    read_until(process, "epoch")
    send_storm(process, 6, 5)
    assert (process.communicate(timeout=30)[1], process.returncode) == ("", 0)
    assert [run["status"] for run in runs(epochmark)] == ["completed"]


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, -signal.SIGTERM)])
def test_one_signal_ends_a_verb_that_is_stuck_in_its_output(
    epochmark: CommandLine, environment: dict[str, str], number: int, code: int
) -> None:
    epochmark("run", "demo", "--epochs", "1", "--quiet")
    with Database(default_paths(environment).database) as database:
        make_many(database, 1, 256)
    process = start(environment, "results", "export", "--format", "json")
    assert process.stdout is not None
    descriptor = process.stdout.fileno()
    wait_until(lambda: waiting_bytes(descriptor) >= 30_000 or process.poll() is not None)
    process.send_signal(number)
    assert process.wait(10) == code
    assert process.stderr is not None
    assert process.stderr.read() == ""
    process.stdout.close()
    process.stderr.close()


@pytest.mark.slow
def test_an_interrupt_that_python_loses_is_repeated() -> None:
    done = run_verb(lost="signal.raise_signal(signal.SIGINT)", body="threading.Event().wait(30)")
    assert (done.returncode, done.stderr) == (130, "")


@pytest.mark.slow
def test_a_second_interrupt_does_not_disturb_the_clearing_away() -> None:
    press = "signal.raise_signal(signal.SIGINT)"
    done = run_verb(body=press, last=f"{press}; print('cleared', file=sys.stderr)", after=press)
    assert (done.returncode, done.stderr) == (130, "cleared\n")


@pytest.mark.slow
def test_an_interrupt_during_imports_ends_without_a_traceback(environment: dict[str, str], tmp_path: Path) -> None:
    # The first module that is imported reports that imports have begun, and never ends.
    folder = tmp_path / "slow"
    folder.mkdir()
    (folder / "argparse.py").write_text("import time\nprint('importing', flush=True)\ntime.sleep(60)\n")
    process = start(environment | {"PYTHONPATH": str(folder)}, "results", "list")
    assert sure(process.stdout).readline() == "importing\n"
    process.send_signal(signal.SIGINT)
    assert process.communicate(timeout=20) == ("", "")
    assert process.returncode == -signal.SIGINT, "which shells call 130"


@pytest.mark.slow
def test_a_second_ctrl_c_ends_a_deaf_worker_at_once(environment: dict[str, str]) -> None:
    process = start(environment, "run", "demo", "--preset", "standard", "--json", "--set", "outcome=hang")
    worker = read_until(process, "hello")["pid"]
    read_until(process, "epoch")
    process.send_signal(signal.SIGINT)
    while not said("cli.cancelling").is_in(sure(process.stderr).readline()):
        pass
    process.send_signal(signal.SIGINT)
    assert process.wait(10) == 130
    process.communicate()
    assert not psutil.pid_exists(worker)


@pytest.mark.parametrize(
    "options", [("--epochs", "500"), ("--repeat", "50", "--epochs", "10")], ids=["run", "plan"]
)
def test_a_reader_that_closes_the_stream_cancels_what_is_measured(
    epochmark: CommandLine, environment: dict[str, str], options: tuple[str, ...]
) -> None:
    process = start(environment, "run", "demo", "--json", *options)
    read_until(process, "epoch")
    sure(process.stdout).close()
    assert process.wait(20) == 130
    assert process.stderr is not None
    assert process.stderr.read() == ""
    process.stderr.close()
    assert [run["status"] for run in runs(epochmark)] == ["cancelled"]


@pytest.mark.long
def test_a_second_ctrl_c_ends_a_run_that_is_stuck_in_its_output(
    epochmark: CommandLine, environment: dict[str, str]
) -> None:
    process = start(environment, "run", "demo", "--json", "--epochs", "100000", "--set", "step_s=0")
    assert process.stdout is not None
    assert process.stderr is not None
    # Nothing is read, so that the pipe fills and the run is stuck in writing to it.
    descriptor = process.stdout.fileno()
    wait_until(lambda: waiting_bytes(descriptor) >= 60_000)
    workers = psutil.Process(process.pid).children()
    process.send_signal(signal.SIGINT)
    while not said("cli.cancelling").is_in(process.stderr.readline()):
        pass
    process.send_signal(signal.SIGINT)
    assert process.wait(10) == 130
    psutil.wait_procs(workers, timeout=5)
    assert not [worker for worker in workers if worker.is_running() and worker.status() != psutil.STATUS_ZOMBIE]
    process.stdout.close()
    process.stderr.close()
    listed = epochmark("results", "list").stdout
    assert sentence("status.interrupted") in listed or sentence("status.cancelled") in listed
