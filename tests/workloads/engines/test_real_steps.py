"""Real PyTorch and JAX train as TensorFlow does: the same losses, and steps that hide nothing."""

import shutil
import statistics
from typing import Any

import pytest

from app.core.paths import Paths
from tests import real_engines
from tests.workloads.engines.engine_probe import COMPARED

pytestmark = [pytest.mark.engines, pytest.mark.timeout(900)]
ENGINES = ("torch", "jax")
# TensorFlow squares the gradients of a word before it adds them up if the word comes twice, the others after.
WORDS = {"imdb_fasttext_unigram", "imdb_bidirectional_lstm", "text_generator_keras"}


def probe(engine: str, paths: Paths, *arguments: str, compiles_well: bool = False) -> list[dict[str, Any]]:
    """Let a process train with an engine; return what it says."""
    module = "tests.workloads.engines.engine_probe"
    return real_engines.probe(module, engine, paths, *arguments, compiles_well=compiles_well)


@pytest.fixture(scope="module")
def losses(engines_paths: Paths, tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, list[float]]]:
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
    (seen,) = probe("torch", engines_paths, "compiled")
    assert seen == {"steps": 10, "batches": [3, 8, 1], "is_as_before": True}
