"""The colours of a picture as one array."""

from typing import TYPE_CHECKING

from PySide6.QtGui import QImage

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def pixels(picture: QImage) -> "NDArray[np.uint32]":
    import numpy as np

    image = picture.convertToFormat(QImage.Format.Format_RGB32)
    rows = np.frombuffer(image.constBits(), np.uint32).reshape(image.height(), image.bytesPerLine() // 4)
    return rows[:, : image.width()] & np.uint32(0xFFFFFF)


def number(colour: str) -> int:
    return int(colour.removeprefix("#"), 16)


def names(found: "NDArray[np.uint32]") -> set[str]:
    return {f"#{colour:06X}" for colour in set(found.ravel().tolist())}
