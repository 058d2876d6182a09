"""Flower photos as TensorFlow reads them: packed once, in one size, into sixteen files of records."""

import contextlib
import os
import re
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from workloads.datasets.flower_photos import Photos
from workloads.datasets.source import MissingDataError
from workloads.protocol.messages import message

PER_SHARD = 230  # 13 of these files are exactly the training photos
QUALITY = 95
LOCK_FILE = "packing.lock"  # held while a folder of records is being made


def dataset(photos: Photos, training: bool) -> Any:
    """Return a tf.data.Dataset of (JPEG as a scalar string, label as int32), in the order of `photos`.

    Raises:
        MissingDataError: A real photo can't be decoded, or there is no room for the records.
    """
    import tensorflow as tf

    if photos.pictures is not None:
        jpegs = tf.constant([tf.io.encode_jpeg(picture, quality=QUALITY).numpy() for picture in photos.pictures])
        which, labels = (photos.train, photos.train_labels) if training else (photos.test, photos.test_labels)
        return tf.data.Dataset.from_tensor_slices((which, labels)).map(
            lambda place, label: (tf.gather(jpegs, place), label)
        )
    shards = prepared(photos)
    first = len(photos.train) // PER_SHARD
    names = [str(path) for path in (shards[:first] if training else shards[first:])]
    features = {"jpeg": tf.io.FixedLenFeature([], tf.string), "label": tf.io.FixedLenFeature([], tf.int64)}

    def parse(record: Any) -> tuple[Any, Any]:
        features_read = tf.io.parse_single_example(record, features)
        return features_read["jpeg"], tf.cast(features_read["label"], tf.int32)

    return tf.data.TFRecordDataset(names).map(parse, num_parallel_calls=tf.data.AUTOTUNE)


def prepared(photos: Photos, report: Callable[[int, int], None] = lambda *_: None) -> tuple[Path, ...]:
    """Return the files of records, creating them if they don't exist yet.

    Args:
        photos: Real photos.
        report: Called with the number of finished photos, and of all.

    Raises:
        MissingDataError: A photo can't be decoded, or there is no room for the records.
    """
    import tensorflow as tf

    assert photos.folder is not None
    folder = photos.folder / f"tfrecords-{photos.size}"
    order = [*photos.train.tolist(), *photos.test.tolist()]
    labels = [*photos.train_labels.tolist(), *photos.test_labels.tolist()]
    shards = tuple(folder / f"photos-{number:02}.tfrec" for number in range(-(-len(order) // PER_SHARD)))
    if all(path.is_file() for path in shards):
        return shards
    try:
        _remove_leftovers(photos.folder, folder.name, shards)
        with _fresh_folder(photos.folder, folder.name, shards) as fresh:
            files = [fresh / shard.name for shard in shards]
            _write(files, [photos.paths[place] for place in order], labels, photos.size, report)
            # One by one: other files in the folder may be the user's, and another run may have been faster.
            folder.mkdir(exist_ok=True)
            for file, shard in zip(files, shards, strict=True):
                file.replace(shard)
    except (OSError, tf.errors.OpError) as error:
        reason = error.strerror if isinstance(error, OSError) else error.message
        raise MissingDataError(message("installed.not_packed", folder=str(folder), reason=reason)) from error
    return shards


@contextlib.contextmanager
def _fresh_folder(parent: Path, name: str, shards: Sequence[Path]) -> Iterator[Path]:
    """Create a folder for records that others leave alone while this process works on it."""
    from filelock import FileLock  # imported late: it takes a tenth of a second

    fresh = Path(tempfile.mkdtemp(prefix=f".{name}-", dir=parent))
    lock = FileLock(fresh / LOCK_FILE, timeout=0)
    try:
        with contextlib.suppress(OSError, NotImplementedError):  # a drive without locks, where nothing is tidied
            lock.acquire()
        yield fresh
    finally:
        lock.release()
        _remove_records(fresh, shards)


def _remove_leftovers(parent: Path, name: str, shards: Sequence[Path]) -> None:
    """Delete what killed runs left behind while packing, and nothing that is in use or the user's."""
    from filelock import FileLock

    for leftover in parent.iterdir():
        is_ours = re.fullmatch(rf"\.{name}-[a-z0-9_]{{8}}", leftover.name) and not leftover.is_symlink()
        if not is_ours or not (leftover / LOCK_FILE).is_file():
            continue
        lock = FileLock(leftover / LOCK_FILE, timeout=0)
        with contextlib.suppress(OSError, NotImplementedError):  # in use
            lock.acquire()
            lock.release()
            _remove_records(leftover, shards)


def _remove_records(folder: Path, shards: Sequence[Path]) -> None:
    with contextlib.suppress(OSError):  # other files are in there
        for name in (*(shard.name for shard in shards), LOCK_FILE):
            (folder / name).unlink(missing_ok=True)
        folder.rmdir()


def _write(
    files: Sequence[Path],
    paths: Sequence[Path],
    labels: Sequence[int],
    size: int,
    report: Callable[[int, int], None],
) -> None:
    import tensorflow as tf

    def packed(path: Path) -> bytes:
        with tf.device("CPU:0"):  # a GPU would only wait for each photo
            return _packed(path, size)

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for number, file in enumerate(files):
            rows = slice(number * PER_SHARD, (number + 1) * PER_SHARD)
            with tf.io.TFRecordWriter(str(file)) as writer:
                for jpeg, label in zip(pool.map(packed, paths[rows]), labels[rows], strict=True):
                    writer.write(_example(jpeg, label))
            report(min(len(paths), rows.stop), len(paths))


def _packed(path: Path, size: int) -> bytes:
    """Decode a photo, scale it until its shorter side fits, crop the middle and encode that."""
    import tensorflow as tf

    try:
        image = tf.io.decode_jpeg(path.read_bytes(), channels=3)
    except tf.errors.InvalidArgumentError as error:
        photo = f"{path.parent.name}/{path.name}"
        raise MissingDataError(message("installed.photo_not_decoded", photo=photo)) from error
    height, width = image.shape[:2]
    shorter = min(height, width)
    to = (max(size, round(height * size / shorter)), max(size, round(width * size / shorter)))
    image = tf.image.resize(image, to, antialias=True)
    image = tf.image.resize_with_crop_or_pad(image, size, size)
    image = tf.saturate_cast(tf.round(image), tf.uint8)
    jpeg: bytes = tf.io.encode_jpeg(image, quality=QUALITY).numpy()
    return jpeg


def _example(jpeg: bytes, label: int) -> bytes:
    import tensorflow as tf

    features = {
        "jpeg": tf.train.Feature(bytes_list=tf.train.BytesList(value=[jpeg])),
        "label": tf.train.Feature(int64_list=tf.train.Int64List(value=[label])),
    }
    example = tf.train.Example(features=tf.train.Features(feature=features))
    record: bytes = example.SerializeToString()
    return record
