"""What the doctor asks of an engine's devices: real work, forward and backward, compared with NumPy's."""

from collections.abc import Callable
from functools import cache
from typing import Any

Work = Callable[[], tuple[Any, Any]]


class DeviceTrial:
    """An engine, imported to be examined.

    Attributes:
        errors: What it raises if a device can't do something.
    """

    errors: tuple[type[BaseException], ...] = (RuntimeError, ValueError, TypeError)

    def build(self) -> dict[str, Any]:
        """Return how the engine was built.

        `version`, whether for `cuda` and `rocm`, `cuda_version`, `cudnn_version`, and `capabilities`, the GPU
        architectures that it has code for ("8.9"); None or () where it doesn't say.
        """
        raise NotImplementedError

    def gpus(self) -> list[dict[str, str | None]]:
        """Return the GPUs that it lists: `id`, `name`, `capability`."""
        raise NotImplementedError

    def steps(self, device: str) -> dict[str, Work]:
        """Return work for a device by name; each returns an array, and what NumPy gets."""
        raise NotImplementedError


def product() -> tuple[Any, Any, Any]:
    """Return two matrices, and half their product."""
    left, right = numbers(64, 128), numbers(128, 32)
    return left, right, 0.5 * (left @ right)


@cache
def convolution() -> tuple[Any, Any, Any]:
    """Return images and kernels, channels last, and the convolution of the two behind a ReLU."""
    import numpy as np

    images, kernels = numbers(4, 12, 12, 8), numbers(3, 3, 8, 16)
    windows = np.lib.stride_tricks.sliding_window_view(images, (3, 3), axis=(1, 2))
    return images, kernels, np.maximum(np.einsum("nyxcij,ijco->nyxo", windows, kernels), 0)


def kernel_slopes() -> Any:
    """Return the gradient of the sum of `convolution` by its kernels."""
    import numpy as np

    images, _, results = convolution()
    windows = np.lib.stride_tricks.sliding_window_view(images, (3, 3), axis=(1, 2))
    return np.einsum("nyxcij,nyxo->ijco", windows, (results > 0).astype(np.float32))


def layer() -> tuple[Any, Any, Any]:
    """Return inputs and weights, and the gradient by the weights of the sum of the tangent of their product."""
    import numpy as np

    inputs, weights = numbers(32, 64), numbers(64, 16) / 8
    return inputs, weights, inputs.T @ (1 - np.tanh(inputs @ weights) ** 2)


def numbers(*shape: int) -> Any:
    """Return the same normally distributed numbers each time."""
    import numpy as np

    return np.random.default_rng(0).standard_normal(shape, dtype=np.float32)


def text_or_none(value: object) -> str | None:
    """Return a value as text; None stays."""
    return None if value is None else str(value)
