"""Convolutional networks on CIFAR-10."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from workloads.datasets import cifar10
from workloads.networks.images import one_hot
from workloads.protocol.messages import message
from workloads.protocol.spec import RunSpec
from workloads.training.feed import Feed
from workloads.training.measured import OTHER_DATA, first_losses, measured_memory
from workloads.training.training import Training

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class Cifar10KerasCnn(Training):
    """The standard benchmark: the network from study 004 (Song Yansong, 2019), layer by layer.

    As in the study, the convolutions have no activation function. Adding one would make it a different workload.
    """

    id = "cifar10_keras_cnn"
    kind = "image"
    study = "004"
    source = "Song Yansong, Speed comparison of mainstream deep-learning hardware, 2019 (study 004)"
    epoch_text = message("epoch_text.images", training=50_000, validation=1_000)
    dataset = "cifar10"
    epochs = 10
    batch_size = 100
    samples_per_epoch = 50_000
    validation_samples = 1_000
    parameters_count = 1_337_002
    predicted_examples = 20
    # Chance level is ln 10 = 2.30.
    loss_band = (0.0, 2.2)
    operations_per_example = 236_330_496
    # Chance level is 2.30, and with shuffled labels the loss ends at 2.32. Even on difficult images, training ends
    # below both.
    proof = first_losses(100, 1.02, 1.80, real=(0.59, 2.28, OTHER_DATA), unlearned=2.34)
    memory_needs = measured_memory(tensorflow=(1400, 0.69), torch=(1200, 1.8), jax=(1200, 2.1))

    def build(self, spec: RunSpec) -> Any:
        """Return the model, which maps floats of shape (32, 32, 3) to 10 class probabilities."""
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
        return {"optimizer": "adam", "loss": "sparse_categorical_crossentropy", "metrics": ["accuracy"]}

    def load(self, file: Path | None, spec: RunSpec) -> Feed:
        """Return the images in 0..1, with the first 1,000 test images for validation after each epoch."""
        arrays = cifar10.load(file)
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


class Cifar10Cnn(Training):
    """The Keras example from study 000: convolutions with ReLU, and dropout, on augmented images.

    The study's generator augmented one image at a time. This implementation augments whole batches, which is the
    same kind of CPU work, but less of it.
    """

    id = "cifar10_cnn"
    kind = "image"
    study = "000"
    source = "Keras examples as run by Max Woolf, 2017 (study 000)"
    epoch_text = message("epoch_text.augmented_images", training=49_984, validation=10_000)
    dataset = "cifar10"
    prepares_input = True
    epochs = 20
    batch_size = 32
    samples_per_epoch = 50_000
    validation_samples = 10_000
    parameters_count = 1_250_858
    # Chance level is ln 10 = 2.30.
    loss_band = (0.0, 2.3)
    operations_per_example = 122_677_248
    # The learning rate of 0.0001 makes it learn slowly. On real images, a loss of 2.29 is plausible, whereas 2.31
    # means a learning rate of zero.
    proof = first_losses(780, 1.94, 2.16, real=(1.0, 2.4, OTHER_DATA), unlearned=2.31)
    memory_needs = measured_memory(tensorflow=(1700, 0.38), torch=(1200, 1.1), jax=(1300, 4))

    def steps_per_epoch(self, spec: RunSpec) -> int:
        """Return the number of full batches in an epoch. The study dropped the incomplete last batch."""
        return self.samples_per_epoch // spec.batch_size

    def build(self, spec: RunSpec) -> Any:
        """Return the model, which maps floats of shape (32, 32, 3) to 10 class probabilities."""
        from keras import Sequential, layers

        model = Sequential([layers.Input((32, 32, 3))])
        for filters in (32, 64):
            model.add(layers.Conv2D(filters, 3, padding="same", activation="relu"))
            model.add(layers.Conv2D(filters, 3, activation="relu"))
            model.add(layers.MaxPooling2D(2))
            model.add(layers.Dropout(0.25))
        model.add(layers.Flatten())
        model.add(layers.Dense(512, activation="relu"))
        model.add(layers.Dropout(0.5))
        model.add(layers.Dense(10, activation="softmax"))
        return model

    def compile_options(self, spec: RunSpec) -> dict[str, Any]:
        """Return RMSprop with the study's decay, applied at every step."""
        from keras import optimizers

        rate = optimizers.schedules.InverseTimeDecay(1e-4, decay_steps=1, decay_rate=1e-6)
        optimizer = optimizers.RMSprop(rate, rho=0.9)
        return {"optimizer": optimizer, "loss": "categorical_crossentropy", "metrics": ["accuracy"]}

    def load(self, file: Path | None, spec: RunSpec) -> Feed:
        """Return augmented batches. All test images, unaugmented, are used for validation after each epoch."""
        arrays = cifar10.load(file)
        return Feed(
            x=augmented_batches(arrays.x_train, one_hot(arrays.y_train), spec.batch_size, spec.seed),
            validation=(arrays.x_test, one_hot(arrays.y_test)),
            samples=len(arrays.x_train),
            validation_samples=len(arrays.x_test),
            shape=(32, 32, 3),
            source=arrays.source,
            checksum=arrays.checksum,
        )


_SHIFT = 0.1  # maximum shift relative to the side; shifts and flips are computed on the CPU during training


def augmented_batches(x: "NDArray[np.float32]", y: "NDArray[Any]", batch_size: int, seed: int) -> Any:
    """Return an endless PyDataset of full batches, reshuffled for each pass.

    One thread prepares the batches in advance. With one worker, Keras delegates this thread and the prefetching to
    TensorFlow.
    """
    import numpy as np
    from keras.utils import PyDataset

    steps = len(x) // batch_size
    random = np.random.default_rng(seed)
    order = random.permutation(len(x))

    class Batches(PyDataset):  # type: ignore[misc] # Keras ships no types
        num_batches = None  # endless, because an epoch may be cut at any step

        def __getitem__(self, index: int) -> tuple[Any, Any]:
            place = index % steps
            if place == 0:
                random.shuffle(order)
            rows = order[place * batch_size : (place + 1) * batch_size]
            return shifted_and_flipped(x[rows], random), y[rows]

    batches = Batches(workers=1, use_multiprocessing=False, max_queue_size=10)
    batches.rows = x
    return batches


def shifted_and_flipped(images: "NDArray[np.float32]", random: "np.random.Generator") -> "NDArray[np.float32]":
    """Shift images by up to a tenth of each side (including fractions of a pixel), and flip half of the images."""
    for axis in (1, 2):
        side = images.shape[axis]
        images = shifted(images, random.uniform(-_SHIFT, _SHIFT, len(images)) * side, axis)
    flips = random.random(len(images)) < 0.5
    images[flips] = images[flips, :, ::-1]
    return images


def shifted(images: "NDArray[np.float32]", shifts_px: "NDArray[np.float64]", axis: int) -> "NDArray[np.float32]":
    """Shift each image along an axis, interpolating between pixels and repeating the edge pixels."""
    import numpy as np

    last = images.shape[axis] - 1
    places = np.clip(np.arange(last + 1) + shifts_px[:, None], 0, last)
    below = np.minimum(places.astype(np.intp), last - 1)
    share = (places - below).astype(np.float32)

    def along(values: "NDArray[Any]") -> "NDArray[Any]":
        return np.expand_dims(values, tuple(other for other in (1, 2, 3) if other != axis))

    near = np.take_along_axis(images, along(below), axis)
    far = np.take_along_axis(images, along(below + 1), axis)
    moved: NDArray[np.float32] = near + along(share) * (far - near)
    return moved
