"""Writing text with real TensorFlow in a real worker, and what is refused before."""

from itertools import pairwise
from typing import Any

import pytest

from app.core.hardware.machine import detect_machine
from app.core.paths import Paths
from app.core.runs.runner import Runner
from app.core.storage.runs import load_run
from tests.build import in_database
from tests.core.runs.running import start_run
from workloads import CATALOGUE
from workloads.networks.generation import token_flops
from workloads.networks.gpt import GptSmall
from workloads.protocol.errors import WorkloadError

WORKLOAD = CATALOGUE["gpt_small_generation"]


# Takes its time, as the network has 110 million weights, which can't be made fewer.
@pytest.mark.engine
@pytest.mark.long
def test_writing_and_reading_have_rates_of_their_own(paths: Paths) -> None:
    spec = WORKLOAD.default_spec("quick", device="cpu", duration_s=1.0, batch_size=2)
    session = start_run(Runner(paths, detect_machine()), spec)
    assert session.wait(150)
    run = in_database(paths.database, load_run, session.run_id)
    assert run.summary.status == "completed", run.summary.error_message
    assert run.summary.metric == "tokens_per_s"
    assert run.summary.value is not None
    steps_s = [step_s for block in run.steps if block.phase == "measure" for step_s in block.durations_s]
    assert len(steps_s) >= 8
    # A token of each sequence a step; without what reading the prompt takes.
    size = run.summary.batch_size
    assert size / max(steps_s) <= run.summary.value <= size / min(steps_s)
    assert (run.metrics["prefill_tokens_per_s"] or 0) > run.summary.value
    assert run.model is not None
    assert run.model.parameters_count == 110_615_040


def test_a_token_costs_two_operations_for_each_weight_that_it_meets() -> None:
    tables_and_the_like = 110_615_040 - (16_384 + 512) * 768  # of which biases and scales are a thousandth
    attention = 12 * 2 * 2 * 256 * 768
    assert token_flops(GptSmall()) == pytest.approx(2 * tables_and_the_like + attention, rel=0.002)


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"steps": 128}, "generation.too_many_steps"),
        ({"data": "real"}, "generation.no_real_data"),
        ({"batch_size": 0}, "workload.number_too_small"),
        ({"parameters": {"sequence": 4}}, "workload.no_parameters"),
    ],
)
def test_what_makes_no_sense_is_refused(asked: dict[str, Any], words: str) -> None:
    WORKLOAD.check(WORKLOAD.default_spec(steps=127, batch_size=8))
    with pytest.raises(WorkloadError, match=words):
        WORKLOAD.check(WORKLOAD.default_spec(**asked))


@pytest.mark.parametrize(
    ("name", "parameters", "words"),
    [
        ("nanogpt_char", {"width": 100}, "heads_uneven"),
        ("nanogpt_char", {"heads": 0}, "parameter.not_int"),
        ("gpt_mini", {"vocabulary": 0}, "parameter.not_int"),
        ("gpt_small", {"sequence": 100_000}, "parameter.not_int"),
        ("fc_parametric", {"layers": 0}, "parameter.not_int"),
        ("cnn_parametric", {"width": 1_000_000}, "parameter.not_int"),
        ("rnn_parametric", {"sequence": 1.5}, "parameter.not_int"),
    ],
)
def test_networks_that_cannot_be_built_are_refused(name: str, parameters: dict[str, Any], words: str) -> None:
    with pytest.raises(WorkloadError, match=words):
        CATALOGUE[name].check(CATALOGUE[name].default_spec(parameters=parameters))


@pytest.mark.parametrize(
    ("name", "parameter", "values"),
    [
        ("gpt_mini", "sequence", (64, 512, 8_192)),
        ("gpt_mini", "vocabulary", (256, 16_384, 262_144)),
        ("fc_parametric", "width", (16, 2_048, 16_384)),
        ("fc_parametric", "layers", (1, 4, 128)),
        ("cnn_parametric", "width", (4, 32, 512)),
        ("rnn_parametric", "layers", (1, 2, 32)),
    ],
)
def test_the_memory_that_is_predicted_grows_with_the_network(
    name: str, parameter: str, values: tuple[int, ...]
) -> None:
    workload = CATALOGUE[name]
    for engine in ("tensorflow", "torch", "jax"):
        specs = [workload.default_spec(engine=engine, parameters={parameter: value}) for value in values]
        needs = [workload.memory_need_bytes(spec) or 0 for spec in specs]
        assert all(small < large for small, large in pairwise(needs)), needs
        assert needs[1] == workload.memory_need_bytes(workload.default_spec(engine=engine))
