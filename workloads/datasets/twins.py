"""Building blocks of synthetic twins: learnable images and words that are identical on every computer.

Only raw PCG64 output and integer arithmetic are used. NumPy guarantees that this stream is the same in all
versions (NEP 19), but doesn't guarantee this for its distributions. Every value depends on a twin's constants. If
you change them, increment the first number of the twin's seed and update the checksum in its test.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

PHRASE_WORDS = 4
_ZIPF_TABLE = 1 << 20  # large enough for the rarest of 30,000 words


def raw_numbers(seed: list[int], count: int) -> "NDArray[np.uint64]":
    """Return `count` uniform 64-bit numbers."""
    import numpy as np

    return np.random.PCG64(seed).random_raw(count)


def shuffled(seed: list[int], count: int) -> "NDArray[np.intp]":
    """Return 0 … count - 1 in an order that depends only on the seed."""
    import numpy as np

    return np.argsort(raw_numbers(seed, count), kind="stable")


def patterns(seed: list[int], classes: int, coarse: int, channels: int, shifts: int) -> "NDArray[np.uint8]":
    """Return blurred, shifted patterns with values 0..95.

    The shape is (classes, shifts ** 2, 4 × coarse, 4 × coarse, channels).

    Args:
        coarse: Number of squares per side, each four pixels wide.
        shifts: Number of positions per direction, two pixels apart, wrapping around at the edges.
    """
    import numpy as np

    raw = raw_numbers(seed, classes * coarse * coarse * channels) >> np.uint64(56)
    squares = raw.astype(np.uint16).reshape(classes, coarse, coarse, channels)
    pattern = squares.repeat(4, axis=1).repeat(4, axis=2)
    for _ in range(2):
        pattern = (pattern + np.roll(pattern, 1, axis=1)) // 2
        pattern = (pattern + np.roll(pattern, 1, axis=2)) // 2
    places = [(2 * down, 2 * right) for down in range(shifts) for right in range(shifts)]
    shifted = [np.roll(pattern, place, axis=(1, 2)) for place in places]
    return (np.stack(shifted, axis=1) * 3 // 8).astype(np.uint8)


def pictures(
    seed: list[int], count: int, shapes: "NDArray[np.uint8]", doubt_bits: int
) -> "tuple[NDArray[np.uint8], NDArray[np.uint8]]":
    """Return images and their labels. Each image is a pattern from its class at a random position, plus noise.

    One label in 2 ** doubt_bits is redrawn at random, so that the loss has a lower bound, as with real images.
    """
    import numpy as np

    classes, places, *shape = shapes.shape
    bits = np.random.PCG64(seed)
    choice = bits.random_raw(count)
    kinds = (choice % np.uint64(classes)).astype(np.uint8)
    shifts = ((choice >> np.uint64(16)) % np.uint64(places)).astype(np.intp)
    drawn = ((choice >> np.uint64(32)) % np.uint64(classes)).astype(np.uint8)
    labels = np.where(choice >> np.uint64(64 - doubt_bits) == 0, drawn, kinds)
    raw = bits.random_raw(count * int(np.prod(shape)) // 8).astype("<u8", copy=False)
    images = raw.view(np.uint8).reshape(count, *shape)
    images = (images >> 1) + (images >> 3)  # noise 0..158
    images += shapes[kinds, shifts]  # pattern 0..95
    return images, labels


def zipf_words(seed: list[int], count: int, words: int) -> "NDArray[np.int32]":
    """Return `count` word ids below `words`, distributed as in natural language; 0 is the most frequent."""
    import numpy as np

    frequency = (1 << 40) // (10 * np.arange(words, dtype=np.int64) + 27)
    upto = np.cumsum(frequency)
    places = np.arange(_ZIPF_TABLE, dtype=np.int64) * (upto[-1] // _ZIPF_TABLE)
    table = np.searchsorted(upto, places, side="right").astype(np.int32)
    numbers: NDArray[np.int32] = table[(raw_numbers(seed, count) % np.uint64(_ZIPF_TABLE)).astype(np.intp)]
    return numbers


def phrases(seed: list[int], count: int, words: int) -> "NDArray[np.int32]":
    """Return word ids of shape (count, 4). In text made of such phrases, each word depends on the one before."""
    return zipf_words(seed, count * PHRASE_WORDS, words).reshape(count, PHRASE_WORDS)
