"""Networks on MNIST and Fashion-MNIST."""

from pathlib import Path
from typing import Any

from workloads.datasets import fashion_mnist, mnist
from workloads.engines.registry import engine_named
from workloads.networks.images import image_feed
from workloads.protocol.messages import message
from workloads.protocol.spec import RunSpec
from workloads.training.feed import Feed
from workloads.training.measured import REAL_CLOTHES, REAL_DIGITS, first_losses, measured_memory
from workloads.training.training import Training
from workloads.workload import Kind

_SOURCE = "Keras examples as run by Max Woolf, 2017 (study 000)"
_SHAPE = (28, 28, 1)


class _Mnist(Training):
    kind: Kind = "image"
    study = "000"
    source = _SOURCE
    epoch_text = message("epoch_text.images", training=60_000, validation=10_000)
    dataset = "mnist"
    epochs = 12
    batch_size = 128
    samples_per_epoch = 60_000
    validation_samples = 10_000
    # Chance level is ln 10 = 2.30.
    loss_band = (0.0, 1.6)


class MnistMlp(_Mnist):
    """Two dense layers with dropout."""

    id = "mnist_mlp"
    kind = "dense"
    epochs = 20
    parameters_count = 669_706
    operations_per_example = 3_209_216
    proof = first_losses(
        100,
        1.78,
        2.09,
        real=(0.21, 1.4, REAL_DIGITS),
        unlearned=2.45,
        mixed_bfloat16=(1.75, 2.1),
        mixed_float16=(1.91, 2.35),
    )
    memory_needs = measured_memory(tensorflow=(930, 0.011), torch=(610, 0), jax=(630, 0.26))

    def build(self, spec: RunSpec) -> Any:
        """Return the model, which maps 784 floats to 10 class probabilities."""
        from keras import Sequential, layers

        return Sequential(
            [
                layers.Input((784,)),
                layers.Dense(512, activation="relu"),
                layers.Dropout(0.2),
                layers.Dense(512, activation="relu"),
                layers.Dropout(0.2),
                layers.Dense(10, activation="softmax"),
            ]
        )

    def compile_options(self, spec: RunSpec) -> dict[str, Any]:
        """Return RMSprop with default settings."""
        from keras import optimizers

        optimizer = optimizers.RMSprop(0.001, rho=0.9)
        return {"optimizer": optimizer, "loss": "categorical_crossentropy", "metrics": ["accuracy"]}

    def load(self, file: Path | None, spec: RunSpec) -> Feed:
        """Return flattened images. All test images are used for validation after each epoch."""
        return image_feed(mnist.load(file), (784,), categorical=True, validated=True)


class MnistCnn(_Mnist):
    """Two convolutions and two dense layers with dropout, trained with Adadelta."""

    id = "mnist_cnn"
    parameters_count = 1_199_882
    operations_per_example = 71_565_312
    proof = first_losses(100, 1.46, 1.92, real=(0.29, 1.47, REAL_DIGITS), unlearned=2.31)
    memory_needs = measured_memory(tensorflow=(940, 0.62), torch=(630, 1.3), jax=(750, 2.3))

    def build(self, spec: RunSpec) -> Any:
        """Return the model, which maps floats of shape (28, 28, 1) to 10 class probabilities."""
        return _digits_network(dropout=True)

    def compile_options(self, spec: RunSpec) -> dict[str, Any]:
        """Return Adadelta with Keras 2's default learning rate (1.0). Keras 3's default is 0.001."""
        from keras import optimizers

        optimizer = optimizers.Adadelta(1.0, rho=0.95)
        return {"optimizer": optimizer, "loss": "categorical_crossentropy", "metrics": ["accuracy"]}

    def load(self, file: Path | None, spec: RunSpec) -> Feed:
        """Return the images. All test images are used for validation after each epoch."""
        return image_feed(mnist.load(file), _SHAPE, categorical=True, validated=True)


class MnistCnnNoDropoutAdam(_Mnist):
    """The layers of `mnist_cnn` without dropout, trained with Adam and fed by tf.data.

    The source describes the pipeline and the steps. The layers are assumed to be the same as in `mnist_cnn`.
    """

    id = "mnist_cnn_nodropout_adam"
    source = "tensorflow_macos issue 25, 2020 (beside study 000)"
    parameters_count = 1_199_882
    operations_per_example = 71_565_312
    proof = first_losses(100, 0.778, 1.03, real=(0.17, 1.34, REAL_DIGITS), unlearned=2.31)
    memory_needs = measured_memory(tensorflow=(1000, 0.56), torch=(610, 1.7), jax=(680, 2.5))

    def build(self, spec: RunSpec) -> Any:
        """Return the model, which maps floats of shape (28, 28, 1) to 10 class probabilities."""
        return _digits_network(dropout=False)

    def compile_options(self, spec: RunSpec) -> dict[str, Any]:
        """Return Adam, for integer labels."""
        from keras import optimizers

        optimizer = optimizers.Adam(0.001)
        return {"optimizer": optimizer, "loss": "sparse_categorical_crossentropy", "metrics": ["accuracy"]}

    def load(self, file: Path | None, spec: RunSpec) -> Feed:
        """Return pipelines that cache, batch and prefetch. The training pipeline also shuffles."""
        arrays, engine = mnist.load(file), engine_named(spec.engine)
        return Feed(
            x=engine.shuffled(arrays.x_train, arrays.y_train, spec.batch_size, spec.seed),
            validation=engine.in_order(arrays.x_test, arrays.y_test, spec.batch_size),
            samples=len(arrays.x_train),
            validation_samples=len(arrays.x_test),
            shape=_SHAPE,
            source=arrays.source,
            checksum=arrays.checksum,
        )


class FashionMnistCnn(_Mnist):
    """Two 2 × 2 convolutions with dropout, as in many tutorials."""

    id = "fashion_mnist_cnn_412k"
    study = ""
    source = "a common tutorial network; published times are in the reference table"
    epoch_text = message("epoch_text.images_alone", training=60_000)
    dataset = "fashion_mnist"
    epochs = 10
    batch_size = 64
    validation_samples = 0
    parameters_count = 412_778
    operations_per_example = 12_860_416
    proof = first_losses(
        100, 1.67, 2.05, real=(0.55, 1.73, REAL_CLOTHES), unlearned=2.34, mixed_bfloat16=(1.69, 2.1)
    )
    memory_needs = measured_memory(tensorflow=(820, 0.71), torch=(580, 1.4), jax=(680, 2.1))

    def build(self, spec: RunSpec) -> Any:
        """Return the model, which maps floats of shape (28, 28, 1) to 10 class probabilities."""
        from keras import Sequential, layers

        model = Sequential([layers.Input(_SHAPE)])
        for filters in (64, 32):
            model.add(layers.Conv2D(filters, 2, padding="same", activation="relu"))
            model.add(layers.MaxPooling2D(2))
            model.add(layers.Dropout(0.3))
        model.add(layers.Flatten())
        model.add(layers.Dense(256, activation="relu"))
        model.add(layers.Dropout(0.5))
        model.add(layers.Dense(10, activation="softmax"))
        return model

    def compile_options(self, spec: RunSpec) -> dict[str, Any]:
        return {"optimizer": "rmsprop", "loss": "sparse_categorical_crossentropy", "metrics": ["accuracy"]}

    def load(self, file: Path | None, spec: RunSpec) -> Feed:
        return image_feed(fashion_mnist.load(file), _SHAPE)


def _digits_network(*, dropout: bool) -> Any:
    from keras import Sequential, layers

    return Sequential(
        [
            layers.Input(_SHAPE),
            layers.Conv2D(32, 3, activation="relu"),
            layers.Conv2D(64, 3, activation="relu"),
            layers.MaxPooling2D(2),
            *([layers.Dropout(0.25)] if dropout else []),
            layers.Flatten(),
            layers.Dense(128, activation="relu"),
            *([layers.Dropout(0.5)] if dropout else []),
            layers.Dense(10, activation="softmax"),
        ]
    )
