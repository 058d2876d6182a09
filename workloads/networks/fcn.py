"""Fully connected networks from DLBench."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from workloads.datasets import mnist
from workloads.networks.dlbench import DlBench, gradient_descent
from workloads.networks.images import ConstantBatch, image_feed, one_hot
from workloads.protocol.messages import message
from workloads.protocol.parameters import Parameter, Whole
from workloads.protocol.spec import RunSpec
from workloads.training.feed import Feed
from workloads.training.measured import REAL_DIGITS, first_losses, measured_memory

if TYPE_CHECKING:
    from numpy.typing import NDArray


class FcnS(DlBench, ConstantBatch):
    """Large dense layers on generated numbers. The labels are one-hot and are copied to the device too.

    The paper describes four hidden layers, but its programs build three.
    """

    id = "fcn_s"
    kind = "dense"
    batch_size = 64
    parameters_count = 117_997_696
    parameters = (Parameter("hidden_layers", Whole(3, 4), 3, message("parameter_help.fcn_layers")),)
    input_shape = (26_752,)
    classes = 26_752
    operations_per_example = 598_212_608
    proof = first_losses(20, 16.6, 23.1, unlearned=36.9)
    memory_needs = measured_memory(tensorflow=(1800, 0.62), torch=(2600, 1), jax=(2100, 1.1))

    def expected_parameters(self, spec: RunSpec) -> int | None:
        """Return the parameter count with three or four hidden layers."""
        return {3: 117_997_696, 4: 122_194_048}[_hidden_layers(spec)]

    def build(self, spec: RunSpec) -> Any:
        """Return the model, which maps 26,752 floats to 26,752 scores."""
        from keras import Sequential, initializers, layers

        start = initializers.RandomUniform(-0.5, 0.5)
        model = Sequential([layers.Input(self.input_shape)])
        for _ in range(_hidden_layers(spec)):
            model.add(layers.Dense(2_048, activation="sigmoid", kernel_initializer=start))
        model.add(layers.Dense(self.classes, kernel_initializer=start))
        return model

    def compile_options(self, spec: RunSpec) -> dict[str, Any]:
        return gradient_descent(0.01, categorical=True)

    def targets(self, labels: "NDArray[Any]", spec: RunSpec) -> Any:
        return one_hot(labels, self.classes)


class FcnR(DlBench):
    """Three large dense layers on MNIST."""

    id = "fcn_r"
    kind = "dense"
    epoch_text = message("epoch_text.images", training=60_000, validation=10_000)
    dataset = "mnist"
    epochs = 40
    batch_size = 1_024
    samples_per_epoch = 60_000
    validation_samples = 10_000
    parameters_count = 14_205_962
    operations_per_example = 81_981_440
    # The loss rises before it falls, by an amount that depends on the seed. The band starts halfway between the
    # lowest loss and the lower loss of a learning rate of zero, and extends equally far above the highest loss.
    proof = first_losses(
        50, 4.33, 10.0, real=(4.33, 11.0, REAL_DIGITS), unlearned=2.59, mixed_bfloat16=(5.39, 11.3)
    )
    memory_needs = measured_memory(tensorflow=(1200, 0.059), torch=(890, 0.051), jax=(990, 0))

    def build(self, spec: RunSpec) -> Any:
        """Return the model, which maps 784 floats to 10 scores."""
        from keras import Sequential, initializers, layers

        start = {
            "kernel_initializer": initializers.TruncatedNormal(stddev=0.1),
            "bias_initializer": initializers.Constant(0.1),
        }
        model = Sequential([layers.Input((784,))])
        for units in (2_048, 4_096, 1_024):
            model.add(layers.Dense(units, activation="sigmoid", **start))
        model.add(layers.Dense(10, **start))
        return model

    def compile_options(self, spec: RunSpec) -> dict[str, Any]:
        return {**gradient_descent(0.05, momentum=0.9, categorical=True), "metrics": ["accuracy"]}

    def load(self, file: Path | None, spec: RunSpec) -> Feed:
        """Return flattened images. The test images are evaluated after each epoch.

        The time per batch doesn't include the evaluation.
        """
        return image_feed(mnist.load(file), (784,), categorical=True, validated=True)


def _hidden_layers(spec: RunSpec) -> int:
    return int(spec.parameters.get("hidden_layers", 3))
