"""What commands write: for people, for programs, into files, devices and pipes, and where it can't be written."""

import errno
import os
import re
import stat
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
from tests.build import set_fields
from tests.cli.commands import ended, on_a_terminal, posix_only, runs, sentence_of
from tests.cli.devices import device
from tests.conftest import ROOT, CommandLine, command
from tests.core.verdict.test_preflight import MACHINE, QUIET
from tests.saying import said
from tests.systems import needs_qt
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
    assert said("cli.output_lost", reason="No space left on device").is_in(sentence_of(done))
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
    with Database(default_paths(environment).database) as database:
        set_fields(database, comment="Zürich × 東京")
    surroundings = environment | {"PYTHONIOENCODING": encoding, "PYTHONUTF8": "0"}
    assert "Zürich × 東京" in ended(surroundings, "results", "export", "--all").stdout
    code = "from app.cli import main; main(['workloads', '--json']); print('東京')"
    listed = subprocess.run(
        [sys.executable, "-c", code], env=surroundings, capture_output=True, timeout=60, check=True, cwd=ROOT
    )
    assert listed.stdout.decode("utf-8").splitlines()[-1] == "東京"


@pytest.mark.parametrize("format_", [("--all",), ("--format", "json")])
def test_an_export_of_a_crash_names_no_folder(
    epochmark: CommandLine, environment: dict[str, str], format_: tuple[str, ...]
) -> None:
    epochmark("run", "demo", "--set", "outcome=crash")
    exported = epochmark("results", "export", *format_).stdout
    assert "crashed" in exported
    for folder in (str(ROOT), sys.prefix, sys.base_prefix, environment["EPOCHMARK_HOME"]):
        assert folder + os.sep not in exported


@pytest.mark.slow
@posix_only
def test_a_terminal_sees_a_live_line_and_the_epochs_stay(environment: dict[str, str]) -> None:
    shown = on_a_terminal(environment, "run", "demo", "--epochs", "3", "--set", "step_s=0.05")
    place = (sentence("cli.epoch_of", number=2, planned=3), sentence("cli.step_of", number=4, planned=10), "")
    for part in (" · ".join(place), "█░", " 46 %"):
        assert part.encode() in shown
    assert said("cli.time_left").is_in(shown.decode())
    # What a terminal keeps of each line is what comes after the last carriage return.
    lines = [line.rsplit(b"\r", 1)[-1] for line in shown.replace(b"\r\n", b"\n").split(b"\n")]
    assert [line.split()[0] for line in lines if re.match(rb" +\d/3 ", line)] == [b"1/3", b"2/3", b"3/3"]


@pytest.mark.slow
@posix_only
def test_the_bar_of_several_runs_never_goes_back(environment: dict[str, str]) -> None:
    shown = on_a_terminal(environment, "run", "demo", "--epochs", "2", "--repeat", "2").decode()
    place = said("cli.run_of", planned=2).pattern.pattern
    shares = [int(share) for share in re.findall(rf"(\d+) % · {place}", shown)]
    assert shares == sorted(shares)
    assert {0, 50, 100} <= set(shares)


@posix_only
def test_output_that_cannot_be_written_loses_nothing(epochmark: CommandLine, tmp_path: Path) -> None:
    epochmark("run", "demo", "--quiet")
    target = tmp_path / "folder"
    target.mkdir()
    done = epochmark("results", "export", "--output", str(target))
    assert said("export.not_written").is_in(sentence_of(done))
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


OLD = b"what was there"


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@posix_only
@pytest.mark.parametrize(
    "arguments",
    [["export"], ["export", "--format", "json"], pytest.param(["share", "1"], marks=needs_qt)],
    ids=["csv", "json", "png"],
)
def test_other_files_in_the_folder_are_unchanged(
    stored: CommandLine, tmp_path: Path, arguments: list[str]
) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    target, link, part = folder / "target.png", folder / "link.png", folder / "link.png.part"
    target.write_bytes(OLD)
    target.chmod(0o600)
    link.symlink_to("target.png")
    part.symlink_to(tmp_path / "victim")
    assert stored("results", *arguments, "--output", str(link)).returncode == 0
    assert (link.is_symlink(), part.is_symlink(), (tmp_path / "victim").exists()) == (True, True, False)
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    assert target.read_bytes() not in (OLD, b"")
    assert names(folder) == ["link.png", "link.png.part", "target.png"]


@posix_only
@pytest.mark.parametrize("format_", ["csv", "json"])
def test_devices_pipes_and_standard_output_get_what_a_file_gets(
    stored: CommandLine, environment: dict[str, str], tmp_path: Path, format_: str
) -> None:
    wanted = stored("results", "export", "--format", format_).stdout
    for name in ("-", "/dev/stdout"):
        assert stored("results", "export", "--format", format_, "--output", name).stdout == wanted
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with subprocess.Popen(
        command("results", "export", "--format", format_, "--output", str(pipe)),
        env=environment,
        stderr=subprocess.DEVNULL,
    ) as process:
        assert pipe.read_text("utf-8") == wanted
        assert process.wait(20) == 0
    null = device(tmp_path, "null")
    before = null.stat()
    assert stored("results", "export", "--format", format_, "--output", str(null)).returncode == 0
    after = null.stat()
    assert (after.st_ino, after.st_mode, after.st_rdev) == (before.st_ino, before.st_mode, before.st_rdev)
    assert not Path("-").exists()


@pytest.mark.parametrize("verb", [["export"], ["share", "1"]], ids=["export", "share"])
def test_an_impossible_file_is_reported_in_a_sentence_and_nothing_is_lost(
    environment: dict[str, str], stored: CommandLine, tmp_path: Path, verb: list[str]
) -> None:
    place = tmp_path / "place"
    (place / "folder").mkdir(parents=True)
    (place / "kept.png").write_bytes(OLD)
    for output in ("", ".", os.sep, f"folder{os.sep}", "none/a.png", "kept.png/a.png"):
        surroundings = environment | {"PYTHONPATH": str(ROOT)}
        done = ended(surroundings, "results", *verb, "--output", output, cwd=place)
        assert sentence_of(done)
        assert "itself failed" not in done.stderr
        assert (done.returncode, done.stdout) == (2, ""), output
    assert names(place) == ["folder", "kept.png"]
    assert (place / "kept.png").read_bytes() == OLD
    assert names(place / "folder") == []


def test_a_full_device_is_reported(stored: CommandLine, tmp_path: Path) -> None:
    full = device(tmp_path, "full")
    done = stored("results", "export", "--output", str(full))
    assert said("export.not_written", path=full, reason="No space left on device").is_in(sentence_of(done))
    assert done.returncode == 2
    assert full.is_char_device()
