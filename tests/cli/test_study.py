"""The command `study` with real worker processes: running, resuming after a kill, showing and exporting."""

import csv
import io
import json
import os
import random
from collections import Counter
from pathlib import Path

import pytest

from tests.cli.commands import posix_only, read_until, runs, sentence_of, start
from tests.conftest import CommandLine
from tests.saying import said

SHORT = ("--workload", "demo", "--preset", "standard", "--epochs", "1")
POINTS = ("study", "run", *SHORT, "--axis", "step_s=0.001,0.002,0.003,0.004")

pytestmark = pytest.mark.slow


def shown(epochmark: CommandLine, group_id: int = 1) -> dict[str, object]:
    plain: dict[str, object] = json.loads(epochmark("study", "show", str(group_id), "--json").stdout)
    return plain


def test_a_study_runs_each_point_and_says_what_it_found(epochmark: CommandLine) -> None:
    done = epochmark("study", "run", *SHORT, "--axis", "batch=50,100,100", "--rounds", "2")
    assert done.returncode == 0, done.stderr
    assert said("studies.value_twice", value="100", axis="Note: batch").is_all_of(sentence_of(done))
    assert "2 points, 4 runs" in done.stdout
    assert "Fastest at 100: " in done.stdout
    plain = shown(epochmark)
    assert plain["is_finished"] is True
    points = plain["points"]
    assert isinstance(points, list)
    assert [(point["place"], point["state"], len(point["rounds"])) for point in points] == [
        ({"batch_size": 50}, "done", 2),
        ({"batch_size": 100}, "done", 2),
    ]
    # A step is as long whatever the batch.
    assert 1.3 < points[1]["per_s"] / points[0]["per_s"] < 3


def test_a_point_that_fails_or_lacks_memory_is_a_result_and_the_rest_goes_on(epochmark: CommandLine) -> None:
    done = epochmark("study", "run", *SHORT, "--axis", "outcome=ok,out_of_memory,crash,fail", "--json")
    assert done.returncode == 0, done.stderr
    end = json.loads(done.stdout.splitlines()[-1])
    states = {point["place"]["outcome"]: point["state"] for point in end["points"]}
    assert states == {"ok": "done", "out_of_memory": "out_of_memory", "crash": "failed", "fail": "failed"}
    assert all(point["reason"] for point in end["points"] if point["state"] != "done")
    resumed = epochmark("study", "resume", "1", "--json")
    begun = [line for line in map(json.loads, resumed.stdout.splitlines()) if line["type"] == "run"]
    assert len(begun) == 2, "only what failed for another reason is tried again"


@pytest.mark.long
@posix_only
@pytest.mark.parametrize("seed", range(2))
def test_killed_anywhere_a_study_goes_on_without_repeating_a_point(
    epochmark: CommandLine, environment: dict[str, str], seed: int
) -> None:
    chance = random.Random(seed)
    process = start(environment, *POINTS, "--json")
    for _ in range(chance.randint(1, 4)):
        read_until(process, chance.choice(("hello", "epoch", "run")))
    process.kill()
    process.communicate()
    before = {run["id"] for run in runs(epochmark) if run["status"] == "completed"}
    done = epochmark("study", "resume", "1", "--json")
    if len(before) < 4:
        assert done.returncode == 0, done.stderr
    plain = shown(epochmark)
    points = plain["points"]
    assert isinstance(points, list)
    completed = Counter(
        point["name"]
        for point in points
        for run_id in point["run_ids"]
        if _status(epochmark, run_id) == "completed"
    )
    assert set(completed.values()) == {1}, completed
    assert plain["is_finished"] is True
    assert before <= {run["id"] for run in runs(epochmark) if run["status"] == "completed"}


def _status(epochmark: CommandLine, run_id: int) -> str:
    return next(str(run["status"]) for run in runs(epochmark) if run["id"] == run_id)


@posix_only
def test_a_cancelled_study_says_how_to_resume_it(epochmark: CommandLine, environment: dict[str, str]) -> None:
    process = start(environment, "study", "run", *SHORT, "--axis", "step_s=0.001,0.4,0.5", "--json")
    read_until(process, "hello")
    process.send_signal(2)
    assert process.communicate()[0] is not None
    assert process.returncode == 130
    text = epochmark("study", "show", "1")
    assert said("cli.study_resume", group_id="1").is_in(text.stdout)
    assert said("studies.title_own").is_in(epochmark("study", "list").stdout)


def test_finished_studies_and_others_numbers_are_refused(epochmark: CommandLine) -> None:
    epochmark("study", "run", *SHORT, "--axis", "seed=1")
    assert "finished" in sentence_of(epochmark("study", "resume", "1"))
    for action in ("show", "resume", "export"):
        assert "group 9" in sentence_of(epochmark("study", action, "9")) or "9" in action


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ((), "Which study?"),
        (("speed",), "no study 'speed'"),
        (("batch", "--axis", "batch=1"), "has its own points"),
        (("--axis", "batch"), "isn't an axis"),
        (("--axis", "batch=1", "--axis", "batch=2"), "twice"),
        (("batch", "--rounds", "0"), "1 to 20 rounds"),
        (("batch", "--workload", "nothing"), "nothing"),
        (("--axis", "cpus=4096", "--workload", "demo"), "4096 CPUs were asked for"),
    ],
)
def test_mistakes_get_one_sentence_and_start_nothing(
    epochmark: CommandLine, arguments: tuple[str, ...], problem: str
) -> None:
    done = epochmark("study", "run", *arguments)
    assert done.returncode in (1, 2)
    assert problem in sentence_of(done)
    assert runs(epochmark) == []


def test_exports_have_every_point_and_run_no_formula(epochmark: CommandLine, tmp_path: Path) -> None:
    epochmark("study", "run", *SHORT, "--axis", "outcome=ok,fail")
    path = tmp_path / "study.json"
    assert epochmark("study", "export", "1", "--format", "json", "--output", str(path)).returncode == 0
    plain = json.loads(path.read_text(encoding="utf-8"))
    rows = list(csv.DictReader(io.StringIO(epochmark("study", "export", "1").stdout)))
    assert [row["state"] for row in rows] == [point["state"] for point in plain["points"]] == ["done", "failed"]
    assert float(rows[0]["value"]) == plain["points"][0]["value"]
    assert rows[0]["workload"] == "demo"
    assert os.fspath(tmp_path) not in path.read_text(encoding="utf-8")


@pytest.mark.long
def test_a_run_is_kept_to_the_cpus_that_were_asked_for(epochmark: CommandLine) -> None:
    done = epochmark("run", "mnist_mlp", "--epochs", "1", "--steps", "2", "--cpus", "1", "--json")
    assert done.returncode == 0, done.stderr
    events = list(map(json.loads, done.stdout.splitlines()))
    environment = next(event for event in events if event["type"] == "environment")
    assert environment["visible_cpus"] == 1
    assert "cpus_hidden" not in (runs(epochmark)[0]["reasons"] or "")
