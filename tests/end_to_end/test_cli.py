"""The command line as its users meet it: real commands, their output, and their exit codes."""

import csv
import errno
import io
import json
import os
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pytest

from app.cli.text import bar_chart, engine_line, machine_line
from app.cli.views import is_broken_pipe
from app.core.compare import Bar
from app.core.database import Database
from app.core.model import Machine
from app.core.paths import default_paths
from tests.conftest import ROOT, CommandLine, command
from workloads import CATALOGUE

posix_only = pytest.mark.skipif(os.name != "posix", reason="POSIX signals and files")


def start(environment: dict[str, str], *arguments: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        command(*arguments), env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def read_until(process: "subprocess.Popen[str]", kind: str) -> dict[str, Any]:
    assert process.stdout is not None
    for line in process.stdout:
        event: dict[str, Any] = json.loads(line)
        if event["type"] == kind:
            return event
    raise AssertionError(kind)


def runs(epochmark: CommandLine) -> list[dict[str, Any]]:
    listed: list[dict[str, Any]] = json.loads(epochmark("results", "list", "--json").stdout)
    return listed


def sentence_of(done: "subprocess.CompletedProcess[str]") -> str:
    """Return what was said on stderr, which must be one line and no traceback."""
    assert "Traceback" not in done.stderr
    lines = done.stderr.strip().splitlines()
    assert len(lines) == 1, done.stderr
    return lines[0]


def test_json_is_the_event_stream_and_nothing_else(epochmark: CommandLine) -> None:
    done = epochmark("run", "demo", "--json", "--set", "outcome=noise")
    stream = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 0
    assert [event["seq"] for event in stream] == list(range(len(stream)))
    assert [stream[0]["type"], stream[-2]["type"], stream[-1]["type"]] == ["run", "result", "end"]
    assert len([event for event in stream if event["type"] == "epoch"]) == 3


def test_a_person_sees_machine_data_epochs_and_where_the_run_is_kept(epochmark: CommandLine) -> None:
    done = epochmark("run", "demo", "--epochs", "2")
    assert done.returncode == 0
    for words in ("Machine ", "Data     demo · synthetic twin", " 1/2 ", " 2/2 ", "Run 1 is kept"):
        assert words in done.stdout
    assert "\r" not in done.stdout, "no live line where no terminal is"


def test_quiet_prints_the_result_only(epochmark: CommandLine) -> None:
    done = epochmark("run", "demo", "--quiet")
    assert done.stdout.count("\n") == 1


def test_results_can_be_listed_shown_exported_and_deleted(epochmark: CommandLine, tmp_path: Path) -> None:
    for _ in range(2):
        assert epochmark("run", "demo", "--epochs", "2", "--quiet").returncode == 0
    assert [run["id"] for run in runs(epochmark)] == [2, 1]
    shown = json.loads(epochmark("results", "show", "1", "--json").stdout)
    rows = list(csv.DictReader(io.StringIO(epochmark("results", "export", "--format", "csv").stdout)))
    assert [row["id"] for row in rows] == ["1", "2"]
    durations = [float(text) for text in rows[0]["epoch_durations_s"].split()]
    assert durations == pytest.approx([epoch["duration_s"] for epoch in shown["epoch_records"]])
    assert float(rows[0]["seconds_per_epoch_s"]) == pytest.approx(durations[1])
    file = tmp_path / "runs.json"
    assert epochmark("results", "export", "2", "--format", "json", "--output", str(file)).returncode == 0
    document = json.loads(file.read_text("utf-8"))
    assert [run["id"] for run in document["runs"]] == [2]
    assert epochmark("results", "delete", "1").returncode == 0
    assert [run["id"] for run in runs(epochmark)] == [2]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["run", "nonsense"], "no workload 'nonsense'. There are: cifar10_keras_cnn, demo"),
        (["run", "demo", "--set", "speed=9"], "no parameter 'speed'; it has: outcome, step_s"),
        (["run", "demo", "--set", "outcome=great"], "outcome must be one of ok, fail"),
        (["run", "demo", "--set", "step_s=nan"], "step_s must be a number at least 0 and at most 60 (s)"),
        (["run", "demo", "--set", "step_s"], "--set takes NAME=VALUE"),
        (["run", "cifar10_keras_cnn", "--set", "lr=1"], "no parameter 'lr'; it has: none"),
        (["run", "demo", "--device", "tpu"], "auto, cpu or gpu:N"),
        (["run", "demo", "--batch", "1001"], "A batch of 1001 is larger than the 1000"),
        (["run", "demo", "--batch", "0"], "Batch size must be at least 1, not 0"),
        (["run", "demo", "--batch", "-5"], "Batch size must be at least 1, not -5"),
        (["run", "demo", "--epochs", "0"], "Epochs must be at least 1, not 0"),
        (["run", "demo", "--epochs", "99999999999999999999"], "out of range"),
        (["run", "demo", "--steps", "11"], "has 10 steps"),
        (["run", "demo", "--threads", "0"], "Threads must be at least 1"),
        (["run", "demo", "--seed", "-1"], "out of range"),
        (["run", "demo", "--preset", "quick", "--epochs", "3"], "takes neither epochs nor steps"),
        (["run"], "WORKLOAD"),
        (["dance"], "invalid choice"),
        (["results", "show", "7"], "There is no run 7"),
        (["results", "delete", "7"], "There is no run 7"),
        (["results", "export", "7"], "There is no run 7"),
        (["results", "list", "--limit", "0"], "--limit must be at least 1"),
        (["compare", "nonsense"], "no workload 'nonsense'"),
        (["compare", "--baseline", "abacus"], "The baseline 'abacus' is none of"),
        (["data", "fetch", "nonsense"], "no data set 'nonsense'. There are: cifar10"),
        (["data", "fetch", "cifar10", "--url", "file:///etc/passwd"], "no http or https address"),
        (["data", "import", "cifar10", "/no/such/file"], "cannot be read"),
    ],
)
def test_wrong_use_ends_in_one_sentence_and_exit_code_2(
    epochmark: CommandLine, arguments: list[str], words: str
) -> None:
    done = epochmark(*arguments)
    assert words in sentence_of(done)
    assert (done.returncode, done.stdout) == (2, "")


def test_a_failed_run_has_exit_code_1_and_its_reason(epochmark: CommandLine) -> None:
    done = epochmark("run", "demo", "--set", "outcome=crash")
    assert done.returncode == 1
    assert "The run failed: The worker crashed" in done.stdout
    assert "The run failed after 1 of 3 epochs." in done.stdout
    assert "crashed" in epochmark("results", "show", "1").stdout


@posix_only
@pytest.mark.parametrize("signal_number", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_cancels_cleanly_and_keeps_the_epochs(
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


@posix_only
def test_a_second_ctrl_c_ends_a_deaf_worker_at_once(environment: dict[str, str]) -> None:
    process = start(environment, "run", "demo", "--json", "--set", "outcome=hang")
    worker = read_until(process, "hello")["pid"]
    read_until(process, "epoch")
    process.send_signal(signal.SIGINT)
    assert process.stderr is not None
    while "Cancelling" not in process.stderr.readline():
        pass
    before_s = time.monotonic()
    process.send_signal(signal.SIGINT)
    assert process.wait(10) == 130
    assert time.monotonic() - before_s < 4.5, "it waited for the polite way"
    process.communicate()
    assert not psutil.pid_exists(worker)


@posix_only
@pytest.mark.parametrize("outcome", ["ok", "hang"])
def test_a_killed_parent_leaves_no_worker_and_no_lost_epoch(
    epochmark: CommandLine, environment: dict[str, str], outcome: str
) -> None:
    process = start(environment, "run", "demo", "--json", "--epochs", "500", "--set", f"outcome={outcome}")
    worker = psutil.Process(read_until(process, "hello")["pid"])
    read_until(process, "epoch")
    process.kill()
    process.communicate()
    psutil.wait_procs([worker], timeout=5)
    assert not worker.is_running() or worker.status() == psutil.STATUS_ZOMBIE
    (run,) = runs(epochmark)
    assert run["status"] == "interrupted"
    assert run["epochs_done"] >= 1
    assert run["first_epoch_s"] > 0


@posix_only
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


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has a device that is always full")
@pytest.mark.parametrize(
    "arguments",
    [
        ["run", "demo", "--json"],
        ["run", "demo"],
        ["run", "demo", "--quiet"],
        ["results", "list"],
        ["results", "export"],
    ],
)
def test_output_that_cannot_be_written_is_said_in_a_sentence(
    environment: dict[str, str], arguments: list[str]
) -> None:
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            command(*arguments), env=environment, stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert sentence_of(done) == "epochmark: The output cannot be written (No space left on device)."
    assert done.returncode == 1


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has a device that is always full")
def test_a_run_whose_output_is_lost_is_cancelled(epochmark: CommandLine, environment: dict[str, str]) -> None:
    with Path("/dev/full").open("wb") as full:
        subprocess.run(
            command("run", "demo", "--json", "--epochs", "500"),
            env=environment,
            stdout=full,
            stderr=subprocess.DEVNULL,
            timeout=60,
            check=False,
        )
    assert [run["status"] for run in runs(epochmark)] == ["cancelled"]


def test_a_windows_reader_that_goes_away_is_a_broken_pipe(monkeypatch: pytest.MonkeyPatch) -> None:
    invalid = OSError(errno.EINVAL, "Invalid argument")
    assert is_broken_pipe(BrokenPipeError())
    monkeypatch.setattr("app.cli.views.WINDOWS", False)
    assert not is_broken_pipe(invalid)
    monkeypatch.setattr("app.cli.views.WINDOWS", True)
    assert is_broken_pipe(invalid)
    assert not is_broken_pipe(OSError(errno.ENOSPC, "No space left on device"))


@pytest.mark.parametrize("encoding", ["ascii", "cp1252"])
def test_what_programs_read_is_utf_8_whatever_the_terminal_speaks(
    epochmark: CommandLine, environment: dict[str, str], encoding: str
) -> None:
    epochmark("run", "demo", "--epochs", "1", "--quiet")
    with Database(default_paths(environment).database) as database, database.transaction() as connection:
        connection.execute("UPDATE runs SET error_message = 'Zürich × 東京'")
    surroundings = environment | {"PYTHONIOENCODING": encoding, "PYTHONUTF8": "0"}
    exported = subprocess.run(
        command("results", "export"), env=surroundings, capture_output=True, timeout=60, check=True
    )
    assert "Zürich × 東京" in exported.stdout.decode("utf-8")
    code = "from app.cli import main; main(['workloads', '--json']); print('東京')"
    listed = subprocess.run(
        [sys.executable, "-c", code], env=surroundings, capture_output=True, timeout=60, check=True, cwd=ROOT
    )
    assert listed.stdout.decode("utf-8").splitlines()[-1] == "東京"


@pytest.mark.parametrize("format_", ["csv", "json"])
def test_an_export_of_a_crash_names_no_folder(
    epochmark: CommandLine, environment: dict[str, str], format_: str
) -> None:
    epochmark("run", "demo", "--set", "outcome=crash")
    exported = epochmark("results", "export", "--format", format_).stdout
    assert "crashed" in exported
    for folder in (str(ROOT), sys.prefix, sys.base_prefix, environment["EPOCHMARK_HOME"]):
        assert folder + os.sep not in exported


def test_two_commands_share_one_database(epochmark: CommandLine) -> None:
    codes = []
    threads = [
        threading.Thread(target=lambda: codes.append(epochmark("run", "demo", "--quiet").returncode))
        for _ in range(2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert codes == [0, 0]
    assert sorted(run["id"] for run in runs(epochmark)) == [1, 2]


def test_a_home_that_is_a_file_is_said(epochmark: CommandLine, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    done = epochmark("results", "list", EPOCHMARK_HOME=str(file))
    assert "because a file is in its place" in sentence_of(done)
    assert done.returncode == 2


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs a file system that nobody can write to")
def test_a_home_that_cannot_be_written_is_said(epochmark: CommandLine) -> None:
    done = epochmark("run", "demo", EPOCHMARK_HOME="/proc/epochmark")
    assert "cannot be made" in sentence_of(done)
    assert done.returncode == 2


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs a file system that nobody can write to")
@pytest.mark.parametrize("verb", ["hardware", "workloads"])
def test_looking_needs_no_home(epochmark: CommandLine, verb: str) -> None:
    done = epochmark(verb, EPOCHMARK_HOME="/proc/epochmark")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout


def test_a_locked_database_is_said(epochmark: CommandLine, environment: dict[str, str]) -> None:
    with Database(default_paths(environment).database) as database:
        database.connection.execute("BEGIN IMMEDIATE")
        done = epochmark("run", "demo")
    assert "are locked by another program" in sentence_of(done)
    assert (done.returncode, done.stdout) == (2, "")


@posix_only
def test_a_terminal_sees_a_live_line_and_the_epochs_stay(environment: dict[str, str]) -> None:
    import pty

    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        command("run", "demo", "--set", "step_s=0.05"), env=environment, stdout=theirs, stderr=theirs
    )
    os.close(theirs)
    shown = b""
    try:
        while chunk := os.read(ours, 65_536):
            shown += chunk
    except OSError:
        pass  # how a pseudo-terminal ends
    os.close(ours)
    assert process.wait(20) == 0
    assert b"epoch 2/3 \xc2\xb7 step 4/10 \xc2\xb7 loss" in shown
    assert b"left" in shown
    # What a terminal keeps of each line is what comes after the last carriage return.
    lines = [line.rsplit(b"\r", 1)[-1] for line in shown.replace(b"\r\n", b"\n").split(b"\n")]
    assert [line.split()[0] for line in lines if line.startswith(b"     ")] == [b"1/3", b"2/3", b"3/3"]


def test_a_damaged_database_is_replaced_and_said(epochmark: CommandLine, environment: dict[str, str]) -> None:
    paths = default_paths(environment)
    paths.create()
    paths.database.write_bytes(b"garbage" * 1000)
    done = epochmark("run", "demo", "--quiet")
    assert done.returncode == 0
    assert "are damaged" in sentence_of(done)
    assert len(list(paths.data.glob("runs.damaged-*"))) == 1


def test_a_database_of_a_newer_epochmark_is_refused(epochmark: CommandLine, environment: dict[str, str]) -> None:
    with Database(default_paths(environment).database) as database:
        database.connection.execute("PRAGMA user_version = 99")
    done = epochmark("run", "demo")
    assert "newer Epochmark" in sentence_of(done)
    assert done.returncode == 2


def test_settings_that_are_not_json_are_kept_and_said(epochmark: CommandLine, environment: dict[str, str]) -> None:
    paths = default_paths(environment)
    paths.create()
    paths.settings.write_text("{nonsense")
    done = epochmark("run", "demo", "--quiet")
    assert done.returncode == 0
    assert "no valid settings" in sentence_of(done)
    assert [path.read_text() for path in paths.config.glob("settings.damaged-*")] == ["{nonsense"]


@pytest.mark.parametrize(
    "arguments",
    [
        ["hardware"],
        ["hardware", "--json"],
        ["workloads"],
        ["workloads", "--json"],
        ["results", "list"],
        ["results", "show", "1"],
        ["results", "export"],
        ["data", "list"],
        ["compare"],
    ],
)
def test_looking_needs_no_engine(epochmark: CommandLine, arguments: list[str], tmp_path: Path) -> None:
    if "show" in arguments:
        epochmark("run", "demo", "--epochs", "1", "--quiet")
    done = epochmark(*arguments, PYTHONPROFILEIMPORTTIME="1")
    assert done.returncode == 0
    imported = {line.rsplit("|", 1)[-1].strip() for line in done.stderr.splitlines()}
    assert "app.cli" in imported
    assert not imported & {"tensorflow", "keras", "numpy", "PySide6", "pyqtgraph"}


def test_hardware_names_no_one(epochmark: CommandLine) -> None:
    import platform

    machine = json.loads(epochmark("hardware", "--json").stdout)
    assert machine["logical_cores"] >= 1
    assert machine["memory_bytes"] > 1e8
    assert platform.node() not in json.dumps(machine)


def test_the_workloads_are_those_of_the_catalogue(epochmark: CommandLine) -> None:
    listed = json.loads(epochmark("workloads", "--json").stdout)
    assert [workload["id"] for workload in listed] == list(CATALOGUE)
    assert listed[0]["parameters_count"] == 1_337_002


def test_compare_shows_the_seven_machines_of_the_study(epochmark: CommandLine) -> None:
    comparison = json.loads(epochmark("compare", "--json").stdout)
    assert [bar["seconds_per_epoch_s"] for bar in comparison["bars"]] == [4, 9, 16, 36, 36, 320, 382]
    assert comparison["baseline"] == "i5-8250U"
    shown = epochmark("compare", "--baseline", "1080 ti").stdout
    assert "× against GTX 1080 Ti" in shown


def make_standard_run(epochmark: CommandLine, environment: dict[str, str], **changes: object) -> None:
    """Store a run of the standard workload without running it: a demo run that is changed."""
    epochmark("run", "demo", "--epochs", "2", "--quiet")
    values = {"workload": "cifar10_keras_cnn", "samples_per_epoch": 50_000} | changes
    columns = ", ".join(f"{name} = ?" for name in values)
    with Database(default_paths(environment).database) as database, database.transaction() as connection:
        connection.execute(f"UPDATE runs SET {columns} WHERE id = (SELECT max(id) FROM runs)", [*values.values()])


def test_compare_says_the_sentence_against_the_baseline_in_json_too(
    epochmark: CommandLine, environment: dict[str, str]
) -> None:
    make_standard_run(epochmark, environment)
    comparison = json.loads(epochmark("compare", "--baseline", "MX150", "--json").stdout)
    assert "× the MX150, " in comparison["sentence"]
    assert comparison["left_out"] == []
    assert "Run 1, the latest completed run: " in epochmark("compare").stdout


def test_compare_says_why_published_machines_are_left_out(
    epochmark: CommandLine, environment: dict[str, str]
) -> None:
    make_standard_run(epochmark, environment, batch_size=32)
    assert "  not drawn: GTX 1060: batch 100, not 32\n" in epochmark("compare").stdout
    comparison = json.loads(epochmark("compare", "--json").stdout)
    assert "GTX 1060: batch 100, not 32" in comparison["left_out"]


def test_the_list_marks_estimates_and_first_epochs(epochmark: CommandLine) -> None:
    epochmark("run", "demo", "--epochs", "2", "--quiet")
    assert not {"~", "*"} & set(epochmark("results", "list").stdout)
    epochmark("run", "demo", "--epochs", "1", "--quiet")
    epochmark("run", "demo", "--preset", "quick", "--quiet")
    *_, quick, first, whole, estimate_note, first_note = epochmark("results", "list").stdout.splitlines()
    assert (" ~" in quick, "* " in first) == (True, True)
    assert not {"~", "*"} & set(whole)
    assert estimate_note == "~ estimate"
    assert first_note == "* first epoch only: starting up is in it"


@pytest.mark.parametrize(
    ("stored", "words"),
    [
        ('{"cpu_name": "Old CPU"}', "Machine  Old CPU · ? cores / ? threads · n/a"),
        ('{"cpu_name": "New CPU", "npu": 1, "gpus": [{"name": "New GPU", "cores": 9}]}', "New GPU"),
        ('{"cpu_name": {}}', "unknown processor"),
    ],
)
def test_a_machine_that_another_version_stored_is_shown(
    epochmark: CommandLine, environment: dict[str, str], stored: str, words: str
) -> None:
    epochmark("run", "demo", "--epochs", "1", "--quiet")
    with Database(default_paths(environment).database) as database, database.transaction() as connection:
        connection.execute("UPDATE machines SET machine = ?", (stored,))
    done = epochmark("results", "show", "1")
    assert (done.returncode, done.stderr) == (0, "")
    assert words in done.stdout


@pytest.mark.parametrize(
    ("virtual", "stored", "words"),
    [
        (True, "docker", "virtual machine, in docker"),
        (False, "docker", "in docker"),
        (None, "kubernetes", "in kubernetes"),
        (True, "docker in Xen", "virtual machine (Xen), in docker"),
        (True, "kvm", "virtual machine (kvm)"),
        (False, "wsl", "wsl"),
        (False, None, "Test OS 1"),
    ],
)
def test_a_container_is_not_called_a_virtual_machine(
    machine: Machine, virtual: bool | None, stored: str | None, words: str
) -> None:
    line = machine_line(replace(machine, virtual_machine=virtual, virtualization=stored))
    assert line.rsplit(" · ", 1)[-1] == words


def test_a_chart_stays_within_its_width_and_keeps_the_values() -> None:
    bars = [Bar("a" * 100, "you", 1234.5, ("b" * 100,)), Bar("c", "reference", 2000.0, ("d" * 20,))]
    lines = bar_chart(bars, bars[1]).splitlines()
    assert max(map(len, lines)) <= 118
    assert ["1234" in lines[0] or "1235" in lines[0], "2000" in lines[1]] == [True, True]
    assert lines[0].endswith("b...")
    assert lines[1].endswith("d" * 20)


def test_the_engine_is_written_in_one_way(epochmark: CommandLine) -> None:
    line = "Engine   none on cpu · float32 · without XLA\n"
    assert line in epochmark("run", "demo", "--epochs", "1").stdout
    assert line in epochmark("results", "show", "1").stdout
    line = engine_line("tensorflow", "2.21.0", None, precision="float32", jit=True)
    assert line == "Engine   TensorFlow 2.21.0 on device n/a · float32 · with XLA"


@posix_only
def test_output_that_cannot_be_written_loses_nothing(epochmark: CommandLine, tmp_path: Path) -> None:
    epochmark("run", "demo", "--quiet")
    target = tmp_path / "folder"
    target.mkdir()
    done = epochmark("results", "export", "--output", str(target))
    assert "cannot be written" in sentence_of(done)
    assert done.returncode == 2
    assert list(target.iterdir()) == []


def test_a_terminal_without_unicode_gets_its_numbers(epochmark: CommandLine) -> None:
    done = epochmark("compare", PYTHONIOENCODING="ascii", PYTHONUTF8="0")
    assert done.returncode == 0
    assert "####" not in done.stdout
    assert "---- " in done.stdout
    assert "GTX 1080 Ti" in done.stdout


@pytest.mark.engine
def test_without_arguments_the_standard_workload_is_estimated(
    epochmark: CommandLine, environment: dict[str, str]
) -> None:
    clean = {name: value for name, value in environment.items() if name not in ("DISPLAY", "WAYLAND_DISPLAY")}
    done = subprocess.run(
        [sys.executable, "-m", "app"], env=clean, capture_output=True, text=True, timeout=200, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[0].endswith("The standard benchmark runs here in the terminal.")
    assert "s per epoch\nan estimate from timed steps" in done.stdout
    assert "× the i5-8250U" in done.stdout
    assert "You · " in done.stdout
    (run,) = runs(epochmark)
    assert (run["preset"], run["basis"], run["status"]) == ("quick", "estimate", "completed")
