"""Networks whose depth and width are parameters, to find out which hardware suits which size (ParaDnn, 2019)."""

from typing import TYPE_CHECKING, Any

from workloads.networks.dlbench import gradient_descent
from workloads.networks.images import ConstantBatch
from workloads.networks.vision import convolution
from workloads.protocol.messages import message
from workloads.protocol.parameters import Parameter, Whole
from workloads.protocol.spec import RunSpec
from workloads.training.measured import first_losses, measured_memory

if TYPE_CHECKING:
    from numpy.typing import NDArray

_VOCABULARY = 1_000
_STAGES = 3


class _Parametric(ConstantBatch):
    source = "after ParaDnn: Wang, Wei and Brooks, 2019"
    batch_size = 64

    def sizes(self, spec: RunSpec) -> tuple[int, ...]:
        """Return the parameters' values in declaration order."""
        return tuple(int(self.value_of(spec, parameter.name)) for parameter in self.parameters)

    def compile_options(self, spec: RunSpec) -> dict[str, Any]:
        return gradient_descent(0.01, momentum=0.9)


class FcParametric(_Parametric):
    """Dense layers of equal width."""

    id = "fc_parametric"
    kind = "dense"
    metric = "seconds_per_batch_s"
    parameters_count = 18_736_104
    input_shape = (2_000,)
    parameters = (
        Parameter("layers", Whole(1, 128), 4, message("parameter_help.hidden_layers")),
        Parameter("width", Whole(1, 16_384), 2_048, message("parameter_help.units")),
    )
    operations_per_example = 104_169_472
    proof = first_losses(20, 2.64, 3.56, unlearned=6.94)
    memory_needs = measured_memory(tensorflow=(1010, 0), torch=(650, 0.15), jax=(570, 0.38))

    def expected_parameters(self, spec: RunSpec) -> int:
        """Return the parameter count, computed from the run's parameters."""
        depth, width = self.sizes(spec)
        return 2_001 * width + (depth - 1) * (width + 1) * width + (width + 1) * self.classes

    def results(self, spec: RunSpec) -> float:
        """Return the number of activations in all layers, before and after the activation functions."""
        depth, width = self.sizes(spec)
        return 2_000 + 2 * depth * width + 3 * self.classes

    def build(self, spec: RunSpec) -> Any:
        """Return the model, which maps 2,000 floats to 1,000 scores."""
        from keras import Sequential, layers

        depth, width = self.sizes(spec)
        hidden = [layers.Dense(width, activation="relu") for _ in range(depth)]
        return Sequential([layers.Input(self.input_shape), *hidden, layers.Dense(self.classes)])


class CnnParametric(_Parametric):
    """Three stages of residual blocks. Each stage doubles the filters and halves the resolution."""

    id = "cnn_parametric"
    kind = "image"
    metric = "images_per_s"
    parameters_count = 826_568
    input_shape = (64, 64, 3)
    parameters = (
        Parameter("layers", Whole(1, 64), 2, message("parameter_help.residual_blocks")),
        Parameter("width", Whole(1, 512), 32, message("parameter_help.filters")),
    )
    operations_per_example = 2_531_506_176
    proof = first_losses(20, 5.91, 6.87, unlearned=7.15)
    memory_needs = measured_memory(tensorflow=(700, 10.7), torch=(440, 29), jax=(570, 13.2))

    def expected_parameters(self, spec: RunSpec) -> int:
        """Return the parameter count, computed from the run's parameters."""
        depth, width = self.sizes(spec)
        count, given = (27 + 4) * width, width
        for filters in (width << stage for stage in range(_STAGES)):
            count += 9 * given * filters + (2 * depth - 1) * 9 * filters**2 + 8 * depth * filters
            count += (given + 4) * filters if given != filters else 0
            given = filters
        return count + (given + 1) * self.classes

    def results(self, spec: RunSpec) -> float:
        """Return the number of activations in all convolutions.

        Each stage has twice the filters and a quarter of the pixels.
        """
        depth, width = self.sizes(spec)
        return 64**2 * width * 3 * (1 + 2 * depth * sum(0.5**stage for stage in range(_STAGES)))

    def build(self, spec: RunSpec) -> Any:
        """Return the model, which maps floats of shape (64, 64, 3) to 1,000 scores."""
        from keras import Input, Model, layers

        depth, width = self.sizes(spec)
        inputs = Input(self.input_shape)
        x = convolution(inputs, width, 3, activation="relu")
        for stage in range(_STAGES):
            for number in range(depth):
                filters, stride = width << stage, 2 if stage and number == 0 else 1
                shortcut = convolution(x, filters, 1, stride) if stride == 2 else x
                branch = convolution(convolution(x, filters, 3, stride, "relu"), filters, 3)
                x = layers.Activation("relu")(layers.Add()([branch, shortcut]))
        return Model(inputs, layers.Dense(self.classes)(layers.GlobalAveragePooling2D()(x)))


class RnnParametric(_Parametric):
    """LSTM layers of equal width that predict the next token in random sequences."""

    id = "rnn_parametric"
    kind = "text"
    metric = "tokens_per_s"
    parameters_count = 1_563_624
    parameters = (
        Parameter("layers", Whole(1, 32), 2, message("parameter_help.lstm_layers")),
        Parameter("width", Whole(1, 8_192), 256, message("parameter_help.units")),
        Parameter("sequence", Whole(1, 1_024), 32, message("parameter_help.tokens")),
    )
    classes = _VOCABULARY
    operations_per_example = 250_478_592
    proof = first_losses(20, 6.56, 7.25, unlearned=6.91)
    memory_needs = measured_memory(tensorflow=(680, 1.2), torch=(390, 2.4), jax=(470, 1.7))

    def units_of(self, variant: str) -> int:
        return int(self.values_of(variant)["sequence"])

    def expected_parameters(self, spec: RunSpec) -> int:
        """Return the parameter count, computed from the run's parameters."""
        depth, width, _ = self.sizes(spec)
        return (2 * _VOCABULARY + depth * 4 * (2 * width + 1)) * width + _VOCABULARY

    def results(self, spec: RunSpec) -> float:
        """Return the number of activations in all time steps: gates and states of each layer, and scores."""
        depth, width, sequence = self.sizes(spec)
        return sequence * (8 * depth * width + 3 * _VOCABULARY)

    def build(self, spec: RunSpec) -> Any:
        """Return the model, which maps token ids to scores for each next token."""
        from keras import Sequential, layers

        depth, width, sequence = self.sizes(spec)
        return Sequential(
            [
                layers.Input((sequence,), dtype="int32"),
                layers.Embedding(_VOCABULARY, width),
                *(layers.LSTM(width, return_sequences=True) for _ in range(depth)),
                layers.Dense(_VOCABULARY),
            ]
        )

    def examples(self, random: Any, spec: RunSpec) -> "tuple[NDArray[Any], NDArray[Any]]":
        *_, sequence = self.sizes(spec)
        tokens = random.integers(_VOCABULARY, size=(spec.batch_size, sequence + 1), dtype="int32")
        return tokens[:, :-1].copy(), tokens[:, 1:].copy()
