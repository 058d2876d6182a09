"""Large windows: no gap between a form and its button, larger bars, settings in two columns."""

import pytest
from PySide6.QtCore import QPoint
from PySide6.QtWidgets import QWidget

from app.gui.pages.benchmark.setup import FORM_MAX_PX
from app.gui.widgets.form_scroll import FormScroll
from tests.gui.driving import Driver
from tests.gui.pixels import number, pixels

pytestmark = pytest.mark.slow

SIZES = ((1024, 600), (1440, 900), (2560, 1440), (3840, 2160))
GAP_MAX_PX = 60  # the lines between form and button: a problem, and what would disturb a run


def resize(driver: Driver, width: int, height: int) -> None:
    driver.window.resize(width, height)
    driver.until(lambda: driver.window.width() == width)


def bottom(widget: QWidget) -> int:
    return widget.mapTo(widget.window(), QPoint(0, widget.height())).y()


def top(widget: QWidget) -> int:
    return widget.mapTo(widget.window(), QPoint(0, 0)).y()


def settled(driver: Driver, *widgets: QWidget) -> list[int]:
    """Return where widgets end, once that no longer changes."""
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
    settled(driver, setup.advanced_button, setup.run_button)
    assert bottom(setup.run_button) <= driver.window.height()
    if size[1] >= 900:
        assert top(setup.run_button) - bottom(setup.advanced_button) <= GAP_MAX_PX
    assert setup.run_button.width() <= FORM_MAX_PX
    driver.press(setup.advanced_button)
    settled(driver, setup.form, setup.run_button)
    assert bottom(setup.run_button) <= driver.window.height()
    if size[1] >= 1440:
        assert top(setup.run_button) - bottom(setup.form) <= GAP_MAX_PX, "nothing of the form is hidden"
    driver.window.show_page("ab")
    ab = driver.window.ab.setup
    settled(driver, ab.length, ab.run_button)
    assert bottom(ab.run_button) <= driver.window.height()
    if size[1] >= 1440:
        assert top(ab.run_button) - bottom(ab.length) <= 2 * GAP_MAX_PX
    assert ab.run_button.width() <= FORM_MAX_PX


@pytest.mark.parametrize("page", ["benchmark", "ab"])
def test_a_scroll_bar_covers_nothing_of_a_form(driver: Driver, page: str) -> None:
    driver.window.show_page(page)
    resize(driver, 1024, 600)
    setup = driver.page.setup if page == "benchmark" else driver.window.ab.setup
    foot = driver.window.ab.foot
    foot.show_done(can_share=True)
    foot.show()  # as below a result, whose buttons leave the least room
    scroll = setup.findChild(FormScroll)
    assert isinstance(scroll, FormScroll)
    driver.until(scroll.verticalScrollBar().isVisible)
    content = scroll.widget()
    assert content is not None
    assert content.minimumSizeHint().width() <= scroll.viewport().width()


def test_the_ranking_has_the_room_that_the_form_leaves(driver: Driver) -> None:
    known = driver.page.setup.known
    resize(driver, 2560, 1440)
    settled(driver, known)
    assert known.width() > 0.6 * driver.page.setup.width()
    column = pixels(known.bars.grab().toImage())[:, 240]
    (rows,) = (column == number(driver.services.theme.tokens.neutral_bar)).nonzero()
    assert rows[-1] - rows[0] > 0.55 * len(column)


def test_settings_are_beside_each_other_where_there_is_room(driver: Driver) -> None:
    resize(driver, 2560, 1000)
    driver.window.show_page("settings")
    settings = driver.window.settings
    for width, beside in ((2560, True), (1440, False), (3840, True), (1024, False)):
        resize(driver, width, 1000)
        settled(driver, settings.data_card, settings.engines_card)
        left, right = settings.reset_button, settings.data_card
        is_beside = left.mapTo(settings, QPoint(0, 0)).x() < right.mapTo(settings, QPoint(0, 0)).x()
        assert is_beside == beside, width
        driver.until(lambda: "cifar10" in settings.data_card.rows and "jax" in settings.engines_card.rows)
        for name, row in settings.engines_card.rows.items():
            driver.until(lambda row=row: row.height() >= row.minimumSizeHint().height())  # type: ignore[misc]
            assert row.isVisible(), name
        assert settings.view.horizontalScrollBar().maximum() == 0
