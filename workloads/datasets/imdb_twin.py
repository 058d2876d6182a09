"""Synthetic reviews with the number, lengths, and word and word-pair frequencies of real ones."""

from typing import TYPE_CHECKING

from workloads.datasets import twins

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

WORDS = 30_000  # more than any study uses
START, FIRST_WORD = 1, 4
_RECIPE = 32
_PHRASES = 1 << 17
_TELLING = 8  # one phrase in this many reveals whether its review is positive
_OPINIONS = 64  # word pairs that reveal it
_FIRST_OPINION = 300  # their ranks


def make_split(split: int, count: int) -> "tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.int32]]":
    """Return ids, offsets and labels of this many reviews, half of them positive."""
    import numpy as np

    labels = (twins.shuffled([_RECIPE, split, 0], count) % 2).astype(np.int32)
    phrases = _phrase_counts(twins.raw_numbers([_RECIPE, split, 1], count))
    choice = twins.raw_numbers([_RECIPE, split, 2], int(phrases.sum()))
    # Two of ten revealing phrases are contradictory, so that no network can always be right.
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


def _phrase_counts(raw: "NDArray[np.uint64]") -> "NDArray[np.int64]":
    """Return lengths in phrases: few reviews are short, most have 100 to 250 words, some more than 1,000."""
    import numpy as np

    draw = (raw >> np.uint64(54)).astype(np.int64)
    return (20 + 36_500 // (16 + draw) + (1023 - draw) // 8) // twins.PHRASE_WORDS


def _phrase_table() -> "NDArray[np.int32]":
    """Return (2 × phrases, 4) ids: each phrase as in negative reviews, then as in positive ones."""
    import numpy as np

    against = twins.phrases([_RECIPE, 9], _PHRASES, WORDS)
    # Words of opinions are reserved for revealing phrases.
    against[(against >= _FIRST_OPINION) & (against < _FIRST_OPINION + 2 * _OPINIONS)] = 0
    telling = np.arange(0, _PHRASES, _TELLING)
    against[telling, 1] = _FIRST_OPINION + 2 * (telling // _TELLING % _OPINIONS)
    favour = against.copy()
    favour[telling, 1] += 1
    return np.concatenate([against, favour]) + np.int32(FIRST_WORD)
