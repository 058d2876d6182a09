"""Flower photos as passed between modules: their location, labels and order."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from workloads.datasets.source import Origin

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Photos:
    """Labelled photos, and their order for training and validation.

    Attributes:
        paths: The real photos, of any size.
        pictures: Pictures of the twin as (n, size, size, 3) pixels.
        train, test: Indexes into `paths` or `pictures`.
        folder: Folder of the real photos.
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
    """JPEGs of one size with their labels, in order, in record files or in memory.

    Attributes:
        classes: Number of different labels.
        count: Number of examples.
        shards: Files whose records are examples with "jpeg" and "label".
        jpegs: Alternatively, JPEGs, each of which is used for many examples.
        which: Index into `jpegs` of each example.
        labels: Label of each example.
    """

    size: int
    classes: int
    count: int
    shards: tuple[Path, ...] = ()
    jpegs: tuple[bytes, ...] = ()
    which: "NDArray[np.int64] | None" = None
    labels: "NDArray[np.int32] | None" = None
