"""Runs that are ended from outside, on every system: by a request, or by a kill."""

import contextlib
import ctypes
import io
import os
import signal
import subprocess
import sys

import psutil
import pytest

from app.__main__ import use_windows_streams
from tests.cli.commands import ended, read_until, runs, sentence_of, start
from tests.conftest import ROOT, CommandLine, command
from tests.saying import said

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
    environment: dict[str, str], redirections: str, *arguments: str
) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        ["/bin/sh", "-c", f'exec "$@" {redirections}', "sh", *command(*arguments)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.slow
@posix_shell
@pytest.mark.parametrize("arguments", [["--version"], ["results", "export"], ["run", "demo"]], ids=" ".join)
def test_a_closed_output_is_reported(environment: dict[str, str], arguments: list[str]) -> None:
    done = in_shell(environment, ">&-", *arguments)
    assert (done.returncode, done.stdout, BAD.is_in(sentence_of(done))) == (1, "", True)


@posix_shell
@pytest.mark.parametrize("redirections", ["2>&-", "<&- 2>&-"])
def test_closed_errors_and_a_closed_input_disturb_nothing(
    epochmark: CommandLine, environment: dict[str, str], redirections: str
) -> None:
    done = in_shell(environment, redirections, "run", "demo", "--epochs", "1")
    assert (done.returncode, done.stderr) == (0, "")
    assert said("cli.demo_stored", run_id="1").is_in(done.stdout)
    assert in_shell(environment, redirections, "results", "show", "7").returncode == 2
    assert [run["status"] for run in runs(epochmark)] == ["completed"]


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
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has a device that is always full")
def test_errors_that_cannot_be_written_change_no_exit_code(environment: dict[str, str]) -> None:
    assert in_shell(environment, "2>/dev/full", "results", "show", "7").returncode == 2
    assert in_shell(environment, "2>/dev/full", "dance").returncode == 2


@pytest.mark.slow
@posix_shell
def test_closed_files_are_filled_before_anything_is_opened(environment: dict[str, str]) -> None:
    code = "import app.__main__, os; app.__main__._open_standard_files(); "
    code += "os.write(9, repr([os.readlink(f'/proc/self/fd/{n}') for n in range(3)]).encode())"
    if not sys.platform.startswith("linux"):
        pytest.skip("only Linux says what a descriptor is")
    done = subprocess.run(
        ["/bin/sh", "-c", 'exec "$@" 9>&1 <&- >&- 2>&-', "sh", sys.executable, "-c", code],
        env=environment | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
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


@pytest.mark.slow
def test_pipes_get_utf_8_on_every_system(environment: dict[str, str]) -> None:
    variables = {name: value for name, value in environment.items() if name != "PYTHONIOENCODING"}
    assert "·" in ended(variables, "run", "demo", "--epochs", "1").stdout
