"""Several runs as one on the command line: repetitions, A/B, by hand, studies and the suite, in real workers."""

import csv
import io
import json
import os
import random
import re
import signal
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from app.core.messages import sentence
from app.core.paths import Paths
from app.core.settings import load_settings
from tests.cli.commands import ended, posix_only, read_until, runs, sentence_of, start
from tests.conftest import CommandLine, command
from tests.saying import Saying, said
from tests.sure import only
from tests.systems import needs_qt

SHORT = ("--workload", "demo", "--preset", "standard", "--epochs", "1")
POINTS = ("study", "run", *SHORT, "--axis", "step_s=0.001,0.002,0.003,0.004")

SHARE = "share 9 --output score.png"

pytestmark = pytest.mark.slow


def shown(epochmark: CommandLine, group_id: int = 1) -> dict[str, object]:
    plain: dict[str, object] = json.loads(epochmark("study", "show", str(group_id), "--json").stdout)
    return plain


def test_a_study_runs_each_point_and_says_what_it_found(epochmark: CommandLine) -> None:
    done = epochmark("study", "run", *SHORT, "--axis", "batch=50,100,100", "--rounds", "2")
    assert done.returncode == 0, done.stderr
    assert said("studies.value_twice", value="100", axis="batch").is_in(sentence_of(done))
    assert said("cli.study_title", count="2").is_in(done.stdout)
    plain = shown(epochmark)
    assert plain["is_finished"] is True
    points = only(list, plain["points"])
    assert [(point["place"], point["state"], len(point["rounds"])) for point in points] == [
        ({"batch_size": 50}, "done", 2),
        ({"batch_size": 100}, "done", 2),
    ]
    assert said("cli.plan_finished", group_id="1").is_in(sentence_of(epochmark("study", "resume", "1")))
    fastest = max(points, key=lambda point: point["per_s"])["place"]["batch_size"]
    assert said("studies.fastest_rate", point=sentence("studies.batch_of", batch=fastest)).is_in(done.stdout)


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
    points = only(list, plain["points"])
    completed = Counter(
        point["name"]
        for point in points
        for run_id in point["run_ids"]
        if next(str(run["status"]) for run in runs(epochmark) if run["id"] == run_id) == "completed"
    )
    assert set(completed.values()) == {1}, completed
    assert plain["is_finished"] is True
    assert before <= {run["id"] for run in runs(epochmark) if run["status"] == "completed"}


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ("study run", said("cli.no_study")),
        ("study run speed", said("studies.unknown_preset", preset="'speed'")),
        ("study run batch --axis batch=1", said("cli.study_or_axis", study="'batch'")),
        ("study run --axis batch", said("studies.bad_axis")),
        ("study run --axis batch=1 --axis batch=2", said("cli.axis_twice", axis="'batch_size'")),
        ("study run batch --rounds 0", said("studies.too_many_runs", rounds="20", asked="0")),
        ("study run batch --workload nothing", said("workload.unknown", workload="nothing")),
        ("study run --axis cpus=4096 --workload demo", said("run.too_many_cpus", cpus="4096")),
        ("study show 9", said("groups.unknown", group_id="9")),
        ("study resume 9", said("groups.unknown", group_id="9")),
        ("study export 9", said("groups.unknown", group_id="9")),
        ("suite --number 99", said("suite.unknown", number="99")),
        ("suite --engine caffe", said("engine.unknown", engine="'caffe'")),
        ("suite --device gpu:9", said("suite.no_device", device="'gpu:9'")),
        *((f"suite {verb}", said("groups.unknown", group_id="9")) for verb in ("show 9", "resume 9", SHARE)),
        ("suite --engine torch resume 9", said("cli.suite_options")),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_mistakes_get_one_sentence_and_start_nothing(
    epochmark: CommandLine, arguments: str, problem: Saying
) -> None:
    done = epochmark(*arguments.split())
    assert done.returncode in (1, 2)
    assert problem.is_in(sentence_of(done))
    assert runs(epochmark) == []
    assert said("cli.no_suites").is_in(epochmark("suite", "list").stdout)


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


DEMO = ("suite", "--number", "0")


# Takes its time: a suite's six runs, each in a worker of its own, and six commands that look at it.
@needs_qt
def test_a_suite_runs_all_parts_and_gives_one_score(epochmark: CommandLine, tmp_path: Path) -> None:
    done = epochmark(*DEMO)
    assert done.returncode == 0, done.stderr
    assert said("cli.suite_title_demo", count="6").is_in(done.stdout)
    assert said("result.text_verdict", verdict=sentence("suite.state_invalid")).is_in(done.stdout)
    plain = json.loads(epochmark("suite", "show", "1", "--json").stdout)
    assert [part["state"] for part in plain["parts"]] == ["done"] * 3
    points = [part["points"] for part in plain["parts"]]
    assert plain["score"]["points"] == pytest.approx((points[0] * points[1] * points[2]) ** (1 / 3))
    assert plain["score"]["low"] < plain["score"]["points"] < plain["score"]["high"]
    expected = [1_000 * part["reference"] / part["value"] for part in plain["parts"]]
    assert points == pytest.approx(expected), "the reference by the mean of the rounds, all in seconds"
    assert not said("cli.no_suites").is_in(epochmark("suite", "list").stdout)
    assert json.loads(epochmark("suite", "--json", "show", "1").stdout) == plain
    assert said("cli.plan_finished", group_id="1").is_in(sentence_of(epochmark("suite", "resume", "1")))
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
    assert said("cli.plan_resume", kind="suite", group_id="1").is_in(epochmark("suite", "show", "1").stdout)
    process = start(environment, "suite", "resume", "1", "--json")
    read_until(process, "hello")
    second = sentence_of(epochmark("suite", "resume", "1"))
    assert said("cli.group_running").is_in(second), "or its parts would run twice"
    process.kill()
    process.communicate()
    done = epochmark("suite", "resume", "1", "--json")
    assert done.returncode == 0, done.stderr
    plain = json.loads(epochmark("suite", "show", "1", "--json").stdout)
    assert plain["is_finished"] is True
    completed = [run["batch_size"] for run in runs(epochmark) if run["status"] == "completed"]
    assert sorted(completed) == [50, 50, 100, 100, 200, 200], "what is finished never runs again"


@pytest.mark.parametrize(("typed", "stored"), [("0.56", 0.56), ("0", 0.0), ("-1", None), ("1e9", None)])
def test_the_price_of_this_computer_is_remembered_if_it_makes_sense(
    epochmark: CommandLine, paths: Paths, typed: str, stored: float | None
) -> None:
    done = epochmark("study", "run", *SHORT, "--axis", "step_s=0.001", "--price", typed)
    wrong = said("cli.number_out_of_range", option="--price", least="0", most="1000000")
    assert (done.returncode, wrong.is_in(done.stderr)) == ((2, True) if stored is None else (0, False))
    assert load_settings(paths.settings).usd_per_hour == stored


FAST = ("--epochs", "2", "--set", "step_s=0.001")


# Takes its time: six runs, each in a worker of its own.
def test_an_ab_prints_the_ratio_as_json(epochmark: CommandLine) -> None:
    sides = ("--a", "step_s=0.01", "--b", "step_s=0.02", "--pairs", "3", "--epochs", "2")
    done = epochmark("ab", "demo", *sides, "--json")
    assert (done.returncode, done.stderr) == (0, "")
    told = [json.loads(line) for line in done.stdout.splitlines()]
    assert [event["type"] for event in told].count("run") == 6
    assert [event["run_id"] for event in told if event["type"] == "run"] == [1, 2, 3, 4, 5, 6]
    group = told[-1]
    assert (group["type"], group["kind"], group["status"]) == ("group", "ab", "completed")
    assert [(run["id"], run["pair"]) for run in group["runs"]] == [(1, 1), (2, 1), (3, 2), (4, 2), (5, 3), (6, 3)]
    ran = "".join(run["side"] for run in group["runs"])
    assert ran[:4] in ("ABBA", "BAAB")
    assert sorted(ran[4:]) == ["A", "B"]
    assert 0 < group["ratio"] < 1
    assert group["low"] < group["ratio"] < group["high"]
    assert group["pairs"] == len(group["ratios"]) == 3
    assert "step_s=0.01" in group["sentence"]
    assert group["labels"] == {"A": "step_s=0.01", "B": "step_s=0.02"}
    shown = json.loads(epochmark("results", "group", str(group["id"]), "--json").stdout)
    assert shown == {name: value for name, value in group.items() if name not in ("type", "status")}


def test_settings_reach_their_side_and_labels_the_sentence(epochmark: CommandLine) -> None:
    b = "threads=1, xla=on, onednn=off, seed=5, batch=200, data=synthetic, device=cpu, precision=mixed_bfloat16"
    done = epochmark("ab", "demo", *FAST, "--b", b, "--pairs", "1", "--label-b", "all at once", "--threads", "2")
    assert done.returncode == 0, done.stderr
    assert f"A        {sentence('compare.as_usual')}\nB        all at once\n" in done.stdout
    assert "“all at once”" in done.stdout
    assert said("ab.more_pairs").is_in(done.stdout)
    assert said("group.other_work", reason="batch 200, not batch 100").is_in(done.stdout)
    specs = {run["side"]: json.loads(epochmark("results", "show", str(run["id"]), "--json").stdout)["spec"]
             for run in runs(epochmark)}  # fmt: skip
    changed = {name: value for name, value in specs["B"].items() if value != specs["A"][name]}
    wanted = {"threads": 1, "jit": True, "onednn": False, "seed": 5, "batch_size": 200, "data": "synthetic"}
    assert changed == wanted | {"device": "cpu", "precision": "mixed_bfloat16"}
    assert specs["A"]["threads"] == 2


def test_repetitions_have_a_line_each_and_a_summary(epochmark: CommandLine) -> None:
    done = epochmark("run", "demo", *FAST, "--repeat", "3")
    assert done.returncode == 0, done.stderr
    for words in ("    1/3  0.0", "    3/3  0.0"):
        assert words in done.stdout
    assert said("cli.group_title", group_id="1").is_in(done.stdout)
    assert any(said(f"repeat.{code}", runs="3").is_in(done.stdout) for code in ("spread", "spreads"))
    assert "\r" not in done.stdout
    listed = epochmark("results", "list").stdout
    place = said("groups.run_of", group_id="1", planned="3", number="2")
    assert place.is_in(listed)
    assert place.is_in(epochmark("results", "show", "2").stdout)
    assert epochmark("results", "delete", "2").returncode == 0
    shown = epochmark("results", "group", "1").stdout
    assert any(said(f"repeat.{code}", runs="2").is_in(shown) for code in ("spread", "spreads"))
    assert said("group.not_counted", runs=sentence("group.runs_deleted", count=1)).is_in(shown)


def test_a_failed_run_ends_the_plan_with_exit_code_1(epochmark: CommandLine) -> None:
    done = epochmark("ab", "demo", *FAST, "--b", "outcome=fail", "--pairs", "2")
    assert done.returncode == 1
    # In a random order, so the side that fails may be the first.
    begun = [found[1] for line in done.stdout.splitlines() if (found := re.match(r" {4}[12]/4  ([AB])  ", line))]
    assert begun in (["B"], ["A", "B"])
    assert said("cli.run_failed").is_in(done.stdout)
    assert said("ab.no_pair").is_in(done.stdout)
    assert said("group.not_begun", planned="4", count=str(4 - len(begun))).is_in(done.stdout)
    expected = [("B", "failed"), ("A", "completed")][: len(begun)]
    assert [(run["side"], run["status"]) for run in runs(epochmark)] == expected


def test_by_hand_asks_before_each_change_of_side(environment: dict[str, str]) -> None:
    labels = ("--label-a", "plugged in", "--label-b", "battery")
    done = ended(environment, "ab", "demo", *FAST, "--by-hand", *labels, "--pairs", "2", input="\n\n\n")
    assert done.returncode == 0, done.stderr
    questions = done.stderr.splitlines()
    sides = (("1", "A", "plugged in"), ("2", "B", "battery"), ("4", "A", "plugged in"))
    for question, (number, side, label) in zip(questions, sides, strict=True):
        what = sentence("plan_page.side", side=side, label=label)
        assert said("cli.set_up", number=number, planned="4", what=what).begins(question)
    known = said("ab.difference", pairs="2"), said("ab.no_difference", pairs="2")
    assert any(each.is_in(done.stdout) for each in known)


@posix_only
def test_ctrl_c_cancels_the_plan_and_reports_the_finished_pairs(environment: dict[str, str]) -> None:
    words = "ab demo --epochs 3 --json --a step_s=0.001 --b step_s=0.03 --pairs 9"
    process = start(environment, *words.split())
    for _ in range(3):
        read_until(process, "run")
    read_until(process, "epoch")
    process.send_signal(signal.SIGINT)
    group = read_until(process, "group")
    assert process.wait(20) == 130
    process.communicate()
    assert (group["status"], group["pairs"], group["planned_runs"]) == ("cancelled", 1, 18)
    assert said("ab.only_pair").is_in(group["sentence"])
    assert [run["status"] for run in group["runs"]] == ["completed", "completed", "cancelled"]


@posix_only
def test_ctrl_c_while_the_user_is_asked_ends_it(environment: dict[str, str]) -> None:
    process = subprocess.Popen(
        command("ab", "demo", "--by-hand"),
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    while not said("cli.set_up").is_in(process.stderr.readline()):
        pass
    process.send_signal(signal.SIGINT)
    assert process.wait(10) == 130
    out, err = process.communicate()
    assert said("ab.no_pair").is_in(out)
    assert "Traceback" not in err
    assert "Fatal" not in err
