"""The generated pictures of the flower networks."""

import numpy as np  # noqa: TID253 - these tests are about arrays
import pytest

from workloads.datasets import flower_twin
from workloads.datasets.flower_twin import TRAIN_COUNT, FlowerPictures

TWIN_SHA256 = "57fb15db99f1c035245a32803fa100335fad2a6a08590baf6835cd6c3db98798"
STUDYS_SHA256 = "00618654bea2b3b2f79d91a7a2f32ac37f622c56fbe8b2d617db0ef5135f2de7"


@pytest.fixture(scope="module")
def twin() -> FlowerPictures:
    return flower_twin.load(64)


def test_the_pictures_are_the_same_everywhere(twin: FlowerPictures) -> None:
    assert twin.checksum == TWIN_SHA256
    assert flower_twin.load(331).checksum == STUDYS_SHA256


def test_there_are_as_many_examples_as_the_study_had_photos(twin: FlowerPictures) -> None:
    assert (twin.pictures.shape, twin.pictures.dtype.name) == ((80, 64, 64, 3), "uint8")
    assert (len(twin.which), len(twin.labels), twin.labels.dtype.name) == (3_670, 3_670, "int32")
    assert np.array_equal(twin.labels, twin.which // 16)
    for part in (slice(TRAIN_COUNT), slice(TRAIN_COUNT, None)):
        assert len(np.unique(twin.which[part])) == 80
        assert np.bincount(twin.labels[part]).min() > len(twin.labels[part]) / 5 * 0.8


def test_they_differ_and_their_colours_tell_the_class(twin: FlowerPictures) -> None:
    assert len({picture.tobytes() for picture in twin.pictures}) == 80
    colours = twin.pictures.astype(float).mean(axis=(1, 2)).reshape(5, 16, 3)
    means = colours[:, :8].mean(axis=1)
    nearest = ((colours[:, 8:, None] - means) ** 2).sum(axis=-1).argmin(axis=-1)
    assert (nearest == np.arange(5)[:, None]).mean() > 0.6
