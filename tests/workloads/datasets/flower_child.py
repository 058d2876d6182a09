"""Packs and reads flower photos, with TensorFlow and without; a process of its own, which prints JSON."""

import hashlib
import json
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from app.core.messages import text
from tests.archives import pack
from workloads.datasets import flower_records, flowers
from workloads.datasets.flower_photos import Examples, Photos
from workloads.datasets.jpeg import jpeg_size
from workloads.datasets.source import MissingDataError
from workloads.datasets.tfrecords import read_examples
from workloads.engines.cpp_runtime import find_cpp_runtime
from workloads.engines.engine import Engine
from workloads.engines.image_pipeline import Pictures
from workloads.engines.tensorflow import ENGINE

COUNTS = {"daisy": 5, "dandelion": 4, "roses": 4, "sunflowers": 4, "tulips": 4}
COLOURS = ((250, 250, 250), (10, 10, 10), (250, 10, 10), (10, 250, 10), (10, 10, 250))
SHAPES = ((40, 90), (90, 40), (33, 33), (20, 31), (300, 200))
PICTURES = {"tensorflow": ENGINE.pictures(), "default": Engine().pictures()}


def photo(label: int, number: int) -> bytes:
    """Return a JPEG whose middle has the colour of its class; white stripes are left of it and right of it."""
    import numpy as np

    height, width = SHAPES[number]
    pixels = np.empty((height, width, 3), np.uint8)
    pixels[:] = COLOURS[label]
    if width > height:
        pixels[:, : (width - height) // 3] = pixels[:, -((width - height) // 3) :] = 255
    return PICTURES["tensorflow"].encoded(pixels, 100)


def jpegs(examples: Examples) -> Iterator[bytes]:
    """Yield the JPEGs, as they are stored."""
    if examples.which is not None:
        yield from (examples.jpegs[place] for place in examples.which)
    for path in examples.shards:
        yield from (jpeg for jpeg, _ in read_examples(path, "jpeg"))


def read(examples: Examples, pictures: Pictures) -> list[dict[str, Any]]:
    """Return label, size, and middle and left colour of each example."""
    import numpy as np

    seen: list[dict[str, Any]] = []
    for batch, labels in pictures.in_order(examples, 4):
        images = 255 * np.asarray(batch)
        middle, left = images.shape[1] // 2, 0
        for image, label in zip(images, np.asarray(labels), strict=True):
            colours = {"middle": image[middle, middle].tolist(), "edge": image[middle, left].tolist()}
            seen.append({"label": int(label.argmax()), "type": f"{image.dtype} {label.dtype}", **colours})
    sizes = [{"size": jpeg_size(jpeg)} for jpeg in jpegs(examples)]
    return [example | size for example, size in zip(seen, sizes, strict=True)]


def installed(folder: Path) -> Photos:
    """Install photos."""
    flowers.COUNTS, flowers.TRAIN_COUNT, flowers.TEST_COUNT = COUNTS, 15, 6
    flower_records.PER_SHARD = 3
    members = {
        f"flower_photos/{name}/{number}.jpg": photo(label, number)
        for label, (name, count) in enumerate(COUNTS.items())
        for number in range(count)
    }
    folder.mkdir()
    flowers.install({"flower_photos.tgz": pack(folder.parent / "a.tgz", members)}, folder)
    return flowers.load(folder, size=32)


def real(folder: Path, packer: Pictures) -> dict[str, Any]:
    """Install photos, pack them, pack them again, read them with both, break one."""
    photos = installed(folder)
    # Of a run that was killed, and the user's.
    for name in (".tfrecords-32-killed00", ".tfrecords-32-backup"):
        (folder / name).mkdir()
        for file in ("photos-00.tfrec", flower_records.LOCK_FILE):
            (folder / name / file).touch()
    (folder / "tfrecords-32").mkdir()
    (folder / "tfrecords-32" / "thesis.tex").touch()
    progress: list[tuple[int, int]] = []
    shards = flower_records.prepared(photos, packer, lambda *counts: progress.append(counts))
    before = [path.stat().st_mtime_ns for path in shards]
    parts = flower_records.examples(photos, 5, packer)
    results = {
        "read": {name: [read(part, pictures) for part in parts] for name, pictures in PICTURES.items()},
        "labels": [photos.train_labels.tolist(), photos.test_labels.tolist()],
        "told": progress,
        "shards": [path.relative_to(folder).as_posix() for path in shards],
        "again": [path.stat().st_mtime_ns for path in flower_records.prepared(photos, packer)] == before,
        "other": len(flower_records.prepared(flowers.load(folder, size=16), packer)),
        "names": sorted(path.name for path in folder.iterdir()),
        "kept": sorted(path.name for path in (folder / "tfrecords-32").iterdir()),
        "installed": flowers.is_installed(folder),
    }
    broken = photos.paths[int(photos.test[0])]
    broken.write_bytes(broken.read_bytes()[:200])
    try:
        flower_records.prepared(replace(photos, size=24), packer)
    except MissingDataError as error:
        results["broken"] = [text(error.message), f"{broken.parent.name}/{broken.name}"]
    results["left"] = sorted(path.name for path in folder.iterdir())
    return results


def twin(packer: Pictures) -> dict[str, Any]:
    """Read the twin twice."""
    photos = flowers.load(None, size=64)
    parts = flower_records.examples(photos, 5, packer)
    again = flower_records.examples(photos, 5, packer)
    digests = [hashlib.sha256(b"".join(jpegs(train))).hexdigest() for train, _ in (parts, again)]
    seen = [read(part, packer) for part in parts]
    return {
        "same": digests[0] == digests[1],
        "labels": [[example["label"] for example in part] for part in seen]
        == [photos.train_labels.tolist(), photos.test_labels.tolist()],
        "counts": [len(part) for part in seen],
        "sizes": sorted({example["size"] for part in seen for example in part}),
    }


if __name__ == "__main__":
    find_cpp_runtime()
    twins = {
        name: twin(packer) for name, packer in PICTURES.items()
    }  # first, as `real` changes the numbers of photos
    packed = {name: real(Path(sys.argv[1]) / name, packer) for name, packer in PICTURES.items()}
    sys.stdout.write(json.dumps({name: {"twin": twins[name], "real": packed[name]} for name in PICTURES}))
