"""Generated pictures of five kinds of flowers, in place of study 002's photos."""

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from workloads.datasets import twins

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

CLASSES = 5
TRAIN_COUNT, TEST_COUNT = 2_990, 680
_RECIPE = 52
_PICTURES = 16  # number of pictures per class


@dataclass(frozen=True, slots=True)
class FlowerPictures:
    """Pictures, each used for many examples."""

    pictures: "NDArray[np.uint8]"  # array of shape (n, size, size, 3)
    # Index into `pictures` of each example; first `TRAIN_COUNT` for training, then those for validation.
    which: "NDArray[np.int64]"
    labels: "NDArray[np.int32]"  # label of each example
    checksum: str  # SHA-256 of the pictures


def load(size: int) -> FlowerPictures:
    """Return sixteen pictures per class with `size` pixels per side: noise with a blob in the class's colour."""
    import numpy as np

    kinds = np.repeat(np.arange(CLASSES, dtype=np.int32), _PICTURES)
    places = twins.raw_numbers([_RECIPE, 0], len(kinds)).tolist()
    colours = np.array([(90, 90, 90), (100, 90, 0), (110, 0, 40), (100, 45, 0), (80, 0, 110)], np.int64)
    row, column = np.ogrid[:size, :size]
    pictures = np.empty((len(kinds), size, size, 3), np.uint8)
    coarse = -(-size // 8)
    for number, (kind, place) in enumerate(zip(kinds, places, strict=True)):
        # Noise at two scales makes the JPEG about as large as a photo's.
        large = twins.raw_numbers([_RECIPE, 2, number], coarse * coarse * 3) >> np.uint64(58)
        grains = large.astype(np.uint8).reshape(coarse, coarse, 3).repeat(8, axis=0).repeat(8, axis=1)
        small = twins.raw_numbers([_RECIPE, 3, number], -(-size * size * 3 // 8)).astype("<u8", copy=False)
        fine = small.view(np.uint8)[: size * size * 3].reshape(size, size, 3) >> 3
        down, right = size // 4 + place % max(1, size // 2), size // 4 + (place >> 32) % max(1, size // 2)
        away = (row - down) ** 2 + (column - right) ** 2
        share = np.maximum(0, 256 - 256 * away // (size * size // 9 + 1))[..., None]
        pictures[number] = grains[:size, :size] + fine + (share * colours[kind] >> 8)
    which = (twins.raw_numbers([_RECIPE, 1], TRAIN_COUNT + TEST_COUNT) % np.uint64(len(kinds))).astype(np.int64)
    return FlowerPictures(pictures, which, kinds[which], hashlib.sha256(pictures.data).hexdigest())
