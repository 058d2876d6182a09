"""Layout: no gaps in large windows, editors and titles stand in line, and nothing jumps when a text changes."""

import pytest
from PySide6.QtCore import QPoint
from PySide6.QtWidgets import QWidget

from app.gui.pages.lab.sides import SEVERAL
from app.gui.widgets.form_scroll import LEAST_PX
from tests.gui.driving import Driver

pytestmark = pytest.mark.slow

SIZES = ((800, 480), (1024, 600), (1440, 900), (3840, 2160))
GAP_MAX_PX = 60  # the lines between form and button: a problem, and what would disturb a run


def bottom(widget: QWidget) -> int:
    return widget.mapTo(widget.window(), QPoint(0, widget.height())).y()


def top(widget: QWidget) -> int:
    return widget.mapTo(widget.window(), QPoint(0, 0)).y()


def settle(driver: Driver, *widgets: QWidget) -> None:
    places: list[list[int]] = [[], []]

    def same() -> bool:
        places.append([bottom(each) for each in widgets])
        return places[-1] == places[-2] == places[-3]

    driver.until(same)


@pytest.mark.parametrize("size", SIZES, ids=str)
def test_run_follows_the_form_and_is_never_off_the_window(driver: Driver, size: tuple[int, int]) -> None:
    driver.window.resize(*size)
    driver.until(lambda: driver.window.width() == size[0])
    setup = driver.page.setup
    driver.open_settings()
    settle(driver, setup.form, setup.run_button)
    assert bottom(setup.run_button) <= top(setup.form_area) <= driver.window.height() - LEAST_PX
    driver.window.show_page("lab")
    ab = driver.window.lab.setup
    ab.sides.what.setCurrentIndex(ab.sides.what.findData(SEVERAL))
    settle(driver, ab.points, ab.run_button)
    assert bottom(ab.run_button) <= driver.window.height()
    if size[1] >= 2160:
        assert top(ab.run_button) - bottom(ab.points) <= 2 * GAP_MAX_PX
