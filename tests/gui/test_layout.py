"""Layout: no gaps in large windows, editors and titles stand in line, and nothing jumps when a text changes."""

import pytest
from PySide6.QtCore import QPoint
from PySide6.QtWidgets import QApplication, QLabel, QWidget

from app.gui.pages.lab.sides import SEVERAL
from app.gui.shell.pages import PAGES
from app.gui.style.tokens import TITLE_PX
from app.gui.widgets.form_scroll import LEAST_PX, FormScroll
from tests.gui.driving import Driver
from tests.sure import only, sure

pytestmark = pytest.mark.slow

SIZES = ((800, 480), (1024, 600), (1440, 900), (3840, 2160))
GAP_MAX_PX = 60  # the lines between form and button: a problem, and what would disturb a run


def resize(driver: Driver, width: int, height: int) -> None:
    driver.window.resize(width, height)
    driver.until(lambda: driver.window.width() == width)


def bottom(widget: QWidget) -> int:
    return widget.mapTo(widget.window(), QPoint(0, widget.height())).y()


def top(widget: QWidget) -> int:
    return widget.mapTo(widget.window(), QPoint(0, 0)).y()


def settled(driver: Driver, *widgets: QWidget) -> list[int]:
    places: list[list[int]] = [[], []]

    def same() -> bool:
        places.append([bottom(each) for each in widgets])
        return places[-1] == places[-2] == places[-3]

    driver.until(same)
    return places[-1]


@pytest.mark.parametrize("size", SIZES, ids=str)
def test_run_follows_the_form_and_is_never_off_the_window(driver: Driver, size: tuple[int, int]) -> None:
    resize(driver, *size)
    setup = driver.page.setup
    driver.open_settings()
    settled(driver, setup.form, setup.run_button)
    assert bottom(setup.run_button) <= top(setup.form_area) <= driver.window.height() - LEAST_PX
    driver.window.show_page("lab")
    ab = driver.window.lab.setup
    ab.sides.what.setCurrentIndex(ab.sides.what.findData(SEVERAL))
    settled(driver, ab.points, ab.run_button)
    assert bottom(ab.run_button) <= driver.window.height()
    if size[1] >= 2160:
        assert top(ab.run_button) - bottom(ab.points) <= 2 * GAP_MAX_PX


@pytest.mark.parametrize("page", ["benchmark", "lab"])
def test_a_scroll_bar_covers_nothing_of_a_form(driver: Driver, page: str) -> None:
    driver.window.show_page(page)
    resize(driver, 1024, 600)
    setup = driver.page.setup if page == "benchmark" else driver.window.lab.setup
    driver.open_settings()
    what = driver.window.lab.setup.sides.what
    what.setCurrentIndex(what.findData(SEVERAL))
    scroll = only(FormScroll, setup.findChild(FormScroll))
    driver.until(scroll.verticalScrollBar().isVisible)
    content = sure(scroll.widget())
    assert content.minimumSizeHint().width() <= scroll.viewport().width()


@pytest.mark.parametrize("width", [1024, 3840])
def test_no_row_of_the_settings_is_cut(driver: Driver, width: int) -> None:
    driver.window.show_page("settings")
    settings = driver.window.settings
    resize(driver, width, 1000)
    driver.until(lambda: "cifar10" in settings.data_card.rows and "jax" in settings.engines_card.rows)
    card = settings.engines_card  # whose rows are made anew when the engines have been looked at
    driver.until(
        lambda: all(
            row.isVisible() and row.height() >= row.minimumSizeHint().height() for row in card.rows.values()
        )
    )
    assert settings.view.horizontalScrollBar().maximum() == 0


ABOUT_PX = 1


def test_titles_are_in_the_same_place_on_every_page(driver: Driver) -> None:
    driver.window.resize(1440, 900)
    middles = {}
    for page in PAGES:
        driver.window.show_page(page.code)
        QApplication.processEvents()
        titles = [
            label.mapTo(driver.window, label.rect().center()).y()
            for label in driver.window.page.findChildren(QLabel)
            if label.isVisible() and label.font().pixelSize() == TITLE_PX and label.text()
        ]
        middles[page.code] = min(titles)
    assert max(middles.values()) - min(middles.values()) <= ABOUT_PX, middles
