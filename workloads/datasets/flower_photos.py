"""Data classes for flower photos: their locations, labels and order."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from workloads.datasets.source import Origin

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Photos:
    """Labelled photos, and their order in training and validation.

    Attributes:
        paths: The real photos, of any size; empty for the synthetic twin.
        pictures: The twin's images as an array of shape (n, size, size, 3); None for real photos.
        train, test: Indices into `paths` or `pictures`.
        folder: Folder of the real photos; None for the twin.
    """

    size: int
    paths: tuple[Path, ...]
    pictures: "NDArray[np.uint8] | None"
    train: "NDArray[np.int64]"
    train_labels: "NDArray[np.int32]"
    test: "NDArray[np.int64]"
    test_labels: "NDArray[np.int32]"
    folder: Path | None
    source: Origin
    checksum: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Examples:
    """JPEGs of one size with their labels, in order, stored in record files or in memory.

    Attributes:
        classes: Number of classes.
        count: Number of examples.
        shards: Record files. Each record is an example with the features "jpeg" and "label".
        jpegs: JPEGs in memory, used instead of `shards`. Each JPEG is used for many examples.
        which: Index into `jpegs` for each example.
        labels: Label of each example.
    """

    size: int
    classes: int
    count: int
    shards: tuple[Path, ...] = ()
    jpegs: tuple[bytes, ...] = ()
    which: "NDArray[np.int64] | None" = None
    labels: "NDArray[np.int32] | None" = None
