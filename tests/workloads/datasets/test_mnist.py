"""The two data sets of IDX files: their twins, real files pixel by pixel, and files that are something else."""

import gzip
import hashlib
import math
from collections.abc import Mapping
from pathlib import Path

import numpy as np  # noqa: TID253 - these tests are about arrays
import pytest

from tests.archives import digest_of, store
from workloads.datasets import fashion_mnist, mnist
from workloads.datasets.source import UnofficialFileError, is_aligned

MNIST_SHA256 = "fa885c541b36c7ee120f2facb376d9b493c1700ee993ecfd5623db70d0c9047f"
ARRAYS_SHA256 = "0184cea16d527edd35de163649f0b98e397db1366874689f06aa7e5d4a153202"
FASHION_SHA256 = "e1c7aff56ec6a8d89ddd1c7f2febce2156c1ca33b6b3f3e2bcfa0b51c5ec928d"
SHAPES = dict(zip(mnist.FILES.values(), ((6, 28, 28), (6,), (4, 28, 28), (4,)), strict=True))


@pytest.mark.slow
def test_the_twins_are_the_same_everywhere_and_not_each_others() -> None:
    twin = mnist.load(None)
    assert (twin.source, twin.checksum) == ("synthetic", MNIST_SHA256)
    assert digest_of(twin.x_train, twin.y_train, twin.x_test, twin.y_test) == ARRAYS_SHA256
    assert is_aligned(twin.x_train)
    assert is_aligned(twin.x_test)
    assert fashion_mnist.load(None).checksum == FASHION_SHA256


def made_up() -> dict[str, bytes]:
    """Return unpacked files whose every value shows its place."""
    files = {}
    for number, (name, shape) in enumerate(SHAPES.items()):
        kinds, start = (10, 0) if len(shape) == 1 else (251, number)
        values = np.resize(np.arange(start, start + kinds, dtype=np.uint8), math.prod(shape))
        header = (0x0800 + len(shape), *shape)
        files[name] = b"".join(part.to_bytes(4, "big") for part in header) + values.tobytes()
    return files


RAW = made_up()


def pack(folder: Path, files: Mapping[str, bytes], level: int = 1) -> list[Path]:
    for name, content in files.items():
        (folder / name).write_bytes(gzip.compress(content, level))
    return [folder / name for name in files]


def test_files_are_read_value_by_value(tmp_path: Path) -> None:
    found = mnist.load(store(mnist, tmp_path, *pack(tmp_path, RAW)))
    assert (found.source, found.checksum) == ("real", hashlib.sha256(b"".join(RAW.values())).hexdigest())
    for images, labels, shift in ((found.x_train, found.y_train, 0), (found.x_test, found.y_test, 2)):
        values = np.resize(np.arange(shift, shift + 251, dtype=np.uint8), images.size) / np.float32(255)
        assert np.array_equal(images, values.reshape(len(labels), 28, 28, 1))
        assert np.array_equal(labels, np.arange(len(labels)) % 10)
        assert (images.dtype.name, labels.dtype.name, is_aligned(images)) == ("float32", "int32", True)


@pytest.fixture
def official(monkeypatch: pytest.MonkeyPatch) -> None:
    digests = {name: hashlib.sha256(content).hexdigest() for name, content in RAW.items()}
    monkeypatch.setattr(fashion_mnist, "CONTENTS", digests)


@pytest.mark.usefixtures("official")
def test_fashion_mnist_is_known_by_its_contents_however_it_is_packed(tmp_path: Path) -> None:
    for level in (1, 9):
        file = store(fashion_mnist, tmp_path, *pack(tmp_path, RAW, level))
        assert fashion_mnist.load(file).x_test.shape == (4, 28, 28, 1)


LABELS = mnist.FILES["y_train"]
PACKED = gzip.compress(RAW[LABELS])


@pytest.mark.usefixtures("official")
@pytest.mark.parametrize(
    "content",
    [
        RAW[LABELS],
        b"",
        PACKED[:5],
        PACKED[:-9],
        PACKED[:-8] + bytes(8),
        PACKED[:10] + b"\xff" * 30,
        gzip.compress(RAW[LABELS][:-1]),
        gzip.compress(RAW[LABELS] + b"x"),
    ],
    ids=["not packed", "empty", "cut header", "cut", "wrong checksum", "damaged", "shorter", "longer"],
)
def test_an_unofficial_file_is_named(tmp_path: Path, content: bytes) -> None:
    files = pack(tmp_path, RAW)
    (tmp_path / LABELS).write_bytes(content)
    with pytest.raises(UnofficialFileError, match=LABELS):
        store(fashion_mnist, tmp_path, *files)
