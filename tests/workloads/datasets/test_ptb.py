"""Penn Treebank as words: the twin, texts that pass for the real ones, and files that are something else."""

import hashlib
from collections import Counter
from itertools import pairwise
from pathlib import Path

import numpy as np  # noqa: TID253 - these tests are about arrays
import pytest

from tests.archives import store
from workloads.datasets import ptb
from workloads.datasets.ptb import Words
from workloads.datasets.source import UnofficialFileError

TWIN_SHA256 = "e09230104f479b812a84eaad9e02c2b14b77dacf242c145e1fe86b66974f42ad"
TOKENS, LINES = (929_589, 73_760, 82_430), (42_068, 3_370, 3_761)


@pytest.fixture(scope="module")
def twin() -> Words:
    return ptb.load(None)


@pytest.fixture(scope="module")
def texts(twin: Words) -> dict[str, bytes]:
    """Files like the real ones, of the twin's words: a blank before and after each sentence."""
    names = [f"w{number}" for number in range(10_000)]
    names[1], names[2] = "<unk>", "schön"
    files = {}
    for name, ids, offsets in zip(ptb.FILES, (twin.train, twin.valid, twin.test), twin.sentences, strict=True):
        words = [names[number] for number in ids.tolist()]
        lines = [" ".join(words[start : end - 1]) for start, end in pairwise(offsets.tolist())]
        files[name] = "".join(f" {line} \n" for line in lines).encode()
    return files


@pytest.fixture
def official(texts: dict[str, bytes], monkeypatch: pytest.MonkeyPatch) -> dict[str, bytes]:
    md5 = {name: hashlib.md5(raw, usedforsecurity=False).hexdigest() for name, raw in texts.items()}
    monkeypatch.setattr(ptb, "MD5", md5)
    return texts


def stored(files: dict[str, bytes], folder: Path) -> Path:
    for name, raw in files.items():
        (folder / name).write_bytes(raw)
    return store(ptb, folder, *(folder / name for name in files))


def test_the_twin_is_the_same_everywhere(twin: Words) -> None:
    assert (twin.source, twin.checksum) == ("synthetic", TWIN_SHA256)


def test_the_twin_has_the_words_and_sentences_of_the_real_text(twin: Words) -> None:
    assert twin.vocabulary == 10_000
    parts = zip((twin.train, twin.valid, twin.test), twin.sentences, TOKENS, LINES, strict=True)
    for ids, offsets, tokens, lines in parts:
        assert (ids.dtype.name, offsets.dtype.name) == ("int32", "int64")
        assert (len(ids), len(offsets)) == (tokens, lines + 1)
        assert (int(offsets[0]), int(offsets[-1])) == (0, tokens)
        assert (ids == twin.end).sum() == lines
        assert (ids[offsets[1:] - 1] == twin.end).all()
        lengths = np.diff(offsets)
        assert lengths.min() > 1
        assert 35 < lengths.max() < 90
    counts = np.bincount(twin.train, minlength=10_000)
    assert (len(counts), bool(counts.min() > 0)) == (10_000, True)
    share = counts / len(twin.train)
    assert 0.03 < share[1] < 0.06
    assert share[1:11].sum() > 0.15
    assert share[5_000:].sum() < 0.15


@pytest.mark.slow
def test_the_twins_next_word_can_be_foreseen_better_than_from_its_frequency(twin: Words) -> None:
    counts: dict[int, Counter[int]] = {}
    for word, then in pairwise(twin.train.tolist()):
        counts.setdefault(word, Counter())[then] += 1
    usual = {word: found.most_common(1)[0][0] for word, found in counts.items()}
    asked = twin.test.tolist()
    right = sum(usual[word] == then for word, then in pairwise(asked)) / len(asked)
    assert max(Counter(asked).values()) / len(asked) < 0.06
    assert 0.1 < right < 0.6


@pytest.mark.slow
def test_real_texts_become_word_numbers_by_frequency(official: dict[str, bytes], tmp_path: Path) -> None:
    found = ptb.load(stored(official, tmp_path))
    assert (found.source, found.vocabulary) == ("real", 10_000)
    for ids, offsets, raw in zip(
        (found.train, found.valid, found.test), found.sentences, official.values(), strict=True
    ):
        expected = raw.decode().replace("\n", "<eos>").split()
        assert (ids.dtype.name, offsets.dtype.name) == ("int32", "int64")
        # The same words have the same numbers.
        assert len(set(zip(ids.tolist(), expected, strict=True))) == len(set(expected)) == len(np.unique(ids))
        assert np.array_equal(np.flatnonzero(ids == found.end) + 1, offsets[1:])
    counts = np.bincount(found.train)
    assert (np.diff(counts) <= 0).all()
    assert found.checksum == hashlib.sha256(b"".join(official.values())).hexdigest()


def test_another_text_is_refused_by_name(official: dict[str, bytes], tmp_path: Path) -> None:
    for raw in (b"\xe9" + official["ptb.test.txt"], b"", official["ptb.test.txt"].replace(b"w3", b"w4", 1)):
        with pytest.raises(UnofficialFileError, match=r"ptb\.test\.txt"):
            stored(official | {"ptb.test.txt": raw}, tmp_path)
