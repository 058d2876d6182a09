"""Compares Pillow's and NumPy's pictures with TensorFlow's; a process of its own, which prints JSON."""

import io
import json
import math
import sys
from pathlib import Path
from typing import Any

from workloads.engines import image_ops
from workloads.engines.cpp_runtime import find_cpp_runtime
from workloads.engines.engine import Engine
from workloads.engines.image_pipeline import CONTRAST, ROTATION, Pictures
from workloads.engines.tensorflow import ENGINE
from workloads.system.storage_pipeline import from_jpegs, from_shards, make_pictures, pack

OWN, TENSORFLOWS = Engine().pictures(), ENGINE.pictures()
SIDE = 64


class Unheard:
    """A reporter to which nobody listens."""

    def step_end(self) -> float:
        return 0.0


def difference(one: Any, other: Any) -> list[float]:
    """Return the mean and the largest difference."""
    import numpy as np

    away = np.abs(np.asarray(one, np.float64) - np.asarray(other, np.float64))
    return [float(away.mean()), float(away.max())]


def decoded(jpeg: bytes) -> Any:
    """Return a JPEG's pixels."""
    import numpy as np
    from PIL import Image

    return np.asarray(Image.open(io.BytesIO(jpeg)))


def made() -> dict[str, Any]:
    """Make the storage test's pictures with both, decode them and cut squares out of them."""
    import tensorflow as tf

    ours, theirs = (make_pictures(pictures, 7, 3) for pictures in (OWN, TENSORFLOWS))
    return {
        "pixels": [difference(decoded(one), decoded(other)) for one, other in zip(ours, theirs, strict=True)],
        "lengths": [[len(one), len(other)] for one, other in zip(ours, theirs, strict=True)],
        "decoded": [
            difference(image_ops.decoded(jpeg), tf.io.decode_jpeg(jpeg, channels=3, dct_method="INTEGER_ACCURATE"))
            for jpeg in (*ours, *theirs)
        ],
        "fitted": [
            difference(decoded(OWN.fitted(jpeg, side, 95)), decoded(TENSORFLOWS.fitted(jpeg, side, 95)))
            for jpeg, side in ((theirs[0], 331), (theirs[1], 100), (theirs[2], 500))
        ],
    }


def read(folder: Path) -> dict[str, Any]:
    """Pack pictures with each, and read them with both."""
    results: dict[str, Any] = {}
    jpegs = make_pictures(TENSORFLOWS, 7, 5)
    for name, packer in (("default", OWN), ("tensorflow", TENSORFLOWS)):
        (own := folder / name / "tfrecord").mkdir(parents=True)
        paths = [folder / name / f"{number}.jpg" for number in range(20)]
        for number, path in enumerate(paths):
            path.write_bytes(jpegs[number % 5])
        shards = pack(packer, paths, own.parent, 8, Unheard())  # type: ignore[arg-type]
        results[name] = {
            "jpegs": compared(lambda pictures, paths=paths: from_jpegs(pictures, paths)),
            "shards": compared(lambda pictures, shards=shards: from_shards(pictures, shards)),
        }
    return results


def compared(source: Any) -> list[Any]:
    """Read with both; return labels and the difference, in one order: TensorFlow mixes files otherwise."""
    import numpy as np

    def everything(pictures: Pictures) -> tuple[Any, Any]:
        batches = [(np.asarray(x), np.asarray(y)) for x, y in pictures.batches(source(pictures), 8)]
        images, labels = (np.concatenate(part) for part in zip(*batches, strict=True))
        assert (images.dtype.name, labels.dtype.name) == ("uint8", "int32")
        return images, labels

    (ours, our_labels), (theirs, their_labels) = everything(OWN), everything(TENSORFLOWS)
    order, their_order = (np.argsort(labels, kind="stable") for labels in (our_labels, their_labels))
    return [
        [our_labels[order].tolist(), their_labels[their_order].tolist()],
        difference(ours[order], theirs[their_order]),
    ]


def varied() -> dict[str, Any]:
    """Change a photo as Keras' layers do; and say what these draw."""
    import numpy as np
    from keras import layers, ops

    jpeg = OWN.fitted(make_pictures(TENSORFLOWS, 7, 1)[0], SIDE, 95)
    images = ops.convert_to_tensor(image_ops.floats(jpeg, SIDE)[None])
    flip = layers.RandomFlip("horizontal", seed=1)
    contrast = layers.RandomContrast(CONTRAST, value_range=(0, 1), seed=1)
    rotation = layers.RandomRotation(ROTATION, seed=1)
    differences = []
    for _ in range(8):
        flips, factors, turns = (layer.get_random_transformation(images) for layer in (flip, contrast, rotation))
        changed = contrast.transform_images(flip.transform_images(images, flips), factors)
        variation = image_ops.Variation(
            is_flipped=bool(np.asarray(flips["flips"])[0]),
            contrast=float(np.asarray(factors["contrast_factor"]).item()),
            angle=math.radians(np.asarray(turns["angle"]).item()),
        )
        differences.append(
            difference(image_ops.varied(jpeg, SIDE, variation), rotation.transform_images(changed, turns)[0])
        )
    many = ops.zeros((4_000, 2, 2, 3))
    factors = np.asarray(contrast.get_random_transformation(many)["contrast_factor"])
    angles = np.asarray(rotation.get_random_transformation(many)["angle"])
    flipped = np.asarray(flip.get_random_transformation(many)["flips"])
    return {
        "differences": differences,
        "flips": [float(flipped.mean()), flipped.size],
        "contrast": [float(factors.min()), float(factors.max()), float(factors.mean()), factors.size],
        "degrees": [float(angles.min()), float(angles.max()), float(angles.std()), angles.size],
    }


if __name__ == "__main__":
    find_cpp_runtime()
    results = {"made": made(), "read": read(Path(sys.argv[1])), "varied": varied()}
    sys.stdout.write(json.dumps(results))
