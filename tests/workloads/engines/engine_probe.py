"""Trains networks for a few steps on one engine, in one process; prints a line of JSON for each.

engine_probe ENGINE all FOLDER [ID ...]      networks of every kind, through the workload's own run, and MEASURED
engine_probe ENGINE losses TO [FROM]        the first losses of some, from the weights in a file if it is named
engine_probe ENGINE steps                   whether anything is compiled, or left to do, beside the steps
engine_probe torch compiled                 the same for torch.compile, and whether its warm-up leaves traces
"""

import io
import json
import math
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise
from typing import Any

import msgspec

from tests.sure import only
from tests.workloads.sizes import is_large, networks
from workloads import CATALOGUE
from workloads.datasets import cifar10, fashion_mnist, imdb, mnist
from workloads.engines.cpp_runtime import find_cpp_runtime
from workloads.engines.engine import Engine
from workloads.engines.registry import engine_named
from workloads.protocol import events
from workloads.protocol.reporter import Emitter, Reporter
from workloads.protocol.spec import Job, RunSpec
from workloads.system import attention, limits
from workloads.training.feed import Feed
from workloads.training.training import Training
from workloads.workload import Workload

# One of each kind of layer, input and loss, and no dropout once its rate is zero.
COMPARED = (
    *("cifar10_keras_cnn", "mnist_mlp", "mnist_cnn", "mnist_cnn_nodropout_adam", "cifar10_cnn"),
    *("imdb_fasttext_unigram", "imdb_bidirectional_lstm", "lstm_text_generation", "text_generator_keras"),
    *("fcn_r", "alexnet_r", "lstm_ptb_32", "fashion_mnist_cnn_412k"),
)
# What measures hardware and predicts.
MEASURED = (
    "matmul",
    "attention",
    "memory_bandwidth",
    "fashion_mnist_cnn_412k_inference",
    "gpt_small_generation",
    "storage",
)
BATCH, STEPS = 8, 4
WARMED_UP = {"nanogpt_char"}  # its learning rate begins at 0
# Of the layers of another one, in other sizes, which show the same again: making the weights of one of the large
# ones takes PyTorch ten seconds, compiling it takes JAX half a minute.
ALIKE = {
    *("alexnet_s", "resnet_50", "resnet_56", "resnet50_224", "flowers_resnet50_331", "imdb_fasttext"),
    *("vgg16", "flowers_vgg16_331", "fcn_s", "gpt_tiny", "gpt_small", "lstm_ptb_64", "mobilenetv3_large_224"),
}
# JAX passes those by, too, that it trains for `losses`, but for the one that stands for one of ALIKE; and one that
# has GoogLeNet's and ResNet's layers.
LOSSES_SUFFICE = {*COMPARED} - {"imdb_fasttext_unigram"} | {"inception_v3"}
Answer = dict[str, Any]


@dataclass(frozen=True)
class Shortened:
    """A network with fewer blocks, among them one of each kind: JAX compiles each of them anew.

    Attributes:
        changes: Attributes of the workload, or its parameters.
        parameters_count: As `engine_probe tensorflow all FOLDER ID` counts them.
    """

    changes: dict[str, Any]
    parameters_count: int


SHORTENED = {
    "efficientnet_b0_224": Shortened({"stages": ((1, 3, 16, 1, 1), (2, 5, 24, 2, 6))}, 1_340_986),
    "convnext_tiny_224": Shortened({"stages": ((96, 1), (192, 1))}, 657_736),
    "vit_tiny_224": Shortened({"blocks": 1}, 823_912),
    "gpt_mini": Shortened({"blocks": 1}, 19_667_712),
    "nanogpt_char": Shortened({"blocks": 1}, 1_890_816),
}


def declared(engine: str, name: str) -> int | None:
    counts = SHORTENED[name] if name in SHORTENED and engine != "torch" else only(Training, CATALOGUE[name])
    return counts.parameters_count


def trained_by(engine: str) -> list[Training]:
    passed_by = ALIKE if engine == "torch" else ALIKE | LOSSES_SUFFICE
    return [each for each in networks().values() if each.id not in passed_by]


def few_to_check(feed: Feed, count: int) -> Feed:
    """Return the same data with few to validate and to test: these are many thousands."""

    def few(data: Any) -> Any:
        return tuple(part[:count] for part in data) if isinstance(data, tuple) else None

    return replace(feed, validation=few(feed.validation), validation_samples=count, test=few(feed.test))


def start_with_numpy() -> None:
    """Have NumPy make the first weights: JAX would compile a program for each of their shapes.

    That takes as long as compiling the steps, and shows nothing about them.
    """
    import numpy as np
    from keras import initializers

    random = np.random.default_rng(1)

    def drawn(self: Any, shape: Any, dtype: Any = None) -> Any:
        numbers = random.random(shape, np.float32)
        numbers -= np.float32(0.5)
        numbers *= np.float32(2 / max(1, math.prod(shape[:-1])) ** 0.5)
        return numbers

    for kind in (initializers.VarianceScaling, initializers.RandomUniform, initializers.RandomNormal):
        kind.__call__ = drawn
    initializers.Zeros.__call__ = lambda self, shape, dtype=None: np.zeros(shape, dtype or "float32")
    initializers.Ones.__call__ = lambda self, shape, dtype=None: np.ones(shape, dtype or "float32")


def spec_to_measure(engine: str, name: str, folder: str) -> RunSpec:
    if name != "storage":
        return CATALOGUE[name].default_spec(engine=engine, device="cpu", steps=2)
    parameters = {"folders": folder, "images": 100}
    spec = CATALOGUE[name].default_spec(engine=engine, device="cpu", steps=1, parameters=parameters)
    return msgspec.structs.replace(spec, measure_s=0.2)  # for a case


def run_all(engine: str, folder: str, *names: str) -> Iterator[Answer]:
    yield from train_all(engine, names)
    # Products of any size show the same.
    limits.SQUARE_SIZES, limits.INNER = (64, 128, 256), 512
    attention.TOKENS, attention.WIDTH, attention.LENGTHS = 256, 128, (32, 64)
    for name in MEASURED:
        if name in (names or MEASURED):
            seen = carried_out(CATALOGUE[name], spec_to_measure(engine, name, folder))
            yield {"id": name, "events": seen.decode()}


def carried_out(workload: Workload, spec: RunSpec) -> bytes:
    stream = io.BytesIO()
    workload.run(Job(spec=spec, datasets_folder=b"/nowhere"), Reporter(Emitter(stream)))
    return stream.getvalue()


def load_once() -> None:
    """Have networks that learn the same share it."""
    for dataset in (cifar10, fashion_mnist, imdb, mnist):
        dataset.load = cache(dataset.load)  # type: ignore[attr-defined]


def train_all(engine: str, names: tuple[str, ...]) -> Iterator[Answer]:
    """Run the networks' workloads for two steps of two examples; large ones for one of one."""
    import keras

    start_with_numpy()
    load_once()
    for workload in trained_by(engine):
        if names and workload.id not in names:
            continue
        keras.backend.clear_session()
        usual, size = workload.load, 1 if is_large(workload) else 2
        workload.load = lambda file, spec, usual=usual: few_to_check(usual(file, spec), spec.batch_size)  # type: ignore[method-assign, misc]
        steps = 2 if workload.id in WARMED_UP else size
        parameters = {} if engine == "torch" else shorten(workload)
        spec = workload.default_spec(
            engine=engine, device="cpu", epochs=1, steps=steps, batch_size=size, parameters=parameters
        )
        start_s = time.perf_counter()
        seen = [events.decode(line) for line in carried_out(workload, spec).splitlines()]
        yield {
            "id": workload.id,
            "took_s": time.perf_counter() - start_s,
            "metrics": {event.key: event.value for event in seen if isinstance(event, events.Metric)},
            "parameters": next(event.parameters_count for event in seen if isinstance(event, events.Model)),
        }


def shorten(workload: Training) -> dict[str, Any]:
    """Give a network of SHORTENED fewer blocks; return the parameters to run it with."""
    if workload.id not in SHORTENED:
        return {}
    changes = SHORTENED[workload.id].changes
    names = {parameter.name for parameter in workload.parameters}
    if names >= changes.keys():
        return changes
    for name, value in changes.items():
        setattr(workload, name, value)
    workload.parameters_count = SHORTENED[workload.id].parameters_count
    return {}


def compare_losses(engine: str, to: str, origin: str | None = None) -> Iterator[Answer]:
    """Train on the same batches from the same weights, without what is random."""
    import keras
    import numpy as np

    running = started(engine)
    load_once()
    weights = dict(np.load(origin)) if origin is not None else {}
    kept: dict[str, Any] = {}
    for name in COMPARED:
        keras.backend.clear_session()
        keras.utils.set_random_seed(1)
        workload = only(Training, CATALOGUE[name])
        spec = workload.default_spec(engine=engine, batch_size=BATCH)
        model = workload.build(spec)
        for layer in model.layers:
            if isinstance(layer, keras.layers.Dropout):
                layer.rate = 0.0
        if weights:
            model.set_weights([weights[f"{name}/{number}"] for number in range(len(model.weights))])
        kept |= {f"{name}/{number}": value for number, value in enumerate(model.get_weights())}
        running.compile(model, spec, **workload.compile_options(spec))
        x, y = batch_of(name, workload, spec)
        losses = []
        for _ in range(STEPS):
            model.reset_metrics()
            losses.append(float(model.train_on_batch(x, y, return_dict=True)["loss"]))
        yield {"id": name, "losses": losses}
    np.savez(to, **kept)


def batch_of(name: str, workload: Training, spec: RunSpec) -> tuple[Any, Any]:
    import numpy as np

    random = np.random.default_rng(3)
    feed = workload.load(None, spec)
    if feed.y is not None and not hasattr(feed.x, "numpy"):
        y = [part[:BATCH] for part in feed.y] if isinstance(feed.y, list) else feed.y[:BATCH]
        return np.asarray(feed.x[:BATCH]), y
    if name.startswith("lstm_ptb"):
        return tuple(random.integers(10_000, size=(BATCH, *feed.shape), dtype=np.int32) for _ in range(2))  # type: ignore[return-value]
    labels = random.integers(10, size=BATCH)
    if feed.y is not None:
        return np.asarray(feed.x[:BATCH]), np.asarray(feed.y[:BATCH])
    is_one_hot = workload.compile_options(spec)["loss"] == "categorical_crossentropy"
    x = random.random((BATCH, *feed.shape), np.float32)
    return x, np.eye(10, dtype=np.float32)[labels] if is_one_hot else labels


def watch_steps(engine: str) -> Iterator[Answer]:
    """Train on arrays whose last batch is smaller, and see what happens beside the steps.

    Tells how long the steps of an epoch took, the epoch, and what was left to do after each step; with JAX also
    when it compiled.
    """
    from keras.callbacks import Callback

    running = started(engine)
    compiled_at: list[float] = []
    note_compilations(engine, compiled_at)
    workload = only(Training, CATALOGUE["mnist_cnn"])
    spec = workload.default_spec(engine=engine, batch_size=64)
    model = workload.build(spec)
    running.compile(model, spec, **workload.compile_options(spec))
    feed = workload.load(None, spec)
    feed = replace(feed.cut(20 * spec.batch_size + 3), validation=(feed.x[:67], feed.y[:67]))
    ends: list[list[float]] = []
    left_s: list[float] = []
    spans: list[tuple[float, float]] = []

    class Watch(Callback):  # type: ignore[misc] # Keras ships no types
        def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
            ends.append([time.perf_counter()])

        def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
            ends[-1].append(time.perf_counter())
            finish(engine, self.model)
            left_s.append(time.perf_counter() - ends[-1][-1])

        def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
            spans.append((ends[-1][0], time.perf_counter()))

    data = feed.fit_arguments(running, spec.batch_size)
    running.fit(model, **data, callbacks=[Watch()], verbose=0, epochs=3)
    first_step_s = ends[0][1]
    yield {
        "steps": [len(each) - 1 for each in ends],
        "steps_s": [each[-1] - each[0] for each in ends],
        "step_s": [later - earlier for each in ends[1:] for earlier, later in pairwise(each)],
        "left_s": left_s,
        "epochs_s": [end - begin for begin, end in spans],
        "examples": running.examples_seen(model),
        "compiled": len(compiled_at),
        "compiled_after_first_step": sum(at_s > first_step_s for at_s in compiled_at),
    }


def watch_compiled(engine: str) -> Iterator[Answer]:
    """Let torch.compile compile the steps; fails if it does so after the first one."""
    import torch
    from keras.callbacks import Callback

    running: Any = started(engine, jit=True)
    workload = only(Training, CATALOGUE["mnist_mlp"])
    spec = workload.default_spec(engine=engine, batch_size=BATCH, jit=True)
    model = workload.build(spec)
    running.compile(model, spec, **workload.compile_options(spec))
    feed = workload.load(None, spec)
    feed = replace(feed.cut(STEPS * BATCH + 3), validation=(feed.x[: BATCH + 1], feed.y[: BATCH + 1]))
    states: list[list[Any]] = []
    batches: list[int] = []
    usual, steps = running.warm_up, 0

    def state() -> list[Any]:
        variables = [*model.variables, *model.optimizer.variables]
        return [torch.get_rng_state(), *(variable.value.detach().clone() for variable in variables)]

    def warm_up(model: Any, trained: Any, validated: Any) -> None:
        batches.extend(len(x) for x, _ in (*trained, *validated))
        states.append(state())
        usual(model, trained, validated)
        states.append(state())

    class Strict(Callback):  # type: ignore[misc] # Keras ships no types
        def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
            nonlocal steps
            steps += 1
            torch.compiler.set_stance("fail_on_recompile")

    running.warm_up = warm_up
    data = feed.fit_arguments(running, spec.batch_size)
    running.fit(model, **data, callbacks=[Strict()], verbose=0, epochs=2)
    same = len(states[0]) == len(states[1]) and all(map(torch.equal, *states))
    yield {"steps": steps, "batches": batches, "is_as_before": same}


def finish(engine: str, model: Any) -> None:
    """Wait until the device has finished everything, by the engine's own means."""
    if engine == "jax":
        import jax

        jax.block_until_ready(jax.live_arrays())
    elif engine == "torch":
        import torch

        if torch.cuda.is_available():
            torch.cuda.synchronize()
    else:
        float(model.optimizer.iterations.numpy())


def note_compilations(engine: str, compiled_at: list[float]) -> None:
    """Note when JAX compiles; the other engines compile nothing here."""
    if engine == "jax":
        import jax

        def note(event: str, duration_s: float, **_: Any) -> None:
            if "backend_compile" in event:
                compiled_at.append(time.perf_counter())

        jax.monitoring.register_event_duration_secs_listener(note)


def started(engine: str, **asked: Any) -> Engine:
    running = engine_named(engine)
    running.start(CATALOGUE["mnist_mlp"].default_spec(engine=engine, device="cpu", **asked))
    return running


def main(arguments: list[str]) -> None:
    engine, what, *others = arguments
    answers: dict[str, Callable[[], Iterator[Answer]]] = {
        "all": lambda: run_all(engine, *others),
        "losses": lambda: compare_losses(engine, *others),
        "steps": lambda: watch_steps(engine),
        "compiled": lambda: watch_compiled(engine),
    }
    for answer in answers[what]():
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    find_cpp_runtime()
    main(sys.argv[1:])
