"""What networks predict with fixed weights: as an independent computation, and the same with every engine."""

from pathlib import Path
from typing import Any

import numpy as np  # noqa: TID253 - these tests are about arrays
import pytest

from app.core.paths import Paths
from tests import real_engines
from tests.workloads.networks import numpy_transformers
from tests.workloads.networks.forward_probe import PICTURES

# Weights are large, so that a wrong scale, mask or form of GELU shows: scores are of the size of 1.
TOLERANCE = 1e-4
EXPECTED = {
    "small_gpt": lambda x, weights: numpy_transformers.languini(x, weights, blocks=2, heads=3),
    "small_nanogpt": lambda x, weights: numpy_transformers.nanogpt(x, weights, blocks=2, heads=3),
    "small_vit": lambda x, weights: numpy_transformers.vit(x, weights, blocks=2, heads=3, patch=16),
}


def check(kept: Any, name: str) -> None:
    weights = [kept[f"weight{number}"].astype(float) for number in range(len(kept.files) - 2)]
    remaining = iter(weights)
    expected = EXPECTED[name](kept["x"], remaining)
    assert next(remaining, None) is None, "the definition has other weights"
    assert np.abs(expected).max() > 0.5
    assert np.abs(kept["y"] - expected).max() < TOLERANCE * max(1.0, np.abs(expected).max())


def check_texts(folder: Path) -> None:
    kept = np.load(folder / "texts.npz")
    assert kept["cached"].shape == (2, 4)
    assert kept["cached"].tolist() == kept["anew"].tolist()
    assert len(np.unique(kept["cached"], axis=0)) == 2, "each prompt has a text of its own"


@pytest.mark.engines
@pytest.mark.timeout(600)
def test_every_engine_predicts_the_same(engines_folder: Path, tmp_path: Path) -> None:
    paths = Paths(tmp_path / "data", tmp_path / "config", tmp_path / "cache", engines_folder=engines_folder)
    folders = {}
    for engine in ("tensorflow", "torch", "jax"):
        folders[engine] = tmp_path / engine
        folders[engine].mkdir()
        real_engines.probe("tests.workloads.networks.forward_probe", engine, paths, str(folders[engine]))
        for name in EXPECTED:
            check(np.load(folders[engine] / f"{name}.npz"), name)
        check_texts(folders[engine])
    for workload in PICTURES:
        usual, *others = (np.load(each / f"{workload.id}.npz")["y"] for each in folders.values())
        assert usual.std() > 0.01
        for other in others:
            assert np.abs(other - usual).max() < 1e-3 * np.abs(usual).max(), workload.id
