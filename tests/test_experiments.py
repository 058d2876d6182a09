"""A new experiment is a report, its row in the registry, and its sentences; nothing asks for its name."""

import ast
from dataclasses import replace

import pytest

from app.cli.groups import say_report
from app.core.analysis.ab import is_usable
from app.core.errors import UsageError
from app.core.messages import ENGLISH, message, sentence
from app.core.paths import Paths
from app.core.plans.experiments import EXPERIMENTS, readable_report, report_of
from app.core.plans.report import LAB_PAGE, Experiment, Report, typical
from app.core.plans.rerun import plan_of_group
from app.core.records import Plan, RunSummary
from app.core.runs.plan_session import run_plan
from app.core.runs.runner import Runner
from app.core.storage.database import Database
from app.core.storage.groups import load_group
from app.gui.pages.results.cells import group_row
from app.gui.services.run_bridge import page_of
from tests.our_code import nodes_of, trees
from tests.sure import sure
from workloads import CATALOGUE
from workloads.protocol.machine import Machine

KEY = "hidden_window"
NAMES = {*EXPERIMENTS, *(experiment.stored_kind for experiment in EXPERIMENTS.values())}


class HiddenWindow(Report):
    """Every other run with the window hidden, by hand: does drawing it cost anything?"""

    @property
    def sentence(self) -> str:
        runs = self.group.runs
        return sentence("hidden.count", count=sum(map(is_usable, runs)), shown=len(runs) // 2)

    @property
    def summary(self) -> RunSummary | None:
        runs = list(filter(is_usable, self.group.runs))
        return typical(runs) if runs else None


def hidden_plan(*, by_hand: bool = False) -> Plan:
    spec = CATALOGUE["demo"].default_spec(epochs=2, parameters={"step_s": 0.001})
    a, b = "shown", "hidden"
    return Plan(kind=KEY, specs=(spec, spec), order="pairs", by_hand=by_hand, label_a=a, label_b=b)


def register(monkeypatch: pytest.MonkeyPatch) -> None:
    row = Experiment(
        key=KEY, report=HiddenWindow, plan=lambda *_: hidden_plan(by_hand=True), page=LAB_PAGE, specs_at_least=2
    )
    monkeypatch.setitem(EXPERIMENTS, KEY, row)
    monkeypatch.setitem(ENGLISH, f"group.kind_{KEY}", "Hidden window")
    monkeypatch.setitem(ENGLISH, f"lab.question_{KEY}", "Does drawing cost anything?")
    monkeypatch.setitem(ENGLISH, "hidden.count", "{count} runs count, {shown} of them with the window.")


@pytest.mark.slow
def test_a_new_experiment_takes_a_report_a_row_and_its_sentences(
    paths: Paths, machine: Machine, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    register(monkeypatch)
    plan = hidden_plan()
    session = run_plan(plan, Runner(paths, machine))
    assert session.wait(60)
    with Database(paths.database) as database:
        group = load_group(database, sure(session.group_id))
        answer = readable_report(database, group).answer
        assert plan_of_group(database, group.id) == plan
    expected = sentence("hidden.count", count=2, shown=1)
    assert (answer.sentence, answer.headline) == (expected, sentence("studies_page.runs", count=2))
    assert page_of(plan) == LAB_PAGE
    assert group_row(group, answer, 2).texts["status"] == "Hidden window"
    report = report_of(group)
    assert (report.as_dict()["kind"], report.as_dict()["sentence"]) == (KEY, expected)
    say_report(report)
    assert expected in capsys.readouterr().out
    assert "Hidden window" in report.listing()
    with pytest.raises(UsageError) as refused:
        report_of(replace(group, runs=())).card()
    assert refused.value.message == message("share.no_group_result", group_id=group.id)


def test_no_experiment_is_asked_for_by_name() -> None:
    asked = [
        (name, ast.unparse(node)) for name, tree in trees("app/").items() for node in nodes_of(tree) if _asks(node)
    ]
    assert asked == [("app/core/plans/experiments.py", "EXPERIMENTS.get(plan.kind, _UNKNOWN)")]


def _asks(node: ast.AST) -> bool:
    if isinstance(node, ast.Compare):
        parts = [node.left, *node.comparators]
        names = {each.value for part in parts for each in ast.walk(part) if isinstance(each, ast.Constant)}
        return any(map(_is_kind, parts)) and bool(names & NAMES)
    if isinstance(node, ast.Subscript):
        return _is_kind(node.slice) and _of_plan(node.slice)
    is_get = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "get"
    return is_get and any(_is_kind(each) and _of_plan(each) for each in getattr(node, "args", ()))


def _is_kind(node: ast.AST) -> bool:
    return isinstance(node, ast.Attribute) and node.attr in ("kind", "key", "preset")


def _of_plan(node: ast.AST) -> bool:
    plans = ("plan", "_plan", "group", "study", "experiment", "_experiment")
    return isinstance(node, ast.Attribute) and ast.unparse(node.value).rpartition(".")[2] in plans
