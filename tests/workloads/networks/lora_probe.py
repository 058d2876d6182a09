"""Trains a small twin of the language model that LoRA fine-tunes, on one engine; prints lines of JSON.

lora_probe ENGINE
"""

import json
import os
import sys
from collections.abc import Iterator
from typing import Any

from workloads.engines.cpp_runtime import find_cpp_runtime
from workloads.engines.registry import engine_named
from workloads.networks import gpt, lora, vision
from workloads.protocol.spec import RunSpec

SHAPE = lora.Shape(2, 64, 4, 2, 16, 192, vocabulary=1_000, is_tied=False)
SEQUENCE, BATCH, STEPS = 32, 8, 3
# Few scores at a time, so that the loss has several parts, the last of them incomplete.
SCORES = 20_000
Answer = dict[str, Any]


class Twin(lora.LoraQwen3):
    """The smallest of the family."""

    def shape(self, spec: RunSpec) -> lora.Shape:
        return SHAPE


def spec_of(engine: str, **changes: Any) -> RunSpec:
    options: dict[str, Any] = {
        "device": "cpu",
        "precision": "float32",
        "batch_size": BATCH,
        "jit": engine == "jax",
    }
    parameters = {"sequence": SEQUENCE} | changes.pop("parameters", {})
    return Twin().default_spec(engine=engine, **(options | changes), parameters=parameters)


def with_weights(model: Any) -> Any:
    import numpy as np

    random = np.random.default_rng(1)
    for weight in model.weights:
        if len(weight.shape) > 1:
            weight.assign(random.normal(0, 0.05, weight.shape).astype(np.float32))
    return model


def bits(variables: Any) -> list[bytes]:
    from keras import ops

    return [ops.convert_to_numpy(variable).tobytes() for variable in variables if len(variable.shape) > 0]


def trained(engine: str, name: str, **changes: Any) -> Answer:
    """Train for some steps; tell the loss after each micro-batch, and what became of the weights."""
    import numpy as np
    from keras import callbacks

    spec, running = spec_of(engine, **changes), engine_named(engine)
    workload = Twin()
    workload.check(spec)
    model = with_weights(workload.build(spec))
    running.compile(model, spec, **workload.compile_options(spec))
    frozen, adapters = bits(model.non_trainable_variables), bits(model.trainable_variables)
    losses: list[float] = []

    class Watch(callbacks.Callback):  # type: ignore[misc] # Keras ships no types
        def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
            losses.append(float(logs["loss"]))

    steps = STEPS * workload.batches_per_step(spec)
    feed = workload.load(None, spec)
    running.fit(model, x=feed.x, epochs=1, steps_per_epoch=steps, callbacks=[Watch()], verbose=0)
    return {
        "id": name,
        "parameters": model.count_params(),
        "expected": workload.expected_parameters(spec),
        "losses": losses,
        "updates": int(np.array(model.optimizer.iterations)),
        "examples": running.examples_seen(model),
        "frozen_kept": frozen == bits(model.non_trainable_variables),
        "adapters_changed": sum(map(bytes.__ne__, adapters, bits(model.trainable_variables))),
        "adapters": len(adapters),
    }


def loss_and_slopes() -> Answer:
    """Compare the losses and gradients that are computed in parts with NumPy's."""
    import numpy as np
    from keras import ops

    random = np.random.default_rng(2)
    states = random.normal(size=(2, SEQUENCE, 8)).astype(np.float32)
    weight = random.normal(size=(SHAPE.vocabulary, 8)).astype(np.float32)
    labels = random.integers(SHAPE.vocabulary, size=(2, SEQUENCE)).astype(np.int32)
    arrays: list[Any] = [ops.convert_to_tensor(array) for array in (states, labels, weight)]
    made = lora.chunked_losses(arrays[0], arrays[1], arrays[2], micro_batch=2)
    scores = states @ weight.T
    shares = np.exp(scores - scores.max(-1, keepdims=True))
    shares /= shares.sum(-1, keepdims=True)
    losses = -np.log(np.take_along_axis(shares, labels[..., None], -1)[..., 0])
    slopes = shares @ weight - weight[labels]
    apart = [
        abs(ops.convert_to_numpy(one) - other).max() for one, other in zip(made, (losses, slopes), strict=True)
    ]
    return {"id": "loss", "apart": max(map(float, apart))}


def memory_of_loss() -> Answer:
    """Tell by how many times the scores that exist at a time the process grew, given sixteen times as many."""
    import numpy as np
    from keras import ops

    from workloads.engines.setup import peak_bytes

    lora.SCORES_AT_A_TIME = 2**22
    rows, vocabulary = 512, 2**17
    states = np.zeros((1, rows, 8), np.float32)
    labels, weight = np.zeros((1, rows), np.int32), np.zeros((vocabulary, 8), np.float32)
    before = peak_bytes() or 0
    arrays = [ops.convert_to_tensor(array) for array in (states, labels, weight)]
    ops.convert_to_numpy(compiled(lora.chunked_losses)(*arrays)[0])
    return {"id": "memory", "times": ((peak_bytes() or 0) - before) / (4 * lora.SCORES_AT_A_TIME)}


def compiled(compute: Any) -> Any:
    """Return the function as a step runs it: compiled, with engines that compile."""
    import keras

    match keras.backend.backend():
        case "jax":
            import jax

            return jax.jit(lambda *arrays: compute(*arrays, micro_batch=1))
        case "tensorflow":
            import tensorflow as tf

            return tf.function(lambda *arrays: compute(*arrays, micro_batch=1))
    return lambda *arrays: compute(*arrays, micro_batch=1)


def counted() -> Answer:
    """Count a step's operations with PyTorch."""
    from torch.utils.flop_counter import FlopCounterMode

    spec = spec_of("torch", batch_size=2, attention="plain")
    workload, running = Twin(), engine_named("torch")
    model = workload.build(spec)
    running.compile(model, spec, **workload.compile_options(spec))
    data = {"x": workload.load(None, spec).x, "steps_per_epoch": 1, "verbose": 0}
    running.fit(model, **data)  # the first time, Keras tries out the network as well
    with FlopCounterMode(display=False) as counter:
        running.fit(model, **data)
    # Plain attention computes what the mask hides as well: half of its products, in three passes.
    hidden = 3 * 2 * SHAPE.blocks * SEQUENCE**2 * SHAPE.heads * SHAPE.size
    declared = workload.operations_for(workload.variant(spec))
    return {"id": "operations", "counted": counter.get_total_flops() / 2 - hidden, "declared": declared}


def fused_and_plain() -> Iterator[Answer]:
    """Compare the results of networks with fused attention and with plain attention, from the same weights."""
    import numpy as np

    random = np.random.default_rng(3)
    tokens, picture = random.integers(32, size=(2, 16)), random.random((1, 224, 224, 3))
    for workload, parameters, x in (
        (gpt.GptMini(), {"sequence": 16, "vocabulary": 32}, tokens.astype(np.int32)),
        (vision.VitTiny(), {}, picture.astype(np.float32)),
    ):
        results = []
        for attention in ("plain", "fused"):
            spec = workload.default_spec(engine="torch", device="cpu", parameters=parameters, attention=attention)
            results.append(with_weights(workload.build(spec)).predict(x, verbose=0))
        yield {"id": workload.id, "apart": float(abs(results[0] - results[1]).max())}


def answers(engine: str) -> Iterator[Answer]:
    engine_named(engine).start(spec_of(engine))
    import keras

    keras.utils.set_random_seed(1)
    yield memory_of_loss()
    lora.SCORES_AT_A_TIME = SCORES
    yield loss_and_slopes()
    yield trained(engine, "default")
    yield trained(engine, "checkpointing", parameters={"checkpointing": True, "micro_batch": 1})
    if engine == "torch":
        yield trained(engine, "plain", attention="plain")
        yield counted()
        yield from fused_and_plain()


if __name__ == "__main__":
    find_cpp_runtime()
    os.environ.setdefault("KERAS_BACKEND", sys.argv[1])
    for answer in answers(sys.argv[1]):
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()
