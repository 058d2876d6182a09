"""Text generation with a key-value cache: how fast a language model reads prompts and generates tokens."""

import math
import statistics
import time
from typing import Any

from workloads.engines.engine import Engine
from workloads.engines.setup import report_memory, start_engine
from workloads.networks.gpt import GptSmall
from workloads.networks.transformer import gelu
from workloads.protocol import events
from workloads.protocol.errors import WorkloadError, bad_parameters
from workloads.protocol.messages import message
from workloads.protocol.reporter import Reporter
from workloads.protocol.spec import Job, RunSpec
from workloads.training.measured import measured_memory
from workloads.training.repeat import repeat
from workloads.training.training import count_differs
from workloads.workload import Workload

PROMPT, NEW = 128, 128
_PLACES = PROMPT + NEW
_SEQUENCE, _VOCABULARY = 512, 16_384
QUICK_BUDGET_S, SUSTAINED_S = 40.0, 600.0
STEPS_AT_LEAST = 8


class GptSmallGeneration(Workload):
    """Greedy decoding. Each step generates one token for every sequence in the batch.

    Reading the prompt yields the first token and isn't part of any step.
    """

    id = "gpt_small_generation"
    kind = "text"
    source = GptSmall.source
    epoch_text = message("epoch_text.tokens", tokens=127, prompt=128)
    metric = "tokens_per_s"
    epochs = 3
    steps = NEW - 1
    batch_size = 1
    samples_per_epoch = 0
    parameters_count = GptSmall.parameters_count
    counts_steps = True
    steps_alike = True
    memory_needs = measured_memory(tensorflow=(1290, 28), torch=(940, 102), jax=(980, 18))

    def check(self, spec: RunSpec) -> None:
        """Check the spec, and reject real data and more tokens than fit in the cache."""
        super().check(spec)
        if spec.data == "real":
            raise bad_parameters("generation.no_real_data", workload=self.id)
        if spec.steps is not None and spec.steps > self.steps:
            raise bad_parameters("generation.too_many_steps", steps=self.steps, asked=spec.steps)

    def run(self, job: Job, reporter: Reporter) -> None:
        """Run several rounds, each of which reads the prompts and then generates one token at a time."""
        import numpy as np

        spec = job.spec
        reporter.phase("import")
        engine = start_engine(spec, reporter)
        reporter.phase("build")
        model = build(GptSmall(), spec.batch_size)
        engine.compile(model, spec)
        count = sum(math.prod(weight.shape) for weight in model.trainable_variables)
        if count != self.parameters_count:
            raise WorkloadError("internal", count_differs("parameters", count, self.parameters_count or 0))
        reporter.send(events.Model(parameters_count=count, flops_per_example=token_flops(GptSmall())))
        reporter.phase("data")
        prompt = np.random.default_rng(spec.seed).integers(_VOCABULARY, size=(spec.batch_size, PROMPT))
        writer = Writer(engine, model, prompt.astype(np.int32))
        reporter.send(
            events.Dataset(name="generated", source="synthetic", samples=spec.batch_size, shape=(PROMPT,))
        )
        writer.read()
        writer.write()  # both functions are now compiled
        writer.prefills_s.clear()
        try:
            self._measure(spec, writer, reporter)
        finally:  # even a cancelled run has read some prompts
            if writer.prefills_s:
                rate = spec.batch_size * PROMPT / statistics.median(writer.prefills_s)
                reporter.send(events.Metric(key="prefill_tokens_per_s", value=rate))
        report_memory(engine, reporter)
        reporter.phase("finish")

    def _measure(self, spec: RunSpec, writer: "Writer", reporter: Reporter) -> None:
        if spec.preset == "standard":
            steps = spec.steps or self.steps
            reporter.phase("measure", epochs=spec.epochs, total_steps=spec.epochs * steps)
            for index in range(spec.epochs):
                writer.read()
                repeat(reporter, writer.write, index=index, steps=steps)
                reporter.epoch_end()
            return
        budget_s = spec.measure_s or spec.duration_s
        budget_s = budget_s or (QUICK_BUDGET_S if spec.preset == "quick" else SUSTAINED_S)
        reporter.phase("measure", budget_s=budget_s)
        end_s, done, index = time.perf_counter() + budget_s, 0, 0
        while done < STEPS_AT_LEAST or not (time.perf_counter() > end_s or reporter.enough.is_set()):
            writer.read()
            left_s = max(0.001, end_s - time.perf_counter())
            least = max(0, STEPS_AT_LEAST - done)
            done += len(
                repeat(
                    reporter, writer.write, index=index, steps=self.steps, budget_s=left_s, steps_at_least=least
                )
            )
            reporter.flush()
            index += 1


class Writer:
    """Continues a batch of prompts, and measures the time to read the prompts.

    Attributes:
        prefills_s: Duration of each pass over the prompts, in seconds.
    """

    def __init__(self, engine: Engine, model: Any, prompt: Any) -> None:
        self._engine, self._model, self._prompt = engine, model, prompt
        self._token, self._place = prompt[:, -1:], prompt.shape[1]
        self.prefills_s: list[float] = []

    def read(self) -> Any:
        """Read the prompts from the beginning, and return the first token after each of them."""
        import numpy as np

        count = self._prompt.shape[1]
        places = np.broadcast_to(np.arange(count, dtype=np.int32), self._prompt.shape).copy()
        start_s = time.perf_counter()
        self._token = np.asarray(self._engine.predict_batch(self._model, [self._prompt, places]))
        self.prefills_s.append(time.perf_counter() - start_s)
        self._place = count
        return self._token

    def write(self) -> Any:
        """Generate and return the next token of each sequence."""
        import numpy as np

        places = np.full_like(self._token, self._place)
        self._token = np.asarray(self._engine.predict_batch(self._model, [self._token, places]))
        self._place += 1
        return self._token


def token_flops(network: Any) -> int:
    """Return the number of operations per token: each weight matrix once, and attention over the entire cache."""
    inner, width = network.heads * network.size, network.width
    block = 4 * width * inner + 8 * width**2 + 2 * _PLACES * inner
    return int(2 * (network.blocks * block + width * _VOCABULARY))


def build(network: Any, batch_size: int, places: int = _PLACES, vocabulary: int = _VOCABULARY) -> Any:
    """Return the model, which maps tokens and their positions to the most probable next tokens.

    The model has the same weights, in the same order, as the network used for training, and caches the keys and
    values of all previous positions.

    Args:
        network: A network with `blocks`, `width`, `heads` and `size`.
        places: Cache size in tokens.
        vocabulary: Number of distinct tokens.
    """
    from keras import Input, Model, layers, ops

    tokens = Input(batch_shape=(batch_size, None), dtype="int32")
    at = Input(batch_shape=(batch_size, None), dtype="int32")
    x = layers.Rescaling(network.width**0.5)(layers.Embedding(vocabulary, network.width)(tokens))
    x = layers.Add()([x, layers.Embedding(_SEQUENCE, network.width)(at)])
    for _ in range(network.blocks):
        seen = layers.LayerNormalization(epsilon=1e-5)(x)
        parts = [layers.Dense(network.heads * network.size)(seen) for _ in range(3)]
        mixed = _cached_attention(network.heads, network.size, places)(*parts, at)
        x = layers.Add()([x, layers.Dense(network.width)(mixed)])
        inner = layers.Dense(4 * network.width, activation=gelu)(layers.LayerNormalization(epsilon=1e-5)(x))
        x = layers.Add()([x, layers.Dense(network.width)(inner)])
    last = layers.LayerNormalization(epsilon=1e-5)(x[:, -1:])
    scores = layers.Dense(vocabulary, use_bias=False)(last)
    return Model([tokens, at], ops.cast(ops.argmax(scores, axis=-1), "int32"))


def _cached_attention(heads: int, size: int, places: int) -> Any:
    from keras import layers, ops

    class CachedAttention(layers.Layer):  # type: ignore[misc] # Keras ships no types
        def build(self, shape: Any, *_: Any) -> None:
            options = {"initializer": "zeros", "trainable": False, "dtype": self.compute_dtype}
            self.keys, self.values = (
                self.add_weight(shape=(shape[0], heads, places, size), name=name, **options)
                for name in ("keys", "values")
            )

        def call(self, queries: Any, keys: Any, values: Any, at: Any) -> Any:
            count = queries.shape[0]

            def split(x: Any) -> Any:
                return ops.transpose(ops.reshape(x, (count, -1, heads, size)), (0, 2, 1, 3))

            every = ops.arange(places, dtype="int32")
            is_new = ops.equal(every[:, None], at[0][None, :])  # (places, tokens)

            def remember(cache: Any, x: Any) -> Any:
                put = ops.matmul(ops.cast(is_new, x.dtype), split(x))
                kept = ops.where(ops.any(is_new, axis=1)[:, None], put, ops.convert_to_tensor(cache))
                cache.assign(kept)
                return kept

            all_keys, all_values = remember(self.keys, keys), remember(self.values, values)
            scores = ops.matmul(split(queries), ops.transpose(all_keys, (0, 1, 3, 2)))
            scores = ops.cast(scores, "float32") * size**-0.5
            is_seen = every[None, None, None, :] <= at[:, None, :, None]
            weights = ops.cast(ops.softmax(ops.where(is_seen, scores, -1e9)), values.dtype)
            mixed = ops.transpose(ops.matmul(weights, all_values), (0, 2, 1, 3))
            return ops.reshape(mixed, (count, -1, heads * size))

        def compute_output_shape(self, queries: Any, *_: Any) -> Any:
            return queries

    return CachedAttention()
