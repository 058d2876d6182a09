"""Convolutional networks on CIFAR-10."""

from pathlib import Path
from typing import Any

from workloads import training
from workloads.datasets import cifar10
from workloads.reporter import Reporter
from workloads.spec import Job
from workloads.workload import Workload


class Cifar10KerasCnn(Workload):
    """The standard benchmark: the network of study 004 (Song Yansong, 2019), layer by layer.

    Its convolutions really have no activation function; adding one would make another workload.
    """

    id = "cifar10_keras_cnn"
    title = "CIFAR-10 CNN"
    kind = "image"
    summary = (
        "The standard Keras network for small images: six convolutions, 1,337,002 parameters.\n"
        "50,000 images of 32 × 32 pixels an epoch, and 1,000 to validate it."
    )
    source = "Song Yansong, Speed comparison of mainstream deep-learning hardware, 2019 (study 004)"
    dataset = "cifar10"
    epochs = 10
    batch_size = 100
    samples_per_epoch = 50_000
    validation_samples = 1_000
    parameters_count = 1_337_002

    def run(self, job: Job, reporter: Reporter) -> None:
        """Train, validate inside each epoch, then evaluate on 10,000 images and predict 20."""
        training.run(self, job, reporter, build=build_keras_cnn, load=_load)


def build_keras_cnn() -> Any:
    """Return the uncompiled Keras model: (32, 32, 3) floats in, 10 class probabilities out."""
    from keras import Sequential, layers

    model = Sequential([layers.Input((32, 32, 3))])
    for filters in (32, 64, 128):
        model.add(layers.Conv2D(filters, 3, padding="same"))
        model.add(layers.Conv2D(filters, 3, padding="same"))
        if filters != 128:
            model.add(layers.MaxPooling2D(2, padding="same"))
    model.add(layers.Flatten())
    model.add(layers.Dropout(0.3))
    model.add(layers.Dense(128, activation="relu"))
    model.add(layers.Dense(10, activation="softmax"))
    return model


def _load(folder: Path | None) -> Any:
    return cifar10.load(folder)
