"""AlexNet from DLBench. For Caffe's AlexNet, see the networks from study 001."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from workloads.datasets import cifar10
from workloads.networks.dlbench import DlBench, gradient_descent
from workloads.networks.images import ConstantBatch, image_feed
from workloads.protocol.messages import message
from workloads.protocol.spec import RunSpec
from workloads.training.feed import Feed
from workloads.training.measured import OTHER_DATA, first_losses, measured_memory

if TYPE_CHECKING:
    from numpy.typing import NDArray


class AlexNetS(DlBench, ConstantBatch):
    """AlexNet without groups, normalisation or dropout, on generated images."""

    id = "alexnet_s"
    kind = "image"
    batch_size = 16
    parameters_count = 62_378_344
    input_shape = (224, 224, 3)
    deviation = 0.1
    operations_per_example = 6_600_706_176
    proof = first_losses(20, 4.08, 5.55, unlearned=6.92)
    memory_needs = measured_memory(tensorflow=(1300, 6.9), torch=(1000, 7.2), jax=(880, 19))

    def build(self, spec: RunSpec) -> Any:
        """Return the model, which maps floats of shape (224, 224, 3) to 1,000 scores."""
        from keras import Sequential, layers

        def convolution(filters: int, size: int) -> Any:
            return layers.Conv2D(filters, size, padding="same", activation="relu")

        return Sequential(
            [
                layers.Input(self.input_shape),
                layers.ZeroPadding2D(2),
                layers.Conv2D(96, 11, strides=4, activation="relu"),
                layers.MaxPooling2D(3, 2),
                convolution(256, 5),
                layers.MaxPooling2D(3, 2),
                convolution(384, 3),
                convolution(384, 3),
                convolution(256, 3),
                layers.MaxPooling2D(3, 2),
                layers.Flatten(),
                layers.Dense(4_096, activation="relu"),
                layers.Dense(4_096, activation="relu"),
                layers.Dense(self.classes),
            ]
        )

    def compile_options(self, spec: RunSpec) -> dict[str, Any]:
        return gradient_descent(0.01)

    def targets(self, labels: "NDArray[Any]", spec: RunSpec) -> Any:
        """Return labels that are all 1, as in the study."""
        return labels * 0 + 1


class AlexNetR(DlBench):
    """Three convolutions on CIFAR-10. Pooling precedes ReLU, as in the study's TensorFlow file."""

    id = "alexnet_r"
    kind = "image"
    epoch_text = message("epoch_text.images_alone", training=50_000)
    dataset = "cifar10"
    epochs = 40
    batch_size = 1_024
    samples_per_epoch = 50_000
    parameters_count = 85_098
    # Chance level is ln 10 = 2.30. The first epoch barely improves on it.
    loss_band = (0.0, 2.8)
    operations_per_example = 59_477_760
    proof = first_losses(20, 2.18, 2.50, real=(1.1, 2.8, OTHER_DATA), unlearned=2.61)
    memory_needs = measured_memory(tensorflow=(1300, 0.48), torch=(1000, 0.71), jax=(1100, 1.3))

    def build(self, spec: RunSpec) -> Any:
        """Return the model, which maps floats of shape (32, 32, 3) to 10 scores."""
        from keras import Sequential, initializers, layers

        start = initializers.RandomNormal(stddev=0.01)

        def convolution(filters: int) -> Any:
            return layers.Conv2D(filters, 5, padding="same", kernel_initializer=start)

        return Sequential(
            [
                layers.Input((32, 32, 3)),
                convolution(32),
                layers.MaxPooling2D(3, 2),
                layers.Activation("relu"),
                convolution(32),
                layers.MaxPooling2D(3, 2),
                layers.Activation("relu"),
                convolution(64),
                layers.Activation("relu"),
                layers.AveragePooling2D(3, 2),
                layers.Flatten(),
                layers.Dense(10),
            ]
        )

    def compile_options(self, spec: RunSpec) -> dict[str, Any]:
        return gradient_descent(0.001, momentum=0.9)

    def load(self, file: Path | None, spec: RunSpec) -> Feed:
        return image_feed(cifar10.load(file, scale=1), (32, 32, 3))
