"""Image operations with Pillow and NumPy that match TensorFlow's, for engines without their own."""

import errno
import io
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# At 45°, the corners of a square extend furthest beyond its sides.
_FURTHEST = (math.sqrt(2) - 1) / 2


@dataclass(frozen=True, slots=True)
class Variation:
    """A random change of a picture.

    Attributes:
        contrast: Factor on the distance of each pixel from the mean of its colour.
        angle: Angle of the rotation around the middle, in radians.
    """

    is_flipped: bool
    contrast: float
    angle: float


def decoded(jpeg: bytes) -> Any:
    """Return a JPEG as an RGB image of Pillow.

    Raises:
        OSError: It isn't a JPEG, or is damaged, truncated or too large.
    """
    from PIL import Image

    try:
        picture = Image.open(io.BytesIO(jpeg), formats=("JPEG",))
        picture.load()
        return picture if picture.mode == "RGB" else picture.convert("RGB")
    # Pillow's own errors describe a problem with the file's format, not with the drive.
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:
        raise OSError(errno.EIO, "a picture is damaged") from error


def encoded(pixels: "NDArray[np.uint8]", quality: int) -> bytes:
    """Return pixels as a JPEG with colours at half the resolution."""
    from PIL import Image

    return _jpeg(Image.fromarray(pixels), quality)


def enlarged(values: "NDArray[np.float32]", width: int, height: int) -> "NDArray[np.float32]":
    """Return (height, width, 3) numbers in another size, by bicubic interpolation."""
    import numpy as np
    from PIL import Image

    bands = (Image.fromarray(np.ascontiguousarray(band)) for band in np.moveaxis(values, -1, 0))
    larger = [np.asarray(band.resize((width, height), Image.Resampling.BICUBIC)) for band in bands]
    return np.stack(larger, axis=-1)


def resized(picture: Any, side_px: int) -> "NDArray[np.uint8]":
    """Return a picture as a square whose pixels are interpolated from the four nearest pixels.

    As in TensorFlow, without smoothing.
    """
    import numpy as np
    from PIL import Image

    across, down = picture.width / side_px, picture.height / side_px
    affine = (across, 0, 0, 0, down, 0)
    square = picture.transform((side_px, side_px), Image.Transform.AFFINE, affine, Image.Resampling.BILINEAR)
    return np.asarray(square)


def unpacked(pixels: bytes, packed_px: int, side_px: int) -> "NDArray[np.uint8]":
    """Return the pixels of a square in another size.

    Raises:
        OSError: There are too few or too many of them.
    """
    from PIL import Image

    if len(pixels) != 3 * packed_px**2:
        raise OSError(errno.EIO, "a picture is damaged")
    return resized(Image.frombytes("RGB", (packed_px, packed_px), pixels), side_px)


def fitted(jpeg: bytes, side_px: int, quality: int) -> bytes:
    """Return the middle of a picture as a square JPEG, scaled so that the shorter side fits.

    Raises:
        OSError: It isn't a JPEG, or is damaged.
    """
    from PIL import Image

    picture = decoded(jpeg)
    shorter = min(picture.size)
    width, height = (max(side_px, round(side * side_px / shorter)) for side in picture.size)
    picture = picture.resize((width, height), Image.Resampling.BILINEAR)
    left, top = (width - side_px) // 2, (height - side_px) // 2
    return _jpeg(picture.crop((left, top, left + side_px, top + side_px)), quality)


def floats(jpeg: bytes, side_px: int) -> "NDArray[np.float32]":
    """Return the pixels of a square JPEG as numbers from 0 to 1.

    Raises:
        OSError: It isn't a JPEG of this size, or is damaged.
    """
    import numpy as np

    numbers: NDArray[np.float32] = np.divide(np.asarray(_square(jpeg, side_px), np.float32), np.float32(255))
    return numbers


def varied(jpeg: bytes, side_px: int, variation: Variation) -> "NDArray[np.float32]":
    """Return the numbers of `floats` for a picture that was flipped, changed in contrast, and rotated.

    The picture is mirrored beyond its sides.

    Raises:
        OSError: As for `floats`.
    """
    import numpy as np
    from PIL import Image

    picture = _square(jpeg, side_px)
    if variation.is_flipped:
        picture = picture.transpose(Image.Transpose.FLIP_LEFT_RIGHT)
    # An 8-bit pixel has 256 values. With a contrast lookup table, nothing else is computed for each pixel.
    shades = np.arange(256) / 255
    counts = np.asarray(picture.histogram()).reshape(3, 256)
    margin = math.ceil(side_px * _FURTHEST) + 1
    affine = _rotation(variation.angle, side_px, margin)
    result = np.empty((side_px, side_px, 3), np.float32)
    for colour, band in enumerate(picture.split()):
        mean = counts[colour] @ shades / side_px**2
        table = np.clip((shades - mean) * variation.contrast + mean, 0, 1)
        mirrored = Image.fromarray(np.pad(np.asarray(band), margin, mode="symmetric"))
        plane = mirrored.point(table.tolist(), "F")
        turned = plane.transform((side_px, side_px), Image.Transform.AFFINE, affine, Image.Resampling.BILINEAR)
        result[..., colour] = np.asarray(turned)
    return result


def _rotation(angle: float, side_px: int, margin: int) -> tuple[float, ...]:
    """Return the transformation from a square to one with a margin, as six coefficients for Pillow."""
    cosine, sine = math.cos(angle), math.sin(angle)
    middle = side_px / 2
    right = margin + middle - middle * cosine + middle * sine
    down = margin + middle - middle * sine - middle * cosine
    return cosine, -sine, right, sine, cosine, down


def _square(jpeg: bytes, side_px: int) -> Any:
    picture = decoded(jpeg)
    if picture.size != (side_px, side_px):
        raise OSError(errno.EIO, "a picture has another size")
    return picture


def _jpeg(picture: Any, quality: int) -> bytes:
    file = io.BytesIO()
    picture.save(file, "JPEG", quality=quality)
    return file.getvalue()
