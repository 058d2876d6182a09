"""The plan of a suite: the same runs on every computer, and what can't be run is told apart."""

from dataclasses import replace

import pytest

from app.core.errors import UsageError
from app.core.messages import sentence
from app.core.metrics import format_value, headline_kind
from app.core.paths import Paths
from app.core.plans.suite.definition import SUITE_1
from app.core.plans.suite.planning import plan_suite
from app.core.plans.suite.score import suite_result
from app.core.plans.suite.uncertainty import Score
from app.core.runs.runner import Runner
from app.core.storage.database import Database
from app.core.storage.groups import begin_group, load_group
from tests.conftest import ROOT
from tests.saying import Saying, said
from tests.sure import sure
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


def test_a_definition_never_changes() -> None:
    # Another list, batch or reference value is another suite, with another number.
    assert SUITE_1.number == 1
    assert [(part.workload, part.purpose, part.batch_size, part.reference) for part in SUITE_1.parts] == [
        ("cifar10_keras_cnn", "training", 100, 45.4),
        ("resnet_56", "training", 128, 0.555),
        ("mnist_mlp", "training", 128, 2.80),
        ("imdb_bidirectional_lstm", "training", 32, 33.2),
        ("gpt_mini", "training", 4, 2_060.0),
        ("vit_tiny_224", "training", 16, 30.4),
        ("resnet50_224_inference", "prediction", 16, 37.5),
        ("matmul", "arithmetic", None, 4.35e11),
    ]


def test_the_page_in_the_docs_is_the_definition() -> None:
    page = (ROOT / "docs" / "suite.md").read_text(encoding="utf-8")
    for part in SUITE_1.parts:
        value = f"{format_value(part.metric, part.reference)} {headline_kind(part.metric).unit}"
        batch = part.batch_size or "–"
        assert f"| {part.title} (`{part.workload}`) | {part.purpose} | {batch} | {value} |" in page
    assert f"{sentence(SUITE_1.machine.code)}, {SUITE_1.software}, measured on {SUITE_1.date}" in " ".join(
        page.split()
    )


def test_a_part_that_cannot_fit_is_refused_beforehand_and_scores_nothing(
    paths: Paths, machine: Machine, database: Database
) -> None:
    small = Runner(paths, replace(machine, memory_bytes=1_000_000_000))
    plan = plan_suite(small, "tensorflow", "cpu")
    assert sure(plan.suite).refused
    refused = {refusal.spec.workload for refusal in sure(plan.suite).refused}
    assert refused.isdisjoint(spec.workload for spec in plan.specs)
    group_id = begin_group(database, plan)
    result = suite_result(load_group(database, group_id), {})  # as it is read again
    zeros = {each.part.workload for each in result.parts if each.score == Score(0.0)}
    assert zeros == refused
    assert all(said("suite.needs_memory").is_in(each.reason) for each in result.parts if each.score is not None)
    assert len(result.left) == SUITE_1.rounds * (len(SUITE_1.parts) - len(refused))


@pytest.mark.parametrize(
    ("engine", "device", "refusal"),
    [
        ("caffe", "auto", said("engine.unknown", engine="'caffe'")),
        ("tensorflow", "gpu:7", said("suite.no_device", device="'gpu:7'")),
        ("torch", "cpu", said("engines.install_it", engine="torch")),
    ],
)
def test_what_is_not_there_is_refused_in_a_line(runner: Runner, engine: str, device: str, refusal: Saying) -> None:
    with pytest.raises(UsageError) as refused:
        plan_suite(runner, engine, device)
    assert refusal.is_in(str(refused.value))
    assert "\n" not in str(refused.value)


def test_without_a_choice_the_definitions_engine_runs_each_part_once_a_round(runner: Runner) -> None:
    plan = plan_suite(runner)
    assert {(spec.engine, spec.device) for spec in plan.specs} == {(SUITE_1.engine, "cpu")}
    assert [planned.spec for planned in plan.runs()] == [*plan.specs] * SUITE_1.rounds
    assert SUITE_1.rounds > 1


def test_a_workload_that_has_changed_since_is_refused(runner: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(CATALOGUE["mnist_mlp"], "version", 2)
    plan = plan_suite(runner, "tensorflow", "cpu")
    assert [refusal.spec.workload for refusal in sure(plan.suite).refused] == ["mnist_mlp"]
