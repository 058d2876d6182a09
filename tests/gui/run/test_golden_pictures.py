"""Share pictures look as they did when somebody last looked at them."""

import pytest
from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QImage

from app.gui.style.theme import Theme
from tests.tools.golden_pictures import FOLDER, RUNS, painted_run, painted_studies

# Reduced to blocks of 15 pixels, because Qt's versions and systems smooth the edges of letters differently. The
# width is a multiple of 4, so the rows have no padding.
SIZE, LIMIT = QSize(80, 42), 12


def blocks(picture: QImage) -> bytes:
    grey = picture.convertToFormat(QImage.Format.Format_Grayscale8)
    reduced = grey.scaled(SIZE, Qt.AspectRatioMode.IgnoreAspectRatio, Qt.TransformationMode.SmoothTransformation)
    return bytes(reduced.convertToFormat(QImage.Format.Format_Grayscale8).constBits())


def difference(picture: QImage, other: QImage) -> int:
    return max(abs(one - two) for one, two in zip(blocks(picture), blocks(other), strict=True))


def check(name: str, painted: QImage) -> None:
    stored = QImage(str(FOLDER / f"{name}.png"))
    assert not stored.isNull()
    assert difference(painted, stored) <= LIMIT, f"look at {name}, run `python -m tests.tools.golden_pictures`"


@pytest.mark.parametrize("name", RUNS)
def test_a_picture_of_a_run_looks_like_the_stored_one(application_theme: Theme, name: str) -> None:
    check(name, painted_run(name))


def test_pictures_of_studies_look_like_the_stored_ones(application_theme: Theme) -> None:
    for name, painted in painted_studies():
        check(name, painted)


def test_the_comparison_sees_a_power_limit(application_theme: Theme) -> None:
    stored = QImage(str(FOLDER / "gpu-at-230-w-dark.png"))
    assert difference(painted_run("gpu-dark"), stored) > 3 * LIMIT
