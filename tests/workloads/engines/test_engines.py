"""Real PyTorch and JAX, in their own packages: every network, what measures hardware, and their files."""

import os
import shutil
import statistics
from pathlib import Path
from typing import Any

import msgspec
import pytest

from app.core.paths import Paths
from app.core.runs.runner import Runner
from app.core.storage.runs import load_run
from tests import real_engines
from tests.build import in_database
from tests.core.runs.running import start_run
from tests.core.verdict.test_training_proof import stored
from tests.tools import operations
from tests.waiting import wait_until
from tests.workloads.engines.engine_probe import COMPARED, MEASURED, declared, spec_to_measure, trained_by
from tests.workloads.system.test_storage import Watched, contents, lose, told
from workloads import CATALOGUE
from workloads.protocol import events
from workloads.protocol.machine import Machine
from workloads.protocol.spec import RunSpec

pytestmark = [pytest.mark.engines, pytest.mark.timeout(900)]
PROBE = "tests.workloads.engines.engine_probe"
ENGINES = ("torch", "jax")
Answers = dict[str, dict[str, Any]]


@pytest.fixture(scope="module", params=ENGINES)
def answers(request: pytest.FixtureRequest, engines_paths: Paths) -> Answers:
    """What a process says that has run workloads of every kind."""
    said = real_engines.probe(PROBE, request.param, engines_paths, "all", os.fspath(engines_paths.data))
    return {answer["id"]: answer | {"engine": request.param} for answer in said}


@pytest.fixture(scope="module")
def trained(answers: Answers) -> Answers:
    return {name: answer for name, answer in answers.items() if name not in MEASURED}


def test_networks_of_every_kind_train(trained: Answers) -> None:
    (engine,) = {answer["engine"] for answer in trained.values()}
    assert trained.keys() == {each.id for each in trained_by(engine)}
    for name, answer in trained.items():
        metrics, parameters_count = answer["metrics"], declared(engine, name)
        assert metrics["updates_done"] == metrics["updates_asked"] > 0, name
        assert metrics["examples_done"] >= metrics["examples_asked"] > 0, name
        assert metrics["weights_changed"] > 0, name
        assert parameters_count in (None, answer["parameters"])


# A network each with dense layers, convolutions, groups of them, recurrence and attention.
OF_EACH_KIND = (
    "mnist_mlp",
    "cifar10_keras_cnn",
    "mobilenetv3_large_224",
    "imdb_bidirectional_lstm",
    "vit_tiny_224",
)


def test_steps_have_the_operations_that_are_declared(engines_paths: Paths) -> None:
    for seen in real_engines.probe(operations.MODULE, "torch", engines_paths, *OF_EACH_KIND):
        assert seen["operations"] == pytest.approx(seen["declared"], rel=0.005), seen["workload"]


@pytest.mark.parametrize("engine", ENGINES)
def test_a_quick_run_is_like_any_other(engine: str, installed_engines: Paths, machine: Machine) -> None:
    spec = CATALOGUE["mnist_mlp"].default_spec("quick", engine=engine, duration_s=8.0, data="synthetic")
    session = start_run(Runner(installed_engines, machine), spec)
    assert session.wait(120)
    run = in_database(installed_engines.database, load_run, session.run_id)
    assert run.summary.status == "completed", run.summary.error_message
    assert (run.summary.engine, run.summary.device, run.summary.jit) == (engine, "cpu", engine == "jax")
    assert run.summary.seconds_per_epoch_s is not None
    assert run.metrics["updates_done"] == run.metrics["updates_asked"]
    assert run.environment is not None
    assert run.environment.variables == ()


@pytest.mark.parametrize("workload", MEASURED)
def test_tests_of_the_hardware_and_predictions_run_too(workload: str, answers: Answers, paths: Paths) -> None:
    answer = answers[workload]
    spec = spec_to_measure(answer["engine"], workload, "")
    run = in_database(paths.database, stored, spec, answer["events"])
    assert (run.summary.value or 0) > 0


@pytest.mark.parametrize("engine", ENGINES)
def test_a_run_is_cancelled_soon(engine: str, installed_engines: Paths, machine: Machine) -> None:
    seen: list[events.Event] = []
    spec = CATALOGUE["mnist_mlp"].default_spec("sustained", engine=engine, duration_s=600.0, data="synthetic")
    session = start_run(Runner(installed_engines, machine), spec, seen.append)
    wait_until(lambda: any(isinstance(event, events.Steps) for event in seen))
    session.cancel()
    assert session.wait(20)
    assert session.status == "cancelled"


def storage_for(engine: str, folder: Path) -> RunSpec:
    parameters = {"folders": os.fspath(folder), "images": 600}
    spec = CATALOGUE["storage"].default_spec(device="cpu", engine=engine, parameters=parameters)
    return msgspec.structs.replace(spec, measure_s=0.3)


def test_a_lost_folder_is_reported_in_the_same_sentence(
    installed_engines: Paths, machine: Machine, tmp_path: Path
) -> None:
    (folder := tmp_path / "drive").mkdir()
    lose(installed_engines, machine, folder, storage_for("torch", folder))


def test_a_cancelled_test_of_storage_leaves_nothing(
    installed_engines: Paths, machine: Machine, tmp_path: Path
) -> None:
    (folder := tmp_path / "drive").mkdir()
    spec, when = storage_for("jax", folder), told("folder1_read_jpeg_images_per_s")
    run = Watched(installed_engines, machine, spec, when, lambda run: run.session.cancel()).end()
    assert run.summary.status == "cancelled"
    assert {warning.code for warning in run.warnings} <= {"page_cache"}
    assert contents([folder]) == []


# TensorFlow squares the gradients of a word before it adds them up if the word comes twice, the others after.
WORDS = {"imdb_fasttext_unigram", "imdb_bidirectional_lstm", "text_generator_keras"}


@pytest.fixture(scope="module")
def losses(engines_paths: Paths, tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, list[float]]]:
    folder = tmp_path_factory.mktemp("weights")
    origin = str(folder / "tensorflow.npz")
    answers = {"tensorflow": real_engines.probe(PROBE, "tensorflow", engines_paths, "losses", origin)}
    for engine in ENGINES:
        answers[engine] = real_engines.probe(
            PROBE, engine, engines_paths, "losses", str(folder / f"{engine}.npz"), origin
        )
    return {engine: {one["id"]: one["losses"] for one in several} for engine, several in answers.items()}


@pytest.mark.parametrize("name", COMPARED)
def test_from_the_same_weights_all_engines_reach_the_same_losses(
    name: str, losses: dict[str, dict[str, list[float]]]
) -> None:
    tensorflow, torch, jax = (losses[engine][name] for engine in ("tensorflow", *ENGINES))
    assert tensorflow[-1] != tensorflow[0]
    assert torch == pytest.approx(jax, rel=2e-4)
    assert torch == pytest.approx(tensorflow, rel=0.03 if name in WORDS else 2e-4)
    assert torch[0] == pytest.approx(tensorflow[0], rel=1e-5)


@pytest.mark.parametrize("engine", ["tensorflow", *ENGINES])
def test_a_step_hides_nothing_beside_it(engine: str, engines_paths: Paths) -> None:
    (seen,) = real_engines.probe(PROBE, engine, engines_paths, "steps", compiles_well=True)
    assert seen["steps"] == [21, 21, 21]
    assert seen["examples"] == 3 * (20 * 64 + 3)
    # The device has finished when a step ends: what waits for it has next to nothing to wait for.
    assert statistics.median(seen["left_s"]) < 0.05 * statistics.median(seen["step_s"])
    # And the steps are the epoch, but for validating 67 examples, which is about half a step.
    for steps_s, epoch_s in zip(seen["steps_s"][1:], seen["epochs_s"][1:], strict=True):
        assert steps_s <= epoch_s < 1.25 * steps_s
    assert seen["compiled_after_first_step"] == 0
    assert (seen["compiled"] > 0) is (engine == "jax")


@pytest.mark.skipif(shutil.which("g++") is None, reason="torch.compile needs a compiler")
def test_pytorch_compiles_before_the_second_step_and_leaves_no_traces(engines_paths: Paths) -> None:
    (seen,) = real_engines.probe(PROBE, "torch", engines_paths, "compiled")
    assert seen == {"steps": 10, "batches": [3, 8, 1], "is_as_before": True}
