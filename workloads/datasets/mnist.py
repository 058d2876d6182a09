"""MNIST from the four official IDX files, and its synthetic twin. Reads local files, never the network."""

from pathlib import Path

from workloads.datasets import idx
from workloads.datasets.source import Arrays, DatasetSource, SourceFile, stored

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
STORED = stored(map(idx.stored_name, idx.SHAPES))
_TWIN = 11
install, is_installed = idx.install, idx.is_installed


def load(folder: Path | None) -> Arrays:
    """Return float32 images in 0..1 of shape (n, 28, 28, 1) and int32 labels.

    Raises:
        MissingDataError: The installed files can't be used.
    """
    return idx.load(folder, SOURCE.title, _TWIN)
