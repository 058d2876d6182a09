"""Layers shared by transformers: softmax attention, learned positions and GELU."""

from functools import partial
from typing import Any

# Score of a masked token. Its weight becomes 0 in float32.
_UNSEEN = -1e9


def self_attention(heads: int, *, is_causal: bool, dropout: float = 0.0, fused: Any = None) -> Any:
    """Return a multi-head attention layer without weights.

    The layer's inputs are queries, keys and values of shape (batch, length, width).

    Args:
        heads: Number of attention heads. The width is divided among them.
        is_causal: Whether each token attends only to itself and earlier tokens.
        dropout: Dropout rate of the attention weights during training.
        fused: The engine's fused attention, as of `Engine.fused_attention`; None for `attend`.
    """
    from keras import layers, ops

    class SelfAttention(layers.Layer):  # type: ignore[misc] # Keras ships no types
        def __init__(self) -> None:
            super().__init__()
            self.drop = layers.Dropout(dropout) if dropout and not fused else None
            self.skips_hidden = is_causal and fused is not None  # whether what a mask hides isn't computed

        def call(self, queries: Any, keys: Any, values: Any, training: bool | None = None) -> Any:
            _, length, width = queries.shape
            parts = [ops.reshape(x, (-1, length, heads, width // heads)) for x in (queries, keys, values)]
            if fused is not None:
                mixed = fused(*parts, is_causal=is_causal, dropout=dropout if training else 0.0)
            else:
                drop = self.drop and partial(self.drop, training=training)
                mixed = attend(*parts, is_causal=is_causal, drop=drop)
            return ops.reshape(mixed, (-1, length, width))

        def compute_output_shape(self, queries: Any, *_: Any) -> Any:
            return queries

    return SelfAttention()


def attend(queries: Any, keys: Any, values: Any, *, is_causal: bool, drop: Any = None) -> Any:
    """Return softmax attention, computed step by step. As with autocast, the softmax is computed in float32.

    Args:
        queries: Shape (batch, length, heads, width of a head), as the result.
        keys: The same shape, or fewer heads, which the queries share.
        values: Shape of the keys.
        is_causal: Whether each token attends only to itself and earlier tokens.
        drop: Applied to the weights; None for nothing.
    """
    from keras import ops

    length, heads, size = queries.shape[1:]
    shared = heads // keys.shape[2]
    if shared > 1:
        keys, values = ops.repeat(keys, shared, axis=2), ops.repeat(values, shared, axis=2)
    scores = ops.matmul(ops.transpose(queries, (0, 2, 1, 3)), ops.transpose(keys, (0, 2, 3, 1)))
    scores = ops.cast(scores, "float32") * size**-0.5
    if is_causal:
        places = ops.arange(length)
        scores = ops.where(places[:, None] >= places, scores, _UNSEEN)
    weights = ops.cast(ops.softmax(scores), values.dtype)
    weights = drop(weights) if drop else weights
    return ops.transpose(ops.matmul(weights, ops.transpose(values, (0, 2, 1, 3))), (0, 2, 1, 3))


def positions(deviation: float = 0.02) -> Any:
    """Return a layer that adds a learned vector, initially from N(0, deviation), to each position."""
    from keras import initializers, layers

    class Positions(layers.Layer):  # type: ignore[misc] # Keras ships no types
        def build(self, shape: Any) -> None:
            start = initializers.RandomNormal(stddev=deviation)
            self.table = self.add_weight(shape=tuple(shape[1:]), initializer=start, name="positions")

        def call(self, x: Any) -> Any:
            return x + self.table

    return Positions()


def tied_scores(table: Any) -> Any:
    """Return an output layer that shares its weights with an embedding."""
    from keras import layers, ops

    class TiedScores(layers.Layer):  # type: ignore[misc] # Keras ships no types
        def __init__(self) -> None:
            super().__init__()
            self.table = table

        def call(self, x: Any) -> Any:
            return ops.matmul(x, ops.transpose(ops.cast(self.table.embeddings, x.dtype)))

    return TiedScores()


def gelu(x: Any) -> Any:
    from keras import ops

    return ops.gelu(x, approximate=True)


def exact_gelu(x: Any) -> Any:
    from keras import ops

    return ops.gelu(x, approximate=False)
