"""CIFAR-10 from the official binary archive, and its synthetic twin. Reads local files, never the network.

For the format and the checksum, see Alex Krizhevsky's CIFAR page (binary version). Each of the six files contains
10,000 records of one label byte and 3,072 pixel bytes: 1,024 red, 1,024 green, 1,024 blue, in row-major order.
"""

import hashlib
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workloads.datasets import twins
from workloads.datasets.source import Arrays, DatasetSource, SourceFile, aligned_floats, members, scaled, stored

if TYPE_CHECKING:
    from numpy.typing import NDArray

SOURCE = DatasetSource(
    id="cifar10",
    title="CIFAR-10",
    files=(
        SourceFile(
            "cifar-10-binary.tar.gz",
            url="https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz",
            size_bytes=170_052_171,
            sha256="c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd",
        ),
    ),
    citation="Krizhevsky, Learning Multiple Layers of Features from Tiny Images, 2009",
    licence="none stated; research use with citation",
)
FILES = (*(f"data_batch_{number}.bin" for number in range(1, 6)), "test_batch.bin")
RECORD_BYTES = 1 + 3 * 32 * 32
CLASSES = 10
_MEMBER = re.compile(r"cifar-10-batches-bin/(\w+\.bin)")
_IMAGES_PER_FILE = 10_000
_RECIPE = 1


def convert(files: Mapping[str, Path]) -> "dict[str, NDArray[Any]]":
    """Return the images as bytes of shape (n, 32, 32, 3), and the labels of shape (n, 1)."""
    import numpy as np

    by_name = {match[1]: content for match, content in members(files[SOURCE.files[0].name], _MEMBER)}
    contents = [by_name[name] for name in FILES]
    arrays = {"checksum": np.array(hashlib.sha256(b"".join(contents)).hexdigest())}
    for part, parts in (("train", contents[:-1]), ("test", contents[-1:])):
        records = np.frombuffer(b"".join(parts), np.uint8).reshape(-1, RECORD_BYTES)
        arrays[f"x_{part}"] = records[:, 1:].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1)
        arrays[f"y_{part}"] = records[:, :1]
    return arrays


def load(file: Path | None, *, scale: float = 255) -> Arrays:
    """Return the arrays that the studies' scripts use: float32 images, and labels of shape (n, 1).

    Pixels are divided by `scale`: 255 gives 0..1, and 1 keeps 0..255. If `file` is None, the synthetic twin is
    generated.

    Raises:
        DamagedDataError: The stored file can't be used.
    """
    import numpy as np

    if file is None:
        return _twin(scale)
    with stored(file) as arrays:
        return Arrays(
            x_train=scaled(arrays["x_train"], scale),
            y_train=arrays["y_train"].astype(np.int32),
            x_test=scaled(arrays["x_test"], scale),
            y_test=arrays["y_test"].astype(np.int32),
            source="real",
            checksum=str(arrays["checksum"]),
        )


def _twin(scale: float) -> Arrays:
    """Return the twin. One file's worth of images at a time is converted to float32, to save memory."""
    import numpy as np

    train = aligned_floats(50_000, 32, 32, 3), np.empty((50_000, 1), np.int32)
    test = aligned_floats(10_000, 32, 32, 3), np.empty((10_000, 1), np.int32)
    digest = hashlib.sha256()
    shapes = twins.patterns([_RECIPE, 99], classes=CLASSES, coarse=8, channels=3, shifts=8)
    for number in range(len(FILES)):
        images, labels = twins.pictures([_RECIPE, number], _IMAGES_PER_FILE, shapes, doubt_bits=3)
        digest.update(images.data)
        digest.update(labels.data)
        to, start = (train, number * _IMAGES_PER_FILE) if number < len(FILES) - 1 else (test, 0)
        rows = slice(start, start + _IMAGES_PER_FILE)
        np.divide(images, np.float32(scale), out=to[0][rows])
        to[1][rows, 0] = labels
    return Arrays(*train, *test, source="synthetic", checksum=digest.hexdigest())
