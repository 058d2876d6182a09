"""ImageNet networks that study 001 timed in the cloud. Here, they train on generated images."""

from typing import Any

from workloads.engines.registry import engine_named
from workloads.networks.dlbench import gradient_descent
from workloads.networks.images import ConstantBatch
from workloads.protocol.messages import message
from workloads.protocol.spec import RunSpec
from workloads.training.measured import measured_memory


class ImageNet(ConstantBatch):
    """Runs 1,000 iterations, as in the study. A real epoch would need ImageNet, which requires registration."""

    kind = "image"
    study = "001"
    source = "Alibaba Cloud GPU performance model, 2018 (study 001); stock configuration"
    epoch_text = message("epoch_text.cut", images=1_281_167, batches=100)
    metric = "images_per_s"
    samples_per_epoch = 1_281_167
    weight_decay: float | None = None

    def compile_options(self, spec: RunSpec) -> dict[str, Any]:
        return gradient_descent(0.01, momentum=0.9, weight_decay=self.weight_decay)


class AlexNetCaffe(ImageNet):
    """AlexNet as implemented in Caffe, with two groups of filters and local response normalisation."""

    id = "alexnet_caffe"
    batch_size = 256
    parameters_count = 60_965_224
    input_shape = (227, 227, 3)
    weight_decay = 5e-4
    operations_per_example = 4_135_610_496
    memory_needs = measured_memory(tensorflow=(1900, 9), torch=(1300, 17), jax=(1300, 29))

    def build(self, spec: RunSpec) -> Any:
        """Return the model, which maps floats of shape (227, 227, 3) to 1,000 scores."""
        from keras import Input, Model, layers

        inputs = Input(self.input_shape)
        x = layers.Conv2D(96, 11, strides=4, activation="relu")(inputs)
        x = layers.MaxPooling2D(3, 2)(response_normalisation(spec)(x))
        x = _in_two_groups(x, 256, 5)
        x = layers.MaxPooling2D(3, 2)(response_normalisation(spec)(x))
        x = layers.Conv2D(384, 3, padding="same", activation="relu")(x)
        x = _in_two_groups(x, 384, 3)
        x = _in_two_groups(x, 256, 3)
        x = layers.Flatten()(layers.MaxPooling2D(3, 2)(x))
        return Model(inputs, dense_classifier(x))


class Vgg16(ImageNet):
    """Simonyan and Zisserman's VGG-16 (configuration D)."""

    id = "vgg16"
    batch_size = 32
    parameters_count = 138_357_544
    input_shape = (224, 224, 3)
    operations_per_example = 92_648_177_664
    memory_needs = measured_memory(tensorflow=(3000, 62), torch=(2500, 130), jax=(2400, 210))

    def build(self, spec: RunSpec) -> Any:
        """Return the model, which maps floats of shape (224, 224, 3) to 1,000 scores."""
        from keras import Input, Model, layers

        x = inputs = Input(self.input_shape)
        for filters, convolutions in ((64, 2), (128, 2), (256, 3), (512, 3), (512, 3)):
            for _ in range(convolutions):
                x = layers.Conv2D(filters, 3, padding="same", activation="relu")(x)
            x = layers.MaxPooling2D(2)(x)
        return Model(inputs, dense_classifier(layers.Flatten()(x)))


class InceptionV3(ImageNet):
    """Inception-v3 (Szegedy et al.) from Keras, with random weights."""

    id = "inception_v3"
    batch_size = 64
    parameters_count = 23_851_784
    input_shape = (299, 299, 3)
    operations_per_example = 34_240_933_248
    memory_needs = measured_memory(tensorflow=(1300, 110), torch=(1000, 260), jax=(1700, 140))

    def build(self, spec: RunSpec) -> Any:
        """Return the model, which maps floats of shape (299, 299, 3) to 1,000 scores."""
        from keras.applications import InceptionV3

        return InceptionV3(weights=None, input_shape=self.input_shape, classifier_activation=None)


def dense_classifier(x: Any) -> Any:
    """Return 1,000 scores from two dense layers with dropout."""
    from keras import layers

    for _ in range(2):
        x = layers.Dropout(0.5)(layers.Dense(4_096, activation="relu")(x))
    return layers.Dense(1_000)(x)


def response_normalisation(spec: RunSpec) -> Any:
    """Return a layer for local response normalisation, as in Caffe."""
    from keras import layers

    engine = engine_named(spec.engine)

    class ResponseNormalisation(layers.Layer):  # type: ignore[misc] # Keras ships no types
        def call(self, x: Any) -> Any:
            return engine.response_normalisation(x)

    # Always float32, because TensorFlow supports no other type on GPUs.
    return ResponseNormalisation(dtype="float32")


def _in_two_groups(x: Any, filters: int, size: int) -> Any:
    """Return two parallel convolutions, the way Caffe computes groups."""
    # Keras would compile a grouped convolution with XLA even if compilation is disabled.
    from keras import layers, ops

    halves = ops.split(x, 2, axis=-1)
    return layers.Concatenate()(
        [layers.Conv2D(filters // 2, size, padding="same", activation="relu")(half) for half in halves]
    )
