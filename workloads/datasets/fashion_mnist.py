"""Fashion-MNIST from its four IDX files, and its synthetic twin. Reads local files, never the network.

The files are identified by their unpacked contents, because Debian's package compresses the same data differently.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workloads.datasets import mnist
from workloads.datasets.source import Arrays, DatasetSource, SourceFile

if TYPE_CHECKING:
    from numpy.typing import NDArray

_BASE = "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/"
_SIZES_BYTES = {
    "train-images-idx3-ubyte.gz": 26_421_880,
    "train-labels-idx1-ubyte.gz": 29_515,
    "t10k-images-idx3-ubyte.gz": 4_422_102,
    "t10k-labels-idx1-ubyte.gz": 5_148,
}
CONTENTS = {
    "train-images-idx3-ubyte.gz": "c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888",
    "train-labels-idx1-ubyte.gz": "bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9",
    "t10k-images-idx3-ubyte.gz": "5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b",
    "t10k-labels-idx1-ubyte.gz": "0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34",
}
SOURCE = DatasetSource(
    id="fashion_mnist",
    title="Fashion-MNIST",
    files=tuple(SourceFile(name, _BASE + name, size_bytes) for name, size_bytes in _SIZES_BYTES.items()),
    citation="Xiao, Rasul and Vollgraf, Fashion-MNIST, 2017",
    licence="MIT",
)
_TWIN = 12


def convert(files: Mapping[str, Path]) -> "dict[str, NDArray[Any]]":
    """Return the images as bytes of shape (n, 28, 28), and the labels.

    Raises:
        UnofficialFileError: A file has other contents.
    """
    return mnist.convert_idx(files, CONTENTS)


def load(file: Path | None) -> Arrays:
    """Return float32 images in 0..1 of shape (n, 28, 28, 1) and int32 labels; without a file, the twin's.

    Raises:
        DamagedDataError: The stored file can't be used.
    """
    return mnist.load_idx(file, _TWIN)
