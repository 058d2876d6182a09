"""Commands that are interrupted: by signals, few or many, at any place, or by a reader that goes away."""

import contextlib
import ctypes
import io
import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from app.__main__ import use_windows_streams
from app.core.paths import default_paths
from app.core.storage.database import Database
from tests.build import make_many
from tests.child import python
from tests.cli.commands import ended, posix_only, read_until, runs, sentence_of, start, waiting_bytes
from tests.cli.storms import drain, send_storm
from tests.conftest import ROOT, CommandLine, command
from tests.saying import said
from tests.sure import sure
from tests.waiting import wait_until

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
    return python("-c", code)


@posix_only
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


@posix_only
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


@posix_only
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


@posix_only
@pytest.mark.slow
def test_an_interrupt_that_python_loses_is_repeated() -> None:
    done = run_verb(lost="signal.raise_signal(signal.SIGINT)", body="threading.Event().wait(30)")
    assert (done.returncode, done.stderr) == (130, "")


@posix_only
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


@posix_only
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


@posix_only
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


posix_shell = pytest.mark.skipif(os.name != "posix", reason="a POSIX shell closes the files")
BAD = said("cli.output_lost", reason="Bad file descriptor")


def in_shell(
    environment: dict[str, str], redirections: str, words: list[str]
) -> "subprocess.CompletedProcess[str]":
    shell = ["/bin/sh", "-c", f'exec "$@" {redirections}', "sh", *words]
    return subprocess.run(shell, env=environment, capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.slow
@posix_shell
@pytest.mark.parametrize("arguments", [["--version"], ["results", "export"], ["run", "demo"]], ids=" ".join)
def test_a_closed_output_is_reported(environment: dict[str, str], arguments: list[str]) -> None:
    done = in_shell(environment, ">&-", command(*arguments))
    assert (done.returncode, done.stdout, BAD.is_in(sentence_of(done))) == (1, "", True)


@pytest.mark.slow
@posix_shell
@pytest.mark.parametrize("arguments", [["--version"], ["workloads", "--json"]])
def test_a_reader_that_is_gone_ends_it_silently(environment: dict[str, str], arguments: list[str]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    done = ended(environment, *arguments, stdout=writing)
    os.close(writing)
    assert (done.returncode, done.stderr) == (1, "")


@pytest.mark.slow
@posix_shell
def test_closed_files_are_filled_before_anything_is_opened(environment: dict[str, str]) -> None:
    code = "import app.__main__, os; app.__main__._open_standard_files(); "
    code += "os.write(9, repr([os.readlink(f'/proc/self/fd/{n}') for n in range(3)]).encode())"
    if not sys.platform.startswith("linux"):
        pytest.skip("only Linux says what a descriptor is")
    there = environment | {"PYTHONPATH": str(ROOT)}
    done = in_shell(there, "9>&1 <&- >&- 2>&-", [sys.executable, "-c", code])
    assert done.stdout == repr(["/dev/null"] * 3)


@pytest.mark.parametrize(
    ("variables", "printed"), [({}, "ü · 漢".encode()), ({"PYTHONIOENCODING": "cp1252"}, b"\xfc \xb7 ?")]
)
def test_windows_writes_utf_8_into_pipes_unless_told_otherwise(
    variables: dict[str, str], printed: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    pipe = io.BytesIO()
    for name in ("stdin", "stdout", "stderr"):
        stream = io.TextIOWrapper(pipe if name == "stdout" else io.BytesIO(), encoding="cp1252", errors="replace")
        monkeypatch.setattr(sys, name, stream)
    use_windows_streams(variables)
    print("ü · 漢", end="", flush=True)  # noqa: T201 - this is what is tested
    assert pipe.getvalue() == printed


def test_a_windows_program_without_a_console_has_streams(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("stdin", "stdout", "stderr"):
        monkeypatch.setattr(sys, name, None)
    use_windows_streams({})
    with sys.stdin, sys.stdout, sys.stderr:
        print("漢", flush=True)  # noqa: T201 - this is what is tested
        print("漢", file=sys.stderr, flush=True)  # noqa: T201 - this is what is tested
        assert sys.stdin.read() == ""
