"""Several runs as one on the command line: repetitions, A/B, by hand, and their output."""

import json
import signal
import subprocess
from typing import Any

import pytest

from app.core.messages import sentence
from tests.cli.commands import ended, posix_only, read_until, runs, start
from tests.conftest import CommandLine, command
from tests.saying import said

FAST = ("--epochs", "2", "--set", "step_s=0.001")


def lines_of(done: "subprocess.CompletedProcess[str]") -> list[dict[str, Any]]:
    return [json.loads(line) for line in done.stdout.splitlines()]


# Takes its time: six runs, each in a worker of its own.
def test_an_ab_prints_the_ratio_as_json(epochmark: CommandLine) -> None:
    sides = ("--a", "step_s=0.01", "--b", "step_s=0.02", "--pairs", "3", "--epochs", "2")
    done = epochmark("ab", "demo", *sides, "--json")
    assert (done.returncode, done.stderr) == (0, "")
    told = lines_of(done)
    assert [event["type"] for event in told].count("run") == 6
    assert [event["run_id"] for event in told if event["type"] == "run"] == [1, 2, 3, 4, 5, 6]
    group = told[-1]
    assert (group["type"], group["kind"], group["status"]) == ("group", "ab", "completed")
    ran = [f"{run['id']}: {run['side']}{run['pair']}" for run in group["runs"]]
    assert ran == ["1: A1", "2: B1", "3: B2", "4: A2", "5: A3", "6: B3"]
    assert 0.3 < group["ratio"] < 0.8
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
    assert said("cli.group_stored", group_id="1").is_in(done.stdout)
    assert said("repeat.spreads", runs="3").is_in(done.stdout) or said("repeat.spread", runs="3").is_in(
        done.stdout
    )
    assert "\r" not in done.stdout
    listed = epochmark("results", "list").stdout
    assert said("groups.run_of", group_id="1", planned="3", number="2").is_in(listed)
    assert said("groups.run_of", group_id="1", planned="3", number="2").is_in(
        epochmark("results", "show", "2").stdout
    )
    assert epochmark("results", "delete", "2").returncode == 0
    shown = epochmark("results", "group", "1").stdout
    assert said("repeat.spread", runs="2").is_in(shown) or said("repeat.spreads", runs="2").is_in(shown)
    assert said("group.not_counted", runs=sentence("group.runs_deleted", count=1)).is_in(shown)


def test_a_failed_run_ends_the_plan_with_exit_code_1(epochmark: CommandLine) -> None:
    done = epochmark("ab", "demo", *FAST, "--b", "outcome=fail", "--pairs", "2")
    assert done.returncode == 1
    assert any(line.startswith("    2/4  B  ") for line in done.stdout.splitlines())
    assert said("cli.run_failed").is_in(done.stdout)
    assert said("ab.no_pair").is_in(done.stdout)
    assert said("group.not_begun", planned="4", count="2").is_in(done.stdout)
    assert [(run["side"], run["status"]) for run in runs(epochmark)] == [("B", "failed"), ("A", "completed")]


@pytest.mark.slow
def test_by_hand_asks_before_each_change_of_side(environment: dict[str, str]) -> None:
    labels = ("--label-a", "plugged in", "--label-b", "battery")
    done = ended(environment, "ab", "demo", *FAST, "--by-hand", *labels, "--pairs", "2", input="\n\n\n")
    assert done.returncode == 0, done.stderr
    questions = done.stderr.splitlines()
    sides = (("1", "A", "plugged in"), ("2", "B", "battery"), ("4", "A", "plugged in"))
    for question, (number, side, label) in zip(questions, sides, strict=True):
        assert said("cli.set_up_side", number=number, planned="4", side=side, label=label).begins(question)
    known = said("ab.difference", pairs="2"), said("ab.no_difference", pairs="2")
    assert any(each.is_in(done.stdout) for each in known)


@pytest.mark.slow
@pytest.mark.parametrize("answer", ["\nq\n", "\n"], ids=["q", "end of input"])
def test_by_hand_can_be_stopped_and_keeps_what_was_measured(environment: dict[str, str], answer: str) -> None:
    done = ended(environment, "ab", "demo", *FAST, "--by-hand", "--pairs", "2", input=answer)
    assert done.returncode == 130
    assert said("group.not_begun", planned="4", count="3").is_in(done.stdout)


@pytest.mark.slow
@posix_only
def test_ctrl_c_cancels_the_plan_and_reports_the_finished_pairs(environment: dict[str, str]) -> None:
    process = start(
        environment, "ab", "demo", "--json", "--a", "step_s=0.001", "--b", "step_s=0.03", "--pairs", "9"
    )
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


@pytest.mark.slow
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
    while not said("cli.set_up_side").is_in(process.stderr.readline()):
        pass
    process.send_signal(signal.SIGINT)
    assert process.wait(10) == 130
    out, err = process.communicate()
    assert said("ab.no_pair").is_in(out)
    assert "Traceback" not in err
    assert "Fatal" not in err
