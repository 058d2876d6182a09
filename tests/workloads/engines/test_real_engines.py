"""Real PyTorch and JAX, in their own packages: every network, the same losses, honest steps, and their files."""

import os
import shutil
import statistics
from pathlib import Path
from typing import Any

import msgspec
import pytest

from app.core.paths import Paths
from app.core.runs.runner import Runner
from app.core.storage.database import Database
from app.core.storage.runs import load_run
from tests import real_engines
from tests.waiting import wait_until
from tests.workloads.engines.engine_probe import COMPARED, trained_by
from tests.workloads.system.test_storage import Watched, contents, lose, told
from workloads import CATALOGUE
from workloads.protocol import events
from workloads.protocol.machine import Machine
from workloads.protocol.spec import RunSpec
from workloads.training.training import Training

pytestmark = [pytest.mark.engines, pytest.mark.timeout(900)]
ENGINES = ("torch", "jax")
# TensorFlow squares the gradients of a word before it adds them up if the word comes twice, the others after.
WORDS = {"imdb_fasttext_unigram", "imdb_bidirectional_lstm", "text_generator_keras"}
Answers = dict[str, dict[str, Any]]


def probe(engine: str, paths: Paths, *arguments: str, compiles_well: bool = False) -> list[dict[str, Any]]:
    """Let a process train with an engine; return what it says."""
    module = "tests.workloads.engines.engine_probe"
    return real_engines.probe(module, engine, paths, *arguments, compiles_well=compiles_well)


@pytest.fixture(scope="module", params=ENGINES)
def trained(request: pytest.FixtureRequest, engines_paths: Paths) -> Answers:
    answers = {answer["id"]: answer for answer in probe(request.param, engines_paths, "all")}
    assert answers.keys() == {each.id for each in trained_by(request.param)}
    return answers


@pytest.fixture(scope="module")
def engines_paths(engines_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Paths:
    home = tmp_path_factory.mktemp("home")
    return Paths(home / "data", home / "config", home / "cache", engines_folder=engines_folder)


def test_networks_of_every_kind_train(trained: Answers) -> None:
    for name, answer in trained.items():
        workload, metrics = CATALOGUE[name], answer["metrics"]
        assert metrics["updates_done"] == metrics["updates_asked"] > 0, name
        assert metrics["examples_done"] >= metrics["examples_asked"] > 0, name
        assert metrics["weights_changed"] > 0, name
        if isinstance(workload, Training) and workload.parameters_count is not None:
            assert answer["parameters"] == workload.parameters_count


def test_steps_have_the_operations_that_tensorflow_counts(trained: Answers) -> None:
    for name, answer in trained.items():
        if (operations := CATALOGUE[name].operations_per_example) is None:
            continue
        counted = answer["metrics"].get("operations_per_example")
        # JAX also counts the padding around gradients.
        assert counted is not None, name
        assert 0.995 * operations <= counted <= 1.3 * operations, name
        assert answer["metrics"]["operations_float32_pct"] == 100, name


@pytest.fixture(scope="module")
def losses(engines_paths: Paths, tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, list[float]]]:
    """The first losses by engine and network, from the weights that TensorFlow made."""
    folder = tmp_path_factory.mktemp("weights")
    origin = str(folder / "tensorflow.npz")
    answers = {"tensorflow": probe("tensorflow", engines_paths, "losses", origin)}
    for engine in ENGINES:
        answers[engine] = probe(engine, engines_paths, "losses", str(folder / f"{engine}.npz"), origin)
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
    (seen,) = probe(engine, engines_paths, "steps", compiles_well=True)
    assert seen["steps"] == [21, 21, 21]
    assert seen["examples"] == 3 * (20 * 128 + 3)
    # The device has finished when a step ends: what waits for it has next to nothing to wait for.
    assert statistics.median(seen["left_s"]) < 0.05 * statistics.median(seen["step_s"])
    # And the steps are the epoch, but for validating 131 examples, which is about half a step.
    for steps_s, epoch_s in zip(seen["steps_s"][1:], seen["epochs_s"][1:], strict=True):
        assert steps_s <= epoch_s < 1.25 * steps_s
    assert seen["compiled_after_first_step"] == 0
    assert (seen["compiled"] > 0) is (engine == "jax")


@pytest.mark.skipif(shutil.which("g++") is None, reason="torch.compile needs a compiler")
def test_pytorch_compiles_before_the_second_step_and_leaves_no_traces(engines_paths: Paths) -> None:
    (seen,) = probe("torch", engines_paths, "compiled")
    assert seen == {"steps": 10, "batches": [3, 8, 1], "is_as_before": True}


@pytest.mark.parametrize("engine", ENGINES)
def test_a_quick_run_is_like_any_other(engine: str, installed_engines: Paths, machine: Machine) -> None:
    spec = CATALOGUE["mnist_mlp"].default_spec("quick", engine=engine, duration_s=8.0, data="synthetic")
    session = Runner(installed_engines, machine).start(spec)
    assert session.wait(120)
    with Database(installed_engines.database) as database:
        run = load_run(database, session.run_id)
    assert run.summary.status == "completed", run.summary.error_message
    assert (run.summary.engine, run.summary.device, run.summary.jit) == (engine, "cpu", engine == "jax")
    assert run.summary.seconds_per_epoch_s is not None
    assert run.metrics["updates_done"] == run.metrics["updates_asked"]
    assert run.environment is not None
    assert run.environment.variables == ()


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    "workload",
    ["matmul", "memory_bandwidth", "fashion_mnist_cnn_412k_inference", "gpt_small_generation", "storage"],
)
def test_tests_of_the_hardware_and_predictions_run_too(
    engine: str, workload: str, installed_engines: Paths, machine: Machine, tmp_path: Path
) -> None:
    asked: dict[str, Any] = {"steps": 2}
    if workload == "storage":
        asked = {"parameters": {"folders": str(tmp_path), "images": 100}, "steps": 1}
    spec = CATALOGUE[workload].default_spec(engine=engine, device="cpu", **asked)
    if workload == "storage":
        spec = msgspec.structs.replace(spec, measure_s=0.2)  # for a case
    session = Runner(installed_engines, machine).start(spec)
    assert session.wait(200)
    with Database(installed_engines.database) as database:
        run = load_run(database, session.run_id)
    assert run.summary.status == "completed", run.summary.error_message
    assert (run.summary.value or 0) > 0


@pytest.mark.parametrize("engine", ENGINES)
def test_a_run_is_cancelled_soon(engine: str, installed_engines: Paths, machine: Machine) -> None:
    seen: list[events.Event] = []
    spec = CATALOGUE["mnist_mlp"].default_spec("sustained", engine=engine, duration_s=600.0, data="synthetic")
    session = Runner(installed_engines, machine).start(spec, seen.append)
    wait_until(lambda: any(isinstance(event, events.Steps) for event in seen))
    session.cancel()
    assert session.wait(20)
    assert session.status == "cancelled"


def storage_for(engine: str, folder: Path) -> RunSpec:
    parameters = {"folders": os.fspath(folder), "images": 600}
    spec = CATALOGUE["storage"].default_spec(device="cpu", engine=engine, parameters=parameters)
    return msgspec.structs.replace(spec, measure_s=0.3)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_lost_folder_is_reported_in_the_same_sentence(
    engine: str, installed_engines: Paths, machine: Machine, tmp_path: Path
) -> None:
    (folder := tmp_path / "drive").mkdir()
    lose(installed_engines, machine, folder, storage_for(engine, folder))


@pytest.mark.parametrize("engine", ENGINES)
def test_a_cancelled_test_of_storage_leaves_nothing(
    engine: str, installed_engines: Paths, machine: Machine, tmp_path: Path
) -> None:
    (folder := tmp_path / "drive").mkdir()
    spec, when = storage_for(engine, folder), told("folder1_read_tfrecord_images_per_s")
    run = Watched(installed_engines, machine, spec, when, lambda run: run.session.cancel()).end()
    assert run.summary.status == "cancelled"
    assert {warning.code for warning in run.warnings} <= {"page_cache"}
    assert contents([folder]) == []
