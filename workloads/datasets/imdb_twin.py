"""Synthetic reviews that match the real ones in number, length, and frequency of words and word pairs."""

from typing import TYPE_CHECKING

from workloads.datasets import twins

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

WORDS = 30_000  # more than any study uses
START, FIRST_WORD = 1, 4
_RECIPE = 32
_PHRASES = 1 << 17
_TELLING = 8  # one phrase in this many reveals the label
_OPINIONS = 64  # number of word pairs that reveal the label
_FIRST_OPINION = 300  # frequency rank of the first of them


def make_split(split: int, count: int) -> "tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.int32]]":
    """Return ids, offsets and labels of `count` reviews, half of them positive."""
    import numpy as np

    labels = (twins.shuffled([_RECIPE, split, 0], count) % 2).astype(np.int32)
    phrases = _phrase_counts(twins.raw_numbers([_RECIPE, split, 1], count))
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


def _phrase_counts(raw: "NDArray[np.uint64]") -> "NDArray[np.int64]":
    """Return review lengths in phrases. A few reviews are short, most have 100 to 250 words, some over 1,000."""
    import numpy as np

    draw = (raw >> np.uint64(54)).astype(np.int64)
    return (20 + 36_500 // (16 + draw) + (1023 - draw) // 8) // twins.PHRASE_WORDS


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
