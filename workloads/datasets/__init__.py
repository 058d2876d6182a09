"""Data sets: one file each, with its synthetic twin. They read files and never the network."""

from workloads.datasets import cifar10

DATASETS = {cifar10.SOURCE.id: cifar10}
