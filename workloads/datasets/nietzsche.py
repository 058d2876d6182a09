"""A book by Nietzsche as character ids, and its synthetic twin. Reads local files, never the network.

There is no official checksum. The file is identified by its size in bytes, and by the numbers of characters and
distinct symbols printed by the study's script.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workloads.datasets import twins
from workloads.datasets.source import DatasetSource, Origin, SourceFile, UnofficialFileError, stored

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
_RECIPE = 21
_RARE = "!\"'()-0123456789:;=?[]_äæéë"
_VOCABULARY = 512
_SUCCESSORS = 8


@dataclass(frozen=True, slots=True)
class Text:
    """A lower-case text as character ids. Character n is `symbols[ids[n]]`."""

    ids: "NDArray[np.uint8]"
    symbols: str
    source: Origin
    checksum: str


def convert(files: Mapping[str, Path]) -> "dict[str, NDArray[Any]]":
    """Return the text in lower case as character ids, and the characters.

    Raises:
        UnofficialFileError: The file isn't the expected text.
    """
    import numpy as np

    raw = files[FILE].read_bytes()
    text = raw.decode("utf-8", errors="replace").lower()
    if (len(raw), len(text), len(set(text))) != (FILE_BYTES, CHARACTERS, SYMBOLS):
        raise UnofficialFileError(FILE)
    ids, symbols = _numbers(text)
    return {"ids": ids, "symbols": np.array(symbols), "checksum": np.array(hashlib.sha256(raw).hexdigest())}


def load(file: Path | None) -> Text:
    """Return the text; if `file` is None, a synthetic twin with the same number of characters and symbols.

    Raises:
        DamagedDataError: The stored file can't be used.
    """
    if file is None:
        text = _twin()
        return Text(*_numbers(text), "synthetic", hashlib.sha256(text.encode()).hexdigest())
    with stored(file) as arrays:
        return Text(arrays["ids"], str(arrays["symbols"]), "real", str(arrays["checksum"]))


def windows(
    ids: "NDArray[np.uint8]", length: int = 40, stride: int = 3
) -> "tuple[NDArray[np.uint8], NDArray[np.uint8]]":
    """Return chunks of `length` characters, starting every `stride` characters, and the character after each."""
    import numpy as np

    if len(ids) <= length:
        return np.empty((0, length), ids.dtype), np.empty(0, ids.dtype)
    pieces = np.lib.stride_tricks.sliding_window_view(ids, length)[:-1:stride]
    return np.ascontiguousarray(pieces), np.ascontiguousarray(ids[length::stride])


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
