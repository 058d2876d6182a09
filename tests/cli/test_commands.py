"""The command line as its users meet it: real commands, their output, and their exit codes."""

import csv
import io
import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from app.core.paths import default_paths
from app.core.settings import Settings, save_settings
from app.core.storage.database import Database
from tests.cli.commands import runs, sentence_of
from tests.conftest import CommandLine
from tests.saying import said


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
    for words in ("Machine ", "Data     demo · synthetic data", " 1/2 ", " 2/2 ", "Stored as run 1"):
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


LONG = "9" * 5_000


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["run", "mnist_nlp"], "no workload “mnist_nlp”. Did you mean mnist_mlp"),
        (["run", "demo", "--set", "speed=9"], "no parameter 'speed'; it has: outcome, step_s"),
        (["run", "demo", "--set", "outcome=great"], "outcome must be one of ok, fail"),
        (["run", "demo", "--set", "step_s=nan"], "step_s must be a number from 0 to 60 (s)"),
        (["run", "demo", "--set", "step_s"], "--set takes NAME=VALUE"),
        (["run", "cifar10_keras_cnn", "--set", "lr=1"], "no parameter 'lr'; it has none"),
        (["run", "demo", "--device", "tpu"], "auto, cpu or gpu:N"),
        (["run", "demo", "--batch", "1001"], "A batch of 1,001 is larger than the 1,000"),
        (["run", "demo", "--batch", "0"], "Batch size must be at least 1, not 0"),
        (["run", "demo", "--batch", "-5"], "Batch size must be at least 1, not -5"),
        (["run", "demo", "--epochs", "0"], "Epochs must be at least 1, not 0"),
        (["run", "demo", "--epochs", "99999999999999999999"], "out of range"),
        (["run", "demo", "--steps", "11"], "has 10 steps"),
        (["run", "demo", "--threads", "0"], "Threads must be at least 1"),
        (["run", "demo", "--threads", "5000"], "--threads must be from 1 to 4096, not 5000."),
        (["run", "demo", "--seed", "-1"], "--seed must be from 0 to 4294967295, not -1."),
        (["run", "demo", "--seed", "99999999999"], "--seed must be from 0 to 4294967295, not 99999999999."),
        (["run", "demo", "--epochs", "3000000000"], "--epochs must be from 1 to 2147483647, not 3000000000."),
        (["run", "demo", "--preset", "quick", "--epochs", "3"], "takes neither epochs nor steps"),
        (["dance"], "invalid choice"),
        (["results", "show", "7"], "There's no run 7"),
        (["results", "delete", "7"], "There's no run 7"),
        (["results", "export", "7"], "There's no run 7"),
        (["results", "list", "--limit", "0"], "--limit must be at least 1"),
        (["compare", "nonsense"], "no workload “nonsense”"),
        (["compare", "--baseline", "abacus"], "no baseline “abacus”. Choose one of"),
        (["data", "fetch", "nonsense"], "no data set “nonsense”. Choose one of: cifar10"),
        (["data", "fetch", "cifar10", "--url", "file:///etc/passwd"], "isn't an http or https address"),
        (["data", "import", "cifar10", "/no/such/file"], "can't be read"),
        (["ab", "demo"], "Both sides are the same. Use --a and --b to say what differs"),
        (["ab", "demo", "--b", "threads"], "--b takes KEY=VALUE, several separated by commas, not 'threads'"),
        (["ab", "demo", "--b", "threads=two"], "threads in --b must be a whole number, not 'two'"),
        (["ab", "demo", "--b", "xla=yes"], "xla in --b must be one of on, off, not 'yes'"),
        (["ab", "demo", "--b", "jit=on,xla=off"], "--b sets xla twice"),
        (["ab", "demo", "--a", "speed=9"], "--a can't set 'speed'. Choose one of: batch, engine, device"),
        (["ab", "demo", "--a", "outcome=great"], "outcome must be one of ok"),
        (["ab", "demo", "--a", "seed=1", "--pairs", "0"], "--pairs must be from 1 to 100, not 0"),
        (
            ["ab", "demo", "--a", "seed=1", "--label-a", "x" * 61],
            "--label-a can have at most 60 characters, not 61",
        ),
        (["ab", "demo", "--a", "seed=1", "--steps", "5"], "Epochs of 5 steps are cut short"),
        (["run", "demo", "--repeat", "1"], "--repeat must be from 2 to 100, not 1"),
        (["run", "demo", "--onednn", "yes"], "invalid choice: 'yes'"),
        (["results", "group", "7"], "There's no group 7."),
        # Numbers that no run can have.
        (["results", "show", "99999999999999999999"], "epochmark: ID is out of range: '99999999999999999999'"),
        (["results", "show", "-9223372036854775808"], "is out of range"),
        (["results", "show", "9223372036854775807"], "There's no run"),
        (["results", "group", LONG], "is out of range: '9999"),
        (["results", "delete", "1", "1e3"], "must be a whole number, not '1e3'"),
        (["results", "export", "٣"], "must be a whole number, not '٣'"),
        (["results", "list", "--limit", LONG], "is out of range"),
        (["results", "list", "--limit", ""], "must be a whole number, not ''"),
        (["logs", "remove", "1_0"], "must be a whole number, not '1_0'"),
        (["run", "demo", "--repeat", LONG], "epochmark: --repeat is out of range"),
        (["run", "demo", "--repeat", "9223372036854775807"], "--repeat must be from 2"),
        (["run", "demo", "--preset", "sustained", "--duration", "nan"], "must be a number, not 'nan'"),
        (["run", "demo", "--preset", "sustained", "--duration", "1e400"], "is out of range"),
        (["run", "demo", "--preset", "sustained", "--duration", "1e99"], "--duration must be from 1"),
        (["ab", "demo", "--a", "seed=99999999999999999999"], "seed in --a is out of range"),
        (["ab", "demo", "--a", "seed=1", "--pairs", LONG], "epochmark: --pairs is out of range"),
    ],
    ids=lambda value: " ".join(value)[:60] if isinstance(value, list) else "",
)
def test_wrong_use_ends_in_one_sentence_and_exit_code_2(
    epochmark: CommandLine, arguments: list[str], words: str
) -> None:
    done = epochmark(*arguments)
    assert words in sentence_of(done)
    assert "itself failed" not in done.stderr
    assert len(done.stderr) < 400
    assert (done.returncode, done.stdout) == (2, "")


def test_a_failed_run_has_exit_code_1_and_its_reason(epochmark: CommandLine) -> None:
    done = epochmark("run", "demo", "--set", "outcome=crash")
    assert done.returncode == 1
    assert said("cli.run_failed_because", reason=said("failure.crashed")).is_in(done.stdout)
    assert said("verdict.failed_after", epochs="3", epochs_done="1").is_in(done.stdout)
    assert "crashed" in epochmark("results", "show", "1").stdout


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


def test_a_home_that_is_a_file_is_reported(epochmark: CommandLine, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    done = epochmark("results", "list", EPOCHMARK_HOME=str(file))
    assert said("folders.file_in_place").is_in(sentence_of(done))
    assert done.returncode == 2


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs a file system that nobody can write to")
def test_a_home_that_cannot_be_written_is_reported(epochmark: CommandLine) -> None:
    done = epochmark("run", "demo", EPOCHMARK_HOME="/proc/epochmark")
    assert said("folders.not_created").is_in(sentence_of(done))
    assert done.returncode == 2


@pytest.mark.long
def test_a_locked_database_is_reported(epochmark: CommandLine, environment: dict[str, str]) -> None:
    with Database(default_paths(environment).database) as database:
        database.connection.execute("BEGIN IMMEDIATE")
        done = epochmark("run", "demo")
    assert said("database.locked").is_in(sentence_of(done))
    assert (done.returncode, done.stdout) == (2, "")


def test_a_damaged_database_is_replaced_and_reported(epochmark: CommandLine, environment: dict[str, str]) -> None:
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
        database.connection.execute("UPDATE format SET version = 99")
    done = epochmark("run", "demo")
    assert said("database.too_new").is_in(sentence_of(done))
    assert done.returncode == 2


def test_settings_that_are_not_json_are_kept_and_reported(
    epochmark: CommandLine, environment: dict[str, str]
) -> None:
    paths = default_paths(environment)
    paths.create()
    paths.settings.write_text("{nonsense")
    done = epochmark("run", "demo", "--quiet")
    assert done.returncode == 0
    assert "isn't valid" in sentence_of(done)
    assert [path.read_text() for path in paths.config.glob("settings.damaged-*")] == ["{nonsense"]


@pytest.mark.parametrize(
    ("folder", "problem"),
    [("relative", "not_absolute"), ("/no/such/drive", "missing"), ("/" + "x" * 300, "unusable")],
)
def test_a_missing_data_set_folder_is_reported_where_it_is_needed(
    epochmark: CommandLine, environment: dict[str, str], folder: str, problem: str
) -> None:
    paths = default_paths(environment)
    paths.create()
    save_settings(paths.settings, Settings(datasets_folder=folder))
    for arguments in (["data", "fetch", "cifar10"], ["run", "cifar10_keras_cnn", "--data", "real"]):
        done = epochmark(*arguments)
        codes = {f"folders.datasets_{each}" for each in (problem, "missing" if os.name == "nt" else problem)}
        assert any(said(code).is_in(sentence_of(done)) for code in codes)
        assert (done.returncode, done.stdout) == (2, "")
    for arguments in (["data", "list"], ["run", "demo", "--epochs", "1", "--quiet"], ["results", "list"]):
        done = epochmark(*arguments)
        assert (done.returncode, done.stderr) == (0, "")


def test_the_preset_is_the_one_of_the_settings_or_standard(
    epochmark: CommandLine, environment: dict[str, str]
) -> None:
    epochmark("run", "demo", "--quiet")
    save_settings(default_paths(environment).settings, Settings(preset="quick"))
    epochmark("run", "demo", "--quiet")
    assert [run["preset"] for run in runs(epochmark)] == ["quick", "standard"]


@pytest.mark.skipif(os.name == "nt", reason="Windows always has a display, and then the window opens")
@pytest.mark.long
@pytest.mark.engine
def test_without_arguments_the_standard_workload_is_estimated(
    epochmark: CommandLine, environment: dict[str, str]
) -> None:
    screens = ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM")
    clean = {name: value for name, value in environment.items() if name not in screens}
    # Enough is known sooner, as this is about what is run and said; the rest is as with `python -m app`.
    code = (
        "import sys, app.core.analysis.estimator as estimator; "
        "estimator.PRECISION, estimator.BLOCKS_AT_LEAST, estimator.MEASURED_S_AT_LEAST = 10.0, 20, 3.0; "
        "from app.__main__ import main; sys.exit(main())"
    )
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, env=clean, capture_output=True, text=True, timeout=200, check=False)
    assert done.returncode == 0, done.stderr
    assert said("start.no_display").is_in(done.stdout.splitlines()[0])
    assert "s per epoch\nestimated from " in done.stdout
    assert "× the i5-8250U" in done.stdout
    assert "This computer" in done.stdout
    (run,) = runs(epochmark)
    assert (run["preset"], run["basis"], run["status"]) == ("quick", "estimate", "completed")
    # Wide enough for a busy computer, narrow enough to notice a wrong number of steps.
    assert run["seconds_per_epoch_s"] == pytest.approx(500 * run["step_median_s"], rel=0.5)
