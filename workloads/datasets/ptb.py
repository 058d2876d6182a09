"""The Penn Treebank as word ids, from the user's copy, and its synthetic twin. Reads local files only."""

import hashlib
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from workloads.datasets import source, twins
from workloads.datasets.source import DatasetSource, HostileArchiveError, MissingDataError, SourceFile
from workloads.protocol.messages import message

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
MAX_FILE_BYTES = 16 << 20
END = "<eos>"
SOURCE = DatasetSource(
    id="ptb",
    title="Penn Treebank",
    files=tuple(map(SourceFile, FILES)),
    citation="Marcus et al., Building a Large Annotated Corpus of English, 1993; prepared by Mikolov, 2010",
    licence="LDC99T42, not free",
)
STORED = source.stored(FILES)
_RECIPE = 41
_PHRASES = 20_000


@dataclass(frozen=True, slots=True)
class Words:
    """A text as word ids, where 0 is the most frequent word. `end` is the id that ends each sentence.

    Attributes:
        sentences: Offsets for train, valid and test. Sentence n is `ids[offsets[n] : offsets[n + 1]]`.
    """

    train: "NDArray[np.int32]"
    valid: "NDArray[np.int32]"
    test: "NDArray[np.int32]"
    sentences: "tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]"
    vocabulary: int
    end: int
    source: source.Origin
    checksum: str


def install(files: Mapping[str, Path], folder: Path) -> None:
    """Check and store the three text files.

    Raises:
        HostileArchiveError: A file isn't the expected one.
    """
    for name in FILES:
        if (size_bytes := files[name].stat().st_size) > MAX_FILE_BYTES:
            arguments = {"file": name, "size_bytes": size_bytes, "limit_bytes": MAX_FILE_BYTES}
            raise HostileArchiveError(message("archive.file_too_large", **arguments))
        raw = files[name].read_bytes()
        try:
            sentences = _sentences(raw)
        except UnicodeDecodeError as error:
            raise HostileArchiveError(message("archive.not_utf8", file=name, position=error.start)) from error
        if len(sentences) != LINES[name]:
            said = message("archive.lines", file=name, found=len(sentences), expected=LINES[name])
            raise HostileArchiveError(said)
        digest = hashlib.md5(raw, usedforsecurity=False).hexdigest()
        if digest != MD5[name]:
            said = message("archive.other_text", file=name, found=digest[:16], expected=MD5[name][:16])
            raise HostileArchiveError(said)
        (folder / name).write_bytes(raw)
    source.write_checksum(folder, FILES)


def is_installed(folder: Path) -> bool:
    """Return whether the three text files and their checksum file exist."""
    return source.are_there(folder, FILES)


def load(folder: Path | None) -> Words:
    """Return the three texts; if `folder` is None, a synthetic twin of the same size.

    Raises:
        MissingDataError: A text is missing or modified.
    """
    return _twin() if folder is None else _real(folder)


def _sentences(raw: bytes) -> list[list[str]]:
    return [line.split() for line in raw.decode("utf-8").removesuffix("\n").split("\n")]


def _real(folder: Path) -> Words:
    import numpy as np

    raw = [source.read_installed(folder, name, SOURCE.title) for name in FILES]
    digest = hashlib.sha256(b"".join(raw)).hexdigest()
    source.check_unchanged(folder, digest, SOURCE.title)
    try:
        texts = [_sentences(content) for content in raw]
    except UnicodeDecodeError as error:
        raise MissingDataError(message("installed.not_utf8", title=SOURCE.title)) from error
    counts = Counter(word for sentence in texts[0] for word in (*sentence, END))
    ranked = sorted(counts, key=lambda word: (-counts[word], word))
    numbers = {word: number for number, word in enumerate(ranked)}
    ids, offsets = [], []
    for name, text in zip(FILES, texts, strict=True):
        try:
            flat = [numbers[word] for sentence in text for word in (*sentence, END)]
        except KeyError as error:
            arguments = {"file": name, "title": SOURCE.title, "word": str(error.args[0]), "other": FILES[0]}
            raise MissingDataError(message("installed.unknown_word", **arguments)) from error
        ids.append(np.array(flat, np.int32))
        offsets.append(np.cumsum([0, *(len(sentence) + 1 for sentence in text)], dtype=np.int64))
    lengths = [len(part) for part in ids]
    if (lengths, len(ranked)) != ([*TOKENS.values()], VOCABULARY):
        said = message("installed.other_words", title=SOURCE.title, lengths=lengths, kinds=len(ranked))
        raise MissingDataError(said)
    return Words(
        train=ids[0],
        valid=ids[1],
        test=ids[2],
        sentences=(offsets[0], offsets[1], offsets[2]),
        vocabulary=VOCABULARY,
        end=numbers[END],
        source="real",
        checksum=digest,
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
