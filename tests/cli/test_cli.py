"""The command line as its users meet it: real commands, their output, and their exit codes."""

import csv
import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from app.core.paths import default_paths
from app.core.storage.database import Database
from tests.cli.commands import runs, sentence_of
from tests.conftest import HINT, CommandLine
from tests.saying import Saying, said


def test_a_person_sees_machine_data_epochs_and_where_the_run_is_kept(epochmark: CommandLine) -> None:
    done = epochmark("run", "demo", "--epochs", "2")
    assert done.returncode == 0
    for words in (" 1/2 ", " 2/2 "):
        assert words in done.stdout
    for part in (said("cli.run_machine"), said("cli.demo_stored", run_id="1")):
        assert part.is_in(done.stdout)
    assert "\r" not in done.stdout, "no live line where no terminal is"


def test_json_is_the_event_stream_and_nothing_else(epochmark: CommandLine) -> None:
    done = epochmark("run", "demo", "--epochs", "3", "--json", "--set", "outcome=noise")
    kinds = [json.loads(line)["type"] for line in done.stdout.splitlines()]
    assert (done.returncode, kinds[0], kinds[-2:], kinds.count("epoch")) == (0, "run", ["result", "end"], 3)


def test_results_can_be_listed_shown_exported_and_deleted(epochmark: CommandLine, tmp_path: Path) -> None:
    for _ in range(2):
        assert epochmark("run", "demo", "--epochs", "2", "--quiet").returncode == 0
    assert [run["id"] for run in runs(epochmark)] == [2, 1]
    shown = json.loads(epochmark("results", "show", "1", "--json").stdout)
    rows = list(csv.DictReader(io.StringIO(epochmark("results", "export", "--all").stdout)))
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


def out_of_range(value: str) -> Saying:
    return said("cli.is_out_of_range", value=value)


def not_from(option: str, least: int, most: int, given: int) -> Saying:
    return said("cli.number_out_of_range", option=option, least=least, most=most, given=given)


@pytest.mark.parametrize(
    ("arguments", "refusal"),
    [
        (["run", "mnist_nlp"], said("workload.unknown", workload="mnist_nlp")),
        (["run", "demo", "--set", "speed=9"], said("workload.other_parameters", workload="demo", name="'speed'")),
        (["run", "demo", "--set", "step_s"], said("cli.bad_setting", value="'step_s'")),
        (["run", "demo", "--device", "tpu"], said("cli.unknown_device", device="'tpu'")),
        (["run", "demo", "--threads", "5000"], not_from("--threads", 1, 4_096, 5_000)),
        (["run", "demo", "--seed", "99999999999"], not_from("--seed", 0, 2**32 - 1, 99_999_999_999)),
        (["dance"], said("cli.usage", command=HINT)),
        (["results", "show", "7"], said("runs.unknown", run_ids="7")),
        (["results", "list", "--limit", "0"], said("cli.limit_too_small", limit="0")),
        (["compare", "--baseline", "abacus"], said("baseline.unknown", name="abacus")),
        (["data", "fetch", "nonsense"], said("dataset.unknown_dataset", dataset="nonsense")),
        (
            ["data", "fetch", "cifar10", "--url", "file:///x"],
            said("dataset.not_a_web_address", address="file:///x"),
        ),
        (["data", "import", "cifar10", "/no/such/file"], said("files.unreadable", path=Path("/no/such/file"))),
        (["ab", "demo", "--b", "threads"], said("cli.bad_side", option="--b", value="'threads'")),
        (["ab", "demo", "--b", "threads=two"], said("parameter.not_int", name="threads in --b", value="'two'")),
        (["ab", "demo", "--b", "jit=on,xla=off"], said("cli.set_twice", option="--b", name="xla")),
        (["ab", "demo", "--b", "devices=2"], said("workload.one_device", workload="demo")),
        (["ab", "demo", "--a", "speed=9"], said("cli.unknown_key", option="--a", name="'speed'")),
        (["ab", "demo", "--a", "seed=1", "--pairs", "0"], not_from("--pairs", 1, 100, 0)),
        (
            ["ab", "demo", "--a", "seed=1", "--label-a", "x" * 61],
            said("cli.label_too_long", limit="60", given="61"),
        ),
        (["ab", "demo", "--a", "seed=1", "--steps", "5"], said("cli.epochs_cut_short", steps="5")),
        (["run", "demo", "--repeat", "1"], not_from("--repeat", 2, 100, 1)),
        (["results", "group", "7"], said("groups.unknown", group_id="7")),
        # Numbers that no run can have.
        (["results", "show", "99999999999999999999"], out_of_range("'99999999999999999999'")),
        (["results", "delete", "1", "1e3"], said("cli.must_be_whole", value="'1e3'")),
        (["run", "demo", "--preset", "sustained", "--duration", "nan"], said("cli.must_be_number", value="'nan'")),
        (["run", "demo", "--preset", "sustained", "--duration", "1e99"], said("cli.duration_out_of_range")),
        (["ab", "demo", "--a", "seed=1", "--pairs", LONG], said("cli.is_out_of_range")),
    ],
    ids=lambda value: " ".join(value)[:60] if isinstance(value, list) else "",
)
def test_wrong_use_ends_in_one_sentence_and_exit_code_2(
    epochmark: CommandLine, arguments: list[str], refusal: Saying
) -> None:
    done = epochmark(*arguments)
    assert refusal.is_in(sentence_of(done))
    assert "itself failed" not in done.stderr
    assert len(done.stderr) < 400
    assert (done.returncode, done.stdout) == (2, "")


def test_a_failed_run_has_exit_code_1_and_its_reason(epochmark: CommandLine) -> None:
    done = epochmark("run", "demo", "--epochs", "3", "--set", "outcome=crash")
    assert done.returncode == 1
    assert said("cli.run_failed_because", reason=said("run.crashed")).is_in(done.stdout)
    assert said("verdict.failed_after", epochs="3", epochs_done="1").is_in(done.stdout)
    assert "crashed" in epochmark("results", "show", "1").stdout


def test_a_home_that_cannot_be_used_is_reported(
    epochmark: CommandLine, environment: dict[str, str], tmp_path: Path
) -> None:
    (file := tmp_path / "file").touch()
    with Database(default_paths(environment).database) as database:
        database.connection.execute("PRAGMA user_version = 99")
    homes = {str(file): "folders.file_in_place", environment["EPOCHMARK_HOME"]: "database.too_new"}
    for home, code in homes.items():
        done = epochmark("run", "demo", EPOCHMARK_HOME=home)
        assert (done.returncode, said(code).is_in(sentence_of(done))) == (2, True)


def test_a_damaged_database_is_replaced_and_reported(epochmark: CommandLine, environment: dict[str, str]) -> None:
    paths = default_paths(environment)
    paths.create()
    paths.database.write_bytes(b"garbage" * 1000)
    done = epochmark("run", "demo", "--quiet")
    assert done.returncode == 0
    assert said("database.begun_anew", path=paths.database).is_in(sentence_of(done))
    assert len(list(paths.data.glob("runs.damaged-*"))) == 1


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
    assert "× the i5-8250U (2019)" in done.stdout
    assert "This computer" in done.stdout
    (run,) = runs(epochmark)
    assert (run["preset"], run["basis"], run["status"]) == ("quick", "estimate", "completed")
    # Wide enough for a busy computer, narrow enough to notice a wrong number of steps.
    assert run["seconds_per_epoch_s"] == pytest.approx(500 * run["step_median_s"], rel=0.5)
