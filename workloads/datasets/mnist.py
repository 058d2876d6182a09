"""MNIST from the four official IDX files, and its synthetic twin. Reads local files, never the network.

An IDX file consists of two zero bytes, the data type, the number of dimensions, the size of each dimension as a
32-bit integer, and the values. Fashion-MNIST uses the same format.
"""

import gzip
import hashlib
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workloads.datasets import twins
from workloads.datasets.source import Arrays, DatasetSource, SourceFile, UnofficialFileError, scaled, stored

if TYPE_CHECKING:
    from numpy.typing import NDArray

_BASE = "https://storage.googleapis.com/cvdf-datasets/mnist/"
_FILES = (
    ("train-images-idx3-ubyte.gz", 9_912_422, "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609"),
    ("train-labels-idx1-ubyte.gz", 28_881, "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c"),
    ("t10k-images-idx3-ubyte.gz", 1_648_877, "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6"),
    ("t10k-labels-idx1-ubyte.gz", 4_542, "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6"),
)
SOURCE = DatasetSource(
    id="mnist",
    title="MNIST",
    files=tuple(SourceFile(name, _BASE + name, size_bytes, sha256) for name, size_bytes, sha256 in _FILES),
    citation="LeCun, Cortes and Burges, The MNIST database of handwritten digits, 1998",
    licence="CC BY-SA 3.0",
)
FILES = dict(zip(("x_train", "y_train", "x_test", "y_test"), (name for name, *_ in _FILES), strict=True))
CLASSES = 10
_COUNTS = (60_000, 10_000)
_TWIN = 11


def convert(files: Mapping[str, Path]) -> "dict[str, NDArray[Any]]":
    """Return the images as bytes of shape (n, 28, 28), and the labels."""
    return convert_idx(files, {})


def convert_idx(files: Mapping[str, Path], contents: Mapping[str, str]) -> "dict[str, NDArray[Any]]":
    """Return the arrays of four IDX files. `contents` maps their names to the SHA-256 of the unpacked data.

    Raises:
        UnofficialFileError: A file isn't a .gz file, or has other contents.
    """
    import numpy as np

    arrays, whole = {}, hashlib.sha256()
    for key, name in FILES.items():
        try:
            raw = gzip.decompress(files[name].read_bytes())
        except (gzip.BadGzipFile, EOFError, zlib.error) as error:
            raise UnofficialFileError(name) from error
        if contents and hashlib.sha256(raw).hexdigest() != contents[name]:
            raise UnofficialFileError(name)
        whole.update(raw)
        is_images = key.startswith("x")
        values = np.frombuffer(raw, np.uint8, offset=16 if is_images else 8)
        arrays[key] = values.reshape(-1, 28, 28) if is_images else values
    return arrays | {"checksum": np.array(whole.hexdigest())}


def load(file: Path | None) -> Arrays:
    """Return float32 images in 0..1 of shape (n, 28, 28, 1) and int32 labels; without a file, the twin's.

    Raises:
        DamagedDataError: The stored file can't be used.
    """
    return load_idx(file, _TWIN)


def load_idx(file: Path | None, twin: int) -> Arrays:
    """Return float32 images in 0..1 of shape (n, 28, 28, 1) and int32 labels of shape (n,).

    Args:
        file: The stored file; None for the synthetic twin.
        twin: Number of the twin to generate.

    Raises:
        DamagedDataError: The stored file can't be used.
    """
    import numpy as np

    if file is None:
        return _twin(twin)
    with stored(file) as arrays:
        return Arrays(
            x_train=scaled(arrays["x_train"][..., None], 255),
            y_train=arrays["y_train"].astype(np.int32),
            x_test=scaled(arrays["x_test"][..., None], 255),
            y_test=arrays["y_test"].astype(np.int32),
            source="real",
            checksum=str(arrays["checksum"]),
        )


def _twin(twin: int) -> Arrays:
    import numpy as np

    shapes = twins.patterns([twin, 99], classes=CLASSES, coarse=7, channels=1, shifts=3)
    digest = hashlib.sha256()
    arrays: list[NDArray[Any]] = []
    for number, count in enumerate(_COUNTS):
        images, labels = twins.pictures([twin, number], count, shapes, doubt_bits=6)
        digest.update(images.data)
        digest.update(labels.data)
        arrays += [scaled(images, 255), labels.astype(np.int32)]
    x_train, y_train, x_test, y_test = arrays
    return Arrays(x_train, y_train, x_test, y_test, "synthetic", digest.hexdigest())
