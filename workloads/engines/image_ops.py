"""Image operations with Pillow and NumPy that match TensorFlow's."""

import errno
import io
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# Maximum distance that the corners of a rotated unit square extend beyond its sides, at 45°.
_FURTHEST = (math.sqrt(2) - 1) / 2


@dataclass(frozen=True, slots=True)
class Variation:
    """A random variation of an image."""

    is_flipped: bool
    contrast: float  # factor applied to each pixel's distance from the mean of its colour channel
    angle: float  # rotation angle around the centre, in radians


def decoded(jpeg: bytes) -> Any:
    """Decode a JPEG into an RGB Pillow image.

    Raises:
        OSError: The data isn't a JPEG, or is damaged, truncated or too large.
    """
    from PIL import Image

    try:
        picture = Image.open(io.BytesIO(jpeg), formats=("JPEG",))
        picture.load()
        return picture if picture.mode == "RGB" else picture.convert("RGB")
    # These errors concern the file's format, not the drive.
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:
        raise OSError(errno.EIO, "a picture is damaged") from error


def encoded(pixels: "NDArray[np.uint8]", quality: int) -> bytes:
    """Encode pixels as a JPEG with chroma at half resolution."""
    from PIL import Image

    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "JPEG", quality=quality)
    return file.getvalue()


def enlarged(values: "NDArray[np.float32]", width: int, height: int) -> "NDArray[np.float32]":
    """Resize an array of shape (height, width, 3) by bicubic interpolation."""
    import numpy as np
    from PIL import Image

    bands = (Image.fromarray(np.ascontiguousarray(band)) for band in np.moveaxis(values, -1, 0))
    larger = [np.asarray(band.resize((width, height), Image.Resampling.BICUBIC)) for band in bands]
    return np.stack(larger, axis=-1)


def resized(picture: Any, side_px: int) -> "NDArray[np.uint8]":
    """Resize an image to a square by bilinear interpolation.

    As in TensorFlow, there is no antialiasing.
    """
    import numpy as np
    from PIL import Image

    across, down = picture.width / side_px, picture.height / side_px
    affine = (across, 0, 0, 0, down, 0)
    square = picture.transform((side_px, side_px), Image.Transform.AFFINE, affine, Image.Resampling.BILINEAR)
    return np.asarray(square)


def floats(jpeg: bytes, side_px: int) -> "NDArray[np.float32]":
    """Return the pixels of a square JPEG as floats from 0 to 1.

    Raises:
        OSError: The data isn't a JPEG of this size, or is damaged.
    """
    import numpy as np

    numbers: NDArray[np.float32] = np.divide(np.asarray(_square(jpeg, side_px), np.float32), np.float32(255))
    return numbers


def varied(jpeg: bytes, side_px: int, variation: Variation) -> "NDArray[np.float32]":
    """Decode an image like `floats`, flip it if requested, change its contrast and rotate it.

    Areas outside the image are filled by reflection.

    Raises:
        OSError: See `floats`.
    """
    import numpy as np
    from PIL import Image

    picture = _square(jpeg, side_px)
    if variation.is_flipped:
        picture = picture.transpose(Image.Transpose.FLIP_LEFT_RIGHT)
    # An 8-bit channel has 256 values, so a lookup table replaces computing the contrast for each pixel.
    shades = np.arange(256) / 255
    counts = np.asarray(picture.histogram()).reshape(3, 256)
    margin = math.ceil(side_px * _FURTHEST) + 1
    cosine, sine, middle = math.cos(variation.angle), math.sin(variation.angle), side_px / 2
    right = margin + middle - middle * cosine + middle * sine
    down = margin + middle - middle * sine - middle * cosine
    affine = (cosine, -sine, right, sine, cosine, down)
    result = np.empty((side_px, side_px, 3), np.float32)
    for colour, band in enumerate(picture.split()):
        mean = counts[colour] @ shades / side_px**2
        table = np.clip((shades - mean) * variation.contrast + mean, 0, 1)
        mirrored = Image.fromarray(np.pad(np.asarray(band), margin, mode="symmetric"))
        plane = mirrored.point(table.tolist(), "F")
        turned = plane.transform((side_px, side_px), Image.Transform.AFFINE, affine, Image.Resampling.BILINEAR)
        result[..., colour] = np.asarray(turned)
    return result


def _square(jpeg: bytes, side_px: int) -> Any:
    picture = decoded(jpeg)
    if picture.size != (side_px, side_px):
        raise OSError(errno.EIO, "a picture has another size")
    return picture
