"""Fine-tuning of a language model by LoRA, as in the benchmark of Surogate: Qwen3 with frozen random weights."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from workloads.engines.registry import engine_named
from workloads.networks.transformer import attend
from workloads.protocol.errors import bad_parameters
from workloads.protocol.messages import message
from workloads.protocol.parameters import Choice, OnOff, Parameter, Whole
from workloads.protocol.spec import RunSpec
from workloads.training.feed import Feed
from workloads.training.measured import first_losses
from workloads.training.training import Training
from workloads.workload import MemoryNeed

RANK, ALPHA = 16, 32
# Scores that exist at a time. There are 151,936 of them for each token, which all together would take 10 GB.
SCORES_AT_A_TIME = 2**26
_ENGINE_BYTES = MappingProxyType({"tensorflow": 900_000_000, "torch": 400_000_000, "jax": 700_000_000})
_ROPE_BASE = 1e6
_EPSILON = 1e-6


@dataclass(frozen=True, slots=True)
class Shape:
    """The shape of a model of the Qwen3 family (from the configurations that Qwen publishes with the weights)."""

    blocks: int
    width: int
    heads: int  # of the queries
    key_heads: int  # of the keys and values, each shared by several heads of the queries
    size: int  # width of a head
    inner: int  # width between the two halves of the feed-forward network
    vocabulary: int = 151_936
    is_tied: bool = True  # whether the output layer has the same weights as the embedding

    def products(self) -> tuple[tuple[int, int], ...]:
        """Return inputs and outputs of a block's seven products: query, key, value, output, gate, up, down."""
        queries, keys = self.heads * self.size, self.key_heads * self.size
        attention = ((self.width, queries), (self.width, keys), (self.width, keys), (queries, self.width))
        return (*attention, (self.width, self.inner), (self.width, self.inner), (self.inner, self.width))

    @property
    def frozen_count(self) -> int:
        """The number of weights of the model, without adapters."""
        block = sum(rows * columns for rows, columns in self.products()) + 2 * self.width + 2 * self.size
        tables = (1 if self.is_tied else 2) * self.vocabulary * self.width
        return self.blocks * block + self.width + tables

    @property
    def adapter_count(self) -> int:
        return self.blocks * sum(RANK * (rows + columns) for rows, columns in self.products())


SHAPES = MappingProxyType(
    {
        "0.6B": Shape(28, 1_024, 16, 8, 128, 3_072),
        "1.7B": Shape(28, 2_048, 16, 8, 128, 6_144),
        "4B": Shape(36, 2_560, 32, 8, 128, 9_728),
        "8B": Shape(36, 4_096, 32, 8, 128, 12_288, is_tied=False),
    }
)


class LoraQwen3(Training):
    """The frozen weights are random, because the speed doesn't depend on them. Only the adapters are trained."""

    id = "lora_qwen3"
    kind = "text"
    source = "Surogate, benchmarks of LoRA fine-tuning, 2026; Qwen3, Qwen team, 2025; LoRA, Hu et al., 2021"
    metric = "tokens_per_s"
    epoch_text = message("epoch_text.rounds", batches=10)
    epochs, steps = 5, 10
    samples_per_epoch = 0
    batch_size = 8  # 16,384 tokens
    precision = "mixed_bfloat16"
    attention = "fused"
    divides_batches = False
    memory_advice = message("memory.smaller_micro_batch")
    parameters = (
        Parameter("size", Choice(tuple(SHAPES)), "0.6B", message("parameter_help.size")),
        Parameter("sequence", Whole(2, 131_072), 2_048, message("parameter_help.tokens")),
        Parameter("micro_batch", Whole(1, 4_096), 2, message("parameter_help.micro_batch")),
        Parameter("checkpointing", OnOff(), False, message("parameter_help.checkpointing")),
    )
    parameters_count = SHAPES["0.6B"].frozen_count + SHAPES["0.6B"].adapter_count
    operations_per_example = 6_432_049_070_080
    published_differ = frozenset({"precision", "batch_size", "sequence", "micro_batch", "checkpointing"})
    # Random tokens can't be learned, so the loss stays at chance level, ln 151,936 = 11.93.
    loss_band = (11.8, 12.1)
    proof = first_losses(2, 11.8, 12.1, mixed_bfloat16=(11.8, 12.1))

    def shape(self, spec: RunSpec) -> Shape:
        return SHAPES[str(self.value_of(spec, "size"))]

    def check(self, spec: RunSpec) -> None:
        """Check the spec, and reject a batch that doesn't consist of whole micro-batches."""
        super().check(spec)
        size = int(self.value_of(spec, "micro_batch"))
        if spec.batch_size > size and spec.batch_size % size:
            raise bad_parameters("workload.micro_batch_uneven", batch_size=spec.batch_size, micro_batch=size)

    def micro_batch(self, spec: RunSpec) -> int:
        """Return the number of sequences that are trained at a time."""
        return min(spec.batch_size, int(self.value_of(spec, "micro_batch")))

    def batches_per_step(self, spec: RunSpec) -> int:
        return spec.batch_size // self.micro_batch(spec)

    def units_of(self, variant: str) -> int:
        return int(self.values_of(variant)["sequence"])

    def expected_parameters(self, spec: RunSpec) -> int:
        shape = self.shape(spec)
        return shape.frozen_count + shape.adapter_count

    def operations_for(self, variant: str) -> int:
        """Return the operations of a training step per sequence.

        Counted are the products with frozen weights, forward and for the gradients of their inputs, those of the
        adapters, and the attention. The gradients of the first block's inputs aren't needed.
        """
        spec = self.default_spec(parameters=self.values_of(variant))
        shape, length = self.shape(spec), int(self.value_of(spec, "sequence"))
        frozen = sum(rows * columns for rows, columns in shape.products())
        unneeded = sum(rows * columns + RANK * rows for rows, columns in shape.products()[:3])
        # Each query with the earlier keys, and their weights with the values. The gradients take twice that.
        mixing = 3 * length * shape.heads * shape.size
        passes = 2 * shape.blocks * frozen - unneeded + 2 * shape.vocabulary * shape.width
        return 2 * length * (passes + 3 * shape.adapter_count + shape.blocks * mixing)

    def memory_need_of(self, spec: RunSpec) -> MemoryNeed | None:
        """Return the memory requirement: engine, weights, scores and the results kept for the gradients.

        None for a GPU, where it was never measured.

        With PyTorch, 0.6B and one sequence of 256 or 1,024 tokens, 2.9 and 5.2 GB were measured on a CPU, and 3.1
        GB with checkpointing. JAX needs twice as much there, because it computes bfloat16 in float32.
        """
        if spec.device.startswith("gpu"):
            return None
        shape, length = self.shape(spec), int(self.value_of(spec, "sequence"))
        number_bytes = 4 if spec.precision == "float32" else 2
        weights_bytes = number_bytes * shape.frozen_count + 20 * shape.adapter_count
        scores = min(SCORES_AT_A_TIME, self.micro_batch(spec) * length * shape.vocabulary)
        kept = 2 if self.value_of(spec, "checkpointing") else shape.blocks
        # What a block keeps for each token: inputs and results of products, normalisations and activations.
        numbers = 8 * shape.width + 6 * (shape.heads + shape.key_heads) * shape.size + 5 * shape.inner
        sequence_bytes = number_bytes * length * (kept * numbers + shape.blocks * shape.width)
        if self.attention_of(spec) == "plain":
            sequence_bytes += kept * 10 * shape.heads * length**2
        base_bytes = _ENGINE_BYTES.get(spec.engine, 0) + weights_bytes + 10 * scores
        return MemoryNeed(base_bytes, round(self.micro_batch(spec) / spec.batch_size * sequence_bytes))

    def build(self, spec: RunSpec) -> Any:
        """Return the model, which maps token ids of shape (sequence + 1,) to the loss at each position.

        The model computes the losses itself, because it never has all scores at a time.
        """
        from keras import Input, Model, layers

        shape, length = self.shape(spec), int(self.value_of(spec, "sequence"))
        fused, is_checkpointed = self.fused_attention(spec), bool(self.value_of(spec, "checkpointing"))
        inputs = Input((length + 1,), batch_size=self.micro_batch(spec), dtype="int32")
        tokens = layers.Reshape((length + 1,))(inputs)  # TensorFlow's batches have no known shape
        table = _table(shape)
        x, rotation = table(tokens[:, :-1]), _rotation(shape.size)(tokens)
        for _ in range(shape.blocks):
            x = _block(shape, fused, is_checkpointed=is_checkpointed)(x, rotation)
        x = layers.RMSNormalization(epsilon=_EPSILON, trainable=False)(x)
        output = table if shape.is_tied else _table(shape)
        return Model(inputs, _losses(output, self.micro_batch(spec))(x, tokens[:, 1:]))

    def compile_options(self, spec: RunSpec) -> dict[str, Any]:
        """Return Adam, which updates the adapters once per step, and the mean of the model's losses."""
        from keras import ops, optimizers

        count = self.batches_per_step(spec)
        adam = optimizers.Adam(1e-4, gradient_accumulation_steps=count if count > 1 else None)
        return {"optimizer": adam, "loss": lambda _, losses: ops.mean(losses)}

    def load(self, file: Path | None, spec: RunSpec) -> Feed:
        """Return random tokens, with new ones for every micro-batch. The inputs include the labels."""
        import numpy as np

        length = int(self.value_of(spec, "sequence"))
        shape, vocabulary = (self.micro_batch(spec), length + 1), self.shape(spec).vocabulary

        def batches() -> Iterator[tuple[Any, Any]]:
            random = np.random.default_rng(spec.seed)
            while True:
                tokens = random.integers(vocabulary, size=shape, dtype="int32")
                yield tokens, tokens[:, :1]

        endless = engine_named(spec.engine).generated(batches)
        return Feed(x=endless, samples=spec.batch_size, shape=(length,), source="synthetic")


def _frozen(layer: Any, shape: tuple[int, ...], deviation: float) -> Any:
    from keras import initializers

    start = initializers.RandomNormal(stddev=deviation)
    return layer.add_weight(shape=shape, initializer=start, trainable=False, dtype=layer.compute_dtype)


def _table(shape: Shape) -> Any:
    """Return an embedding, or an output layer, whose scores are so small that the loss is that of guessing."""
    from keras import layers, ops

    class Table(layers.Layer):  # type: ignore[misc] # Keras ships no types
        def __init__(self) -> None:
            super().__init__()
            self.weight = _frozen(self, (shape.vocabulary, shape.width), 0.2 / shape.width**0.5)
            self.built = True  # an output layer is never called

        def call(self, tokens: Any) -> Any:
            return ops.take(self.weight, tokens, axis=0)

    return Table()


def _product(rows: int, columns: int) -> Any:
    """Return a layer that multiplies by a frozen matrix, and by two small trained ones beside it.

    If their product were added to the frozen matrix first, as in Keras's own layers, the gradients would take as
    many operations as in full training.
    """
    from keras import initializers, layers, ops

    class Product(layers.Layer):  # type: ignore[misc] # Keras ships no types
        def __init__(self) -> None:
            super().__init__()
            self.kernel = _frozen(self, (rows, columns), 0.02)
            start = initializers.RandomNormal(stddev=0.02)
            self.down = self.add_weight(shape=(rows, RANK), initializer=start, name="down")
            self.up = self.add_weight(shape=(RANK, columns), initializer="zeros", name="up")

        def call(self, x: Any) -> Any:
            return ops.matmul(x, self.kernel) + ops.matmul(ops.matmul(x, self.down), self.up) * (ALPHA / RANK)

    return Product()


def _rotation(size: int) -> Any:
    """Return a layer that computes the cosines and sines of each position, for all blocks."""
    from keras import layers, ops

    class Rotation(layers.Layer):  # type: ignore[misc] # Keras ships no types
        def call(self, tokens: Any) -> Any:
            places = ops.cast(ops.arange(tokens.shape[1] - 1), "float32")
            powers = ops.cast(ops.arange(size // 2), "float32") / (size // 2)
            angles = places[:, None] / _ROPE_BASE ** powers[None, :]
            return ops.cast(ops.stack([ops.cos(angles), ops.sin(angles)])[:, :, None], self.compute_dtype)

    return Rotation()


def _block(shape: Shape, fused: Any, *, is_checkpointed: bool) -> Any:
    """Return a block of the model.

    Args:
        shape: Shape of the model.
        fused: Fused attention, as of `Engine.fused_attention`; None for plain attention.
        is_checkpointed: Whether only its inputs are kept, and all else is computed again for the gradients.
    """
    from keras import layers, ops, remat

    def heads(x: Any) -> Any:
        return ops.reshape(x, (-1, x.shape[1], x.shape[2] // shape.size, shape.size))

    class Block(layers.Layer):  # type: ignore[misc] # Keras ships no types
        def __init__(self) -> None:
            super().__init__()
            self.products = [_product(rows, columns) for rows, columns in shape.products()]
            self.norms = [layers.RMSNormalization(epsilon=_EPSILON, trainable=False) for _ in range(4)]

        def call(self, x: Any, rotation: Any) -> Any:
            return (remat(self.compute) if is_checkpointed else self.compute)(x, rotation)

        def compute(self, x: Any, rotation: Any) -> Any:
            """Return the results, of the shape of `x`."""
            query, key, value, output, gate, up, down = self.products
            seen = self.norms[0](x)
            queries = _rotated(self.norms[1](heads(query(seen))), rotation)
            keys = _rotated(self.norms[2](heads(key(seen))), rotation)
            mixed = (fused or attend)(queries, keys, heads(value(seen)), is_causal=True)
            x = x + output(ops.reshape(mixed, (-1, x.shape[1], shape.heads * shape.size)))
            seen = self.norms[3](x)
            return x + down(ops.silu(gate(seen)) * up(seen))

        def compute_output_shape(self, x_shape: Any, rotation_shape: Any) -> Any:
            return x_shape

    return Block()


def _losses(table: Any, micro_batch: int) -> Any:
    """Return a layer that computes the cross-entropy at each position, given states and labels.

    The output layer is frozen. Only the states have gradients, which are computed along with the losses.
    """
    from keras import KerasTensor, layers, ops

    class Losses(layers.Layer):  # type: ignore[misc] # Keras ships no types
        def __init__(self) -> None:
            super().__init__()
            self.table = table

        def call(self, states: Any, labels: Any) -> Any:
            weight = ops.convert_to_tensor(table.weight)
            losses, gradients = chunked_losses(ops.stop_gradient(states), labels, weight, micro_batch)
            # The value is the loss, and the gradient is the one that was computed.
            moved = ops.sum(ops.cast(states * gradients, "float32"), axis=-1)
            return losses + moved - ops.stop_gradient(moved)

        def compute_output_spec(self, states: Any, labels: Any) -> Any:
            return KerasTensor(labels.shape, dtype="float32")

    return Losses()


def _rotated(x: Any, rotation: Any) -> Any:
    """Rotate the two halves of each head. Shapes: (batch, length, heads, size) and (2, length, 1, size / 2)."""
    from keras import ops

    left, right = ops.split(x, 2, axis=-1)
    cosines, sines = rotation[0], rotation[1]
    return ops.concatenate([left * cosines - right * sines, right * cosines + left * sines], axis=-1)


def chunked_losses(states: Any, labels: Any, weight: Any, micro_batch: int) -> tuple[Any, Any]:
    """Return the cross-entropy at each position, and the gradients of these losses with respect to the states.

    Args:
        states: Shape (batch, length, width).
        labels: Shape (batch, length).
        weight: Output layer, of shape (vocabulary, width).
        micro_batch: Number of sequences in the batch.
    """
    from keras import ops

    _, length, width = states.shape
    parts = -(-length * micro_batch * weight.shape[0] // SCORES_AT_A_TIME)
    places = -(-length // parts)
    parts = -(-length // places)
    states = ops.pad(states, ((0, 0), (0, parts * places - length), (0, 0)))
    labels = ops.pad(labels, ((0, 0), (0, parts * places - length)))

    def part(number: Any, kept: Any) -> Any:
        first = number * places
        x = ops.slice(states, (0, first, 0), (micro_batch, places, width))
        right = ops.slice(labels, (0, first), (micro_batch, places))
        scores = ops.cast(ops.matmul(x, ops.transpose(weight)), "float32")
        total = ops.logsumexp(scores, axis=-1, keepdims=True)
        loss = total - ops.take_along_axis(scores, right[:, :, None], axis=-1)
        shares = ops.cast(ops.exp(scores - total), weight.dtype)
        slopes = ops.matmul(shares, weight) - ops.take(weight, right, axis=0)
        losses, gradients = kept
        return (
            ops.slice_update(losses, (0, first), loss[:, :, 0]),
            ops.slice_update(gradients, (0, first, 0), slopes),
        )

    # A loop, because otherwise a compiler may compute all parts at a time.
    kept = (
        ops.zeros((micro_batch, parts * places), "float32"),
        ops.zeros((micro_batch, parts * places, width), weight.dtype),
    )
    losses, gradients = ops.fori_loop(0, parts, part, kept)
    return losses[:, :length], gradients[:, :length]
