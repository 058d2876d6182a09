"""The transformers once more, in NumPy and from their definitions: what Keras computes is compared with it."""

from collections.abc import Iterator
from math import erf, pi, sqrt
from typing import Any

import numpy as np  # noqa: TID253 - these are about arrays

Array = Any


def languini(ids: Array, weights: Iterator[Array], *, blocks: int, heads: int) -> Array:
    table, places = next(weights), next(weights)
    x = table[ids] * sqrt(table.shape[1]) + places
    for _ in range(blocks):
        seen = layer_norm(x, next(weights), next(weights), 1e-5)
        queries, keys, values = (seen @ next(weights) + next(weights) for _ in range(3))
        x = x + attention(queries, keys, values, heads, causal=True) @ next(weights) + next(weights)
        seen = layer_norm(x, next(weights), next(weights), 1e-5)
        inner = tanh_gelu(seen @ next(weights) + next(weights))
        x = x + inner @ next(weights) + next(weights)
    return layer_norm(x, next(weights), next(weights), 1e-5) @ next(weights)


def nanogpt(ids: Array, weights: Iterator[Array], *, blocks: int, heads: int) -> Array:
    """Return the scores of nanoGPT without biases; one table for characters and scores."""
    table, places = next(weights), next(weights)
    x = table[ids] + places
    for _ in range(blocks):
        seen = layer_norm(x, next(weights), 0.0, 1e-5)
        queries, keys, values = (seen @ next(weights) for _ in range(3))
        x = x + attention(queries, keys, values, heads, causal=True) @ next(weights)
        inner = true_gelu(layer_norm(x, next(weights), 0.0, 1e-5) @ next(weights))
        x = x + inner @ next(weights)
    return layer_norm(x, next(weights), 0.0, 1e-5) @ table.T


def vit(images: Array, weights: Iterator[Array], *, blocks: int, heads: int, patch: int) -> Array:
    kernel, bias = next(weights), next(weights)
    count, side, _, colours = images.shape
    squares = images.reshape(count, side // patch, patch, side // patch, patch, colours)
    squares = squares.transpose(0, 1, 3, 2, 4, 5).reshape(count, -1, patch * patch * colours)
    x = squares @ kernel.reshape(-1, kernel.shape[-1]) + bias
    x = np.concatenate([np.repeat(next(weights), count, axis=0), x], axis=1) + next(weights)
    for _ in range(blocks):
        together = layer_norm(x, next(weights), next(weights), 1e-6) @ next(weights) + next(weights)
        queries, keys, values = np.split(together, 3, axis=-1)
        mixed = attention(queries, keys, values, heads, causal=False)
        x = x + mixed @ next(weights) + next(weights)
        inner = true_gelu(layer_norm(x, next(weights), next(weights), 1e-6) @ next(weights) + next(weights))
        x = x + inner @ next(weights) + next(weights)
    return layer_norm(x, next(weights), next(weights), 1e-6)[:, 0] @ next(weights) + next(weights)


def attention(queries: Array, keys: Array, values: Array, heads: int, *, causal: bool) -> Array:
    size = queries.shape[-1] // heads
    mixed = np.zeros_like(values)
    for example, head, place in np.ndindex(len(queries), heads, queries.shape[1]):
        part = slice(head * size, (head + 1) * size)
        until = place + 1 if causal else queries.shape[1]
        scores = keys[example, :until, part] @ queries[example, place, part] / sqrt(size)
        shares = np.exp(scores - scores.max())
        mixed[example, place, part] = shares / shares.sum() @ values[example, :until, part]
    return mixed


def layer_norm(x: Array, scale: Array, offset: Array, epsilon: float) -> Array:
    spread = np.sqrt(x.var(axis=-1, keepdims=True) + epsilon)
    return (x - x.mean(axis=-1, keepdims=True)) / spread * scale + offset


def tanh_gelu(x: Array) -> Array:
    return 0.5 * x * (1 + np.tanh(sqrt(2 / pi) * (x + 0.044715 * x**3)))


def true_gelu(x: Array) -> Array:
    return 0.5 * x * (1 + np.vectorize(erf)(x / sqrt(2)))
