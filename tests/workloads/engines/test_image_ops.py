"""Pictures with Pillow and NumPy: each operation against its formula, pixel by pixel."""

import io
import math

import numpy as np  # noqa: TID253 - these tests are about arrays
import pytest
from numpy.typing import NDArray  # noqa: TID253
from PIL import Image  # noqa: TID253

from workloads.engines import image_ops
from workloads.engines.image_ops import Variation

Floats = NDArray[np.float64]
UNCHANGED = Variation(is_flipped=False, contrast=1.0, angle=0.0)


def smooth(height: int, width: int) -> NDArray[np.uint8]:
    down, across = np.linspace(0, 1, height)[:, None], np.linspace(0, 1, width)
    colours = [down + 0 * across, across + 0 * down, (down + 1 - across) / 2]
    return np.asarray(np.stack(colours, axis=-1) * 200 + 30, np.uint8)


def jpeg(picture: NDArray[np.uint8]) -> bytes:
    return image_ops.encoded(picture, 98)


def between(values: Floats, down: Floats, across: Floats) -> Floats:
    """Return values between pixels; beyond the sides, the picture is mirrored with its border."""
    height, width = values.shape[:2]

    def at(rows: Floats, columns: Floats) -> Floats:
        row, column = rows.astype(int) % (2 * height), columns.astype(int) % (2 * width)
        row, column = np.minimum(row, 2 * height - 1 - row), np.minimum(column, 2 * width - 1 - column)
        picked: Floats = values[row, column]
        return picked

    top, left = np.floor(down), np.floor(across)
    below, right = (down - top)[..., None], (across - left)[..., None]
    upper = at(top, left) * (1 - right) + at(top, left + 1) * right
    return upper * (1 - below) + (at(top + 1, left) * (1 - right) + at(top + 1, left + 1) * right) * below


def test_a_jpeg_is_decoded_in_three_colours() -> None:
    picture = smooth(40, 60)
    assert np.abs(np.asarray(image_ops.decoded(jpeg(picture))).astype(int) - picture).mean() < 2
    (file := io.BytesIO()).seek(0)
    Image.fromarray(picture[..., 0]).save(file, "JPEG")
    grey = np.asarray(image_ops.decoded(file.getvalue()))
    assert (grey.shape, np.ptp(grey, axis=-1).max()) == ((40, 60, 3), 0)


@pytest.mark.parametrize(("height", "width", "side"), [(75, 100, 40), (30, 20, 45), (16, 16, 16), (256, 256, 224)])
def test_pictures_are_pressed_into_a_square_without_smoothing(height: int, width: int, side: int) -> None:
    picture = np.random.default_rng(0).integers(0, 256, (height, width, 3), np.uint8)
    places = np.arange(side) + 0.5
    down, across = np.meshgrid(places * height / side - 0.5, places * width / side - 0.5, indexing="ij")
    wanted = between(picture.astype(float), np.clip(down, 0, height - 1), np.clip(across, 0, width - 1))
    result = image_ops.resized(Image.fromarray(picture), side)
    assert (result.dtype.name, result.shape) == ("uint8", (side, side, 3))
    assert np.abs(result - np.floor(wanted)).max() <= 1
    assert (result == np.floor(wanted + 1e-6)).mean() > 0.98


def test_pictures_are_enlarged_smoothly() -> None:
    values = np.stack([np.outer(np.arange(6), np.ones(8)), np.outer(np.ones(6), np.arange(8))], axis=-1)
    values = np.concatenate([values, np.full((6, 8, 1), 7)], axis=-1).astype(np.float32)
    larger = image_ops.enlarged(values, 32, 30)
    assert (larger.shape, larger.dtype.name) == ((30, 32, 3), "float32")
    inside = slice(8, -8)
    assert larger[inside, 5, 0] == pytest.approx(((np.arange(30) + 0.5) / 5 - 0.5)[inside], abs=1e-2)
    assert larger[5, inside, 1] == pytest.approx(((np.arange(32) + 0.5) / 4 - 0.5)[inside], abs=1e-2)
    assert larger[..., 2] == pytest.approx(7.0, abs=1e-5)


def test_an_unchanged_photo_is_its_numbers_from_0_to_1() -> None:
    data = jpeg(smooth(33, 33))
    plain = image_ops.floats(data, 33)
    assert (plain.dtype.name, plain.shape) == ("float32", (33, 33, 3))
    assert np.array_equal(plain, np.asarray(Image.open(io.BytesIO(data))).astype(np.float32) / np.float32(255))
    assert image_ops.varied(data, 33, UNCHANGED) == pytest.approx(plain, abs=1e-6)


@pytest.mark.parametrize("side", [32, 34])
def test_a_photo_of_another_size_is_refused(side: int) -> None:
    for use in (image_ops.floats, lambda data, side: image_ops.varied(data, side, UNCHANGED)):
        with pytest.raises(OSError, match="another size"):
            use(jpeg(smooth(33, 33)), side)


@pytest.mark.parametrize("angle", [0.0, 0.2, -0.6, math.pi / 2, 3.0])
@pytest.mark.parametrize("contrast", [0.3, 1.0, 1.8])
@pytest.mark.parametrize("is_flipped", [False, True])
def test_a_photo_is_flipped_then_its_contrast_changed_then_turned(
    is_flipped: bool, contrast: float, angle: float
) -> None:
    data, side = jpeg(smooth(30, 30)), 30
    changed = image_ops.varied(data, side, Variation(is_flipped=is_flipped, contrast=contrast, angle=angle))
    assert (changed.dtype.name, changed.shape) == ("float32", (side, side, 3))
    wanted = image_ops.floats(data, side).astype(float)
    wanted = wanted[:, ::-1] if is_flipped else wanted
    means = wanted.mean(axis=(0, 1))
    wanted = np.clip((wanted - means) * contrast + means, 0, 1)
    middle = (side - 1) / 2
    down, across = np.meshgrid(np.arange(side) - middle, np.arange(side) - middle, indexing="ij")
    sine, cosine = math.sin(angle), math.cos(angle)
    turned = between(wanted, middle + sine * across + cosine * down, middle + cosine * across - sine * down)
    assert np.abs(changed - turned).max() < 1e-4
