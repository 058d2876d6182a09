"""The command `suite` with real worker processes: running, cancelling, resuming, showing, sharing, exporting."""

import csv
import io
import json
import os
from pathlib import Path

import pytest

from tests.cli.commands import posix_only, read_until, runs, sentence_of, start
from tests.conftest import CommandLine
from tests.saying import said

DEMO = ("suite", "--number", "0")

pytestmark = pytest.mark.slow


def test_a_suite_runs_all_parts_and_gives_one_score(epochmark: CommandLine, tmp_path: Path) -> None:
    done = epochmark(*DEMO)
    assert done.returncode == 0, done.stderr
    assert said("cli.suite_title_demo", count="3", name="Suite 0").is_in(done.stdout)
    assert "Suite 0: " in done.stdout
    assert "Verdict: Invalid" in done.stdout, "the demo trains nothing"
    plain = json.loads(epochmark("suite", "show", "1", "--json").stdout)
    assert [part["state"] for part in plain["parts"]] == ["done"] * 3
    points = [part["points"] for part in plain["parts"]]
    assert plain["score"]["points"] == pytest.approx((points[0] * points[1] * points[2]) ** (1 / 3))
    assert plain["score"]["low"] < plain["score"]["points"] < plain["score"]["high"]
    # Twice the batch takes half the time, as the reference values say: all parts are as fast.
    assert max(points) / min(points) < 1.5
    assert "Suite 0" in epochmark("suite", "list").stdout
    assert json.loads(epochmark("suite", "--json", "show", "1").stdout) == plain
    assert "finished" in sentence_of(epochmark("suite", "resume", "1"))
    rows = list(csv.DictReader(io.StringIO(epochmark("suite", "export", "1").stdout)))
    assert [float(row["points"]) for row in rows] == points
    path = tmp_path / "suite.json"
    assert epochmark("suite", "export", "1", "--format", "json", "--output", str(path)).returncode == 0
    assert json.loads(path.read_text(encoding="utf-8"))["score"] == plain["score"]
    assert os.fspath(tmp_path) not in path.read_text(encoding="utf-8")
    picture = tmp_path / "score.png"
    shared = epochmark("suite", "share", "1", "--output", str(picture))
    assert shared.returncode == 0, shared.stderr
    assert picture.read_bytes().startswith(b"\x89PNG")


@pytest.mark.long
@posix_only
def test_a_cancelled_and_a_killed_suite_go_on_where_they_stopped(
    epochmark: CommandLine, environment: dict[str, str]
) -> None:
    process = start(environment, *DEMO, "--json")
    read_until(process, "end")
    read_until(process, "hello")
    process.send_signal(2)
    assert process.communicate()[0] is not None
    assert process.returncode == 130
    assert said("cli.suite_resume", group_id="1").is_in(epochmark("suite", "show", "1").stdout)
    process = start(environment, "suite", "resume", "1", "--json")
    read_until(process, "hello")
    assert "still running" in sentence_of(epochmark("suite", "resume", "1")), "or its parts would run twice"
    process.kill()
    process.communicate()
    done = epochmark("suite", "resume", "1", "--json")
    assert done.returncode == 0, done.stderr
    plain = json.loads(epochmark("suite", "show", "1", "--json").stdout)
    assert plain["is_finished"] is True
    completed = [run["batch_size"] for run in runs(epochmark) if run["status"] == "completed"]
    assert sorted(completed) == [50, 100, 200], "a finished part never runs again"


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("--number", "99"), "no suite 99"),
        (("--engine", "caffe"), "no engine 'caffe'"),
        (("--device", "gpu:9"), "no device 'gpu:9'"),
        (("show", "9"), "no suite 9"),
        (("resume", "9"), "no suite 9"),
        (("share", "9", "--output", "score.png"), "no suite 9"),
        (("--engine", "torch", "resume", "9"), "for a new suite"),
        (("--number", "0", "list"), "for a new suite"),
    ],
)
def test_mistakes_get_one_sentence_and_start_nothing(
    epochmark: CommandLine, arguments: tuple[str, ...], problem: str
) -> None:
    done = epochmark("suite", *arguments)
    assert done.returncode in (1, 2)
    assert problem in sentence_of(done)
    assert runs(epochmark) == []
    assert "No suite" in epochmark("suite", "list").stdout
