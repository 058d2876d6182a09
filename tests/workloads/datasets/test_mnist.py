"""The two data sets of IDX files: their twins, real files pixel by pixel, and files that are something else."""

import gzip
import hashlib
import math
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np  # noqa: TID253 - these tests are about arrays
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray  # noqa: TID253 - as above

from tests.workloads.datasets.refusals import refusing
from workloads.datasets import fashion_mnist, idx, mnist
from workloads.datasets.source import Arrays, HostileArchiveError, MissingDataError, UnfitError, is_aligned

MNIST_SHA256 = "fa885c541b36c7ee120f2facb376d9b493c1700ee993ecfd5623db70d0c9047f"
FASHION_SHA256 = "e1c7aff56ec6a8d89ddd1c7f2febce2156c1ca33b6b3f3e2bcfa0b51c5ec928d"
TRAIN_IMAGES, TRAIN_LABELS, TEST_IMAGES, TEST_LABELS = idx.SHAPES
SMALL = {TRAIN_IMAGES: (6, 28, 28), TRAIN_LABELS: (6,), TEST_IMAGES: (4, 28, 28), TEST_LABELS: (4,)}


@pytest.fixture(scope="module")
def twin() -> Arrays:
    return mnist.load(None)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(idx, "SHAPES", SMALL)


def as_idx(values: NDArray[np.uint8]) -> bytes:
    mark = 0x0800 + values.ndim
    return b"".join(number.to_bytes(4, "big") for number in (mark, *values.shape)) + values.tobytes()


def made_up(shapes: Mapping[str, tuple[int, ...]]) -> dict[str, bytes]:
    """Return files whose every value shows its place."""
    files = {}
    for number, (name, shape) in enumerate(shapes.items()):
        kinds, start = (10, 0) if len(shape) == 1 else (251, number)
        values = np.resize(np.arange(start, start + kinds, dtype=np.uint8), math.prod(shape))
        files[name] = as_idx(values.reshape(shape))
    return files


def pack(folder: Path, files: Mapping[str, bytes], **changed: bytes) -> dict[str, Path]:
    """Write the packed files; `changed` ones as they are, by what they hold (train_labels=…)."""
    paths = {}
    for name, content in files.items():
        key = "_".join(name.split("-")[:2])
        paths[name] = folder / name
        paths[name].write_bytes(changed.get(key) or gzip.compress(content, 1))
    return paths


@pytest.mark.slow
def test_the_twins_are_the_same_everywhere_and_not_each_others(twin: Arrays) -> None:
    assert (twin.source, twin.checksum) == ("synthetic", MNIST_SHA256)
    assert fashion_mnist.load(None).checksum == FASHION_SHA256


@pytest.mark.slow
def test_the_twin_has_the_shapes_types_and_range_of_the_real_data(twin: Arrays) -> None:
    assert (twin.x_train.shape, twin.y_train.shape) == ((60_000, 28, 28, 1), (60_000,))
    assert (twin.x_test.shape, twin.y_test.shape) == ((10_000, 28, 28, 1), (10_000,))
    for images, labels in ((twin.x_train, twin.y_train), (twin.x_test, twin.y_test)):
        assert (images.dtype.name, labels.dtype.name) == ("float32", "int32")
        assert is_aligned(images)
        assert images.min() >= 0
        assert 0.9 < images.max() <= 1
        shares = np.bincount(labels, minlength=10) / len(labels)
        assert (shares.shape, bool((abs(shares - 0.1) < 0.01).all())) == ((10,), True)


def test_the_twin_can_be_learnt_but_not_without_error(twin: Arrays) -> None:
    known, labels = twin.x_train[:10_000].reshape(-1, 784), twin.y_train[:10_000]
    means = np.stack([known[labels == kind].mean(axis=0) for kind in range(10)])
    scores = twin.x_test.reshape(-1, 784) @ means.T - (means**2).sum(axis=1) / 2
    assert 0.8 < (scores.argmax(axis=1) == twin.y_test).mean() < 0.999


@pytest.mark.slow
def test_files_of_the_official_size_are_installed_and_read_value_by_value(tmp_path: Path, folder: Path) -> None:
    files = made_up(idx.SHAPES)
    mnist.install(pack(tmp_path, files), folder)
    assert mnist.is_installed(folder)
    found = mnist.load(folder)
    assert found.source == "real"
    assert found.checksum == hashlib.sha256(b"".join(files.values())).hexdigest()
    for images, labels, shift in ((found.x_train, found.y_train, 0), (found.x_test, found.y_test, 2)):
        assert is_aligned(images)
        assert images.shape == (len(labels), 28, 28, 1)
        for number, row, column in ((0, 0, 0), (0, 3, 17), (1, 27, 27), (len(images) - 1, 27, 26)):
            value = (number * 784 + row * 28 + column) % 251 + shift
            assert images[number, row, column, 0] == np.float32(value) / np.float32(255)
        assert np.array_equal(labels, np.arange(len(labels)) % 10)


RAW = made_up(SMALL)
LABELS = RAW[TRAIN_LABELS]
PACKED = gzip.compress(LABELS)
NOT_LABELS: dict[str, tuple[bytes, str]] = {
    "no gzip": (LABELS, "archive.damaged"),
    "cut": (PACKED[:-9], "archive.damaged"),
    "cut header": (PACKED[:5], "archive.damaged"),
    "wrong checksum": (PACKED[:-8] + bytes(8), "archive.damaged"),
    "damaged inside": (PACKED[:10] + b"\xff" * 30, "archive.damaged"),
    "rubbish behind": (PACKED + b"rubbish", "archive.damaged"),
    "a second part": (PACKED + gzip.compress(b"x"), "expected_bytes=14"),
    "too much": (gzip.compress(LABELS + b"\0"), "expected_bytes=14"),
    "bomb": (gzip.compress(bytes(5_000_000), 9), "expected_bytes=14"),
    "too little": (gzip.compress(LABELS[:-1]), "size_bytes=13 expected_bytes=14"),
    "nothing": (gzip.compress(b""), "size_bytes=0 expected_bytes=14"),
    "images' mark": (gzip.compress(b"\0\0\x08\x03" + LABELS[4:]), "idx.short_header"),
    "floats": (gzip.compress(b"\0\0\x0d\x01" + LABELS[4:]), "idx.bad_mark found=00000d01"),
    "zip": (gzip.compress(b"PK\x03\x04" + LABELS[4:]), "idx.bad_mark found=504b0304"),
    "count": (gzip.compress(b"\0\0\x08\x01\0\0\0\x07" + LABELS[8:]), "idx.other_shape found=7 expected=6"),
    "label": (gzip.compress(LABELS[:-1] + b"\x0a"), "idx.bad_label highest=9"),
}
TURNED = gzip.compress(as_idx(np.zeros((28, 28, 6), np.uint8)))
HOSTILE: dict[str, tuple[str, bytes, str]] = {
    **{name: ("train_labels", content, reason) for name, (content, reason) in NOT_LABELS.items()},
    "turned": ("train_images", TURNED, "idx.other_shape found=28 × 28 × 6 expected=6 × 28 × 28"),
    "swapped": ("t10k_images", gzip.compress(RAW[TRAIN_IMAGES]), "expected_bytes=3152"),
}


@pytest.mark.parametrize(("key", "content", "reason"), HOSTILE.values(), ids=HOSTILE)
@pytest.mark.usefixtures("small")
def test_a_hostile_file_is_refused_by_name(
    tmp_path: Path, folder: Path, key: str, content: bytes, reason: str
) -> None:
    files = pack(tmp_path, RAW, **{key: content})
    with refusing(HostileArchiveError, rf"file={key.replace('_', '-')}-idx\d-ubyte\.gz.*{reason}"):
        mnist.install(files, folder)
    assert not mnist.is_installed(folder)


@pytest.mark.usefixtures("small")
def test_a_file_cut_anywhere_is_refused(tmp_path: Path, folder: Path) -> None:
    whole = gzip.compress(LABELS)
    for end in range(len(whole)):
        files = pack(tmp_path, RAW, train_labels=whole[:end] or b"\0")
        with refusing(HostileArchiveError, "file=train-labels"):
            mnist.install(files, folder)


@pytest.mark.usefixtures("small")
def test_a_data_set_is_installed_only_with_all_its_files(tmp_path: Path, folder: Path) -> None:
    assert not mnist.is_installed(folder)
    mnist.install(pack(tmp_path, RAW), folder)
    for path in list(folder.iterdir()):
        content = path.read_bytes()
        path.unlink()
        assert not mnist.is_installed(folder), path.name
        path.write_bytes(content)
        assert mnist.is_installed(folder)
    (folder / "t10k-labels.idx").write_bytes(b"short")
    assert not mnist.is_installed(folder)


def spoil(path: Path, at: int, value: int) -> None:
    raw = bytearray(path.read_bytes())
    raw[at] = value
    path.write_bytes(raw)


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])


CHANGED = "installed.changed title=MNIST"
CHANGES: dict[str, tuple[Callable[[Path], object], str]] = {
    "pixel": (lambda folder: spoil(folder / "train-images.idx", 2000, 255), CHANGED),
    "label": (lambda folder: spoil(folder / "train-labels.idx", 9, 77), "file=train-labels.idx .*idx.bad_label"),
    "mark": (lambda folder: spoil(folder / "t10k-labels.idx", 2, 9), "file=t10k-labels.idx .*idx.bad_mark"),
    "cut": (lambda folder: cut(folder / "t10k-images.idx"), "idx.other_length found=3135"),
    "gone": (lambda folder: (folder / "t10k-images.idx").unlink(), "installed.unreadable file=t10k-images.idx"),
    "checksum gone": (lambda folder: (folder / "contents.sha256").unlink(), CHANGED),
}


@pytest.mark.parametrize(("change", "reason"), CHANGES.values(), ids=CHANGES)
@pytest.mark.usefixtures("small")
def test_files_that_were_changed_are_not_called_real(
    tmp_path: Path, folder: Path, change: Callable[[Path], object], reason: str
) -> None:
    mnist.install(pack(tmp_path, RAW), folder)
    assert mnist.load(folder).source == "real"
    change(folder)
    with refusing(MissingDataError, reason):
        mnist.load(folder)


@pytest.mark.usefixtures("small")
def test_fashion_mnist_is_known_by_its_contents_however_it_is_packed(
    tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    digests = {name: hashlib.sha256(content).hexdigest() for name, content in RAW.items()}
    monkeypatch.setattr(fashion_mnist, "CONTENTS", digests)
    other = RAW[TEST_IMAGES][:-1] + b"\0"
    with refusing(HostileArchiveError, "archive.other_data file=t10k-images-idx3-ubyte.gz"):
        fashion_mnist.install(pack(tmp_path, RAW, t10k_images=gzip.compress(other)), folder)
    fashion_mnist.install(pack(tmp_path, RAW, t10k_images=gzip.compress(RAW[TEST_IMAGES], 9)), folder)
    assert fashion_mnist.load(folder).x_test.shape == (4, 28, 28, 1)


@given(st.lists(st.integers(0, 2**32 - 1), max_size=255), st.binary(max_size=8))
def test_any_dimensions_are_read_back(shape: list[int], rest: bytes) -> None:
    header = b"\0\0\x08" + bytes([len(shape)]) + b"".join(size.to_bytes(4, "big") for size in shape)
    assert idx.parse_shape(header + rest) == tuple(shape)
    assert idx.header_bytes(tuple(shape)) == len(header)
    with refusing(UnfitError, "^idx.(short_header|bad_mark)"):
        idx.parse_shape(header[:-1])


@given(st.binary(max_size=40), st.sampled_from([b"", b"\0\0\x08", b"\0\0\x08\x01", b"\0\0\x08\x03"]))
def test_no_contents_make_parsing_fail_otherwise(noise: bytes, mark: bytes) -> None:
    raw = mark + noise
    if raw[:3] == b"\0\0\x08" and len(raw) > 3 and len(raw) >= 4 + 4 * raw[3]:
        assert len(idx.parse_shape(raw)) == raw[3]
    else:
        with refusing(UnfitError, "^idx.(bad_mark|short_header|empty)"):
            idx.parse_shape(raw)
