"""Penn Treebank as words: the twin, texts that pass for the real ones, and files that are something else."""

import hashlib
from itertools import pairwise
from pathlib import Path

import numpy as np  # noqa: TID253 - these tests are about arrays
import pytest

from tests.archives import digest_of, store
from workloads.datasets import ptb
from workloads.datasets.ptb import Words
from workloads.datasets.source import UnofficialFileError

TWIN_SHA256 = "e09230104f479b812a84eaad9e02c2b14b77dacf242c145e1fe86b66974f42ad"
ARRAYS_SHA256 = "4ba404e337e50dea003eb0c48de189aac7dcebafda802ae248331d0f65770b2e"


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
    assert (twin.vocabulary, twin.end) == (10_000, 0)
    assert digest_of(twin.train, twin.valid, twin.test, *twin.sentences) == ARRAYS_SHA256


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
