"""Share pictures look as they did when somebody last looked at them."""

import pytest
from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QImage

from app.gui.style.theme import Theme
from tests.golden_pictures import FOLDER, NAMES, painted

# Reduced to blocks of 15 pixels, because Qt's versions and systems smooth the edges of letters differently. The
# width is a multiple of 4, so the rows have no padding.
SIZE, LIMIT = QSize(80, 42), 12


def blocks(picture: QImage) -> bytes:
    """Return the mean brightness of each block."""
    grey = picture.convertToFormat(QImage.Format.Format_Grayscale8)
    reduced = grey.scaled(SIZE, Qt.AspectRatioMode.IgnoreAspectRatio, Qt.TransformationMode.SmoothTransformation)
    return bytes(reduced.convertToFormat(QImage.Format.Format_Grayscale8).constBits())


def difference(picture: QImage, other: QImage) -> int:
    """Return how much the most different blocks differ, from 0 to 255."""
    return max(abs(one - two) for one, two in zip(blocks(picture), blocks(other), strict=True))


@pytest.mark.parametrize("name", NAMES)
def test_a_picture_looks_like_the_stored_one(application_theme: Theme, name: str) -> None:
    stored = QImage(str(FOLDER / f"{name}.png"))
    assert not stored.isNull()
    assert difference(painted(name), stored) <= LIMIT, "look at it, then run `python -m tests.golden_pictures`"


def test_the_comparison_sees_a_power_limit(application_theme: Theme) -> None:
    assert difference(painted("gpu-dark"), QImage(str(FOLDER / "gpu-at-230-w-dark.png"))) > 3 * LIMIT
