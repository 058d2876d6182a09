"""The catalogue without an engine: texts, defaults, the studies' steps, and what a workload can do."""

import ast
from pathlib import Path
from typing import get_args

import pytest

from app.core.messages import text
from tests.our_code import nodes_of, trees
from workloads import CATALOGUE, STANDARD
from workloads.datasets import DATASETS
from workloads.engines.registry import DEFAULT_ENGINE
from workloads.networks.flowers import learning_rate
from workloads.protocol.spec import Job, Preset, read_job, write_job
from workloads.training.training import Training
from workloads.workload import HeadlineKey, Workload

STUDIES = ("004", "000", "003", "001", "002", "")  # in the order of the catalogue
METRICS = {"003": {"seconds_per_batch_s"}, "001": {"images_per_s", "words_per_s"}, "": set(get_args(HeadlineKey))}
TRAINED = [workload for workload in CATALOGUE.values() if isinstance(workload, Training)]


def named(workload: Workload) -> str:
    return workload.id


@pytest.mark.parametrize("workload", CATALOGUE.values(), ids=named)
def test_a_workload_has_all_its_texts(workload: Workload) -> None:
    assert workload.id.isidentifier()
    assert CATALOGUE[workload.id] is workload
    assert 3 <= len(text(workload.title)) <= 40
    assert text(workload.title) != workload.title.code
    assert len(text(workload.summary)) <= 200
    assert text(workload.summary).endswith(".")
    assert workload.source
    assert workload.version >= 1
    assert workload.study in STUDIES
    assert (type(workload).__doc__ or "") != (Workload.__doc__ or "")
    assert len({parameter.name for parameter in workload.parameters}) == len(workload.parameters)
    for parameter in workload.parameters:
        assert parameter.check(parameter.default) == parameter.default
        for said in (parameter.label, parameter.description):
            assert text(said) != said.code


@pytest.mark.parametrize("workload", CATALOGUE.values(), ids=named)
@pytest.mark.parametrize("preset", ["quick", "standard"])
def test_its_defaults_can_be_run(workload: Workload, preset: Preset, tmp_path: Path) -> None:
    required = {parameter.name: str(tmp_path) for parameter in workload.parameters if parameter.required}
    spec = workload.default_spec(preset, parameters=required)
    workload.check(spec)
    assert (spec.workload, spec.batch_size, spec.preset) == (workload.id, workload.batch_size, preset)
    assert spec.epochs == (1 if preset == "quick" else workload.epochs)
    assert workload.variant(spec) == ""
    assert workload.steps_per_epoch(spec) >= 1
    assert workload.expected_parameters(spec) == workload.parameters_count
    assert read_job(write_job(Job(spec=spec, datasets_folder=b"/x"))).spec == spec


@pytest.mark.parametrize("workload", TRAINED, ids=named)
def test_a_trained_network_says_what_it_needs(workload: Training) -> None:
    assert workload.epoch_text
    assert workload.metric in METRICS.get(workload.study, {"seconds_per_epoch_s"})
    assert workload.dataset is None or workload.dataset in DATASETS
    is_finite = workload.dataset is not None or workload.prepares_input
    has_end = is_finite and workload.samples_per_epoch > 0
    assert has_end == (workload.steps is None), "generated batches have no end of their own"
    assert workload.validation_samples == 0 or workload.samples_per_epoch > 0
    assert workload.memory_need_bytes(workload.default_spec(engine=DEFAULT_ENGINE)) is not None
    for engine in workload.memory_needs:
        assert 0.3e9 < (workload.memory_need_bytes(workload.default_spec(engine=engine)) or 0) < 24e9, engine
    if workload.loss_band:
        assert workload.loss_band[0] < workload.loss_band[1]
    assert workload.parameters_count in (None, workload.expected_parameters(workload.default_spec()))


def test_the_standard_workload_is_the_studys() -> None:
    cnn = CATALOGUE[STANDARD]
    assert (cnn.epochs, cnn.batch_size, cnn.samples_per_epoch, cnn.validation_samples) == (10, 100, 50_000, 1_000)
    assert (cnn.id, cnn.parameters_count) == ("cifar10_keras_cnn", 1_337_002)


def test_the_catalogue_begins_with_the_standard_and_ends_with_the_demo() -> None:
    order = list(CATALOGUE)
    assert (order[0], order[-1]) == (STANDARD, "demo")
    assert len({text(workload.title) for workload in CATALOGUE.values()}) == len(order)
    of_studies = [workload.study for workload in TRAINED]
    assert sorted(of_studies, key=STUDIES.index) == of_studies
    assert set(of_studies) == set(STUDIES), "every study is repeated"


@pytest.mark.parametrize(
    ("name", "batch_size", "steps"),
    [
        ("cifar10_keras_cnn", None, 500),
        ("cifar10_keras_cnn", 64, 782),
        ("cifar10_keras_cnn", 50_000, 1),
        ("cifar10_keras_cnn", 1, 50_000),
        ("mnist_mlp", None, 469),
        ("mnist_cnn", None, 469),
        ("mnist_cnn_nodropout_adam", None, 469),
        ("cifar10_cnn", None, 1_562),
        ("imdb_fasttext", None, 782),
        ("imdb_bidirectional_lstm", None, 782),
        ("lstm_text_generation", None, 1_565),
        ("text_generator_keras", None, 1_565),
        ("fcn_s", None, 100),
        ("fcn_r", None, 59),
        ("fcn_r", 4_096, 15),
        ("alexnet_r", None, 49),
        ("resnet_56", None, 391),
        ("lstm_ptb_32", None, 226),
        ("lstm_ptb_32", 256, 113),
        ("lstm_ptb_64", None, 113),
        ("ptb_lstm_mxnet", None, 1_315),
        ("vgg16", None, 40_037),
        ("flowers_xception_331", None, 186),
        ("flowers_xception_331", 128, 23),
    ],
)
def test_an_epoch_has_the_steps_of_the_study(name: str, batch_size: int | None, steps: int) -> None:
    workload = CATALOGUE[name]
    assert workload.steps_per_epoch(workload.default_spec(batch_size=batch_size)) == steps


@pytest.mark.parametrize(
    ("name", "parameters", "count"),
    [
        ("fcn_s", {"hidden_layers": 4}, 122_194_048),
        ("googlenet", {"auxiliary_heads": False}, 6_998_552),
        ("lstm_ptb_32", {"lstm": "fused"}, 6_180_624),
        ("lstm_text_generation", {"lstm": "fused"}, 102_585),
        ("gpt_mini", {"vocabulary": 256}, 27_549_696 - 2 * (16_384 - 256) * 512),
        ("gpt_mini", {"sequence": 128}, 27_549_696 - (512 - 128) * 512),
        # nanoGPT's own: 10.65 million without the positions, for 65 characters.
        ("nanogpt_char", {"sequence": 2}, 10_646_784 - (65 - 57) * 384 + 2 * 384),
        ("nanogpt_char", {"blocks": 4, "heads": 4, "width": 128, "sequence": 64}, 803_072),
    ],
)
def test_a_variant_is_compared_only_with_itself_and_has_its_own_count(
    name: str, parameters: dict[str, int], count: int
) -> None:
    workload = CATALOGUE[name]
    spec = workload.default_spec(parameters=parameters)
    workload.check(spec)
    assert workload.variant(spec) == " ".join(f"{key}={value}" for key, value in parameters.items())
    assert workload.expected_parameters(spec) == count


@pytest.mark.parametrize(
    ("name", "variant", "tokens"),
    [
        ("gpt_mini", "", 512),
        ("gpt_mini", "sequence=64 vocabulary=99", 64),
        ("nanogpt_char", "blocks=4 sequence=64", 64),
        ("rnn_parametric", "layers=9", 32),
        # Written by another version, or by someone else: as if it weren't there.
        ("gpt_mini", "sequence=0", 512),
        ("gpt_mini", "sequence=many other sequence", 512),
        ("mnist_mlp", "sequence=64", 1),
    ],
)
def test_a_variant_says_how_many_tokens_a_sequence_has(name: str, variant: str, tokens: int) -> None:
    assert CATALOGUE[name].units_of(variant) == tokens


def test_the_learning_rate_of_the_flowers_rises_for_five_epochs_and_falls() -> None:
    rates = [learning_rate(epoch) for epoch in range(12)]
    assert rates[0] == pytest.approx(1e-5)
    assert rates[4] == pytest.approx(4.2e-5)
    assert rates[5] == max(rates) == pytest.approx(5e-5)
    assert rates[6] == pytest.approx(4.2e-5)
    assert rates[11] == pytest.approx(1e-5 + 4e-5 * 0.8**6)


def test_the_app_asks_what_a_workload_can_do() -> None:
    for path, node in ((path, node) for path, tree in trees("app/").items() for node in nodes_of(tree)):
        if isinstance(node, ast.ImportFrom) and node.module is not None:
            # The registry of numbers names what the test of storage measures, case by case.
            families = node.module.startswith(("workloads.networks", "workloads.system"))
            assert not families or [alias.name for alias in node.names] == ["CASES"], (path, node.lineno)
        if isinstance(node, ast.Compare) and isinstance(node.left, ast.Attribute) and node.left.attr == "kind":
            owner = ast.unparse(node.left.value)
            assert "workload" not in owner.lower() and "CATALOGUE" not in owner, (path, node.lineno)  # noqa: PT018


def test_the_capabilities_of_each_workload_are_consistent() -> None:
    for workload in CATALOGUE.values():
        # Only epochs can be repeated for a given time, and summarised. With epochs, both remain a choice.
        assert workload.has_epochs or not workload.can_sustain, workload.id
        assert workload.has_epochs or workload.reports_headline, workload.id
        assert not (workload.trains and workload.reports_headline), workload.id
    assert [workload.id for workload in CATALOGUE.values() if workload.is_demo] == ["demo"]
    of_the_system = {
        name for name, each in CATALOGUE.items() if type(each).__module__.startswith("workloads.system")
    }
    assert of_the_system == {name for name, workload in CATALOGUE.items() if not workload.has_epochs} != set()
