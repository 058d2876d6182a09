"""CIFAR-10 as arrays: the synthetic twin is always the same, and real files are read pixel by pixel right."""

import hashlib
from pathlib import Path

import numpy as np  # noqa: TID253 - these tests are about arrays
import pytest

from tests.archives import FILE, digest_of, pack, store
from workloads.datasets import DATASETS, cifar10
from workloads.datasets.source import is_aligned

TWIN_SHA256 = "be0f7d31128d698843809ef200720c155916fd41da79e6f85c2dd7f0425b4507"
ARRAYS_SHA256 = "341d9fab8be1e021bcceb0cd484c3ef708e96da6f92da3dd7ee7b7c2817126e6"


@pytest.mark.slow
def test_the_twin_is_the_same_everywhere() -> None:
    twin = cifar10.load(None)
    assert (twin.source, twin.checksum) == ("synthetic", TWIN_SHA256)
    assert digest_of(twin.x_train, twin.y_train, twin.x_test, twin.y_test) == ARRAYS_SHA256
    assert is_aligned(twin.x_train)
    assert is_aligned(twin.x_test)


def test_real_files_are_read_file_by_file_plane_by_plane_and_row_by_row(tmp_path: Path) -> None:
    """Three images a file, whose every byte shows its place: file, image, plane, row and column."""
    file, image, plane, row, column = np.ogrid[:6, :3, :3, :32, :32]
    pixels = (file * 60 + image * 20 + plane * 5 + row * 7 + column).astype(np.uint8)
    labels = (np.arange(18) % 10).astype(np.uint8).reshape(6, 3, 1)
    records = np.concatenate([labels, pixels.reshape(6, 3, 3072)], axis=2)
    contents = {name: records[number].tobytes() for number, name in enumerate(cifar10.FILES)}
    # As in the official archive, the files aren't in order.
    members = {f"cifar-10-batches-bin/{name}": content for name, content in reversed(contents.items())}
    stored = store(cifar10, tmp_path, pack(tmp_path / FILE, members | {"cifar-10-batches-bin/readme.html": b"x"}))
    expected = pixels.transpose(0, 1, 3, 4, 2)
    for scale in (1.0, 255.0):
        found = cifar10.load(stored, scale=scale)
        for images, numbers, part in (
            (found.x_train, found.y_train, slice(5)),
            (found.x_test, found.y_test, slice(5, 6)),
        ):
            assert np.array_equal(images, expected[part].reshape(-1, 32, 32, 3) / np.float32(scale))
            assert np.array_equal(numbers, labels[part].reshape(-1, 1))
            assert (images.dtype.name, numbers.dtype.name, is_aligned(images)) == ("float32", "int32", True)
        whole = hashlib.sha256(b"".join(contents.values())).hexdigest()
        assert (found.source, found.checksum) == ("real", whole)


def test_the_official_source_is_stated_in_full() -> None:
    source = DATASETS["cifar10"].SOURCE
    (file,) = source.files
    assert (source.id, source.size_bytes, len(file.sha256 or "")) == ("cifar10", 170_052_171, 64)
    assert file.url == "https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz"


def test_every_data_set_says_where_it_comes_from_and_under_which_licence() -> None:
    for dataset_id, module in DATASETS.items():
        source = module.SOURCE
        assert source.id == dataset_id
        assert source.title
        assert source.citation
        assert source.licence
        assert source.fetchable == (dataset_id != "ptb")
        for file in source.files:
            assert (file.url is not None) == source.fetchable
            assert file.url is None or file.url.endswith(f"/{file.name}")
            assert file.size_bytes is not None or not source.fetchable
