"""Convolutional networks on CIFAR-10."""

from pathlib import Path
from typing import Any

from workloads.datasets import cifar10
from workloads.feed import Feed
from workloads.spec import RunSpec
from workloads.training import Training


class Cifar10KerasCnn(Training):
    """The standard benchmark: the network of study 004 (Song Yansong, 2019), layer by layer.

    Its convolutions really have no activation function; adding one would make another workload.
    """

    id = "cifar10_keras_cnn"
    title = "CIFAR-10 CNN"
    kind = "image"
    study = "004"
    summary = (
        "The standard Keras network for small images: six convolutions, 1,337,002 parameters.\n"
        "50,000 images of 32 × 32 pixels an epoch, and 1,000 to validate it."
    )
    source = "Song Yansong, Speed comparison of mainstream deep-learning hardware, 2019 (study 004)"
    epoch_text = "50,000 training images, then 1,000 to validate"
    dataset = "cifar10"
    epochs = 10
    batch_size = 100
    samples_per_epoch = 50_000
    validation_samples = 1_000
    parameters_count = 1_337_002
    predicted_examples = 20

    def build(self, spec: RunSpec) -> Any:
        """Return the model: (32, 32, 3) floats in, 10 class probabilities out."""
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

    def compile_options(self, spec: RunSpec) -> dict[str, Any]:
        """Return Adam with its defaults, on whole-number labels."""
        return {"optimizer": "adam", "loss": "sparse_categorical_crossentropy", "metrics": ["accuracy"]}

    def load(self, folder: Path | None, spec: RunSpec) -> Feed:
        """Return the images in 0..1; the first 1,000 test images validate each epoch."""
        arrays = cifar10.load(folder)
        validation = slice(0, self.validation_samples)
        return Feed(
            x=arrays.x_train,
            y=arrays.y_train,
            validation=(arrays.x_test[validation], arrays.y_test[validation]),
            test=(arrays.x_test, arrays.y_test),
            samples=len(arrays.x_train),
            validation_samples=self.validation_samples,
            shape=(32, 32, 3),
            source=arrays.source,
            checksum=arrays.checksum,
        )
