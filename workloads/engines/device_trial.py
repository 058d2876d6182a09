"""Trials of an engine's devices, used by the doctor: real forward and backward passes, compared with NumPy's."""

from collections.abc import Callable
from functools import cache
from typing import Any

Work = Callable[[], tuple[Any, Any]]


class DeviceTrial:
    """An imported engine being examined."""

    # Exceptions raised when a device doesn't support something.
    errors: tuple[type[BaseException], ...] = (RuntimeError, ValueError, TypeError)

    def build(self) -> dict[str, Any]:
        """Describe how the engine was built.

        Keys: `version`, `cuda` and `rocm` (whether they are supported), `cuda_version`, `cudnn_version`, and
        `capabilities`, the compute capabilities of supported GPUs ("8.9"). Unknown values are None or ().
        """
        raise NotImplementedError

    def gpus(self) -> list[dict[str, str | None]]:
        """Return the `id`, `name` and `capability` of each GPU that the engine lists."""
        raise NotImplementedError

    def steps(self, device: str) -> dict[str, Work]:
        """Return test computations for a device, by name. Each returns the device's result and NumPy's."""
        raise NotImplementedError


def product() -> tuple[Any, Any, Any]:
    """Return two matrices and half their product."""
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
    """Return inputs, weights, and the gradient of sum(tanh(inputs @ weights)) with respect to the weights."""
    import numpy as np

    inputs, weights = numbers(32, 64), numbers(64, 16) / 8
    return inputs, weights, inputs.T @ (1 - np.tanh(inputs @ weights) ** 2)


def numbers(*shape: int) -> Any:
    """Return normally distributed numbers, the same on every call."""
    import numpy as np

    return np.random.default_rng(0).standard_normal(shape, dtype=np.float32)


def text_or_none(value: object) -> str | None:
    """Return a value as text, or None for None."""
    return None if value is None else str(value)
