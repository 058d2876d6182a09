"""A book by Nietzsche as character ids, and its synthetic twin. Reads local files, never the network.

There is no official checksum. The file is identified by its size in bytes, and by the numbers of characters and
distinct symbols printed by the study's script.
"""

import hashlib
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

FILE = "nietzsche.txt"
FILE_BYTES = 600_901
CHARACTERS = 600_893
SYMBOLS = 57
SOURCE = DatasetSource(
    id="nietzsche",
    title="Nietzsche",
    files=(SourceFile(FILE, f"https://s3.amazonaws.com/text-datasets/{FILE}", FILE_BYTES),),
    citation="Nietzsche, Beyond Good and Evil, as used by the text generation example of Keras",
    licence="public domain",
)
STORED = source.stored([FILE])
_RECIPE = 21
_RARE = "!\"'()-0123456789:;=?[]_äæéë"
_VOCABULARY = 512
_SUCCESSORS = 8


@dataclass(frozen=True, slots=True)
class Text:
    """A lower-case text as character ids. Character n is `symbols[ids[n]]`."""

    ids: "NDArray[np.uint8]"
    symbols: str
    source: source.Origin
    checksum: str


def install(files: Mapping[str, Path], folder: Path) -> None:
    """Check and store the text.

    Raises:
        HostileArchiveError: The file isn't the expected text.
    """
    path = files[FILE]
    if (found_bytes := path.stat().st_size) != FILE_BYTES:
        raise HostileArchiveError(message("archive.size", size_bytes=found_bytes, expected_bytes=FILE_BYTES))
    raw = path.read_bytes()
    try:
        _characters(raw)
    except source.UnfitError as error:
        raise HostileArchiveError(error.message) from error
    (folder / FILE).write_bytes(raw)
    source.write_checksum(folder, [FILE])


def is_installed(folder: Path) -> bool:
    """Return whether the checksum file and the text exist, and the text has the right size."""
    return source.are_there(folder, [FILE], FILE_BYTES)


def load(folder: Path | None) -> Text:
    """Return the text; if `folder` is None, a synthetic twin with the same number of characters and symbols.

    Raises:
        MissingDataError: The text is missing or modified.
    """
    if folder is None:
        raw = _twin().encode()
    else:
        raw = source.read_installed(folder, FILE, SOURCE.title)
        source.check_unchanged(folder, hashlib.sha256(raw).hexdigest(), SOURCE.title)
    try:
        ids, symbols = _numbers(_characters(raw))
    except source.UnfitError as error:
        raise MissingDataError(message("installed.unusable", file=FILE, reason=error.message)) from error
    return Text(ids, symbols, "real" if folder else "synthetic", hashlib.sha256(raw).hexdigest())


def windows(
    ids: "NDArray[np.uint8]", length: int = 40, stride: int = 3
) -> "tuple[NDArray[np.uint8], NDArray[np.uint8]]":
    """Return chunks of `length` characters, starting every `stride` characters, and the character after each."""
    import numpy as np

    if len(ids) <= length:
        return np.empty((0, length), ids.dtype), np.empty(0, ids.dtype)
    pieces = np.lib.stride_tricks.sliding_window_view(ids, length)[:-1:stride]
    return np.ascontiguousarray(pieces), np.ascontiguousarray(ids[length::stride])


def _characters(raw: bytes) -> str:
    """Return the text in lower case. Raises UnfitError if it isn't the expected text."""
    try:
        text = raw.decode("utf-8").lower()
    except UnicodeDecodeError as error:
        raise source.UnfitError(message("text.not_utf8", position=error.start)) from error
    symbols = len(set(text))
    if (len(text), symbols) != (CHARACTERS, SYMBOLS):
        arguments = {"found": len(text), "kinds": symbols, "expected": CHARACTERS, "expected_kinds": SYMBOLS}
        raise source.UnfitError(message("text.characters", **arguments))
    return text


def _numbers(text: str) -> "tuple[NDArray[np.uint8], str]":
    import numpy as np

    points = np.frombuffer(text.encode("utf-32-le"), np.uint32)
    symbols, ids = np.unique(points, return_inverse=True)
    return ids.astype(np.uint8), "".join(map(chr, symbols))


def _twin() -> str:
    """Return random words, each followed by one of eight possible words, so that characters are predictable."""
    letters = twins.raw_numbers([_RECIPE, 0], _VOCABULARY).tolist()
    words = [_word(number) for number in letters]
    follows = twins.zipf_words([_RECIPE, 1], _VOCABULARY * _SUCCESSORS, _VOCABULARY).tolist()
    parts: list[str] = []
    word, size = 0, 0
    for number in twins.raw_numbers([_RECIPE, 2], CHARACTERS // 4).tolist():
        word = follows[word * _SUCCESSORS + (number & number >> 3 & 7)]  # earlier successors are more likely
        end = number >> 8 & 127
        if end < 20:
            mark = ", " if end < 9 else ".\n" if end < 18 else f" {_RARE[(number >> 16) % len(_RARE)]} "
        else:
            mark = " " if end < 118 else "\n"
        parts.append(words[word] + mark)
        size += len(parts[-1])
        if size >= CHARACTERS:
            break
    return "".join(parts)[:CHARACTERS]


def _word(number: int) -> str:
    """Derive a word of two to nine letters from a number, alternating consonants and vowels."""
    text = ""
    for place in range(2 + number % 8):
        choices = "aeiou" if (place + number // 8) % 2 else "bcdfghjklmnpqrstvwxyz"
        text += choices[(number >> (8 + 6 * place)) % len(choices)]
    return text
