"""TensorFlow's part in the storage test: making, preprocessing and feeding pictures."""

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workloads.networks.googlenet import GoogLeNet
from workloads.protocol.reporter import Reporter
from workloads.protocol.spec import RunSpec
from workloads.system.storage_files import SHARDS, flush

if TYPE_CHECKING:
    from numpy.typing import NDArray

# A typical picture of ImageNet.
WIDTH_PX, HEIGHT_PX = 500, 375
# With this much coarse and fine noise, pictures have 111 kB at this quality.
_GRAIN_PX, _FINE, _QUALITY = 6, 0.05, 95
# As study 001 converted them, and as its networks take them.
PACKED_PX, INPUT_PX = 256, 224
SHARD_COUNT = 8
CLASSES = 10


def make_pictures(seed: int, count: int) -> list[bytes]:
    """Return different pictures as JPEGs, the same ones for the same seed."""
    import numpy as np
    import tensorflow as tf

    raw = np.random.PCG64(seed)
    rows, columns = HEIGHT_PX // _GRAIN_PX, WIDTH_PX // _GRAIN_PX

    def noise(height_px: int, width_px: int) -> "NDArray[np.float32]":
        size = height_px * width_px * 3
        values = raw.random_raw(-(-size // 8)).astype("<u8").view(np.uint8)[:size]
        return values.astype(np.float32).reshape(height_px, width_px, 3)

    pictures = []
    for _ in range(count):
        coarse = tf.image.resize(noise(rows, columns), (HEIGHT_PX, WIDTH_PX), "bicubic")
        picture = coarse + _FINE * (noise(HEIGHT_PX, WIDTH_PX) - 127.5)
        picture = tf.cast(tf.clip_by_value(picture, 0, 255), tf.uint8)
        pictures.append(tf.io.encode_jpeg(picture, quality=_QUALITY).numpy())
    return pictures


def from_jpegs(paths: Sequence[Path], side_px: int = INPUT_PX) -> Any:
    """Return a tf.data.Dataset of decoded pictures, as bytes, and labels."""
    import tensorflow as tf

    def load(path: Any, label: Any) -> tuple[Any, Any]:
        return _resized(tf.io.decode_jpeg(tf.io.read_file(path), channels=3), side_px), label

    labels = [number % CLASSES for number in range(len(paths))]
    files = tf.data.Dataset.from_tensor_slices(([str(path) for path in paths], labels))
    return files.map(load, num_parallel_calls=tf.data.AUTOTUNE)


def from_shards(paths: Sequence[Path]) -> Any:
    """Return the same from what `pack` wrote."""
    import tensorflow as tf

    features = {"image": tf.io.FixedLenFeature([], tf.string), "label": tf.io.FixedLenFeature([], tf.int64)}

    def load(record: Any) -> tuple[Any, Any]:
        example = tf.io.parse_single_example(record, features)
        image = tf.reshape(tf.io.decode_raw(example["image"], tf.uint8), (PACKED_PX, PACKED_PX, 3))
        return _resized(image, INPUT_PX), tf.cast(example["label"], tf.int32)

    records = tf.data.TFRecordDataset([str(path) for path in paths], num_parallel_reads=tf.data.AUTOTUNE)
    return records.map(load, num_parallel_calls=tf.data.AUTOTUNE)


def batches(data: Any, batch_size: int, *, whole: bool = False) -> Any:
    """Return a dataset in prefetched batches; `whole` leaves out a last, smaller one."""
    import tensorflow as tf

    return data.batch(batch_size, drop_remainder=whole).prefetch(tf.data.AUTOTUNE)


def pack(jpegs: Sequence[Path], folder: Path, batch_size: int, reporter: Reporter) -> list[Path]:
    """Decode pictures, resize them to 256 × 256, write them to shards, and wait until the drive has them."""
    import tensorflow as tf

    paths = [folder / SHARDS / f"{number}.tfrecord" for number in range(SHARD_COUNT)]
    done = 0
    with ExitStack() as stack:
        writers = [stack.enter_context(tf.io.TFRecordWriter(str(path))) for path in paths]
        for images, labels in batches(from_jpegs(jpegs, PACKED_PX), batch_size):
            for image, label in zip(images.numpy(), labels.numpy(), strict=True):
                writers[done % SHARD_COUNT].write(_record(image, label))
                done += 1
            reporter.step_end()
    for path in paths:
        flush(path)
    return paths


@contextmanager
def file_errors(folder: Path) -> Iterator[None]:
    """Turn TensorFlow's errors about a folder's files into OSError."""
    import tensorflow as tf

    try:
        yield
    except tf.errors.OpError as error:
        message = str(error.message)
        if str(folder) not in message:
            raise
        # For example: function_node … /a/b.jpg; No such file or directory [Op:IteratorGetNext]
        match = re.search(re.escape(str(folder)) + r"[^;]*; ([^\[\n]+)", message)
        reason = match[1].strip() if match else type(error).__name__
        is_gone = isinstance(error, tf.errors.NotFoundError)
        raise FileNotFoundError(0, reason) if is_gone else OSError(0, reason) from error


class Network:
    """The network that trains on the pictures, and predicts: compiled and warmed up.

    Args:
        spec: Its parameter "network" chooses small or googlenet.
    """

    def __init__(self, spec: RunSpec) -> None:
        import tensorflow as tf
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
        self._trained, self._predicting = _on_bytes(trained), _on_bytes(predicting)
        self._trained.compile(jit_compile=spec.jit, **options)
        self._predicting.compile(jit_compile=spec.jit)
        images = tf.zeros((spec.batch_size, INPUT_PX, INPUT_PX, 3), tf.uint8)
        for _ in range(2):
            self.train(images, tf.zeros(spec.batch_size, tf.int32))
            self.predict(images, None)

    def train(self, images: Any, labels: Any) -> None:
        """Train on one batch."""
        self._trained.train_on_batch(images, self._targets(labels))

    def predict(self, images: Any, labels: Any) -> None:
        """Predict one batch, ignoring its labels."""
        self._predicting.predict_on_batch(images)


def _small() -> Any:
    """Return a network of 2,522 parameters that is much cheaper than decoding the picture."""
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
    """Return a model that takes pictures as bytes, so that bytes are what is stored and copied."""
    from keras import Input, Model, layers

    inputs = Input((INPUT_PX, INPUT_PX, 3), dtype="uint8")
    return Model(inputs, network(layers.Rescaling(1 / 127.5, -1.0)(inputs)))


def _resized(image: Any, side_px: int) -> Any:
    import tensorflow as tf

    return tf.cast(tf.image.resize(image, (side_px, side_px)), tf.uint8)


def _record(image: "NDArray[Any]", label: int) -> bytes:
    import tensorflow as tf

    features = {
        "image": tf.train.Feature(bytes_list=tf.train.BytesList(value=[image.tobytes()])),
        "label": tf.train.Feature(int64_list=tf.train.Int64List(value=[int(label)])),
    }
    packed: bytes = tf.train.Example(features=tf.train.Features(feature=features)).SerializeToString()
    return packed
