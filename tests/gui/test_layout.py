"""Layout: no gaps in large windows, editors and titles stand in line, and nothing jumps when a text changes."""

import pytest
from PySide6.QtCore import QPoint
from PySide6.QtGui import QColor
from PySide6.QtWidgets import QAbstractSpinBox, QApplication, QComboBox, QGridLayout, QLabel, QLineEdit, QWidget

from app.core.records import Plan
from app.core.storage.database import Database
from app.gui.pages.lab.sides import SEVERAL
from app.gui.shell.pages import PAGES
from app.gui.style.tokens import TITLE_PX
from app.gui.widgets.form_scroll import LEAST_PX, FormScroll
from tests.gui.driving import Driver
from tests.gui.pages.results.test_groups import store_group
from tests.sure import only, sure
from workloads import CATALOGUE, STANDARD
from workloads.protocol.machine import Machine

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
INDENT_PX = 3  # letters have different bearings


def forms(driver: Driver) -> list[tuple[QWidget, QWidget]]:
    window, rows = driver.window, list[tuple[QWidget, QWidget]]()
    window.resize(1440, 1100)
    driver.open_settings()
    for code in ("benchmark", "lab"):
        window.show_page(code)
        if code == "lab":
            window.lab.setup.more.button.setChecked(True)
            window.lab.setup.sides.what.setCurrentIndex(window.lab.setup.sides.what.findData(SEVERAL))
        QApplication.processEvents()
        for grid in window.page.findChildren(QGridLayout):
            for row in range(grid.rowCount()):
                items = [grid.itemAtPosition(row, place) for place in range(grid.columnCount())]
                widgets = [widget for item in items if item is not None and (widget := item.widget()) is not None]
                rows += [(widgets[0], editor) for editor in widgets[1:] if not isinstance(editor, QLabel)]
    assert {type(editor).__name__ for _, editor in rows} >= {"QSpinBox", "ChoiceBox", "QLineEdit"}
    return rows


def test_all_editors_are_as_high_and_stand_beside_their_labels(driver: Driver) -> None:
    pairs = forms(driver)
    high = [editor for _, editor in pairs if isinstance(editor, QAbstractSpinBox | QComboBox | QLineEdit)]
    high += [driver.window.lab.setup.rounds, driver.window.benchmark.setup.device]
    assert {editor.sizeHint().height() for editor in high} == {32}
    assert {editor.height() for editor in high} == {32}
    for label, editor in pairs:
        text = label.text() if isinstance(label, QLabel) else ""
        assert text
        assert abs(label.geometry().center().y() - editor.geometry().center().y()) <= ABOUT_PX, text


def test_the_texts_of_editors_begin_at_the_same_place(driver: Driver) -> None:
    window = driver.window
    window.resize(1440, 1100)
    window.show_page("lab")
    window.lab.setup.sides.what.setCurrentIndex(window.lab.setup.sides.what.findData(SEVERAL))
    side = window.lab.setup.sides.sides[0]
    begins = {
        name: text_begins_px(editor, driver.services.theme.tokens.text)
        for name, editor in side.editors.items()
        if isinstance(editor, QAbstractSpinBox | QComboBox)
    }
    assert min(begins.values()) >= 8  # clear of the border
    assert max(begins.values()) - min(begins.values()) <= INDENT_PX, begins


def text_begins_px(editor: QWidget, colour: str) -> int:
    picture, text = editor.grab().toImage(), QColor(colour)
    return next(
        x
        for x in range(2, picture.width())
        for y in range(8, picture.height() - 8)
        if abs(picture.pixelColor(x, y).lightness() - text.lightness()) < 90
    )


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


def test_the_pairs_of_an_ab_stay_where_they_are_whatever_is_said_above(driver: Driver, machine: Machine) -> None:
    spec = CATALOGUE[STANDARD].default_spec()
    long = ("plugged in, fans at full speed", "on battery, fans silent")
    with Database(driver.services.paths.database) as database:
        for labels, durations_s in (
            (("A", "B"), (60.0, 61.0)),
            (long, (60.0, 80.0, 60.5, 80.5, 60.2, 80.2)),
            (long, (60.0, 60.1, 60.5, 60.2, 60.2, 60.4)),
        ):
            plan = Plan(
                kind="ab", order="pairs", specs=(spec, spec), rounds=3, label_a=labels[0], label_b=labels[1]
            )
            store_group(database, machine, plan, *durations_s)
    driver.window.resize(1440, 900)
    driver.window.show_page("lab")
    page = driver.window.lab
    driver.until(lambda: len(page.entries) == 3)
    places, sentences = set(), set()
    for place in range(len(page.entries)):
        group_id = page.entries[place].group_id
        page.refresh(choose=group_id)
        driver.until(lambda group_id=group_id: page.report is not None and page.report.group.id == group_id)  # type: ignore[misc]
        QApplication.processEvents()
        sentences.add(page.sentence.whole_text)
        places.add(page.plot.mapTo(driver.window, QPoint(0, 0)).y())
    assert len(sentences) == 3
    assert len(places) == 1
