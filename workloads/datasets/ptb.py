"""The Penn Treebank as word ids, from the user's copy, and its synthetic twin. Reads local files only."""

import hashlib
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workloads.datasets import twins
from workloads.datasets.source import DatasetSource, Origin, SourceFile, UnofficialFileError, stored

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

PARTS = ("train", "valid", "test")
FILES = tuple(f"ptb.{part}.txt" for part in PARTS)
MD5 = dict(
    zip(
        FILES,
        (
            "f26c4b92c5fdc7b3f8c7cdcb991d8420",
            "aa0affc06ff7c36e977d7cd49e3839bf",
            "8b80168b89c18661a38ef683c0dc3721",
        ),
        strict=True,
    )
)
LINES = dict(zip(FILES, (42_068, 3_370, 3_761), strict=True))
TOKENS = dict(zip(FILES, (929_589, 73_760, 82_430), strict=True))  # including one end-of-sentence token per line
VOCABULARY = 10_000
END = "<eos>"
SOURCE = DatasetSource(
    id="ptb",
    title="Penn Treebank",
    files=tuple(map(SourceFile, FILES)),
    citation="Marcus et al., Building a Large Annotated Corpus of English, 1993; prepared by Mikolov, 2010",
    licence="LDC99T42, not free",
)
_RECIPE = 41
_PHRASES = 20_000
_md5 = partial(hashlib.md5, usedforsecurity=False)


@dataclass(frozen=True, slots=True)
class Words:
    """A text as word ids, where 0 is the most frequent word. `end` is the id that ends each sentence."""

    train: "NDArray[np.int32]"
    valid: "NDArray[np.int32]"
    test: "NDArray[np.int32]"
    # Offsets for train, valid and test. Sentence n is `ids[offsets[n] : offsets[n + 1]]`.
    sentences: "tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]"
    vocabulary: int
    end: int
    source: Origin
    checksum: str


def convert(files: Mapping[str, Path]) -> "dict[str, NDArray[Any]]":
    """Return the three texts as word ids, the offsets of their sentences, and the id that ends a sentence.

    Raises:
        UnofficialFileError: A file isn't the expected one.
    """
    import numpy as np

    texts, whole = [], hashlib.sha256()
    for name in FILES:
        with files[name].open("rb") as file:
            if hashlib.file_digest(file, _md5).hexdigest() != MD5[name]:
                raise UnofficialFileError(name)
        raw = files[name].read_bytes()
        whole.update(raw)
        texts.append([[*line.split(), END] for line in raw.decode().removesuffix("\n").split("\n")])
    counts = Counter(chain.from_iterable(texts[0]))
    ranked = sorted(counts, key=lambda word: (-counts[word], word))
    numbers = {word: number for number, word in enumerate(ranked)}
    arrays = {"end": np.array(numbers[END]), "checksum": np.array(whole.hexdigest())}
    for part, sentences in zip(PARTS, texts, strict=True):
        arrays[part] = np.array([numbers[word] for word in chain.from_iterable(sentences)], np.int32)
        arrays[f"{part}_sentences"] = np.cumsum([0, *map(len, sentences)], dtype=np.int64)
    return arrays


def load(file: Path | None) -> Words:
    """Return the three texts; if `file` is None, a synthetic twin of the same size.

    Raises:
        DamagedDataError: The stored file can't be used.
    """
    if file is None:
        return _twin()
    with stored(file) as arrays:
        return Words(
            train=arrays["train"],
            valid=arrays["valid"],
            test=arrays["test"],
            sentences=(arrays["train_sentences"], arrays["valid_sentences"], arrays["test_sentences"]),
            vocabulary=VOCABULARY,
            end=int(arrays["end"]),
            source="real",
            checksum=str(arrays["checksum"]),
        )


def _twin() -> Words:
    import numpy as np

    end = 0
    # Phrases that together contain every word except the end-of-sentence id
    words = twins.phrases([_RECIPE, 9], _PHRASES, VOCABULARY - 1).reshape(-1)
    words[: VOCABULARY - 1] = np.arange(VOCABULARY - 1)
    table = words[twins.shuffled([_RECIPE, 10], len(words))].reshape(_PHRASES, twins.PHRASE_WORDS) + np.int32(1)
    digest = hashlib.sha256()
    ids, offsets = [], []
    for number, name in enumerate(FILES):
        ends = _sentence_ends([_RECIPE, number, 0], LINES[name], TOKENS[name])
        text = np.empty(TOKENS[name], np.int32)
        is_end = np.zeros(len(text), bool)
        is_end[ends - 1] = True
        needed = len(text) - len(ends)
        count = -(-needed // twins.PHRASE_WORDS)
        # The training text contains every phrase at least once, and therefore every word.
        once = np.arange(_PHRASES if number == 0 else 0)
        drawn = twins.raw_numbers([_RECIPE, number, 1], count - len(once)) % np.uint64(_PHRASES)
        which = np.concatenate([once, drawn.astype(np.int64)])[twins.shuffled([_RECIPE, number, 2], count)]
        text[is_end] = end
        text[~is_end] = table[which].reshape(-1)[:needed]
        digest.update(text.data)
        ids.append(text)
        offsets.append(np.concatenate([[0], ends]))
    return Words(
        train=ids[0],
        valid=ids[1],
        test=ids[2],
        sentences=(offsets[0], offsets[1], offsets[2]),
        vocabulary=VOCABULARY,
        end=end,
        source="synthetic",
        checksum=digest.hexdigest(),
    )


def _sentence_ends(seed: list[int], lines: int, tokens: int) -> "NDArray[np.int64]":
    """Return the end offsets of the sentences. Most sentences have 10 to 35 words; the last offset is `tokens`."""
    import numpy as np

    raw = twins.raw_numbers(seed, lines)
    lengths = 4 + (raw >> np.uint64(60)).astype(np.int64) + (raw >> np.uint64(40) & np.uint64(31)).astype(np.int64)
    upto = np.cumsum(lengths)
    ends: NDArray[np.int64] = upto * tokens // upto[-1]
    return ends
