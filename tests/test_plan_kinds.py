"""A new kind of plan is a class, its row in the registry, and its sentences; nothing else asks for its name."""

import ast
from dataclasses import replace

import pytest

from app.cli.groups import group_as_dict, print_group
from app.core.analysis.ab import is_usable
from app.core.errors import UsageError
from app.core.messages import ENGLISH, message, sentence
from app.core.paths import Paths
from app.core.plans.kind import PlanKind, typical
from app.core.plans.registry import KINDS, kind_of
from app.core.plans.rerun import plan_of_group
from app.core.records import Group, Plan, RunSummary
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


class HiddenWindow(PlanKind):
    """Every other run with the window hidden: does drawing it cost anything?"""

    key = KEY
    page = KEY
    has_own_page = True
    specs_at_least = 2

    def sentence(self, group: Group) -> str:
        return sentence("hidden.count", count=sum(map(is_usable, group.runs)), shown=len(group.runs) // 2)

    def summary(self, group: Group) -> RunSummary | None:
        runs = list(filter(is_usable, group.runs))
        return typical(runs) if runs else None


def register(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(KINDS, KEY, HiddenWindow())
    monkeypatch.setitem(ENGLISH, f"group.kind_{KEY}", "Hidden window")
    monkeypatch.setitem(ENGLISH, "hidden.count", "{count} runs count, {shown} of them with the window.")


def hidden_plan() -> Plan:
    spec = CATALOGUE["demo"].default_spec(epochs=2, parameters={"step_s": 0.001})
    return Plan(kind=KEY, specs=(spec, spec), rounds=1, order="pairs", label_a="shown", label_b="hidden")


@pytest.mark.slow
def test_a_new_kind_takes_a_class_and_its_sentences(
    paths: Paths, machine: Machine, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    register(monkeypatch)
    plan = hidden_plan()
    session = run_plan(plan, Runner(paths, machine))
    assert session.wait(60)
    with Database(paths.database) as database:
        group = load_group(database, sure(session.group_id))
        answer = kind_of(group).answer(database, group)
        assert plan_of_group(database, group.id) == plan
    expected = sentence("hidden.count", count=2, shown=1)
    assert (answer.sentence, answer.headline) == (expected, sentence("studies_page.runs", count=2))
    assert page_of(plan) == KEY
    assert group_row(group, answer, 2).texts["status"] == "Hidden window"
    assert (group_as_dict(group)["kind"], group_as_dict(group)["sentence"]) == (KEY, expected)
    print_group(group)
    assert expected in capsys.readouterr().out
    assert "Hidden window" in kind_of(group).listing(group)
    with pytest.raises(UsageError) as refused:
        kind_of(group).running(replace(group, runs=()), {}).card()
    assert refused.value.message == message("share.no_group_result", group_id=group.id)


def test_a_kinds_name_is_asked_for_in_the_registry_only() -> None:
    asked = [
        (name, ast.unparse(node)) for name, tree in trees("app/").items() for node in nodes_of(tree) if _asks(node)
    ]
    assert asked == [("app/core/plans/registry.py", "KINDS.get(plan.kind, _UNKNOWN)")]


@pytest.mark.parametrize(
    "code",
    [
        "group.kind == 'ab'",
        "'study' != plan.kind",
        "x.kind in ('a', 'suite')",
        "D[plan.kind]",
        "D.get(group.kind)",
    ],
)
def test_asking_is_noticed(code: str) -> None:
    assert any(_asks(node) for node in ast.walk(ast.parse(code)))


def _asks(node: ast.AST) -> bool:
    if isinstance(node, ast.Compare):
        parts = [node.left, *node.comparators]
        names = {each.value for part in parts for each in ast.walk(part) if isinstance(each, ast.Constant)}
        return any(map(_is_kind, parts)) and bool(names & KINDS.keys())
    if isinstance(node, ast.Subscript):
        return _is_kind(node.slice) and _of_plan(node.slice)
    is_get = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "get"
    return is_get and any(_is_kind(each) and _of_plan(each) for each in getattr(node, "args", ()))


def _is_kind(node: ast.AST) -> bool:
    return isinstance(node, ast.Attribute) and node.attr == "kind"


def _of_plan(node: ast.AST) -> bool:
    plans = ("plan", "_plan", "group")
    return isinstance(node, ast.Attribute) and ast.unparse(node.value).rpartition(".")[2] in plans
