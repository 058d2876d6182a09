"""GoogLeNet (Inception-v1)."""

from typing import TYPE_CHECKING, Any

from workloads.networks.dlbench import gradient_descent
from workloads.networks.imagenet import ImageNet, response_normalisation
from workloads.protocol.messages import message
from workloads.protocol.parameters import OnOff, Parameter
from workloads.protocol.spec import RunSpec
from workloads.training.measured import first_losses, measured_memory

if TYPE_CHECKING:
    from numpy.typing import NDArray

# Filters of 1×1; 3×3 reduction, 3×3; 5×5 reduction, 5×5; pooling projection.
_MODULES = {
    "3a": (64, 96, 128, 16, 32, 32),
    "3b": (128, 128, 192, 32, 96, 64),
    "4a": (192, 96, 208, 16, 48, 64),
    "4b": (160, 112, 224, 24, 64, 64),
    "4c": (128, 128, 256, 24, 64, 64),
    "4d": (112, 144, 288, 32, 64, 64),
    "4e": (256, 160, 320, 32, 128, 128),
    "5a": (256, 160, 320, 32, 128, 128),
    "5b": (384, 192, 384, 48, 128, 128),
}


class GoogLeNet(ImageNet):
    """Szegedy et al.'s network with two auxiliary heads, as implemented in Caffe."""

    id = "googlenet"
    batch_size = 32
    parameters_count = 13_378_280
    inference_parameters_count = 6_998_552
    parameters = (Parameter("auxiliary_heads", OnOff(), True, message("parameter_help.auxiliary_heads")),)
    input_shape = (224, 224, 3)
    operations_per_example = 9_310_236_672
    proof = first_losses(20, 10.4, 11.5, unlearned=11.1)
    memory_needs = measured_memory(tensorflow=(1000, 37), torch=(700, 93), jax=(1400, 92))

    def expected_parameters(self, spec: RunSpec) -> int | None:
        """Return the parameter count with or without the auxiliary heads, depending on the spec."""
        return self.parameters_count if _has_heads(spec) else self.inference_parameters_count

    def build(self, spec: RunSpec) -> Any:
        """Return the model, which maps floats of shape (224, 224, 3) to 1,000 scores from each head."""
        return _network(spec, self.input_shape, has_heads=_has_heads(spec))

    def build_for_inference(self, spec: RunSpec) -> Any:
        """Return the model with only its final head."""
        return _network(spec, self.input_shape, has_heads=False)

    def compile_options(self, spec: RunSpec) -> dict[str, Any]:
        """Return Caffe's quick solver and the heads' loss weights."""
        from keras import optimizers

        rate = optimizers.schedules.PolynomialDecay(0.01, 2_400_000, end_learning_rate=0, power=0.5)
        options = gradient_descent(rate, momentum=0.9, weight_decay=2e-4)
        if _has_heads(spec):
            options |= {"loss": [options["loss"]] * 3, "loss_weights": [1.0, 0.3, 0.3]}
        return options

    def targets(self, labels: "NDArray[Any]", spec: RunSpec) -> Any:
        return (labels, labels, labels) if _has_heads(spec) else labels


def _has_heads(spec: RunSpec) -> bool:
    return bool(spec.parameters.get("auxiliary_heads", True))


def _network(spec: RunSpec, shape: tuple[int, ...], *, has_heads: bool) -> Any:
    from keras import Input, Model, layers

    inputs = Input(shape)
    x = _convolution(inputs, 64, 7, 2)
    x = response_normalisation(spec)(_pooled(x))
    x = _convolution(_convolution(x, 64, 1), 192, 3)
    x = _pooled(response_normalisation(spec)(x))
    auxiliary = []
    for name, filters in _MODULES.items():
        x = _module(x, filters)
        if name in {"3b", "4e"}:
            x = _pooled(x)
        if name in {"4a", "4d"} and has_heads:
            auxiliary.append(_auxiliary(x))
    x = layers.Dropout(0.4)(layers.GlobalAveragePooling2D()(x))
    main = layers.Dense(1_000)(x)
    return Model(inputs, [main, *auxiliary] if auxiliary else main)


def _convolution(x: Any, filters: int, size: int, stride: int = 1) -> Any:
    from keras import layers

    return layers.Conv2D(filters, size, stride, padding="same", activation="relu")(x)


def _pooled(x: Any) -> Any:
    from keras import layers

    return layers.MaxPooling2D(3, 2, padding="same")(x)


def _module(x: Any, filters: tuple[int, ...]) -> Any:
    from keras import layers

    single, reduced_3, triple, reduced_5, quintuple, pooled = filters
    return layers.Concatenate()(
        [
            _convolution(x, single, 1),
            _convolution(_convolution(x, reduced_3, 1), triple, 3),
            _convolution(_convolution(x, reduced_5, 1), quintuple, 5),
            _convolution(layers.MaxPooling2D(3, 1, padding="same")(x), pooled, 1),
        ]
    )


def _auxiliary(x: Any) -> Any:
    from keras import layers

    x = layers.Flatten()(_convolution(layers.AveragePooling2D(5, 3)(x), 128, 1))
    x = layers.Dropout(0.7)(layers.Dense(1_024, activation="relu")(x))
    return layers.Dense(1_000)(x)
