"""What commands write: for people, for programs, and where it cannot be written."""

import errno
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from app.cli import preflight
from app.cli.text import is_broken_pipe
from app.cli.views import JsonView
from app.core.messages import sentence
from app.core.paths import Paths, default_paths
from app.core.storage.database import Database
from tests.cli.commands import ended, on_a_terminal, posix_only, runs, sentence_of
from tests.conftest import ROOT, CommandLine
from tests.core.verdict.test_preflight import MACHINE, QUIET
from workloads import CATALOGUE
from workloads.protocol import events
from workloads.protocol.telemetry import Telemetry

linux_only = pytest.mark.skipif(sys.platform != "linux", reason="only Linux has a device that is always full")


@pytest.mark.slow
@linux_only
@pytest.mark.parametrize(
    "arguments",
    ["--help", "workloads", "run demo --json", "run demo", "run demo --quiet", "results list", "results export"],
)
def test_output_that_cannot_be_written_is_reported_in_a_sentence(
    environment: dict[str, str], arguments: str
) -> None:
    with Path("/dev/full").open("wb") as full:
        done = ended(environment, *arguments.split(), stdout=full)
    assert sentence_of(done) == "epochmark: The output can't be written (No space left on device)."
    assert done.returncode == 1


@linux_only
def test_a_run_whose_output_is_lost_is_cancelled(epochmark: CommandLine, environment: dict[str, str]) -> None:
    with Path("/dev/full").open("wb") as full:
        ended(environment, "run", "demo", "--json", "--epochs", "500", stdout=full)
    assert [run["status"] for run in runs(epochmark)] == ["cancelled"]


def test_an_output_that_is_lost_before_the_run_can_be_cancelled_still_cancels_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cancelled: list[bool] = []
    with Path(os.devnull).open(encoding="utf-8") as unwritable:
        monkeypatch.setattr(sys, "stdout", unwritable)
        view = JsonView()
        view(events.End(status="completed"))
    assert view.error is not None
    view.may_cancel_by(lambda: cancelled.append(True))
    assert cancelled == [True]


def test_a_windows_reader_that_goes_away_is_a_broken_pipe(monkeypatch: pytest.MonkeyPatch) -> None:
    invalid = OSError(errno.EINVAL, "Invalid argument")
    assert is_broken_pipe(BrokenPipeError())
    monkeypatch.setattr("app.cli.text.WINDOWS", False)
    assert not is_broken_pipe(invalid)
    monkeypatch.setattr("app.cli.text.WINDOWS", True)
    assert is_broken_pipe(invalid)
    assert not is_broken_pipe(OSError(errno.ENOSPC, "No space left on device"))


@pytest.mark.parametrize("encoding", ["ascii", "cp1252"])
def test_output_for_programs_is_utf_8_whatever_the_terminals_encoding(
    epochmark: CommandLine, environment: dict[str, str], encoding: str
) -> None:
    epochmark("run", "demo", "--epochs", "1", "--quiet")
    with Database(default_paths(environment).database) as database, database.transaction() as connection:
        connection.execute("UPDATE runs SET error_message = 'Zürich × 東京'")
    surroundings = environment | {"PYTHONIOENCODING": encoding, "PYTHONUTF8": "0"}
    assert "Zürich × 東京" in ended(surroundings, "results", "export").stdout
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


@pytest.mark.slow
@posix_only
def test_a_terminal_sees_a_live_line_and_the_epochs_stay(environment: dict[str, str]) -> None:
    shown = on_a_terminal(environment, "run", "demo", "--set", "step_s=0.05")
    assert b"epoch 2/3 \xc2\xb7 step 4/10 \xc2\xb7 loss" in shown
    assert b"left" in shown
    assert "█░".encode() in shown
    assert b" 46 %" in shown
    # What a terminal keeps of each line is what comes after the last carriage return.
    lines = [line.rsplit(b"\r", 1)[-1] for line in shown.replace(b"\r\n", b"\n").split(b"\n")]
    assert [line.split()[0] for line in lines if re.match(rb" +\d/3 ", line)] == [b"1/3", b"2/3", b"3/3"]


@pytest.mark.slow
@posix_only
def test_the_bar_of_several_runs_never_goes_back(environment: dict[str, str]) -> None:
    shown = on_a_terminal(environment, "run", "demo", "--epochs", "2", "--repeat", "2").decode()
    shares = [int(share) for share in re.findall(r"(\d+) % · run \d of 2", shown)]
    assert shares == sorted(shares)
    assert {0, 50, 100} <= set(shares)


@posix_only
def test_output_that_cannot_be_written_loses_nothing(epochmark: CommandLine, tmp_path: Path) -> None:
    epochmark("run", "demo", "--quiet")
    target = tmp_path / "folder"
    target.mkdir()
    done = epochmark("results", "export", "--output", str(target))
    assert "can't be saved" in sentence_of(done)
    assert done.returncode == 2
    assert list(target.iterdir()) == []


def test_a_terminal_without_unicode_gets_its_numbers(epochmark: CommandLine) -> None:
    done = epochmark("compare", PYTHONIOENCODING="ascii", PYTHONUTF8="0")
    assert done.returncode == 0
    assert "####" not in done.stdout
    assert "---- " in done.stdout
    assert "GTX 1080 Ti" in done.stdout


@pytest.mark.parametrize(("telemetry", "is_named"), [(QUIET, False), (Telemetry(), True)])
def test_a_load_that_could_not_be_read_is_named(
    telemetry: Telemetry, is_named: bool, paths: Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(preflight, "read_telemetry", lambda duration_s: (telemetry, telemetry))
    lines = preflight.preflight_lines(CATALOGUE["cifar10_keras_cnn"].default_spec(), MACHINE, paths)
    assert lines == ([sentence("preflight.load_unknown")] if is_named else [])
