"""The plan of a suite: the same runs on every computer, and what can't be run is told apart."""

from dataclasses import replace

import pytest

from app.core.errors import UsageError
from app.core.paths import Paths
from app.core.runs.runner import Runner
from app.core.storage.database import Database
from app.core.storage.groups import begin_group, load_group
from app.core.suite.definition import SUITE_1, definition_of
from app.core.suite.planning import plan_suite
from app.core.suite.score import Score, suite_result
from workloads import CATALOGUE
from workloads.protocol.machine import Machine


def test_every_engine_is_asked_for_the_same_work(runner: Runner) -> None:
    plan = plan_suite(runner, "tensorflow", "cpu")
    assert [spec.workload for spec in plan.specs] == [part.workload for part in SUITE_1.parts]
    for spec, part in zip(plan.specs, SUITE_1.parts, strict=True):
        assert (spec.preset, spec.precision, spec.engine, spec.device) == ("quick", "float32", "tensorflow", "cpu")
        assert spec.batch_size == part.batch_size or part.batch_size is None
        assert spec.data == "synthetic" or part.batch_size is None
        for engine in ("torch", "jax"):
            CATALOGUE[spec.workload].check(part.spec(engine=engine, device="cpu", without_tf32=False))


def test_on_a_graphics_card_float32_is_asked_for_by_name() -> None:
    for part in SUITE_1.parts:
        spec = part.spec(engine="torch", device="gpu:0", without_tf32=True)
        assert spec.settings == {"tf32": False}
        CATALOGUE[spec.workload].check(spec)


def test_a_part_that_cannot_fit_is_refused_beforehand_and_scores_nothing(
    paths: Paths, machine: Machine, database: Database
) -> None:
    small = Runner(paths, replace(machine, memory_bytes=1_000_000_000))
    plan = plan_suite(small, "tensorflow", "cpu")
    assert plan.suite is not None
    assert plan.suite.refused
    refused = {refusal.spec.workload for refusal in plan.suite.refused}
    assert refused.isdisjoint(spec.workload for spec in plan.specs)
    group_id = begin_group(database, plan)
    result = suite_result(load_group(database, group_id), {})  # as it is read again
    zeros = {each.part.workload for each in result.parts if each.score == Score(0.0)}
    assert zeros == refused
    assert all("memory" in each.reason for each in result.parts if each.score is not None)
    assert len(result.left) == len(SUITE_1.parts) - len(refused)


@pytest.mark.parametrize(
    ("engine", "device", "problem"),
    [("caffe", "auto", "no engine 'caffe'"), ("tensorflow", "gpu:7", "no device 'gpu:7'"), ("torch", "cpu", "")],
)
def test_what_is_not_there_is_refused_with_one_sentence(
    runner: Runner, engine: str, device: str, problem: str
) -> None:
    with pytest.raises(UsageError) as refused:
        plan_suite(runner, engine, device)
    assert problem in str(refused.value)
    assert "\n" not in str(refused.value)


def test_an_unknown_suite_is_refused() -> None:
    with pytest.raises(UsageError, match="no suite 99"):
        definition_of(99)


def test_without_a_choice_the_best_device_is_taken(runner: Runner) -> None:
    plan = plan_suite(runner)
    assert {(spec.engine, spec.device) for spec in plan.specs} == {("tensorflow", "cpu")}
