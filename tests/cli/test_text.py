"""What commands write: for people and programs, where it cannot be written, and nothing that steers a terminal."""

import ast
import errno
import json
import os
import re
import subprocess
import sys
import unicodedata
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path

import pytest

from app.cli import preflight
from app.cli.text import is_broken_pipe
from app.cli.views import JsonView
from app.core.logs import set_up_logging
from app.core.messages import sentence
from app.core.paths import Paths, default_paths
from app.core.records import RunSummary
from app.core.storage.database import Database
from tests.build import set_fields
from tests.cli.commands import ended, on_a_terminal, posix_only, runs, sentence_of
from tests.conftest import ROOT, CommandLine
from tests.core.verdict.test_preflight import MACHINE, QUIET
from tests.saying import said
from workloads import CATALOGUE
from workloads.protocol import events
from workloads.protocol.telemetry import Telemetry

linux_only = pytest.mark.skipif(sys.platform != "linux", reason="only Linux has a device that is always full")


@pytest.mark.slow
@linux_only
@pytest.mark.parametrize("arguments", ["--help", "run demo --json", "run demo", "results export"])
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


@pytest.mark.parametrize("verb", [["export"], ["share", "1"]], ids=["export", "share"])
def test_an_impossible_file_is_reported_in_a_sentence_and_nothing_is_lost(
    environment: dict[str, str], stored: CommandLine, tmp_path: Path, verb: list[str]
) -> None:
    place = tmp_path / "place"
    (place / "folder").mkdir(parents=True)
    (place / "kept.png").write_bytes(OLD)
    for output in ("", "folder", "none/a.png", "kept.png/a.png"):
        surroundings = environment | {"PYTHONPATH": str(ROOT)}
        done = ended(surroundings, "results", *verb, "--output", output, cwd=place)
        assert sentence_of(done)
        assert "itself failed" not in done.stderr
        assert (done.returncode, done.stdout) == (2, ""), output
    assert names(place) == ["folder", "kept.png"]
    assert (place / "kept.png").read_bytes() == OLD
    assert names(place / "folder") == []


NASTY = "\x1b]52;c;cm0=\x07 \x9b2J \x1bP1q\x1b\\ \u202egnp\u202c \u200b\u2066 \x7f\x08\u2028 fake\rRun 9\nRun 8"


def steering(text: str) -> list[str]:
    kinds = {"Cc", "Cf", "Cs", "Zl", "Zp"}
    return [char for char in text if unicodedata.category(char) in kinds and char not in "\n\t"]


AB = ("ab", "demo", "--epochs", "1", "--set", "step_s=0", "--pairs", "1", "--a", "seed=1", "--label-a", NASTY[:40])


def soil(database: Database) -> None:
    """Put the nasty text into every stored text, but for what says which record it is."""
    kept = {"metric", "basis", "side", "workload", "uid"}
    names = [field.name for field in fields(RunSummary) if "str" in str(field.type) and field.name not in kept]
    said = {"code": "verdict.as_stored", "arguments": {"text": NASTY}}
    machine = {"cpu_name": NASTY, "os_name": NASTY}
    with database.transaction() as connection:
        set_fields(connection, error_said=said, machine=machine, **dict.fromkeys(names, NASTY))
        sql = "INSERT INTO warnings (run_id, seq, code, said) VALUES (1, 99, 'nasty', ?)"
        connection.execute(sql, (json.dumps(said),))
        plan = json.loads(connection.execute("SELECT plan FROM plans").fetchone()[0])
        plan |= {"label_a": NASTY, "label_b": NASTY}
        connection.execute("UPDATE plans SET plan = ?, created_at = ?", (json.dumps(plan), NASTY))


def test_stored_texts_are_shown_as_escapes(epochmark: CommandLine, environment: dict[str, str]) -> None:
    done = epochmark(*AB)
    assert done.returncode == 0, done.stderr
    assert steering(done.stdout + done.stderr) == []
    with Database(default_paths(environment).database) as database:
        soil(database)
    shows = ("list", "show 1", "show 1 --json", "group 1", "group 1 --json", "export", "export --format json")
    for arguments in (*(f"results {words}" for words in shows), "compare demo"):
        done = epochmark(*arguments.split())
        assert done.returncode == 0, (arguments, done.stderr)
        assert steering(done.stdout + done.stderr) == [], arguments
        assert "compare" in arguments or "1b]52;c;" in done.stdout, "it was there to be shown"
        if "export" not in arguments and "--json" not in arguments:
            assert not [line for line in done.stdout.splitlines() if line.startswith("Run 8")]


def test_a_log_is_explained_without_its_escape_sequences(epochmark: CommandLine, tmp_path: Path) -> None:
    log = tmp_path / "train.log"
    log.write_text(f"fatal error: {NASTY}\nRuntimeError: \x1b[31mred\x9d0;x\x9c\n", encoding="utf-8")
    for options in ([], ["--verbose"], ["--json"]):
        done = epochmark("doctor", "--log", str(log), *options)
        assert "fatal error" in done.stdout
        assert steering(done.stdout + done.stderr) == []


@pytest.mark.parametrize(
    "arguments",
    [
        ["run", NASTY],
        ["run", "demo", "--set", NASTY],
        ["run", "demo", "--set", f"outcome={NASTY}"],
        ["run", "demo", "--device", NASTY],
        ["run", "demo", NASTY],
        ["ab", "demo", "--a", NASTY],
        [NASTY],
        ["compare", "--baseline", NASTY],
        ["doctor", "--log", NASTY],
        ["results", "export", "--output", f"{NASTY}/x"],
        ["results", "show", NASTY],
        ["data", "fetch", "cifar10", "--url", NASTY],
    ],
    ids=lambda arguments: " ".join(text for text in arguments if text.isalnum()),
)
def test_what_was_typed_is_echoed_as_escapes(epochmark: CommandLine, arguments: list[str]) -> None:
    done = epochmark(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert steering(done.stderr) == []
    assert len(done.stderr.splitlines()) == 1


def test_warnings_and_the_log_hold_no_escape_sequences(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    import logging

    set_up_logging(tmp_path)
    logging.getLogger("app.test").warning("The server said %s.", NASTY)
    set_up_logging(tmp_path)
    shown = capsys.readouterr().err
    assert shown.startswith("The server said \\x1b]52;c;")
    assert len(shown.splitlines()) == 1
    assert steering(shown + (tmp_path / "epochmark.log").read_text("utf-8")) == []


def calls(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            yield ast.unparse(node.func)


def test_all_output_of_the_command_line_goes_through_one_place() -> None:
    for path in sorted((ROOT / "app" / "cli").glob("*.py")):
        if path.name == "text.py":
            continue
        called = set(calls(ast.parse(path.read_text("utf-8"))))
        assert not called & {"print", "sys.stdout.write", "sys.stderr.write", "sys.stdout.writelines"}, path.name
