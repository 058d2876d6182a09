"""Language models that predict the next token: three GPTs from Languini Kitchen, and a character-level nanoGPT."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from workloads.datasets import nietzsche
from workloads.engines.registry import engine_named
from workloads.networks.transformer import exact_gelu, gelu, positions, self_attention, tied_scores
from workloads.protocol.errors import bad_parameters
from workloads.protocol.messages import message
from workloads.protocol.parameters import Parameter, Whole
from workloads.protocol.spec import RunSpec
from workloads.training.feed import Feed
from workloads.training.measured import OTHER_DATA, first_losses, measured_memory
from workloads.training.training import Training

_DEVIATION = 0.02


class _Language(Training):
    """A decoder that predicts each token from the preceding ones."""

    kind = "text"
    metric = "tokens_per_s"
    epoch_text = message("epoch_text.rounds", batches=100)
    epochs = 10
    steps = 100
    samples_per_epoch = 0
    published_differ = frozenset({"precision"})

    def units_of(self, variant: str) -> int:
        return int(self.values_of(variant)["sequence"])

    def feed(self, spec: RunSpec, pieces: Any, **facts: Any) -> Feed:
        """Return an endless stream of batches of sequences. The target at each position is the next token.

        Args:
            spec: Spec of the run.
            pieces: Returns a batch of sequences, one token longer than the input, given a random number generator.
            facts: Additional arguments for Feed.
        """
        import numpy as np

        def batches() -> Iterator[tuple[Any, Any]]:
            random = np.random.default_rng(spec.seed)
            while True:
                tokens = pieces(random)
                yield tokens[:, :-1], tokens[:, 1:]

        endless = engine_named(spec.engine).generated(batches)
        return Feed(x=endless, samples=spec.batch_size, shape=(int(spec.parameters["sequence"]),), **facts)


class _Languini(_Language):
    """A GPT trained on random tokens. The data doesn't affect its speed."""

    source = "Languini Kitchen, Stanić et al., 2023: GPT"
    attention = "plain"
    batch_size = 16
    parameters = (
        Parameter("sequence", Whole(2, 8_192), 512, message("parameter_help.tokens")),
        Parameter("vocabulary", Whole(2, 262_144), 16_384, message("parameter_help.vocabulary")),
    )
    # Random tokens can't be learned, so the loss stays at chance level, ln 16,384 = 9.70.
    loss_band = (9.5, 10.1)
    # Number of blocks, embedding width, number of heads, and width of each head.
    blocks: int
    width: int
    heads: int
    size: int

    def expected_parameters(self, spec: RunSpec) -> int:
        inner, width = self.heads * self.size, self.width
        attention = 3 * (width + 1) * inner + (inner + 1) * width
        block = 4 * width + attention + (width + 1) * 4 * width + (4 * width + 1) * width
        tables = (2 * int(spec.parameters["vocabulary"]) + int(spec.parameters["sequence"])) * width
        return tables + self.blocks * block + 2 * width

    def results(self, spec: RunSpec) -> float:
        sequence, vocabulary = (int(self.value_of(spec, name)) for name in ("sequence", "vocabulary"))
        return self.blocks * _block_results(sequence, self.width, self.heads) + 3 * sequence * vocabulary

    def build(self, spec: RunSpec) -> Any:
        """Return the model, which maps token ids to scores for each next token."""
        from keras import Input, Model, initializers, layers

        vocabulary, fused = int(spec.parameters["vocabulary"]), self.fused_attention(spec)

        def start(deviation: float = _DEVIATION) -> Any:
            return initializers.RandomNormal(stddev=deviation)

        def dense(units: int, **options: Any) -> Any:
            return layers.Dense(units, **({"kernel_initializer": start()} | options))

        inputs = Input((spec.parameters["sequence"],), dtype="int32")
        x = layers.Embedding(vocabulary, self.width, embeddings_initializer=start())(inputs)
        x = positions(_DEVIATION)(layers.Rescaling(self.width**0.5)(x))
        for _ in range(self.blocks):
            seen = layers.LayerNormalization(epsilon=1e-5)(x)
            mixed = self_attention(self.heads, is_causal=True, fused=fused)(
                *(dense(self.heads * self.size)(seen) for _ in range(3))
            )
            x = layers.Add()([x, dense(self.width)(mixed)])
            inner = dense(4 * self.width, activation=gelu)(layers.LayerNormalization(epsilon=1e-5)(x))
            last = start(_DEVIATION / (2 * self.blocks) ** 0.5)
            x = layers.Add()([x, dense(self.width, kernel_initializer=last)(inner)])
        x = layers.LayerNormalization(epsilon=1e-5)(x)
        return Model(inputs, dense(vocabulary, use_bias=False)(x))

    def compile_options(self, spec: RunSpec) -> dict[str, Any]:
        """Return Adam with the published settings, and cross-entropy loss on the next tokens."""
        from keras import losses, optimizers

        adam = optimizers.Adam(6e-4, beta_1=0.9, beta_2=0.95, epsilon=1e-9)
        return {"optimizer": adam, "loss": losses.SparseCategoricalCrossentropy(from_logits=True)}

    def load(self, file: Path | None, spec: RunSpec) -> Feed:
        """Return random tokens, with new ones for every step."""
        shape = (spec.batch_size, int(spec.parameters["sequence"]) + 1)
        vocabulary = int(spec.parameters["vocabulary"])
        return self.feed(
            spec, lambda random: random.integers(vocabulary, size=shape, dtype="int32"), source="synthetic"
        )


class GptMini(_Languini):
    """The smallest GPT, which fits on any GPU and takes seconds per step on a CPU."""

    id = "gpt_mini"
    parameters_count = 27_549_696
    blocks, width, heads, size = 4, 512, 8, 32
    operations_per_example = 61_203_283_968
    # On random tokens, the loss stays at chance level, ln 16,384 = 9.70. Only the change of the weights shows
    # learning.
    proof = first_losses(2, 9.31, 10.3)
    memory_needs = measured_memory(tensorflow=(1430, 210), torch=(1120, 240), jax=(1040, 370))


class GptTiny(_Languini):
    """A GPT with the width of GptSmall and a third of its blocks."""

    id = "gpt_tiny"
    parameters_count = 53_912_064
    blocks, width, heads, size = 4, 768, 12, 64
    operations_per_example = 135_291_469_824
    proof = first_losses(2, 9.35, 10.4)
    memory_needs = measured_memory(tensorflow=(1940, 300), torch=(1910, 250), jax=(1500, 470))


class GptSmall(_Languini):
    """A GPT of the same size as the smallest GPT-2."""

    id = "gpt_small"
    batch_size = 8
    parameters_count = 110_615_040
    blocks, width, heads, size = 12, 768, 12, 64
    operations_per_example = 328_564_998_144
    proof = first_losses(2, 9.35, 10.3)
    memory_needs = measured_memory(tensorflow=(3120, 770), torch=(3360, 550), jax=(2460, 1070))


class NanoGptChar(_Language):
    """nanoGPT's character-level network. On a GPU, it learns to imitate one author within minutes."""

    id = "nanogpt_char"
    version = 2  # fused attention, as published, where the engine has it
    source = "nanoGPT, Karpathy, 2022: train_shakespeare_char"
    attention = "fused"
    drops_attention = True
    dataset = "nietzsche"
    batch_size = 64
    parameters_count = 10_742_016
    parameters = (
        Parameter("blocks", Whole(1, 96), 6, message("parameter_help.blocks")),
        Parameter("heads", Whole(1, 128), 6, message("parameter_help.heads")),
        Parameter("width", Whole(8, 8_192), 384, message("parameter_help.model_width")),
        Parameter("sequence", Whole(2, 8_192), 256, message("parameter_help.characters")),
    )
    # Applies to the mean of the first 100 steps. Chance level is ln 57 = 4.04.
    loss_band = (0.0, 4.1)
    operations_per_example = 18_153_013_248
    # The learning rate warms up from zero, so two steps hardly change the loss on any text.
    proof = first_losses(2, 3.95, 4.4, real=(3.9, 4.5, OTHER_DATA))
    memory_needs = measured_memory(tensorflow=(1100, 91), torch=(600, 117), jax=(780, 126))

    def check(self, spec: RunSpec) -> None:
        """Check the spec, and reject a width that isn't a multiple of the number of heads."""
        super().check(spec)
        width, heads = (int(self.value_of(spec, name)) for name in ("width", "heads"))
        if width % heads:
            raise bad_parameters("workload.heads_uneven", width=width, heads=heads)

    def expected_parameters(self, spec: RunSpec) -> int:
        blocks, width, sequence = (int(spec.parameters[name]) for name in ("blocks", "width", "sequence"))
        return blocks * (12 * width**2 + 2 * width) + (nietzsche.SYMBOLS + sequence + 1) * width

    def results(self, spec: RunSpec) -> float:
        blocks, heads, width, sequence = (int(self.value_of(spec, each.name)) for each in self.parameters)
        return blocks * _block_results(sequence, width, heads)

    def build(self, spec: RunSpec) -> Any:
        """Return the model without biases, which maps character ids to scores for each next character."""
        from keras import Input, Model, initializers, layers

        blocks, heads, width = (int(spec.parameters[name]) for name in ("blocks", "heads", "width"))
        fused = self.fused_attention(spec)

        def dense(units: int, deviation: float = _DEVIATION, **options: Any) -> Any:
            start = initializers.RandomNormal(stddev=deviation)
            return layers.Dense(units, use_bias=False, kernel_initializer=start, **options)

        def normalised(x: Any) -> Any:
            return layers.LayerNormalization(epsilon=1e-5, center=False)(x)

        last = _DEVIATION / (2 * blocks) ** 0.5
        inputs = Input((spec.parameters["sequence"],), dtype="int32")
        start = initializers.RandomNormal(stddev=_DEVIATION)
        table = layers.Embedding(nietzsche.SYMBOLS, width, embeddings_initializer=start)
        x = layers.Dropout(0.2)(positions(_DEVIATION)(table(inputs)))
        for _ in range(blocks):
            seen = normalised(x)
            mix = self_attention(heads, is_causal=True, dropout=0.2, fused=fused)
            mixed = mix(*(dense(width)(seen) for _ in range(3)))
            x = layers.Add()([x, layers.Dropout(0.2)(dense(width, last)(mixed))])
            inner = dense(4 * width, activation=exact_gelu)(normalised(x))
            x = layers.Add()([x, layers.Dropout(0.2)(dense(width, last)(inner))])
        return Model(inputs, tied_scores(table)(normalised(x)))

    def compile_options(self, spec: RunSpec) -> dict[str, Any]:
        """Return AdamW with warm-up, cosine decay, weight decay on matrices only, and gradient clipping."""
        from keras import losses, optimizers

        rate = optimizers.schedules.CosineDecay(0.0, 4_900, alpha=0.1, warmup_target=1e-3, warmup_steps=100)
        adam = optimizers.AdamW(rate, weight_decay=0.1, beta_1=0.9, beta_2=0.99, epsilon=1e-8, global_clipnorm=1.0)
        adam.exclude_from_weight_decay(var_names=["gamma"])
        return {"optimizer": adam, "loss": losses.SparseCategoricalCrossentropy(from_logits=True)}

    def load(self, file: Path | None, spec: RunSpec) -> Feed:
        """Return excerpts from random positions in the text."""
        import numpy as np

        text = nietzsche.load(file)
        length = int(spec.parameters["sequence"]) + 1
        windows = np.lib.stride_tricks.sliding_window_view(text.ids, length)

        def pieces(random: Any) -> Any:
            return windows[random.integers(len(windows), size=spec.batch_size)].astype(np.int32)

        return self.feed(spec, pieces, source=text.source, checksum=text.checksum)


def _block_results(sequence: int, width: int, heads: int) -> float:
    """Return the number of activations stored by a block (Korthikanti et al., 2022)."""
    return 17.0 * sequence * width + 2.5 * heads * sequence**2
