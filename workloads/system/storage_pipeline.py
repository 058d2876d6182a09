"""Images and network of the storage test."""

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workloads.engines import image_ops
from workloads.engines.engine import Engine
from workloads.engines.image_pipeline import Reader, Source
from workloads.networks.googlenet import GoogLeNet
from workloads.protocol.reporter import Reporter
from workloads.protocol.spec import RunSpec
from workloads.system.storage_files import PACKED, flush

if TYPE_CHECKING:
    from numpy.typing import NDArray

# A typical ImageNet image.
WIDTH_PX, HEIGHT_PX = 500, 375
# With this much coarse and fine noise, images have 111 kB at this quality.
_GRAIN_PX, _FINE, _QUALITY = 6, 0.05, 95
# Image sizes in study 001: after conversion, and as network input.
PACKED_PX, INPUT_PX = 256, 224
PACKED_COUNT = 8
_BUFFER_BYTES = 262_144
CLASSES = 10


def make_pictures(seed: int, count: int) -> list[bytes]:
    """Generate distinct JPEGs that depend only on the seed."""
    import numpy as np

    raw = np.random.PCG64(seed)
    rows, columns = HEIGHT_PX // _GRAIN_PX, WIDTH_PX // _GRAIN_PX

    def noise(height_px: int, width_px: int) -> "NDArray[np.float32]":
        size = height_px * width_px * 3
        values = raw.random_raw(-(-size // 8)).astype("<u8").view(np.uint8)[:size]
        return values.astype(np.float32).reshape(height_px, width_px, 3)

    jpegs = []
    for _ in range(count):
        coarse = image_ops.enlarged(noise(rows, columns), WIDTH_PX, HEIGHT_PX)
        picture = coarse + _FINE * (noise(HEIGHT_PX, WIDTH_PX) - 127.5)
        jpegs.append(image_ops.encoded(np.clip(picture, 0, 255).astype(np.uint8), _QUALITY))
    return jpegs


def from_jpegs(reader: Reader, paths: Sequence[Path], side_px: int = INPUT_PX) -> Source:
    return reader.files(paths, [number % CLASSES for number in range(len(paths))], side_px)


def pack(reader: Reader, jpegs: Sequence[Path], folder: Path, batch_size: int, reporter: Reporter) -> None:
    """Decode images, resize them to 256 × 256, write their pixels, and wait until all are on the drive."""
    paths = [folder / PACKED / f"{number}.rgb" for number in range(PACKED_COUNT)]
    done = 0
    with ExitStack() as stack:
        files = [stack.enter_context(path.open("wb", _BUFFER_BYTES)) for path in paths]
        for images, _ in reader.batches(from_jpegs(reader, jpegs, PACKED_PX), batch_size):
            for image in images:
                files[done % PACKED_COUNT].write(image.tobytes())
                done += 1
            reporter.step_end()
    for path in paths:
        flush(path)


class Network:
    """The network used for training and prediction, compiled and warmed up."""

    def __init__(self, engine: Engine, spec: RunSpec) -> None:
        import numpy as np
        from keras import losses

        if spec.parameters.get("network") == "googlenet":
            googlenet = GoogLeNet()
            trained, predicting = googlenet.build(spec), googlenet.build_for_inference(spec)
            options = googlenet.compile_options(spec)
            self._targets: Callable[[Any], Any] = partial(googlenet.targets, spec=spec)
        else:
            trained = predicting = _small()
            options = {"optimizer": "sgd", "loss": losses.SparseCategoricalCrossentropy(from_logits=True)}
            self._targets = lambda labels: labels
        self._engine, self._trained, self._predicting = engine, _on_bytes(trained), _on_bytes(predicting)
        engine.compile(self._trained, spec, watched=False, **options)
        engine.compile(self._predicting, spec)
        images = np.zeros((spec.batch_size, INPUT_PX, INPUT_PX, 3), np.uint8)
        for _ in range(2):
            self.train(images, np.zeros(spec.batch_size, np.int32))
            self.predict(images, None)

    def train(self, images: Any, labels: Any) -> None:
        """Train on one batch. The device has finished once the loss is available."""
        self._trained.train_on_batch(images, self._targets(labels))

    def predict(self, images: Any, labels: Any) -> None:
        self._engine.predict_batch(self._predicting, images)


def _small() -> Any:
    """Return a network with 2,522 parameters, which costs far less than decoding the images."""
    from keras import Sequential, layers

    return Sequential(
        [
            layers.Conv2D(8, 7, strides=4, activation="relu"),
            layers.Conv2D(16, 3, strides=2, activation="relu"),
            layers.GlobalAveragePooling2D(),
            layers.Dense(CLASSES),
        ]
    )


def _on_bytes(network: Any) -> Any:
    """Return a model that accepts images as uint8, so that only bytes are stored and copied."""
    from keras import Input, Model, layers

    inputs = Input((INPUT_PX, INPUT_PX, 3), dtype="uint8")
    return Model(inputs, network(layers.Rescaling(1 / 127.5, -1.0)(inputs)))
