"""Counts the floating-point operations of a Keras network, layer by layer."""

import math
from typing import Any

# Forward, and the gradients of inputs and weights (Amodei and Hernandez, AI and Compute, 2018).
_PASSES = 3


def training_flops(model: Any) -> int | None:
    """Return the operations in a training step per example; None if a layer's operations can't be counted.

    The gradients take as many operations as the forward pass for the weights, and again for the inputs of all
    layers except the first, whose input isn't trained.
    """
    forward = forward_flops(model)
    return None if forward is None else _PASSES * forward - _untrained_input(model)


def forward_flops(model: Any) -> int | None:
    """Return the operations in the forward pass per example; None if a layer's operations can't be counted.

    The result is also None for networks whose sequences may have any length.

    Counts matrix products and convolutions. A multiplication and an addition count as two operations. As usual,
    activations, pooling and normalisation are excluded, because they are memory-bound.
    """
    try:
        return sum(_layer(layer) for layer in _leaves(model))
    except (AttributeError, TypeError, ValueError):
        return None


def _untrained_input(model: Any) -> int:
    """Return the operations between the input and the first layer; 0 if a trained table precedes it."""
    for layer in _leaves(model):
        if type(layer).__name__ == "Embedding":
            return 0
        if cells := [getattr(part, "cell", part) for part in _directions(layer)]:
            return sum(2 * int(layer.input.shape[1] * math.prod(cell.kernel.shape)) for cell in cells)
        if operations := _layer(layer):
            return operations
    return 0


def _directions(layer: Any) -> list[Any]:
    name = type(layer).__name__
    if name == "Bidirectional":
        return [layer.forward_layer, layer.backward_layer]
    return [layer] if name in ("LSTM", "RNN") else []


def _leaves(model: Any) -> list[Any]:
    inner = getattr(model, "layers", None)
    if inner is None:
        return [model]
    return [leaf for layer in inner for leaf in _leaves(layer)]


def _layer(layer: Any) -> int:
    name = type(layer).__name__
    count = _COUNTERS.get(name)
    if count is not None:
        return 2 * int(count(layer))
    if any(len(weight.shape) > 1 for weight in layer.trainable_weights) and name not in _TABLES:
        msg = f"{name} has matrices whose use is not known"
        raise ValueError(msg)
    return 0


def _dense(layer: Any) -> int:
    # On a sequence, a dense layer is applied at each position.
    places = math.prod(layer.output.shape[1:-1])
    return int(places * layer.kernel.shape[0] * layer.kernel.shape[1])


def _convolution(layer: Any) -> int:
    # The kernel's shape (height, width, channels per group, filters) accounts for groups.
    places = math.prod(layer.output.shape[1:3])
    return int(places * math.prod(layer.kernel.shape))


def _separable(layer: Any) -> int:
    places = math.prod(layer.output.shape[1:3])
    return int(places * (math.prod(layer.depthwise_kernel.shape) + math.prod(layer.pointwise_kernel.shape)))


def _depthwise(layer: Any) -> int:
    return int(math.prod(layer.output.shape[1:3]) * math.prod(layer.kernel.shape))


def _recurrent(layer: Any) -> int:
    cells = [getattr(part, "cell", part) for part in _directions(layer)]
    weights = sum(math.prod(cell.kernel.shape) + math.prod(cell.recurrent_kernel.shape) for cell in cells)
    return int(layer.input.shape[1] * weights)


def _attention(layer: Any) -> int:
    # Every query with every key, and every weight with every value, including those hidden by a causal mask unless
    # a fused kernel skips them.
    _, length, width = layer.output.shape
    return int((1 if layer.skips_hidden else 2) * length * length * width)


def _scores(layer: Any) -> int:
    return int(math.prod(layer.output.shape[1:-1]) * math.prod(layer.table.embeddings.shape))


# Layers that only look up or add rows.
_TABLES = ("Embedding", "Positions", "ClassToken")
_COUNTERS = {
    "Dense": _dense,
    "Conv2D": _convolution,
    "SeparableConv2D": _separable,
    "DepthwiseConv2D": _depthwise,
    "LSTM": _recurrent,
    "RNN": _recurrent,
    "Bidirectional": _recurrent,
    "SelfAttention": _attention,
    "TiedScores": _scores,
}
