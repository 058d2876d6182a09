"""The book as characters: the twin, a text that passes for the real one, and files that are something else."""

from collections import Counter
from itertools import pairwise
from pathlib import Path

import numpy as np  # noqa: TID253 - these tests are about arrays
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.workloads.datasets.refusals import refusing
from workloads.datasets import nietzsche
from workloads.datasets.nietzsche import Text
from workloads.datasets.source import HostileArchiveError, MissingDataError

TWIN_SHA256 = "98c117aca76ef43d91daa4d03e45fdb99e873099f8e0b0fe9ec61849638bd636"
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


def install(raw: bytes, folder: Path) -> None:
    path = folder.parent / "any name.txt"
    path.write_bytes(raw)
    nietzsche.install({"nietzsche.txt": path}, folder)


def test_the_twin_is_the_same_everywhere(twin: Text) -> None:
    assert (twin.source, twin.checksum) == ("synthetic", TWIN_SHA256)


def test_the_twin_has_the_characters_and_symbols_of_the_real_text(twin: Text) -> None:
    assert (len(twin.ids), twin.ids.dtype.name) == (600_893, "uint8")
    assert twin.symbols == SYMBOLS
    assert np.bincount(twin.ids, minlength=57).min() > 0
    assert int(twin.ids.max()) == 56


@pytest.mark.slow
def test_the_twins_next_character_can_be_foreseen_but_not_always(twin: Text) -> None:
    known, asked = twin.ids[:500_000].tolist(), twin.ids[500_000:].tolist()
    counts: dict[tuple[int, int], Counter[int]] = {}
    for pair, then in zip(pairwise(known), known[2:], strict=False):
        counts.setdefault(pair, Counter())[then] += 1
    usual = {pair: found.most_common(1)[0][0] for pair, found in counts.items()}
    right = sum(usual.get(pair) == then for pair, then in zip(pairwise(asked), asked[2:], strict=False))
    assert max(Counter(asked).values()) < 0.2 * len(asked)
    assert 0.4 * len(asked) < right < 0.9 * len(asked)


def test_there_are_as_many_windows_as_the_study_had(twin: Text) -> None:
    inputs, targets = nietzsche.windows(twin.ids)
    assert (inputs.shape, targets.shape) == ((200_285, 40), (200_285,))
    assert (inputs.dtype.name, targets.dtype.name) == ("uint8", "uint8")
    assert (inputs.flags.c_contiguous, targets.flags.c_contiguous) == (True, True)


@given(st.binary(max_size=60), st.integers(1, 12), st.integers(1, 5))
def test_windows_are_those_of_the_studys_loop(raw: bytes, length: int, stride: int) -> None:
    ids = np.frombuffer(raw, np.uint8)
    inputs, targets = nietzsche.windows(ids, length, stride)
    starts = range(0, len(raw) - length, stride)
    assert inputs.shape == (len(starts), length)
    assert [bytes(row) for row in inputs] == [raw[start : start + length] for start in starts]
    assert targets.tolist() == [raw[start + length] for start in starts]


def test_a_real_text_is_read_in_lower_case(book: bytes, folder: Path) -> None:
    assert not nietzsche.is_installed(folder)
    install(book, folder)
    assert nietzsche.is_installed(folder)
    found = nietzsche.load(folder)
    assert (found.source, found.symbols) == ("real", SYMBOLS)
    assert "".join(found.symbols[number] for number in found.ids) == book.decode().lower()
    assert found.checksum != TWIN_SHA256


def test_another_text_is_refused(book: bytes, folder: Path) -> None:
    a = book.replace(b"z", b"Y")
    for raw, reason in (
        (book[:-1], "size_bytes=600900 expected_bytes=600901"),
        (book + b"x", "size_bytes=600902 expected_bytes=600901"),
        (b"", "size_bytes=0 "),
        (b"\xff" + book[1:], "text.not_utf8 position=0"),
        (a, "found=600893 kinds=56 expected=600893 expected_kinds=57"),
        (book[:-1] + b"@", "found=600893 kinds=58"),
        (book[:-2] + "é".encode(), "found=600892 kinds=57"),
    ):
        with refusing(HostileArchiveError, reason):
            install(raw, folder)
        assert list(folder.iterdir()) == []


def test_a_text_that_was_changed_is_not_called_real(book: bytes, folder: Path) -> None:
    install(book, folder)
    (folder / "nietzsche.txt").write_bytes(book[:-1] + b"!")
    assert nietzsche.is_installed(folder)
    with refusing(MissingDataError, "installed.changed title=Nietzsche"):
        nietzsche.load(folder)
    (folder / "nietzsche.txt").write_bytes(book[:-1])
    assert not nietzsche.is_installed(folder)
