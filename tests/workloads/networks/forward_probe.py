"""Predicts with networks of fixed weights on one engine, in one process: forward_probe ENGINE FOLDER.

Of small transformers, it writes weights, input and output to FOLDER/ID.npz; of image networks, only the output.
All are small: JAX alone takes a minute and a half to compile four of these image networks as they are.
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
from workloads.networks.vision import ConvNextTiny, EfficientNetB0, MobileNetV3Large, ResNet50Of224, VitTiny
from workloads.training.training import Training


class SmallGpt(GptMini):
    """Its heads aren't as wide as the rest, as in the real one."""

    id = "small_gpt"
    blocks, width, heads, size = 2, 12, 3, 2


class SmallVit(VitTiny):
    id = "small_vit"
    input_shape = (32, 32, 3)
    classes = 5
    blocks, width, heads = 2, 12, 3


class SmallNanoGpt(NanoGptChar):
    """Small by its parameters."""

    id = "small_nanogpt"


class SmallResNet(ResNet50Of224):
    """A stage of each kind, with a block of each kind."""

    id = "small_resnet"
    input_shape = (40, 40, 3)
    stages = (4, 2), (6, 2)


class SmallConvNext(ConvNextTiny):
    """Without narrowing and with it."""

    id = "small_convnext"
    input_shape = (40, 40, 3)
    stages = (4, 1), (6, 2)


class SmallEfficientNet(EfficientNetB0):
    """Blocks that aren't widened, that are strided, and that add what went in, with both sizes of filters."""

    id = "small_efficientnet"
    input_shape = (40, 40, 3)
    stages = (1, 3, 8, 1, 1), (2, 5, 8, 2, 6)


class SmallMobileNet(MobileNetV3Large):
    """Both activations, strided and not, with a gate and without."""

    id = "small_mobilenet"
    input_shape = (40, 40, 3)
    blocks = (3, 16, 16, 0, "relu", 1), (5, 24, 16, 8, "relu", 2), (3, 24, 16, 8, "hard_silu", 1)


PICTURES: tuple[Training, ...] = SmallResNet(), SmallConvNext(), SmallEfficientNet(), SmallMobileNet()
SMALL: dict[str, tuple[Training, dict[str, int]]] = {
    "small_gpt": (SmallGpt(), {"sequence": 7, "vocabulary": 11}),
    "small_nanogpt": (SmallNanoGpt(), {"blocks": 2, "heads": 3, "width": 12, "sequence": 5}),
    "small_vit": (SmallVit(), {}),
}


def main(engine: str, folder: str) -> None:
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
    for workload in PICTURES:
        keras.backend.clear_session()
        model = workload.build(workload.default_spec(engine=engine))
        random = np.random.default_rng(7)
        model.set_weights([fixed(weight, random) for weight in model.weights])
        x = given(model, random, 1)
        np.savez(Path(folder, f"{workload.id}.npz"), y=model.predict_on_batch(x))
        sys.stdout.write(json.dumps({"id": workload.id}) + "\n")


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
    shape = (size, *model.input_shape[1:])
    if model.inputs[0].dtype == "int32":
        return random.integers(11, size=shape, dtype="int32")
    return random.normal(0, 1, shape).astype("float32")


def fixed(weight: Any, random: Any) -> Any:
    import numpy as np

    if len(weight.shape) > 1:
        # A channel of its own adds up no others.
        added = np.prod(weight.shape[: 2 if weight.shape[-1] == 1 else -1])
        return random.normal(0, (1 / added) ** 0.5, weight.shape)
    return random.uniform(0.8, 1.2, weight.shape)


if __name__ == "__main__":
    find_cpp_runtime()
    main(*sys.argv[1:])
