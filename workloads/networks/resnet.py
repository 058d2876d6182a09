"""Residual networks: ResNet-50 from studies 003 and 001, and ResNet-56 for small images."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from workloads.datasets import cifar10
from workloads.networks.dlbench import DlBench, gradient_descent
from workloads.networks.imagenet import ImageNet
from workloads.networks.images import ConstantBatch, image_feed
from workloads.protocol.messages import message
from workloads.protocol.spec import RunSpec
from workloads.training.feed import Feed
from workloads.training.measured import OTHER_DATA, first_losses, measured_memory

_PARAMETERS = 25_610_152  # 25,557,032 of them trainable; the rest are moving averages


class ResNet50S(DlBench, ConstantBatch):
    """ResNet-50 on generated images. The loss includes weight decay on the convolutions."""

    id = "resnet_50_s"
    kind = "image"
    batch_size = 16
    parameters_count = _PARAMETERS
    input_shape = (224, 224, 3)
    deviation = 0.1
    operations_per_example = 22_911_811_584
    # Only two steps, because they take half a minute. They detect a wrong network or wrong arithmetic.
    proof = first_losses(2, 6.99, 7.99)
    memory_needs = measured_memory(tensorflow=(1400, 110), torch=(820, 270), jax=(1200, 110))

    def build(self, spec: RunSpec) -> Any:
        """Return the model, which maps floats of shape (224, 224, 3) to 1,000 scores."""
        from keras import regularizers

        return resnet_50(regularizers.L2(4e-5))

    def compile_options(self, spec: RunSpec) -> dict[str, Any]:
        return gradient_descent(0.01, momentum=0.9)


class ResNet50(ImageNet):
    """ResNet-50 without weight decay. Study 001 specifies neither the batch size nor the solver."""

    id = "resnet_50"
    batch_size = 64
    parameters_count = _PARAMETERS
    input_shape = (224, 224, 3)
    operations_per_example = 22_911_811_584
    memory_needs = measured_memory(tensorflow=(1300, 86), torch=(930, 250), jax=(1200, 96))

    def build(self, spec: RunSpec) -> Any:
        """Return the model, which maps floats of shape (224, 224, 3) to 1,000 scores."""
        return resnet_50()


class ResNet56(DlBench):
    """He et al.'s network for CIFAR-10 with n = 9. Shortcuts between stages have no parameters (option A)."""

    id = "resnet_56"
    kind = "image"
    epoch_text = message("epoch_text.images_alone", training=50_000)
    dataset = "cifar10"
    epochs = 40
    batch_size = 128
    samples_per_epoch = 50_000
    parameters_count = 857_082
    # Chance level is ln 10 = 2.30.
    loss_band = (0.0, 2.8)
    operations_per_example = 752_029_440
    proof = first_losses(20, 1.93, 3.35, real=(1.1, 5.0, OTHER_DATA), unlearned=3.89)
    memory_needs = measured_memory(tensorflow=(1500, 4.6), torch=(1100, 14), jax=(1500, 4))

    def build(self, spec: RunSpec) -> Any:
        """Return the model, which maps floats of shape (32, 32, 3) to 10 scores."""
        from keras import Input, Model, layers, regularizers

        normalised = partial(_normalised, momentum=0.9, epsilon=1e-5)
        inputs = Input((32, 32, 3))
        x = normalised(inputs, 16, 3)
        for filters in (16, 32, 64):
            for number in range(9):
                stride = 2 if filters != 16 and number == 0 else 1
                branch = normalised(x, filters, 3, stride)
                branch = normalised(branch, filters, 3, relu=False)
                x = layers.Activation("relu")(layers.Add()([branch, _padded(x) if stride == 2 else x]))
        x = layers.GlobalAveragePooling2D()(x)
        # As in the study's TensorFlow file, only the last layer has weight decay.
        return Model(inputs, layers.Dense(10, kernel_regularizer=regularizers.L2(1e-4))(x))

    def compile_options(self, spec: RunSpec) -> dict[str, Any]:
        return gradient_descent(0.01, momentum=0.9)

    def load(self, file: Path | None, spec: RunSpec) -> Feed:
        return image_feed(cifar10.load(file, scale=1), (32, 32, 3))


def resnet_50(regularizer: Any = None) -> Any:
    """Return He et al.'s bottleneck network, whose convolutions have no biases."""
    from keras import Input, Model, layers

    normalised = partial(_normalised, momentum=0.9997, epsilon=1e-3, kernel_regularizer=regularizer)
    inputs = Input((224, 224, 3))
    x = normalised(inputs, 64, 7, 2)
    x = layers.MaxPooling2D(3, 2, padding="same")(x)
    for filters, blocks in ((64, 3), (128, 4), (256, 6), (512, 3)):
        for number in range(blocks):
            x = _bottleneck(normalised, x, filters, is_first=number == 0)
    return Model(inputs, layers.Dense(1_000)(layers.GlobalAveragePooling2D()(x)))


def _bottleneck(normalised: Callable[..., Any], x: Any, filters: int, *, is_first: bool) -> Any:
    from keras import layers

    stride = 2 if is_first and filters != 64 else 1
    shortcut = normalised(x, 4 * filters, 1, stride, relu=False) if is_first else x
    x = normalised(x, filters, 1, stride)
    x = normalised(x, filters, 3)
    x = normalised(x, 4 * filters, 1, relu=False)
    return layers.Activation("relu")(layers.Add()([x, shortcut]))


def _normalised(
    x: Any,
    filters: int,
    size: int,
    stride: int = 1,
    *,
    relu: bool = True,
    momentum: float,
    epsilon: float,
    kernel_regularizer: Any = None,
) -> Any:
    """Apply a convolution, batch normalisation and, optionally, ReLU."""
    from keras import layers

    x = layers.Conv2D(
        filters, size, stride, padding="same", use_bias=False, kernel_regularizer=kernel_regularizer
    )(x)
    x = layers.BatchNormalization(momentum=momentum, epsilon=epsilon)(x)
    return layers.Activation("relu")(x) if relu else x


def _padded(x: Any) -> Any:
    """Halve the resolution and double the channels by adding zeros on both sides of the existing channels."""
    from keras import layers, ops

    x = layers.AveragePooling2D(2)(x)
    more = x.shape[-1] // 2
    return ops.pad(x, [[0, 0], [0, 0], [0, 0], [more, more]])
