"""Builds and trains networks in one process, and prints what it saw as JSON, a line each.

network_probe small    the smaller networks take one step
network_probe large    the larger ones do
network_probe longer   the smaller ones learn for longer
"""

import json
import math
import sys
from collections import Counter
from functools import cache
from typing import Any
from unittest import mock

from tests.workloads.sizes import is_large, networks
from workloads.datasets import cifar10, mnist
from workloads.engines.cpp_runtime import find_cpp_runtime
from workloads.training.flops import forward_flops, training_flops
from workloads.training.training import Training

# A step of these costs as much as their sequences are long and their words are many: a few show the same.
SHORTENED = {"gpt_mini", "gpt_tiny", "gpt_small"}
BATCH, STEPS = 16, 20


def probe(workload: Training) -> dict[str, Any]:
    size = 1 if is_large(workload) else 2
    model, losses = train(workload, size, steps=1, run_eagerly=True)
    if workload.id in SHORTENED:
        model = build_without_weights(workload)
    seen: dict[str, Any] = {
        "id": workload.id,
        "parameters": model.count_params(),
        "trained": sum(math.prod(variable.shape) for variable in model.trainable_variables),
        "input": model.input_shape[1:],
        "output": model.output_shape if isinstance(model.output_shape, list) else [model.output_shape],
        "activations": dict(activations(model)),
        "outline": " / ".join(filter(None, map(outline, model.layers))),
        "flops": forward_flops(model),
        "training_flops": training_flops(model),
        "losses": losses,
    }
    if any(getattr(layer, "stateful", False) for layer in model.layers):
        seen["memory"] = forgetting(workload, model)
    return seen


def build_without_weights(workload: Training) -> Any:
    """Return the network as it is in runs, but for its weights, which take longest to make."""
    import numpy as np
    from keras.initializers import RandomNormal

    def zeros(self: Any, shape: Any, dtype: Any = None) -> Any:
        return np.zeros(shape, dtype or "float32")

    with mock.patch.object(RandomNormal, "__call__", zeros):
        return workload.build(workload.default_spec())


def probe_longer(workload: Training) -> dict[str, Any]:
    """Train the network as it is trained in runs, but on one batch again and again."""
    _, losses = train(workload, BATCH, STEPS, run_eagerly=False)
    return {"id": workload.id, "losses": losses}


def train(workload: Training, size: int, steps: int, *, run_eagerly: bool) -> tuple[Any, list[float]]:
    """Return the trained network, and its losses before each step and after the last."""
    import keras

    keras.backend.clear_session()
    keras.utils.set_random_seed(1)
    parameters = {"sequence": 16, "vocabulary": 256} if workload.id in SHORTENED else {}
    spec = workload.default_spec(batch_size=size, parameters=parameters)
    x, y = first_batch(workload.load(None, spec), spec.batch_size)
    model = workload.build(spec)
    model.compile(**workload.compile_options(spec), run_eagerly=run_eagerly)
    losses = []
    for _ in range(steps):
        model.reset_metrics()
        losses.append(float(model.train_on_batch(x, y, return_dict=True)["loss"]))
    # Without the gradients of another step.
    losses.append(float(model.compute_loss(x, y, y_pred=model(x, training=True))))
    return model, losses


def first_batch(feed: Any, size: int) -> tuple[Any, Any]:
    import keras
    import numpy as np

    if feed.y is not None:
        targets = [np.asarray(y[:size]) for y in feed.y] if isinstance(feed.y, list) else feed.y[:size]
        return feed.x[:size], targets
    if isinstance(feed.x, keras.utils.PyDataset):
        x, y = feed.x[0]
    else:
        x, y = next(iter(feed.x))
    return x, y


def leaves(model: Any) -> list[Any]:
    inner = getattr(model, "layers", None)
    return [model] if inner is None else [leaf for layer in inner for leaf in leaves(layer)]


def activations(model: Any) -> "Counter[str]":
    names = [getattr(getattr(layer, "activation", None), "__name__", "linear") for layer in leaves(model)]
    return Counter(name for name in names if name != "linear")


def outline(layer: Any) -> str:
    """Describe a layer in a few words; padding and strides show in shapes and operations."""
    kind = type(layer).__name__
    if kind == "Bidirectional":
        return f"two {outline(layer.forward_layer)}"
    config = layer.get_config()
    facts = [config.get(name) for name in ("units", "filters", "kernel_size", "pool_size", "rate", "output_dim")]
    words = [str(fact[0] if isinstance(fact, list | tuple) else fact) for fact in facts if fact is not None]
    names = [
        getattr(getattr(layer, name, None), "__name__", None) for name in ("activation", "recurrent_activation")
    ]
    return " ".join([kind, *words, *(name for name in names if name and name != "linear")])


def forgetting(workload: Training, model: Any) -> list[float]:
    """Return how much a stateful network remembers before and after its callbacks begin an epoch."""
    import numpy as np

    def remembered() -> float:
        states = [state for layer in model.layers for state in getattr(layer, "states", None) or ()]
        return float(sum(np.abs(state.numpy()).sum() for state in states))

    before = remembered()
    for callback in workload.callbacks(workload.default_spec()):
        callback.set_model(model)
        callback.on_epoch_begin(0)
    return [before, remembered()]


def say(seen: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(seen) + "\n")
    sys.stdout.flush()


def main(part: str) -> None:
    for dataset in (cifar10, mnist):
        dataset.load = cache(dataset.load)  # type: ignore[attr-defined] # several networks learn the same
    for workload in networks().values():
        if is_large(workload) == (part == "large"):
            say((probe_longer if part == "longer" else probe)(workload))


if __name__ == "__main__":
    find_cpp_runtime()
    main(*sys.argv[1:])
