"""Groups of runs as text, and their headlines."""

import dataclasses
from typing import Any

import pytest

from app.core.messages import sentence
from app.core.paths import Paths
from app.core.plans.experiments import readable_report, report_of
from app.core.plans.report import workloads_title
from app.core.plans.suite.texts import suite_headline, suite_lines
from app.core.records import Group, Plan, RunSummary, Study
from app.core.storage.database import Database
from app.core.storage.groups import load_group
from app.core.storage.runs import list_runs
from app.core.titles import workload_title
from tests.build import ORDERS, ask, load_suite, store
from tests.conftest import MACHINE
from tests.saying import said
from tests.study_pictures import SUITE_FACTORS, store_suite
from workloads import CATALOGUE
from workloads.protocol.machine import Machine

WORKLOAD = CATALOGUE["cifar10_keras_cnn"]


@pytest.fixture
def run(database: Database) -> RunSummary:
    return next(
        list_runs(database, ids=[store(database, MACHINE, 50.0, 50.0, 50.0, columns={"verdict": "valid"})])
    )


def group_of(run: RunSummary, kind: str, *changes: dict[str, Any], specs: tuple[Any, ...] = ()) -> Group:
    """Return a group of runs that are like one but for these changes."""
    runs = tuple(dataclasses.replace(run, id=number, **each) for number, each in enumerate(changes, 1))
    asked, order = specs or (WORKLOAD.default_spec(),), ORDERS.get(kind, "in_turn")
    plan = Plan(kind=kind, specs=asked, rounds=max(1, len(runs)), order=order)
    return Group(id=7, created_at="2026-11-01T10:00:00Z", plan=plan, runs=runs)


def test_headlines_of_repetitions(run: RunSummary) -> None:
    values = [{"value": value} for value in (40.0, 50.0, 60.0)]
    assert ask("headline", group_of(run, "repeat", *values)) == "50.0 s/epoch"
    assert (
        ask("headline", group_of(run, "repeat", *({**each, "basis": "estimate"} for each in values)))
        == "≈ 50.0 s/epoch"
    )
    interval, spread = sentence("group.interval", low="40.0", high="60.0", confidence_pct=75), 20.0
    assert (
        ask("note", group_of(run, "repeat", *values))
        == f"{interval}, {sentence('group.spread', between_pct=spread)}"
    )
    assert ask("headline", group_of(run, "repeat", {"value": None})) == "n/a"
    assert said("repeat.no_result").is_all_of(ask("note", group_of(run, "repeat", {"value": None})))
    assert ask("headline", group_of(run, "repeat")) == "n/a"
    assert said("cli.group_title", group_id="7", at="2026-11-01").is_all_of(
        ask("heading", group_of(run, "repeat"))
    )


def test_the_worst_verdict_of_those_that_count_is_the_groups(run: RunSummary) -> None:
    assert ask("verdict", group_of(run, "repeat", {}, {"verdict": "caution"}, {"verdict": "invalid"})) == "caution"
    assert ask("verdict", group_of(run, "repeat", {"verdict": "invalid"})) is None
    assert ask("verdict", group_of(run, "repeat", {"verdict": None})) is None


def test_headlines_of_engines(run: RunSummary) -> None:
    both = tuple(WORKLOAD.default_spec(engine=engine) for engine in ("tensorflow", "torch"))
    fast: list[dict[str, Any]] = [{"value": 50.0}, {"value": 25.0, "engine": "torch"}]
    group = dataclasses.replace(
        group_of(run, "engines", *fast, specs=both),
        plan=Plan(kind="engines", order="there_and_back", survives_failures=True, specs=both),
    )
    assert report_of(group).headline == "PyTorch"
    others = tuple(CATALOGUE["mnist_mlp"].default_spec(engine=engine) for engine in ("tensorflow", "torch"))
    four = Plan(kind="engines", order="there_and_back", survives_failures=True, specs=(*both, *others))
    group = dataclasses.replace(group_of(run, "engines", *fast, {"value": 9.0}, {"value": 3.0}), plan=four)
    assert said("group.fastest_on", engine="PyTorch", times="2", workloads="2").is_all_of(
        report_of(group).headline
    )
    assert said("group.workloads", count="2").is_all_of(workloads_title(group))
    assert ask("headline", dataclasses.replace(group, runs=())) == "n/a"


def test_a_group_as_text_names_each_run(run: RunSummary) -> None:
    group = group_of(run, "repeat", {"value": 40.0}, {"value": None, "status": "failed"})
    lines = report_of(group).listing().splitlines()
    assert lines[0] == f"{sentence('group.kind_repeat')} · {workload_title(WORKLOAD.id)}"
    assert lines[-2:] == [
        f"{sentence('group.run', run_id=1)} · 40.0 s per epoch · Valid · Test CPU",
        f"{sentence('group.run', run_id=2)} · Failed · Valid · Test CPU",
    ]
    assert said("group.not_counted", runs=sentence("group.run_not_completed", run_id=2, status="Failed")).is_in(
        lines
    )


@pytest.mark.parametrize("runs", [16, 4])
def test_a_suite_says_its_score_or_how_far_it_is(
    database: Database, paths: Paths, machine: Machine, runs: int
) -> None:
    group_id = store_suite(database, paths, machine, SUITE_FACTORS[0], runs=runs)
    group, result = load_group(database, group_id), load_suite(database, group_id)
    answer = readable_report(database, group).answer
    whole = said("suite.points") if runs == 16 else said("suite.parts_done", count="4", planned="8")
    assert whole.is_all_of(answer.headline)
    assert (answer.headline == suite_headline(result)) == (runs == 16)
    assert (answer.sentence, answer.verdict) == (suite_lines(result)[0], result.verdict)


def test_only_plans_with_a_command_to_resume_them_offer_it(run: RunSummary) -> None:
    specs = tuple(WORKLOAD.default_spec(engine=engine) for engine in ("tensorflow", "torch"))
    failed = group_of(run, "engines", {}, {"status": "failed"}, specs=specs)
    plan = Plan(kind="engines", order="there_and_back", survives_failures=True, specs=specs)
    assert not report_of(dataclasses.replace(failed, plan=plan)).can_resume
    study = Plan(kind="study", survives_failures=True, specs=specs, study=Study(axes=("engine",)))
    assert report_of(dataclasses.replace(failed, runs=(), plan=study)).can_resume
