"""The book as characters: the twin, a text that passes for the real one, and files that are something else."""

import hashlib
from pathlib import Path

import numpy as np  # noqa: TID253 - these tests are about arrays
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.archives import digest_of, store
from workloads.datasets import nietzsche
from workloads.datasets.nietzsche import Text
from workloads.datasets.source import UnofficialFileError

TWIN_SHA256 = "98c117aca76ef43d91daa4d03e45fdb99e873099f8e0b0fe9ec61849638bd636"
ARRAYS_SHA256 = "266b6605749d296d1f09e20efa8a62680c00a76a7dc164f34b385950bf6e1767"
SYMBOLS = "\n !\"'(),-.0123456789:;=?[]_abcdefghijklmnopqrstuvwxyzäæéë"


@pytest.fixture(scope="module")
def twin() -> Text:
    return nietzsche.load(None)


@pytest.fixture(scope="module")
def book(twin: Text) -> bytes:
    text = "".join(twin.symbols[number] for number in twin.ids)
    for letter, plain in zip("äæéë", "aaee", strict=True):
        text = text.replace(letter, plain)
    raw = ("ÄæéëäÆÉË" + text[8:]).encode()
    assert len(raw) == 600_901
    return raw


def stored(raw: bytes, folder: Path) -> Path:
    (folder / "nietzsche.txt").write_bytes(raw)
    return store(nietzsche, folder, folder / "nietzsche.txt")


def test_the_twin_is_the_same_everywhere(twin: Text) -> None:
    assert (twin.source, twin.checksum, twin.symbols) == ("synthetic", TWIN_SHA256, SYMBOLS)
    assert digest_of(twin.ids) == ARRAYS_SHA256
    inputs, targets = nietzsche.windows(twin.ids)  # as many as the study had
    assert (inputs.shape, targets.shape) == ((200_285, 40), (200_285,))
    assert (inputs.flags.c_contiguous, targets.flags.c_contiguous) == (True, True)


@given(st.binary(max_size=60), st.integers(1, 12), st.integers(1, 5))
def test_windows_are_those_of_the_studys_loop(raw: bytes, length: int, stride: int) -> None:
    ids = np.frombuffer(raw, np.uint8)
    inputs, targets = nietzsche.windows(ids, length, stride)
    starts = range(0, len(raw) - length, stride)
    assert inputs.shape == (len(starts), length)
    assert [bytes(row) for row in inputs] == [raw[start : start + length] for start in starts]
    assert targets.tolist() == [raw[start + length] for start in starts]


def test_a_real_text_is_read_in_lower_case(book: bytes, tmp_path: Path) -> None:
    found = nietzsche.load(stored(book, tmp_path))
    assert (found.source, found.symbols, found.ids.dtype.name) == ("real", SYMBOLS, "uint8")
    assert "".join(found.symbols[number] for number in found.ids) == book.decode().lower()
    assert found.checksum == hashlib.sha256(book).hexdigest()


def test_another_text_is_refused(book: bytes, tmp_path: Path) -> None:
    for raw in (
        book[:-1],
        book + b"x",
        b"",
        b"\xff" + book[1:],
        book.replace(b"z", b"Y"),
        book[:-1] + b"@",
        book[:-2] + "é".encode(),
        book.replace(b"a", "é".encode(), 1),
    ):
        with pytest.raises(UnofficialFileError, match=r"nietzsche\.txt"):
            stored(raw, tmp_path)
