"""As much of Keras as dense layers need, in plain NumPy: the second engine's interpreter has it in its place."""

import math
import sys
from types import SimpleNamespace
from typing import Any

import numpy as np  # noqa: TID253 - it is an engine's own
from numpy.typing import NDArray  # noqa: TID253

__version__ = "0.0"
Floats = NDArray[np.float32]
_random = np.random.default_rng(0)


class Dense:
    def __init__(self, units: int, activation: str) -> None:
        self.units, self.activation = units, activation

    def build(self, inputs: int) -> int:
        limit = math.sqrt(6 / (inputs + self.units))
        self.kernel = _random.uniform(-limit, limit, (inputs, self.units)).astype(np.float32)
        self.bias = np.zeros(self.units, np.float32)
        return self.units


class Dropout:
    def __init__(self, rate: float) -> None:
        self.rate = rate

    def build(self, inputs: int) -> int:
        return inputs


class Sequential:
    """Layers one after the other; the first of the list is the shape of the input."""

    def __init__(self, parts: list[Any]) -> None:
        (size,), self.layers = parts[0], parts[1:]
        for layer in self.layers:
            size = layer.build(size)
        dense = [layer for layer in self.layers if isinstance(layer, Dense)]
        self.non_trainable_variables: list[Any] = []
        self.trainable_variables = [part for layer in dense for part in (layer.kernel, layer.bias)]
        self.optimizer: Any = None
        self.stop_training = False

    def count_params(self) -> int:
        return sum(variable.size for variable in self.trainable_variables)


class RMSprop:
    """Gradients over a running mean of their size."""

    def __init__(self, rate: float, rho: float) -> None:
        self.rate, self.rho, self.iterations = rate, rho, 0
        self._means: list[Floats] = []

    def apply(self, gradients: list[Floats], variables: list[Floats]) -> None:
        self._means = self._means or [np.zeros_like(variable) for variable in variables]
        self.iterations += 1
        for mean, gradient, variable in zip(self._means, gradients, variables, strict=True):
            mean[:] = self.rho * mean + (1 - self.rho) * gradient**2
            variable[:] = variable - self.rate * gradient / (np.sqrt(mean) + 1e-7)


class Callback:
    model: Any = None


layers = SimpleNamespace(Input=lambda shape: shape, Dense=Dense, Dropout=Dropout)
optimizers = SimpleNamespace(RMSprop=RMSprop)
callbacks = sys.modules["keras.callbacks"] = SimpleNamespace(Callback=Callback)  # type: ignore[assignment]
backend = SimpleNamespace(backend=lambda: "numpy")
config = SimpleNamespace(set_floatx=lambda name: None, set_image_data_format=lambda name: None)
mixed_precision = SimpleNamespace(
    set_dtype_policy=lambda name: None, dtype_policy=lambda: SimpleNamespace(name="float32")
)
utils = SimpleNamespace(set_random_seed=lambda seed: None)
