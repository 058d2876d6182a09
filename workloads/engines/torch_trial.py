"""Trials of PyTorch's devices."""

from typing import Any

import torch  # noqa: TID253 - imported late, by the doctor's process only

from workloads.engines.device_trial import (
    DeviceTrial,
    Work,
    convolution,
    kernel_slopes,
    layer,
    product,
    text_or_none,
)
from workloads.engines.torch import gpus_of


class TorchTrial(DeviceTrial):
    """Computes with PyTorch's own functions."""

    def build(self) -> dict[str, Any]:
        """Describe how PyTorch was built. Code for "sm_89" runs on compute capability 8.9."""
        names = torch.cuda.get_arch_list() if torch.version.cuda else []
        numbers = [name.partition("_")[2] for name in names if name.startswith("sm_")]
        return {
            "version": str(torch.__version__),
            "cuda": torch.version.cuda is not None,
            "rocm": torch.version.hip is not None,
            "cuda_version": text_or_none(torch.version.cuda or torch.version.hip),
            "cudnn_version": text_or_none(torch.backends.cudnn.version()),
            "capabilities": [f"{number[:-1]}.{number[-1]}" for number in numbers],
        }

    def gpus(self) -> list[dict[str, str | None]]:
        kind, names = gpus_of(torch)
        is_nvidia = kind == "cuda" and torch.version.hip is None
        devices = []
        for index, name in enumerate(names):
            capability = "{}.{}".format(*torch.cuda.get_device_capability(index)) if is_nvidia else None
            devices.append({"id": f"gpu:{index}", "name": name, "capability": capability})
        return devices

    def steps(self, device: str) -> dict[str, Work]:
        """Return a product, a convolution, and the gradients of a layer and of a convolution."""
        kind, _, index = device.partition(":")
        if kind == "gpu":
            kind, names = gpus_of(torch)
            if int(index) >= len(names):  # otherwise the CPU would do its work
                return {"matmul": lambda: _missing(device)}
        place = torch.device(kind, int(index)) if index and kind != "mps" else torch.device(kind)
        return {
            "matmul": lambda: _product(place),
            "convolution": lambda: _convolution(place),
            "gradients": lambda: _gradients(place),
            "convolution_gradients": lambda: _convolution_gradients(place),
        }


def _missing(device: str) -> tuple[Any, Any]:
    raise RuntimeError(f"PyTorch lists no {device}.")


def _product(place: Any) -> tuple[Any, Any]:
    left, right, expected = product()
    return _back(0.5 * (_there(left, place) @ _there(right, place))), expected


def _convolution(place: Any) -> tuple[Any, Any]:
    images, kernels, expected = convolution()
    return _back(_convolved(_there(images, place), _there(kernels, place))), expected


def _convolution_gradients(place: Any) -> tuple[Any, Any]:
    images, kernels, _ = convolution()
    weights = _there(kernels, place).requires_grad_()
    _convolved(_there(images, place), weights).sum().backward()
    return _back(weights.grad), kernel_slopes()


def _gradients(place: Any) -> tuple[Any, Any]:
    inputs, weights, expected = layer()
    kernel = _there(weights, place).requires_grad_()
    torch.tanh(_there(inputs, place) @ kernel).sum().backward()
    return _back(kernel.grad), expected


def _convolved(images: Any, kernels: Any) -> Any:
    # Keras's networks use channels-last.
    results = torch.nn.functional.conv2d(images.permute(0, 3, 1, 2), kernels.permute(3, 2, 0, 1))
    return torch.relu(results).permute(0, 2, 3, 1)


def _there(array: Any, place: Any) -> Any:
    return torch.from_numpy(array).to(place)


def _back(numbers: Any) -> Any:
    return numbers.detach().to("cpu").numpy()
