"""Trials of JAX's devices."""

from typing import Any

import jax  # noqa: TID253 - imported late, by the doctor's process only

from workloads.engines.device_trial import DeviceTrial, Work, convolution, kernel_slopes, layer, product
from workloads.engines.jax import gpus_of


class JaxTrial(DeviceTrial):
    """Computes with JAX's own functions, compiled by XLA."""

    def build(self) -> dict[str, Any]:
        """Describe how JAX was built. JAX counts as a CUDA build if its plug-in lists GPUs."""
        return {"version": str(jax.__version__), "cuda": bool(gpus_of(jax)), "rocm": False}

    def gpus(self) -> list[dict[str, str | None]]:
        return [
            {
                "id": f"gpu:{index}",
                "name": str(device.device_kind),
                "capability": getattr(device, "compute_capability", None),
            }
            for index, device in enumerate(gpus_of(jax))
        ]

    def steps(self, device: str) -> dict[str, Work]:
        """Return a product, a convolution, and the gradients of a layer and of a convolution."""
        kind, _, index = device.partition(":")
        place = jax.devices("cpu")[0] if kind == "cpu" else gpus_of(jax)[int(index or 0)]
        return {
            "matmul": lambda: _product(place),
            "convolution": lambda: _convolution(place),
            "gradients": lambda: _gradients(place),
            "convolution_gradients": lambda: _convolution_gradients(place),
        }


def _product(place: Any) -> tuple[Any, Any]:
    left, right, expected = product()
    return _run(lambda left, right: 0.5 * (left @ right), place, left, right), expected


def _convolution(place: Any) -> tuple[Any, Any]:
    images, kernels, expected = convolution()
    return _run(_convolved, place, images, kernels), expected


def _convolution_gradients(place: Any) -> tuple[Any, Any]:
    images, kernels, _ = convolution()
    slopes = jax.grad(lambda kernels, images: _convolved(images, kernels).sum())
    return _run(slopes, place, kernels, images), kernel_slopes()


def _gradients(place: Any) -> tuple[Any, Any]:
    inputs, weights, expected = layer()
    slopes = jax.grad(lambda weights, inputs: jax.numpy.tanh(inputs @ weights).sum())
    return _run(slopes, place, weights, inputs), expected


def _convolved(images: Any, kernels: Any) -> Any:
    numbers = ("NHWC", "HWIO", "NHWC")
    return jax.nn.relu(jax.lax.conv_general_dilated(images, kernels, (1, 1), "VALID", dimension_numbers=numbers))


def _run(work: Any, place: Any, *arrays: Any) -> Any:
    """Compute on a device. Raises ValueError if the result is on another device."""
    import numpy as np

    result = jax.jit(work)(*(jax.device_put(array, place) for array in arrays))
    if result.devices() != {place}:
        raise ValueError(f"The result was computed on {result.devices()}.")
    return np.asarray(result)
