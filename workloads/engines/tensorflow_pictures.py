"""Image operations with TensorFlow. tf.data decodes, varies and batches the images."""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workloads.datasets.flower_photos import Examples
from workloads.datasets.tfrecords import Value
from workloads.engines.image_pipeline import CONTRAST, ROTATION, SHUFFLED, Pictures, Writer

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class TensorFlowPictures(Pictures):
    """TensorFlow's image operations."""

    def __init__(self) -> None:
        super().__init__(lambda *_: None)  # unused, because tf.data feeds `fit`

    def encoded(self, image: "NDArray[np.uint8]", quality: int) -> bytes:
        import tensorflow as tf

        jpeg: bytes = tf.io.encode_jpeg(image, quality=quality).numpy()
        return jpeg

    def enlarged(self, values: "NDArray[np.float32]", width: int, height: int) -> "NDArray[np.float32]":
        import tensorflow as tf

        result: NDArray[np.float32] = tf.image.resize(values, (height, width), "bicubic").numpy()
        return result

    def fitted(self, jpeg: bytes, side_px: int, quality: int) -> bytes:
        import tensorflow as tf

        with tf.device("CPU:0"):  # single photos are too small for a GPU
            try:
                image = tf.io.decode_jpeg(jpeg, channels=3)
            except tf.errors.InvalidArgumentError as error:
                raise OSError(0, "a picture is damaged") from error
            height, width = image.shape[:2]
            shorter = min(height, width)
            to = (max(side_px, round(height * side_px / shorter)), max(side_px, round(width * side_px / shorter)))
            image = tf.image.resize(image, to, antialias=True)
            image = tf.image.resize_with_crop_or_pad(image, side_px, side_px)
            image = tf.saturate_cast(tf.round(image), tf.uint8)
            packed: bytes = tf.io.encode_jpeg(image, quality=quality).numpy()
        return packed

    def record_writer(self, path: Path) -> AbstractContextManager[Writer]:
        import tensorflow as tf

        writer: AbstractContextManager[Writer] = tf.io.TFRecordWriter(str(path))
        return writer

    def record(self, features: Mapping[str, Value]) -> bytes:
        import tensorflow as tf

        def feature(value: Value) -> Any:
            if isinstance(value, bytes):
                return tf.train.Feature(bytes_list=tf.train.BytesList(value=[value]))
            return tf.train.Feature(int64_list=tf.train.Int64List(value=[value]))

        named = {name: feature(value) for name, value in features.items()}
        record: bytes = tf.train.Example(features=tf.train.Features(feature=named)).SerializeToString()
        return record

    @contextmanager
    def working_in(self, folder: Path) -> Iterator[None]:
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

    def from_files(self, paths: Sequence[Path], labels: Sequence[int], side_px: int) -> Any:
        import tensorflow as tf

        def load(path: Any, label: Any) -> tuple[Any, Any]:
            return _resized(tf.io.decode_jpeg(tf.io.read_file(path), channels=3), side_px), label

        files = tf.data.Dataset.from_tensor_slices(([str(path) for path in paths], labels))
        return files.map(load, num_parallel_calls=tf.data.AUTOTUNE)

    def from_records(self, paths: Sequence[Path], packed_px: int, side_px: int) -> Any:
        import tensorflow as tf

        features = {"image": tf.io.FixedLenFeature([], tf.string), "label": tf.io.FixedLenFeature([], tf.int64)}

        def load(record: Any) -> tuple[Any, Any]:
            example = tf.io.parse_single_example(record, features)
            image = tf.reshape(tf.io.decode_raw(example["image"], tf.uint8), (packed_px, packed_px, 3))
            return _resized(image, side_px), tf.cast(example["label"], tf.int32)

        records = tf.data.TFRecordDataset([str(path) for path in paths], num_parallel_reads=tf.data.AUTOTUNE)
        return records.map(load, num_parallel_calls=tf.data.AUTOTUNE)

    def cached(self, data: Any) -> Any:
        return data.cache()

    def batches(self, data: Any, batch_size: int, *, whole: bool = False) -> Any:
        """Return prefetched batches of images."""
        import tensorflow as tf

        return data.batch(batch_size, drop_remainder=whole).prefetch(tf.data.AUTOTUNE)

    def array(self, images: Any) -> "NDArray[Any]":
        result: NDArray[Any] = images.numpy()
        return result

    def varied(self, examples: Examples, batch_size: int, seed: int) -> Any:
        """Return an endless stream of batches for `fit`, varied by Keras's preprocessing layers."""
        import tensorflow as tf

        photos = _jpegs(examples).shuffle(SHUFFLED, seed=seed).repeat()
        batches = photos.map(_decoding(examples), num_parallel_calls=tf.data.AUTOTUNE).batch(batch_size)
        return batches.map(_varying(seed), num_parallel_calls=tf.data.AUTOTUNE).prefetch(tf.data.AUTOTUNE)

    def in_order(self, examples: Examples, batch_size: int) -> Any:
        import tensorflow as tf

        photos = _jpegs(examples).map(_decoding(examples), num_parallel_calls=tf.data.AUTOTUNE)
        return photos.batch(batch_size).prefetch(tf.data.AUTOTUNE)


def _resized(image: Any, side_px: int) -> Any:
    import tensorflow as tf

    return tf.cast(tf.image.resize(image, (side_px, side_px)), tf.uint8)


def _jpegs(examples: Examples) -> Any:
    """Return a tf.data.Dataset of (JPEG as a scalar string, label as int32)."""
    import tensorflow as tf

    if examples.which is not None:
        jpegs = tf.constant(list(examples.jpegs))
        return tf.data.Dataset.from_tensor_slices((examples.which, examples.labels)).map(
            lambda place, label: (tf.gather(jpegs, place), label)
        )
    features = {"jpeg": tf.io.FixedLenFeature([], tf.string), "label": tf.io.FixedLenFeature([], tf.int64)}

    def parse(record: Any) -> tuple[Any, Any]:
        features_read = tf.io.parse_single_example(record, features)
        return features_read["jpeg"], tf.cast(features_read["label"], tf.int32)

    names = [str(path) for path in examples.shards]
    return tf.data.TFRecordDataset(names).map(parse, num_parallel_calls=tf.data.AUTOTUNE)


def _decoding(examples: Examples) -> Any:
    """Return a function that decodes a JPEG into floats from 0 to 1 and one-hot encodes its label."""
    import tensorflow as tf

    def decode(jpeg: Any, label: Any) -> tuple[Any, Any]:
        image = tf.reshape(tf.io.decode_jpeg(jpeg, channels=3), (examples.size, examples.size, 3))
        return tf.cast(image, tf.float32) / 255.0, tf.one_hot(label, examples.classes)

    return decode


def _varying(seed: int) -> Any:
    """Return a function that randomly flips and rotates photos and varies their contrast."""
    from keras import layers

    # Always float32, even with half-precision networks, because the CPU passes photos on as float32.
    steps = (
        layers.RandomFlip("horizontal", seed=seed, dtype="float32"),
        layers.RandomContrast(CONTRAST, value_range=(0, 1), seed=seed, dtype="float32"),
        layers.RandomRotation(ROTATION, seed=seed, dtype="float32"),
    )

    def vary(images: Any, labels: Any) -> tuple[Any, Any]:
        for step in steps:
            images = step(images, training=True)
        return images, labels

    return vary
