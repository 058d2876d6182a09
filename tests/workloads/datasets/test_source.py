"""The file in which a data set is stored: a damaged one is called so, and is never taken for the data."""

import io
from collections.abc import Callable
from pathlib import Path

import numpy as np  # noqa: TID253 - these tests are about arrays
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.archives import FILE, make_archive, store
from workloads.datasets import cifar10
from workloads.datasets.source import Arrays, DamagedDataError


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("whole")
    return store(cifar10, folder, make_archive(folder / FILE))


def as_file(save: Callable[..., None], *arrays: object, **named: object) -> bytes:
    file = io.BytesIO()
    save(file, *arrays, **named)
    return file.getvalue()


def same(one: Arrays, other: Arrays) -> bool:
    pairs = ((one.x_train, other.x_train), (one.y_train, other.y_train), (one.x_test, other.x_test))
    return all(np.array_equal(*pair) for pair in pairs) and one.checksum == other.checksum


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"no archive",
        as_file(np.save, np.arange(3)),
        as_file(np.savez, x_train=np.arange(3)),
        as_file(np.savez, x_train=np.array([object()])),
    ],
    ids=["empty", "another kind", "an array", "other arrays", "objects"],
)
def test_another_file_is_called_damaged(tmp_path: Path, content: bytes) -> None:
    file = cifar10.SOURCE.stored_in(tmp_path)
    file.write_bytes(content)
    with pytest.raises(DamagedDataError):
        cifar10.load(file)


@given(st.floats(0, 1, exclude_max=True), st.integers(1, 255), st.booleans())
def test_a_file_that_was_cut_or_changed_anywhere_is_called_damaged(
    whole: Path, place: float, change: int, cut: bool
) -> None:
    raw = bytearray(whole.read_bytes())
    at = int(place * len(raw))
    raw[at] ^= change
    spoilt = whole.with_name("spoilt.npz")
    spoilt.write_bytes(raw[:at] if cut else raw)
    try:
        found = cifar10.load(spoilt)
    except DamagedDataError:
        return
    assert same(found, cifar10.load(whole)), "only what describes the arrays was changed"
