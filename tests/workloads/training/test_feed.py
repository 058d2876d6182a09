"""What networks are fed with while they train: varied images, and sentences in batches."""

from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np  # noqa: TID253 - these tests are about arrays
import pytest

from app.core.paths import Paths
from tests import real_engines
from tests.workloads.networks import numpy_transformers
from tests.workloads.networks.forward_probe import PICTURES
from workloads.networks.cifar10 import shifted, shifted_and_flipped
from workloads.networks.sentences import sentence_batches


def ramp(count: int = 1) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    """Return images of 4 × 4 whose pixels say where they are: ten times the row, plus the column."""
    pixels = 10 * np.arange(4)[:, None] + np.arange(4)
    return np.broadcast_to(pixels[None, :, :, None], (count, 4, 4, 3)).astype(np.float32)


@pytest.mark.parametrize(
    ("shift_px", "row"),
    [
        (0, [0, 1, 2, 3]),
        (1, [1, 2, 3, 3]),
        (-2, [0, 0, 0, 1]),
        (0.5, [0.5, 1.5, 2.5, 3]),
        (-0.25, [0, 0.75, 1.75, 2.75]),
    ],
)
def test_an_image_is_shifted_between_pixels_too_and_its_border_drawn_out(
    shift_px: float, row: list[float]
) -> None:
    columns = shifted(ramp(), np.array([shift_px]), 2)
    assert columns[0, 0, :, 0].tolist() == row
    assert columns[0, 3, :, 2].tolist() == [30 + place for place in row]
    rows = shifted(ramp(), np.array([shift_px]), 1)
    assert rows[0, :, 0, 0].tolist() == [10 * place for place in row]


def test_each_image_is_varied_on_its_own_by_a_tenth_at_most() -> None:
    images = ramp(400)
    varied = shifted_and_flipped(images, np.random.default_rng(1))
    assert varied.dtype == np.float32
    assert len(np.unique(varied[:, 1, 1, 0])) > 390
    flipped = varied[:, 0, 0, 0] > varied[:, 0, 3, 0]
    assert 0.4 < flipped.mean() < 0.6
    # A tenth of four pixels in each direction.
    unflipped = varied[~flipped]
    assert np.abs(unflipped[:, 1:3, 1:3] - images[0, 1:3, 1:3]).max() <= 4.4
    assert np.array_equal(images, ramp(400)), "the images in memory stay as they are"


def test_every_sentence_is_read_once_an_epoch_in_a_bucket_that_holds_it() -> None:
    lengths = [2, 5, 10, 11, 7, 80, 3]
    offsets = np.cumsum([0, *lengths])
    ids = np.arange(offsets[-1], dtype=np.int32)
    batches = list(islice(sentence_batches(ids, offsets, 2, seed=0), 8))
    for epoch in (batches[:4], batches[4:]):
        read = sorted(int(row[0]) for inputs, _ in epoch for row in inputs)
        assert read == offsets[:-1].tolist()
        assert sorted(inputs.shape for inputs, _ in epoch) == [(1, 60), (2, 10), (2, 10), (2, 20)]
        for inputs, targets in epoch:
            for row, target in zip(inputs, targets, strict=True):
                length = min(60, lengths[offsets[:-1].tolist().index(row[0])])
                assert target[: length - 1].tolist() == row[1:length].tolist()
                assert set(target[length - 1 :].tolist()) <= {-1}
                assert not row[length:].any()
    orders = [[int(inputs[0, 0]) for inputs, _ in epoch] for epoch in (batches[:4], batches[4:])]
    assert orders[0] != orders[1]


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
        kept = np.load(folders[engine] / "texts.npz")
        assert kept["cached"].shape == (2, 4)
        assert kept["cached"].tolist() == kept["anew"].tolist()
        assert len(np.unique(kept["cached"], axis=0)) == 2, "each prompt has a text of its own"
    for workload in PICTURES:
        usual, *others = (np.load(each / f"{workload.id}.npz")["y"] for each in folders.values())
        assert usual.std() > 0.01
        for other in others:
            assert np.abs(other - usual).max() < 1e-3 * np.abs(usual).max(), workload.id
