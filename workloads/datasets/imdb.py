"""50,000 film reviews from the official archive as word ids, and a synthetic twin.

Reads local files, never the network. As in Keras, a review starts with 1, 2 replaces rare words, 0 is padding, and
a word's id is its frequency rank in the training reviews plus 3.
"""

import hashlib
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from workloads.datasets import twins
from workloads.datasets.source import DatasetSource, Origin, SourceFile, members, stored

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

SOURCE = DatasetSource(
    id="imdb",
    title="IMDb reviews",
    files=(
        SourceFile(
            "aclImdb_v1.tar.gz",
            url="http://ai.stanford.edu/~amaas/data/sentiment/aclImdb_v1.tar.gz",
            size_bytes=84_125_825,
            sha256="c40f74a18d3b61f90feba1e17730e0d38e8b97c05fde7008942e91923d1658fe",
        ),
    ),
    citation="Maas et al., Learning Word Vectors for Sentiment Analysis, 2011",
    licence="none stated; research use with citation",
)
SPLITS, LABELS = ("train", "test"), ("neg", "pos")  # a label is an index into LABELS
START, UNKNOWN, FIRST_WORD = 1, 2, 4
_REVIEWS_PER_SPLIT = 25_000
_MEMBER = re.compile(r"aclImdb/(train|test)/(neg|pos)/(\d+)_\d+\.txt", re.ASCII)
_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)*")
_ORDER = 31


@dataclass(frozen=True, slots=True)
class Reviews:
    """Reviews as word ids. Review n is `ids[offsets[n] : offsets[n + 1]]`; label 0 is negative, 1 positive."""

    train_ids: "NDArray[np.int32]"
    train_offsets: "NDArray[np.int64]"
    train_labels: "NDArray[np.int32]"
    test_ids: "NDArray[np.int32]"
    test_offsets: "NDArray[np.int64]"
    test_labels: "NDArray[np.int32]"
    words: int  # word ids are below this number, ids of word pairs above it
    vocabulary: int  # All ids are below this number. An embedding needs this many rows.
    source: Origin
    checksum: str


def convert(files: Mapping[str, Path]) -> "dict[str, NDArray[Any]]":
    """Return the labelled reviews as ids of all words, shuffled.

    The checksum is of the reviews in one text per split and label, one review per line, ordered by review number.
    """
    import numpy as np

    by_place: dict[str, dict[int, str]] = {f"{split}/{label}": {} for split in SPLITS for label in LABELS}
    for match, content in members(files[SOURCE.files[0].name], _MEMBER):
        text = content.decode().replace("<br />", " ")
        by_place[f"{match[1]}/{match[2]}"][int(match[3])] = " ".join(text.split())
    texts = [[reviews[number] for number in sorted(reviews)] for reviews in by_place.values()]
    digest = hashlib.sha256("".join(f"{review}\n" for reviews in texts for review in reviews).encode())
    counts = Counter(chain.from_iterable(map(words_of, chain(texts[0], texts[1]))))
    ranked = sorted(counts, key=lambda word: (-counts[word], word))
    numbers = {word: number for number, word in enumerate(ranked, start=FIRST_WORD)}
    arrays: dict[str, NDArray[Any]] = {"checksum": np.array(digest.hexdigest())}
    for number, split in enumerate(SPLITS):
        parts = _numbered(texts[2 * number : 2 * number + 2], numbers, number)
        arrays |= zip((f"{split}_ids", f"{split}_offsets", f"{split}_labels"), parts, strict=True)
    return arrays


def load(file: Path | None, *, words: int = 20_000) -> Reviews:
    """Return the shuffled reviews; if `file` is None, the synthetic twin's.

    Args:
        file: The stored file; None for the twin.
        words: This id and all higher ids are replaced by 2.

    Raises:
        DamagedDataError: The stored file can't be used.
    """
    origin: Origin = "real" if file else "synthetic"
    splits, checksum = _read(file) if file else _twin()
    for ids, _, _ in splits:
        ids[ids >= words] = UNKNOWN
    return Reviews(*splits[0], *splits[1], words=words, vocabulary=words, source=origin, checksum=checksum)


def padded(ids: "NDArray[np.int32]", offsets: "NDArray[np.int64]", length: int) -> "NDArray[np.int32]":
    """Return an array of shape (n, length) with the last ids of each sequence, padded with zeros at the front."""
    import numpy as np

    if not ids.size:
        return np.zeros((len(offsets) - 1, length), np.int32)
    places = offsets[1:, None] + np.arange(-length, 0)
    is_inside = places >= offsets[:-1, None]
    return np.where(is_inside, ids[np.maximum(places, 0)], np.int32(0))


def with_bigrams(reviews: Reviews) -> Reviews:
    """Return the reviews with an extra id for each pair of adjacent words that occurs in the training reviews.

    Pair ids start at `words` + 1 and are sorted by their two word ids; `vocabulary` grows accordingly. Pairs that
    occur only in the test reviews are ignored.
    """
    import numpy as np

    train, train_counts = _pairs(reviews.train_ids, reviews.train_offsets)
    pairs = np.sort(train)
    pairs = pairs[np.concatenate([[True], pairs[1:] != pairs[:-1]])[: len(pairs)]]
    numbers = _places(pairs, train)
    test, test_counts = _pairs(reviews.test_ids, reviews.test_offsets)
    places = _places(pairs, test)
    is_known = np.append(pairs, -1)[places] == test
    owner = np.repeat(np.arange(len(test_counts)), test_counts)[is_known]
    first = reviews.words + 1
    train_ids, train_offsets = _appended(reviews.train_ids, reviews.train_offsets, numbers + first, train_counts)
    test_ids, test_offsets = _appended(
        reviews.test_ids,
        reviews.test_offsets,
        places[is_known] + first,
        np.bincount(owner, minlength=len(test_counts)),
    )
    return replace(
        reviews,
        train_ids=train_ids,
        train_offsets=train_offsets,
        test_ids=test_ids,
        test_offsets=test_offsets,
        vocabulary=first + len(pairs),
    )


def words_of(text: str) -> list[str]:
    """Return the words of a review in lower case. Words consist of letters, digits and inner apostrophes."""
    return _WORD.findall(text.lower())


def _pairs(
    ids: "NDArray[np.int32]", offsets: "NDArray[np.int64]"
) -> "tuple[NDArray[np.int64], NDArray[np.int64]]":
    """Encode each pair of adjacent words as one integer, and return the pairs and their number per sequence."""
    import numpy as np

    if ids.size < 2:
        return np.empty(0, np.int64), np.zeros(len(offsets) - 1, np.int64)
    pairs = (ids[:-1].astype(np.int64) << 32) | ids[1:]
    within = np.ones(len(pairs), bool)
    ends = offsets[1:-1] - 1
    within[ends[(ends >= 0) & (ends < len(pairs))]] = False
    return pairs[within], np.maximum(np.diff(offsets) - 1, 0)


def _places(sorted_pairs: "NDArray[np.int64]", asked: "NDArray[np.int64]") -> "NDArray[np.int64]":
    """Return the index of each value in a sorted array, or the index at which it would be inserted."""
    import numpy as np

    order = np.argsort(asked)  # sorted queries are much faster
    places = np.empty(len(asked), np.int64)
    places[order] = np.searchsorted(sorted_pairs, asked[order])
    return places


def _appended(
    ids: "NDArray[np.int32]", offsets: "NDArray[np.int64]", more: "NDArray[np.int64]", counts: "NDArray[np.int64]"
) -> "tuple[NDArray[np.int32], NDArray[np.int64]]":
    """Append `counts[n]` more ids to sequence n."""
    import numpy as np

    behind = np.concatenate([[0], np.cumsum(counts)])
    joined = np.empty(len(ids) + len(more), np.int32)
    joined[np.arange(len(ids)) + np.repeat(behind[:-1], np.diff(offsets))] = ids
    joined[np.arange(len(more)) + np.repeat(offsets[1:], counts)] = more
    return joined, offsets + behind


_Split: TypeAlias = "tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.int32]]"  # ids, offsets, labels


def _read(file: Path) -> tuple[list[_Split], str]:
    with stored(file) as arrays:
        splits: list[_Split] = [
            (arrays[f"{split}_ids"], arrays[f"{split}_offsets"], arrays[f"{split}_labels"]) for split in SPLITS
        ]
        return splits, str(arrays["checksum"])


def _numbered(texts: Sequence[list[str]], numbers: Mapping[str, int], split: int) -> _Split:
    import numpy as np

    both = [*texts[0], *texts[1]]
    order = twins.shuffled([_ORDER, split], len(both))
    lengths: list[int] = []

    def ids() -> Iterator[int]:
        for number in order.tolist():
            words = words_of(both[number])
            lengths.append(1 + len(words))
            yield START
            yield from (numbers.get(word, UNKNOWN) for word in words)

    flat = np.fromiter(ids(), np.int32)
    labels = (order >= len(texts[0])).astype(np.int32)
    return flat, np.cumsum([0, *lengths], dtype=np.int64), labels


WORDS = 30_000  # more than any study uses
_RECIPE = 32
_PHRASES = 1 << 17
_TELLING = 8  # one phrase in this many reveals the label
_OPINIONS = 64  # number of word pairs that reveal the label
_FIRST_OPINION = 300  # frequency rank of the first of them


def _twin() -> tuple[list[_Split], str]:
    digest = hashlib.sha256()
    splits = [_twin_split(number, _REVIEWS_PER_SPLIT) for number in range(len(SPLITS))]
    for split in splits:
        for part in split:
            digest.update(part.data)
    return splits, digest.hexdigest()


def _twin_split(split: int, count: int) -> _Split:
    """Return ids, offsets and labels of `count` reviews, half of them positive."""
    import numpy as np

    labels = (twins.shuffled([_RECIPE, split, 0], count) % 2).astype(np.int32)
    # A few reviews are short, most have 100 to 250 words, some over 1,000.
    draw = (twins.raw_numbers([_RECIPE, split, 1], count) >> np.uint64(54)).astype(np.int64)
    phrases = (20 + 36_500 // (16 + draw) + (1023 - draw) // 8) // twins.PHRASE_WORDS
    choice = twins.raw_numbers([_RECIPE, split, 2], int(phrases.sum()))
    # Two in ten revealing phrases contradict the label, so no network can be right every time.
    contrary = (choice >> np.uint64(40)) % np.uint64(10) < 2
    version = np.repeat(labels, phrases) ^ contrary
    which = (choice % np.uint64(_PHRASES)).astype(np.int64) + version * _PHRASES
    lengths = 1 + twins.PHRASE_WORDS * phrases
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    ids = np.empty(offsets[-1], np.int32)
    is_word = np.ones(len(ids), bool)
    is_word[offsets[:-1]] = False
    ids[offsets[:-1]] = START
    ids[is_word] = _phrase_table()[which].reshape(-1)
    return ids, offsets, labels


def _phrase_table() -> "NDArray[np.int32]":
    """Return word ids of shape (2 × phrases, 4): the negative versions of all phrases, then the positive ones."""
    import numpy as np

    against = twins.phrases([_RECIPE, 9], _PHRASES, WORDS)
    # Opinion words are reserved for revealing phrases.
    against[(against >= _FIRST_OPINION) & (against < _FIRST_OPINION + 2 * _OPINIONS)] = 0
    telling = np.arange(0, _PHRASES, _TELLING)
    against[telling, 1] = _FIRST_OPINION + 2 * (telling // _TELLING % _OPINIONS)
    favour = against.copy()
    favour[telling, 1] += 1
    return np.concatenate([against, favour]) + np.int32(FIRST_WORD)
