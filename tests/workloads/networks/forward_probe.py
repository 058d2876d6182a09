"""Predicts with networks of fixed weights on one engine, in one process: forward_probe ENGINE FOLDER.

Of small transformers, it writes weights, input and output to FOLDER/ID.npz; of image networks, only the output.
"""

import json
import sys
from pathlib import Path
from typing import Any

from workloads import CATALOGUE
from workloads.engines.cpp_runtime import find_cpp_runtime
from workloads.engines.registry import engine_named
from workloads.networks import generation
from workloads.networks.gpt import GptMini, NanoGptChar
from workloads.networks.vision import VitTiny
from workloads.training.training import Training

PICTURES = ("resnet50_224", "convnext_tiny_224", "efficientnet_b0_224", "mobilenetv3_large_224")


class SmallGpt(GptMini):
    """Its heads aren't as wide as the rest, as in the real one."""

    id = "small_gpt"
    blocks, width, heads, size = 2, 12, 3, 2


class SmallVit(VitTiny):
    """Four patches."""

    id = "small_vit"
    input_shape = (32, 32, 3)
    classes = 5
    blocks, width, heads = 2, 12, 3


class SmallNanoGpt(NanoGptChar):
    """Small by its parameters."""

    id = "small_nanogpt"


SMALL: dict[str, tuple[Training, dict[str, int]]] = {
    "small_gpt": (SmallGpt(), {"sequence": 7, "vocabulary": 11}),
    "small_nanogpt": (SmallNanoGpt(), {"blocks": 2, "heads": 3, "width": 12, "sequence": 5}),
    "small_vit": (SmallVit(), {}),
}


def main(engine: str, folder: str) -> None:
    """Write a file for each network, and its name as a line of JSON."""
    engine_named(engine).start(CATALOGUE["mnist_mlp"].default_spec(engine=engine, device="cpu"))
    import keras
    import numpy as np

    for name, (workload, parameters) in SMALL.items():
        model = workload.build(workload.default_spec(engine=engine, batch_size=2, parameters=parameters))
        random = np.random.default_rng(7)
        model.set_weights([random.normal(0, 0.4, weight.shape) for weight in model.weights])
        x = given(model, random, 2)
        kept = {f"weight{number}": weight for number, weight in enumerate(model.get_weights())}
        np.savez(Path(folder, f"{name}.npz"), x=x, y=model.predict_on_batch(x), **kept)
        sys.stdout.write(json.dumps({"id": name}) + "\n")
    write_texts(engine, folder)
    for name in PICTURES:
        keras.backend.clear_session()
        big = CATALOGUE[name]
        assert isinstance(big, Training)
        model = big.build(big.default_spec(engine=engine))
        random = np.random.default_rng(7)
        model.set_weights([fixed(weight, random) for weight in model.weights])
        x = given(model, random, 1)
        np.savez(Path(folder, f"{name}.npz"), y=model.predict_on_batch(x))
        sys.stdout.write(json.dumps({"id": name}) + "\n")


def write_texts(engine: str, folder: str) -> None:
    """Write tokens with a cache, and once more by reading everything anew for each."""
    import numpy as np

    workload, parameters = SMALL["small_gpt"]
    whole = workload.build(workload.default_spec(engine=engine, parameters=parameters))
    cached = generation.build(workload, 2, places=7, vocabulary=11)
    # As many places as in a real one, of which seven are used.
    table = cached.trainable_variables[1]
    random = np.random.default_rng(3)
    kept = whole.get_weights()  # scales of 1 and offsets of 0, which would decide alone
    weights = [random.normal(0, 0.7, each.shape) if len(each.shape) > 1 else each for each in kept]
    whole.set_weights(weights)
    for variable, value in zip(cached.trainable_variables, weights, strict=True):
        variable.assign(np.pad(value, ((0, table.shape[0] - 7), (0, 0))) if variable is table else value)
    prompts = random.integers(11, size=(2, 3), dtype="int32")
    writer = generation.Writer(engine_named(engine), cached, prompts)
    for _ in range(2):  # the second time, the cache is full of what doesn't count anymore
        written = [writer.read(), *(writer.write() for _ in range(3))]
    text = prompts
    while text.shape[1] < 7:
        places = np.pad(text, ((0, 0), (0, 7 - text.shape[1])))
        scores = np.asarray(whole.predict_on_batch(places))[:, text.shape[1] - 1]
        text = np.concatenate([text, scores.argmax(axis=-1)[:, None].astype("int32")], axis=1)
    np.savez(Path(folder, "texts.npz"), cached=np.concatenate(written, axis=1), anew=text[:, 3:])


def given(model: Any, random: Any, size: int) -> Any:
    """Return random tokens or pictures."""
    shape = (size, *model.input_shape[1:])
    if model.inputs[0].dtype == "int32":
        return random.integers(11, size=shape, dtype="int32")
    return random.normal(0, 1, shape).astype("float32")


def fixed(weight: Any, random: Any) -> Any:
    """Return numbers that keep the signal's size: matrices by how much they add up, all others near 1."""
    import numpy as np

    if len(weight.shape) > 1:
        return random.normal(0, (1 / np.prod(weight.shape[:-1])) ** 0.5, weight.shape)
    return random.uniform(0.8, 1.2, weight.shape)


if __name__ == "__main__":
    find_cpp_runtime()
    main(*sys.argv[1:])
