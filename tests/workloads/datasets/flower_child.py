"""Makes real photos, packs them and reads them back with TensorFlow; a process of its own, which prints JSON."""

import hashlib
import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from app.core.messages import text
from tests.archives import pack
from workloads.datasets import flower_records, flowers
from workloads.datasets.flower_photos import Photos
from workloads.datasets.jpeg import jpeg_size
from workloads.datasets.source import MissingDataError

COUNTS = {"daisy": 5, "dandelion": 4, "roses": 4, "sunflowers": 4, "tulips": 4}
COLOURS = ((250, 250, 250), (10, 10, 10), (250, 10, 10), (10, 250, 10), (10, 10, 250))
SHAPES = ((40, 90), (90, 40), (33, 33), (20, 31), (300, 200))


def photo(label: int, number: int) -> bytes:
    """Return a JPEG whose middle has the colour of its class; white stripes are left of it and right of it."""
    import numpy as np
    import tensorflow as tf

    height, width = SHAPES[number]
    pixels = np.empty((height, width, 3), np.uint8)
    pixels[:] = COLOURS[label]
    if width > height:
        pixels[:, : (width - height) // 3] = pixels[:, -((width - height) // 3) :] = 255
    encoded: bytes = tf.io.encode_jpeg(pixels, quality=100).numpy()
    return encoded


def read(photos: Photos, training: bool) -> list[dict[str, Any]]:
    """Return label, size, and middle colour of each example."""
    import tensorflow as tf

    found = []
    for jpeg, label in flowers.dataset(photos, training):
        image = tf.io.decode_jpeg(jpeg).numpy()
        middle = image[image.shape[0] // 2, image.shape[1] // 2].tolist()
        edge = image[image.shape[0] // 2, 0].tolist()
        size = jpeg_size(jpeg.numpy())
        found.append({"label": int(label), "type": label.dtype.name, "size": size, "middle": middle, "edge": edge})
    return found


def real(folder: Path) -> dict[str, Any]:
    """Install photos, pack them, pack them again, break one."""
    flowers.COUNTS, flowers.TRAIN_COUNT, flowers.TEST_COUNT = COUNTS, 15, 6
    flower_records.PER_SHARD = 3
    members = {
        f"flower_photos/{name}/{number}.jpg": photo(label, number)
        for label, (name, count) in enumerate(COUNTS.items())
        for number in range(count)
    }
    flowers.install({"flower_photos.tgz": pack(folder.parent / "a.tgz", members)}, folder)
    photos = flowers.load(folder, size=32)
    # Of a run that was killed, and the user's.
    for name in (".tfrecords-32-killed00", ".tfrecords-32-backup"):
        (folder / name).mkdir()
        for file in ("photos-00.tfrec", flower_records.LOCK_FILE):
            (folder / name / file).touch()
    (folder / "tfrecords-32").mkdir()
    (folder / "tfrecords-32" / "thesis.tex").touch()
    told: list[tuple[int, int]] = []
    shards = flower_records.prepared(photos, lambda *progress: told.append(progress))
    before = [path.stat().st_mtime_ns for path in shards]
    results = {
        "train": read(photos, training=True),
        "test": read(photos, training=False),
        "labels": [photos.train_labels.tolist(), photos.test_labels.tolist()],
        "told": told,
        "shards": [path.relative_to(folder).as_posix() for path in shards],
        "again": [path.stat().st_mtime_ns for path in flower_records.prepared(photos)] == before,
        "other": len(flower_records.prepared(flowers.load(folder, size=16))),
        "names": sorted(path.name for path in folder.iterdir()),
        "kept": sorted(path.name for path in (folder / "tfrecords-32").iterdir()),
        "installed": flowers.is_installed(folder),
    }
    broken = photos.paths[int(photos.test[0])]
    broken.write_bytes(broken.read_bytes()[:200])
    try:
        flower_records.prepared(replace(photos, size=24))
    except MissingDataError as error:
        results["broken"] = [text(error.said), f"{broken.parent.name}/{broken.name}"]
    results["left"] = sorted(path.name for path in folder.iterdir())
    return results


def twin() -> dict[str, Any]:
    """Read the twin twice."""
    photos = flowers.load(None, size=64)
    digests, kinds, sizes = [], [], set()
    for _ in range(2):
        digest = hashlib.sha256()
        for jpeg, label in flowers.dataset(photos, True):
            digest.update(jpeg.numpy())
            digest.update(bytes([int(label)]))
            sizes.add(jpeg_size(jpeg.numpy()))
        digests.append(digest.hexdigest())
    for training in (True, False):
        data = flowers.dataset(photos, training)
        kinds.append([int(label) for _, label in data])
    return {
        "same": digests[0] == digests[1],
        "labels": kinds == [photos.train_labels.tolist(), photos.test_labels.tolist()],
        "counts": [len(part) for part in kinds],
        "sizes": sorted(sizes),
    }


if __name__ == "__main__":
    sys.stdout.write(json.dumps({"twin": twin(), "real": real(Path(sys.argv[1]))}))
