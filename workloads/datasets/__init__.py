"""Data sets, one module each, with synthetic twins. The modules read local files and never use the network."""

from workloads.datasets import cifar10, fashion_mnist, imdb, mnist, nietzsche, ptb
from workloads.datasets.source import Dataset

DATASETS: dict[str, Dataset] = {
    module.SOURCE.id: module for module in (cifar10, mnist, fashion_mnist, imdb, nietzsche, ptb)
}
