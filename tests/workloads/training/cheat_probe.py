"""Trains honestly and not, a few steps each, in one process; prints the events of each run as a line of JSON.

cheat_probe ENGINE CASE ...
"""

import contextlib
import copy
import gc
import io
import json
import sys
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

from tests.workloads.engines.engine_probe import few_to_check
from workloads import CATALOGUE
from workloads.datasets import mnist
from workloads.engines.cpp_runtime import find_cpp_runtime
from workloads.protocol.errors import WorkloadError
from workloads.protocol.reporter import Emitter, Reporter
from workloads.protocol.spec import Job, RunSpec
from workloads.training.training import Training


def half_batch(model: Any) -> None:
    """Train on the first half of each batch."""
    usual = model.train_step

    def train_step(*state_and_data: Any) -> Any:
        *state, data = state_and_data  # JAX has a state
        return usual(*state, tuple(part[: part.shape[0] // 2] for part in data))

    model.train_step = train_step


def few_examples(workload: Training) -> None:
    """Train on the same 600 examples repeatedly."""
    usual = workload.load

    def load(file: Any, spec: RunSpec) -> Any:
        import numpy as np

        feed = usual(file, spec)
        again = np.arange(feed.samples) % 600
        return replace(feed, x=np.asarray(feed.x)[again], y=np.asarray(feed.y)[again])

    workload.load = load  # type: ignore[method-assign]


def replay(model: Any, kind: str, real: int) -> None:
    """Take only the first steps of a kind ("train" or "test"), then replay the last result."""
    make = getattr(model, f"make_{kind}_function")

    def cached(force: bool = False) -> None:
        make(force)
        step, done = getattr(model, f"{kind}_function"), list[Any]()

        def function(*state_and_iterator: Any) -> Any:  # JAX has a state
            if len(done) < real:
                done.append(step(*state_and_iterator))
                return done[-1]
            return (done[-1][0], state_and_iterator[0]) if state_and_iterator[1:] else done[-1]

        setattr(model, f"{kind}_function", function)

    setattr(model, f"make_{kind}_function", cached)


def cached_results(model: Any) -> None:
    """Update the weights only in the first steps, then replay the last result."""
    replay(model, "train", 2)


def cached_validation(model: Any) -> None:
    """Answer all validation batches but the first from a cache."""
    replay(model, "test", 1)


def deferred(workload: Training) -> None:
    """Return from each step at once, and train at the end of the epoch."""
    build = workload.build

    def deferring(spec: RunSpec) -> Any:
        model = build(spec)
        make = model.make_train_function

        def cached(force: bool = False) -> None:
            make(force)
            step, done = model.train_function, list[Any]()

            def function(*state_and_iterator: Any) -> Any:  # JAX has a state
                model.steps_left += 1
                if not done:
                    done.append(step(*state_and_iterator))
                    return done[0]
                return (done[0][0], state_and_iterator[0]) if state_and_iterator[1:] else done[0]

            model.real_step, model.train_function = step, function

        model.make_real, model.make_train_function, model.steps_left = make, cached, -1
        return model

    def callbacks(spec: RunSpec) -> list[Any]:
        from keras.callbacks import Callback

        class AtTheEnd(Callback):  # type: ignore[misc] # Keras ships no types
            def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
                model, size = self.model, spec.batch_size
                feed = workload.load(None, spec)
                fast, slow = model.train_function, model.make_train_function
                model.train_function, model.make_train_function = model.real_step, model.make_real
                for _ in range(min(model.steps_left, 200)):  # a Quick run skips tens of thousands
                    model.train_on_batch(feed.x[:size], feed.y[:size])
                model.train_function, model.make_train_function, model.steps_left = fast, slow, 0

        return [AtTheEnd()]

    workload.build, workload.callbacks = deferring, callbacks  # type: ignore[method-assign]


def fewer_steps(workload: Training) -> None:
    """Stop before the end; the run then always ends with an error."""

    def callbacks(spec: RunSpec) -> list[Any]:
        from keras.callbacks import Callback

        class Stop(Callback):  # type: ignore[misc] # Keras ships no types
            def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
                self.model.stop_training = True

        return [Stop()]

    workload.callbacks = callbacks  # type: ignore[method-assign]


def zero_rate(workload: Training) -> None:
    """Learn nothing."""
    usual = workload.compile_options

    def options(spec: RunSpec) -> dict[str, Any]:
        import keras

        return usual(spec) | {"optimizer": keras.optimizers.SGD(0.0)}

    workload.compile_options = options  # type: ignore[method-assign]


def wrong_labels(workload: Training) -> None:
    """Learn the labels of other images."""
    usual = workload.load

    def load(file: Any, spec: RunSpec) -> Any:
        import numpy as np

        feed = usual(file, spec)
        return replace(feed, y=np.random.default_rng(1).permutation(feed.y))

    workload.load = load  # type: ignore[method-assign]


def on_model(change: Callable[[Any], None]) -> Callable[[Training], None]:
    """Return a cheat that changes the network once it is built."""

    def cheat(workload: Training) -> None:
        usual = workload.build

        def build(spec: RunSpec) -> Any:
            model = usual(spec)
            change(model)
            return model

        workload.build = build  # type: ignore[method-assign]

    cheat.__doc__ = change.__doc__
    return cheat


@dataclass(frozen=True)
class Case:
    """A run of a workload, and how it cheats.

    Attributes:
        codes: Of the reasons that must find it out; none for an honest run.
        asked: What is asked for, besides the workload.
        real: Whether it trains on real digits, with TensorFlow.
        engines: With which it can be tried.
    """

    codes: set[str] = field(default_factory=set)
    cheat: Callable[[Training], None] = lambda _: None
    workload: str = "mnist_mlp"
    asked: dict[str, Any] = field(default_factory=lambda: {"steps": 4})
    real: bool = False
    engines: tuple[str, ...] = ("tensorflow", "jax", "torch")

    def spec(self, engine: str) -> RunSpec:
        usual: dict[str, Any] = {"epochs": 1} if self.asked.get("preset") is None else {}
        return CATALOGUE[self.workload].default_spec(engine=engine, device="cpu", **(usual | self.asked))


COMPILED = {"steps": 4, "jit": True}
FLOAT16 = {"steps": 4, "precision": "mixed_float16"}
CASES = {
    "honest": Case(),
    "honest_real": Case(real=True, asked={"steps": 100}),
    "honest_float16": Case(asked=FLOAT16, engines=("tensorflow", "jax")),
    "honest_bfloat16": Case(asked={"steps": 4, "precision": "mixed_bfloat16"}),
    "honest_xla": Case(asked=COMPILED),
    "honest_last_batch": Case(asked={"epochs": 2, "batch_size": 25_000}, real=True),
    "honest_quick": Case(asked={"preset": "quick", "duration_s": 2}),
    "honest_stream": Case(
        workload="mnist_cnn_nodropout_adam", asked={"steps": 2, "batch_size": 8, "epochs": 2}, real=True
    ),
    "half_batch": Case({"examples_missing"}, on_model(half_batch), real=True),
    "deferred": Case({"steps_incomplete"}, deferred, asked={"steps": 100, "epochs": 2}),
    "deferred_quick": Case({"steps_incomplete"}, deferred, asked={"preset": "quick", "duration_s": 2}),
    "cached_validation": Case(
        {"validation_missing"}, on_model(cached_validation), asked={"steps": 4, "epochs": 2}
    ),
    "cached_results": Case({"updates_missing"}, on_model(cached_results)),
    "fewer_steps": Case({"steps_missing"}, fewer_steps),
    "zero_rate": Case({"weights_unchanged", "loss_out_of_band"}, zero_rate, asked={"steps": 100}, real=True),
    "wrong_labels": Case({"loss_out_of_band"}, wrong_labels, asked={"steps": 100}, real=True),
    "few_examples": Case({"examples_repeated"}, few_examples),
}
# What every user's computer shows: nothing is left out by honest training, and what is left out is found.
FIRST = ("honest", "honest_real", "half_batch", "zero_rate")
# Other engines train on the twins: there are no digits in their packages. These need TensorFlow, or real digits.
_TENSORFLOW = {"honest_real", "honest_xla", "honest_last_batch"}


def cases_of(engine: str) -> list[str]:
    """Return what is tried with an engine."""
    names = [name for name, case in CASES.items() if engine in case.engines]
    return [name for name in names if engine == "tensorflow" or name not in _TENSORFLOW]


def events_of(case: Case, engine: str) -> str:
    """Train, and return the events."""
    import keras

    keras.backend.clear_session()
    workload: Any = copy.copy(CATALOGUE[case.workload])
    usual = workload.load
    if engine != "tensorflow" or not case.real:
        workload.load = lambda file, spec: few_to_check(usual(file, spec), 3)
    case.cheat(workload)
    stream = io.BytesIO()
    # A cheat may end with an error; what it reported before is judged.
    with contextlib.suppress(WorkloadError) if case.codes else contextlib.nullcontext():
        workload.run(Job(spec=case.spec(engine), datasets_folder=b"/nowhere"), Reporter(Emitter(stream)))
    return stream.getvalue().decode()


def main(engine: str, *names: str) -> None:
    """Go through these cases, in the order of CASES."""
    import keras  # noqa: F401 -- what it brings needn't be looked through whenever a session is cleared

    gc.freeze()
    twin, is_usual = cache(mnist.load), engine == "tensorflow"
    for name in sorted(names, key=list(CASES).index):
        case = CASES[name]
        mnist.load = real if case.real and is_usual else (lambda file: twin(None))
        sys.stdout.write(json.dumps({"case": name, "events": events_of(case, engine)}) + "\n")
        sys.stdout.flush()


def real(file: Any) -> Any:
    """Return real digits."""
    from tests.mnist_digits import as_many_as_mnist

    return as_many_as_mnist()


if __name__ == "__main__":
    find_cpp_runtime()
    main(*sys.argv[1:])
