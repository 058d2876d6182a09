"""LoRA fine-tuning: the model's shapes, what a step costs, and a small twin trained on each engine."""

import json
import math
from typing import Any

import pytest

from app.core.paths import Paths
from tests import real_engines
from tests.child import told_by
from tests.workloads.networks.lora_probe import STEPS
from workloads.networks.lora import SHAPES, LoraQwen3
from workloads.protocol.errors import WorkloadError

PROBE = "tests.workloads.networks.lora_probe"
WORKLOAD = LoraQwen3()


# Counted in the models that `transformers` builds from Qwen's configurations (python -m tests.tools.qwen3).
@pytest.mark.parametrize(
    ("size", "count", "trained"),
    [
        ("0.6B", 596_049_920, 10_092_544),
        ("1.7B", 1_720_574_976, 17_432_576),
        ("4B", 4_022_468_096, 33_030_144),
        ("8B", 8_190_735_360, 43_646_976),
    ],
)
def test_the_models_are_those_of_qwen(size: str, count: int, trained: int) -> None:
    assert (SHAPES[size].frozen_count, SHAPES[size].adapter_count) == (count, trained)
    spec = WORKLOAD.default_spec(parameters={"size": size})
    assert WORKLOAD.expected_parameters(spec) == count + trained


def test_a_step_is_as_published() -> None:
    spec = WORKLOAD.default_spec()
    WORKLOAD.check(spec)
    assert spec.precision == "mixed_bfloat16"
    assert spec.batch_size * WORKLOAD.units_of("") == 16_384
    assert (WORKLOAD.micro_batch(spec), WORKLOAD.batches_per_step(spec)) == (2, 4)
    assert WORKLOAD.operations_for("") == WORKLOAD.operations_per_example


@pytest.mark.parametrize(("batch_size", "micro_batch", "batches"), [(8, 1, 8), (1, 2, 1), (2, 4, 1), (6, 3, 2)])
def test_a_batch_is_divided_into_micro_batches(batch_size: int, micro_batch: int, batches: int) -> None:
    spec = WORKLOAD.default_spec(batch_size=batch_size, parameters={"micro_batch": micro_batch})
    WORKLOAD.check(spec)
    assert WORKLOAD.batches_per_step(spec) == batches


def test_a_batch_that_cannot_be_divided_is_refused() -> None:
    with pytest.raises(WorkloadError, match=r"workload\.micro_batch_uneven"):
        WORKLOAD.check(WORKLOAD.default_spec(batch_size=8, parameters={"micro_batch": 3}))


def test_memory_follows_the_settings() -> None:
    def need(parameters: dict[str, Any], **options: Any) -> int:
        return (
            WORKLOAD.memory_need_bytes(WORKLOAD.default_spec(engine="torch", parameters=parameters, **options))
            or 0
        )

    usual = need({})
    assert need({"checkpointing": True}) < need({"micro_batch": 1}) < usual < need({"sequence": 4_096})
    assert usual < need({}, attention="plain")
    assert need({"size": "8B"}) - usual > 2 * (SHAPES["8B"].frozen_count - SHAPES["0.6B"].frozen_count)


def check_answers(answers: dict[str, dict[str, Any]]) -> None:
    assert answers["loss"]["apart"] < 1e-4
    # All scores would be sixteen times as many; some copies of those that exist at a time are made.
    assert answers["memory"]["times"] < 12
    for name, batches in (("default", 4), ("checkpointing", 8)):
        twin = answers[name]
        assert twin["parameters"] == twin["expected"], name
        assert (twin["updates"], twin["examples"]) == (STEPS, 8 * STEPS), name
        assert len(twin["losses"]) == batches * STEPS, name
        assert twin["frozen_kept"], name
        assert twin["adapters_changed"] == twin["adapters"] > 0, name
        assert twin["losses"][-1] == pytest.approx(math.log(1_000), abs=0.2), name
    # The same sequences in the same order, four or eight batches for each update.
    assert answers["checkpointing"]["losses"][7] == pytest.approx(answers["default"]["losses"][3], abs=1e-4)


@pytest.fixture(scope="module")
def of_tensorflow() -> dict[str, dict[str, Any]]:
    lines = told_by("-m", PROBE, "tensorflow").splitlines()
    return {answer["id"]: answer for answer in map(json.loads, lines)}


@pytest.mark.engine
@pytest.mark.long
def test_the_twin_learns_with_tensorflow(of_tensorflow: dict[str, dict[str, Any]]) -> None:
    check_answers(of_tensorflow)


@pytest.mark.engine
@pytest.mark.engines
@pytest.mark.parametrize("engine", ["torch", "jax"])
def test_all_engines_have_equal_losses(
    engine: str, of_tensorflow: dict[str, dict[str, Any]], engines_paths: Paths
) -> None:
    answers = {answer["id"]: answer for answer in real_engines.probe(PROBE, engine, engines_paths)}
    check_answers(answers)
    for name in ("default", "checkpointing"):
        assert answers[name]["losses"] == pytest.approx(of_tensorflow[name]["losses"], abs=1e-4), name
    if engine == "torch":
        assert answers["plain"]["losses"] == pytest.approx(answers["default"]["losses"], abs=1e-4)
        assert answers["operations"]["counted"] == answers["operations"]["declared"]
        for name in ("gpt_mini", "vit_tiny_224"):
            assert answers[name]["apart"] < 1e-4, name
