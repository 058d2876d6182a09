"""Trials of an engine's devices for the doctor: real work, forward and backward, compared with NumPy's results."""

from collections.abc import Callable
from functools import cache
from typing import Any

Work = Callable[[], tuple[Any, Any]]


class DeviceTrial:
    """An imported engine under examination.

    Attributes:
        errors: Exceptions raised if a device can't do something.
    """

    errors: tuple[type[BaseException], ...] = (RuntimeError, ValueError, TypeError)

    def build(self) -> dict[str, Any]:
        """Return how the engine was built.

        Keys: `version`, `cuda` and `rocm` (whether supported), `cuda_version`, `cudnn_version`, and
        `capabilities`, the supported GPU architectures ("8.9"). None or () where unknown.
        """
        raise NotImplementedError

    def gpus(self) -> list[dict[str, str | None]]:
        """Return the GPUs that the engine lists, as `id`, `name` and `capability`."""
        raise NotImplementedError

    def steps(self, device: str) -> dict[str, Work]:
        """Return work for a device by name. Each function returns an array, and NumPy's result."""
        raise NotImplementedError


def product() -> tuple[Any, Any, Any]:
    """Return two matrices, and half their product."""
    left, right = numbers(64, 128), numbers(128, 32)
    return left, right, 0.5 * (left @ right)


@cache
def convolution() -> tuple[Any, Any, Any]:
    """Return images and kernels, channels last, and their convolution followed by a ReLU."""
    import numpy as np

    images, kernels = numbers(4, 12, 12, 8), numbers(3, 3, 8, 16)
    windows = np.lib.stride_tricks.sliding_window_view(images, (3, 3), axis=(1, 2))
    return images, kernels, np.maximum(np.einsum("nyxcij,ijco->nyxo", windows, kernels), 0)


def kernel_slopes() -> Any:
    """Return the gradient of the sum of `convolution` with respect to its kernels."""
    import numpy as np

    images, _, results = convolution()
    windows = np.lib.stride_tricks.sliding_window_view(images, (3, 3), axis=(1, 2))
    return np.einsum("nyxcij,nyxo->ijco", windows, (results > 0).astype(np.float32))


def layer() -> tuple[Any, Any, Any]:
    """Return inputs, weights, and the gradient of the sum of tanh of their product with respect to the weights."""
    import numpy as np

    inputs, weights = numbers(32, 64), numbers(64, 16) / 8
    return inputs, weights, inputs.T @ (1 - np.tanh(inputs @ weights) ** 2)


def numbers(*shape: int) -> Any:
    """Return the same normally distributed numbers each time."""
    import numpy as np

    return np.random.default_rng(0).standard_normal(shape, dtype=np.float32)


def text_or_none(value: object) -> str | None:
    """Return a value as text, or None for None."""
    return None if value is None else str(value)
