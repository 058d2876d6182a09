"""Layers shared by transformers: softmax attention, learned positions and GELU."""

from typing import Any

# Score of a masked token. Its weight becomes 0 in float32.
_UNSEEN = -1e9


def self_attention(heads: int, *, is_causal: bool, dropout: float = 0.0) -> Any:
    """Return a multi-head attention layer without weights.

    The layer's inputs are queries, keys and values of shape (batch, length, width). As with autocast, the softmax
    is computed in float32.

    Args:
        heads: Number of attention heads. The width is divided among them.
        is_causal: Whether each token attends only to itself and earlier tokens.
        dropout: Dropout rate of the attention weights during training.
    """
    from keras import layers, ops

    class SelfAttention(layers.Layer):  # type: ignore[misc] # Keras ships no types
        def __init__(self) -> None:
            super().__init__()
            self.drop = layers.Dropout(dropout) if dropout else None

        def call(self, queries: Any, keys: Any, values: Any, training: bool | None = None) -> Any:
            _, length, width = queries.shape
            size = width // heads

            def split(x: Any, order: tuple[int, ...]) -> Any:
                return ops.transpose(ops.reshape(x, (-1, length, heads, size)), order)

            scores = ops.matmul(split(queries, (0, 2, 1, 3)), split(keys, (0, 2, 3, 1)))
            scores = ops.cast(scores, "float32") * size**-0.5
            if is_causal:
                places = ops.arange(length)
                scores = ops.where(places[:, None] >= places, scores, _UNSEEN)
            weights = ops.cast(ops.softmax(scores), values.dtype)
            if self.drop is not None:
                weights = self.drop(weights, training=training)
            mixed = ops.matmul(weights, split(values, (0, 2, 1, 3)))
            return ops.reshape(ops.transpose(mixed, (0, 2, 1, 3)), (-1, length, width))

        def compute_output_shape(self, queries: Any, *_: Any) -> Any:
            return queries

    return SelfAttention()


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
