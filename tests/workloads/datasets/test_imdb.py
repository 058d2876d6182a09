"""Film reviews: the twin, real ones number by number, pairs of words, and archives that are something else."""

import hashlib
import random
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np  # noqa: TID253 - these tests are about arrays
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray  # noqa: TID253 - as above

from tests.archives import digest_of, pack, store
from workloads.datasets import imdb
from workloads.datasets.imdb import Reviews

TWIN_SHA256 = "2656396f2f1340b69e16f4dd3b59693d4ec7483498146ef69f8b37b8c6e240d9"
ARRAYS_SHA256 = "52613e86543e682c3131939d970649d8b389958ab01f7a0e9d3f6b0c02747671"
FILE = imdb.SOURCE.files[0].name
TEXTS = {
    "train/neg": ["Bad, bad film.", "It's a bad film", "so<br /><br />boring"],
    "train/pos": ["A GOOD film!", "good\r\n'good' good", "Das war schön …"],
    "test/neg": ["a bad idea", "dull\u0085dull\u2028dull", ""],
    "test/pos": ["schön good", "a film", "4 out of 5"],
}
MEMBERS = {
    f"aclImdb/{place}/{number}_{7 + number}.txt": text.encode()
    for place, texts in TEXTS.items()
    for number, text in enumerate(texts)
}


def reviews_of(texts: Sequence[Sequence[int]], others: Sequence[Sequence[int]] = (), words: int = 10) -> Reviews:
    def flat(parts: Sequence[Sequence[int]]) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.int32]]:
        ids = np.array([number for part in parts for number in part], np.int32)
        return ids, np.cumsum([0, *map(len, parts)], dtype=np.int64), np.zeros(len(parts), np.int32)

    return Reviews(*flat(texts), *flat(others), words=words, vocabulary=words, source="synthetic", checksum="")


def sequences(ids: NDArray[np.int32], offsets: NDArray[np.int64]) -> list[list[int]]:
    return [ids[start:end].tolist() for start, end in pairwise(offsets.tolist())]


@pytest.mark.slow
def test_the_twin_is_the_same_everywhere() -> None:
    twin = imdb.load(None)
    assert (twin.source, twin.checksum) == ("synthetic", TWIN_SHA256)
    assert (twin.words, twin.vocabulary) == (20_000, 20_000)
    train, test = (twin.train_ids, twin.train_offsets, twin.train_labels), (twin.test_ids, twin.test_offsets)
    assert digest_of(*train, *test, twin.test_labels) == ARRAYS_SHA256


def naive_pairs(
    texts: Sequence[Sequence[int]], others: Sequence[Sequence[int]], words: int
) -> list[list[list[int]]]:
    known = sorted({pair for text in texts for pair in pairwise(text)})
    numbers = {pair: number for number, pair in enumerate(known, start=words + 1)}
    return [
        [[*text, *(numbers[pair] for pair in pairwise(text) if pair in numbers)] for text in part]
        for part in (texts, others)
    ]


texts_of_ids = st.lists(st.lists(st.integers(1, 5), max_size=6), max_size=6)


@given(texts_of_ids, texts_of_ids)
def test_pairs_are_numbered_as_a_dictionary_would(texts: list[list[int]], others: list[list[int]]) -> None:
    found = imdb.with_bigrams(reviews_of(texts, others))
    train, test = naive_pairs(texts, others, words=10)
    assert sequences(found.train_ids, found.train_offsets) == train
    assert sequences(found.test_ids, found.test_offsets) == test
    assert found.vocabulary == max([10, *(number for text in train for number in text)]) + 1
    assert (found.train_ids.dtype.name, found.test_offsets.dtype.name) == ("int32", "int64")


@given(texts_of_ids, st.integers(1, 8))
def test_reviews_are_filled_up_and_cut_in_front(texts: list[list[int]], length: int) -> None:
    reviews = reviews_of(texts)
    found = imdb.padded(reviews.train_ids, reviews.train_offsets, length)
    assert (found.shape, found.dtype.name) == ((len(texts), length), "int32")
    assert found.tolist() == [([0] * length + text)[-length:] for text in texts]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("It's GOOD, isn't it?", ["it's", "good", "isn't", "it"]),
        ("'tis 'quoted' rock'n'roll'", ["tis", "quoted", "rock'n'roll"]),
        ("snake_case - 7.5/10 …", ["snake", "case", "7", "5", "10"]),
        ("ÜBER naïve 東京", ["über", "naïve", "東京"]),
        ("<br />\n\t ''", ["br"]),
    ],
)
def test_words_are_letters_digits_and_inner_apostrophes(text: str, words: list[str]) -> None:
    assert imdb.words_of(text) == words


OTHERS = (
    "../escaped",
    "other/aclImdb/train/pos/9_1.txt",
    "aclImdb/train/unsup/0_0.txt",
    "aclImdb/train/pos/../neg/9_1.txt",
    "aclImdb/train/pos/readme.txt",
    "aclImdb/train/pos/9_1.txt.gz",
    "aclImdb/train/pos/٣_1.txt",
)


def test_real_reviews_become_the_numbers_of_keras(tmp_path: Path) -> None:
    shuffled = list((MEMBERS | dict.fromkeys(OTHERS, b"other")).items())
    random.Random(1).shuffle(shuffled)
    found = imdb.load(store(imdb, tmp_path, pack(tmp_path / FILE, dict(shuffled))), words=9)
    # In the training reviews: good 4 times, bad 3, film 3, a 2; each other word once, of which "boring" is first.
    numbers = {"good": 4, "bad": 5, "film": 6, "a": 7, "boring": 8}
    for split, ids, offsets, labels in (
        ("train", found.train_ids, found.train_offsets, found.train_labels),
        ("test", found.test_ids, found.test_offsets, found.test_labels),
    ):
        expected = [
            ([1, *(numbers.get(word, 2) for word in imdb.words_of(text.replace("<br />", " ")))], label)
            for label, kind in enumerate(("neg", "pos"))
            for text in TEXTS[f"{split}/{kind}"]
        ]
        assert sorted(zip(sequences(ids, offsets), labels.tolist(), strict=True)) == sorted(expected)
        assert (ids.dtype.name, offsets.dtype.name, labels.dtype.name) == ("int32", "int64", "int32")
        assert sorted(labels.tolist()) != labels.tolist(), "they are mixed"
    assert (found.source, found.words, found.vocabulary) == ("real", 9, 9)


def test_the_checksum_is_of_the_reviews_one_a_line_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    numbers = (2, 9, 10)  # as text, they have another order
    members = {
        f"aclImdb/{place}/{number}_1.txt": text.encode()
        for place, texts in TEXTS.items()
        for number, text in zip(numbers, texts, strict=True)
    }
    found = imdb.load(store(imdb, tmp_path, pack(tmp_path / FILE, dict(reversed(members.items())))))
    lines = (
        "Bad, bad film.\nIt's a bad film\nso boring\n"
        "A GOOD film!\ngood 'good' good\nDas war schön …\n"
        "a bad idea\ndull dull dull\n\n"
        "schön good\na film\n4 out of 5\n"
    )
    assert found.checksum == hashlib.sha256(lines.encode()).hexdigest()
