"""Everything can be done without a mouse: Tab reaches all, in the order of reading, visibly, and comes back."""

from collections.abc import Callable
from functools import partial

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication

from app.gui.shell.pages import PAGES
from app.gui.widgets.choice_box import ChoiceBox
from tests.gui.driving import Driver, replay
from tests.gui.full_pages import FULL
from tests.gui.keyboard import focus, is_control, jumps, round_trip, unreached, without_ring
from tests.gui.walks.test_accessibility import DIALOGS, VIEWS, is_shown, store
from tests.recording import recorded_events, until_epoch


def show_page(code: str, driver: Driver) -> None:
    if code == "results":
        driver.open_results()
    driver.window.show_page(code)


def show_hardware(view: str, driver: Driver) -> None:
    driver.window.show_page("hardware")
    driver.window.hardware.show_view(view)


def show_settings(driver: Driver) -> None:
    driver.window.show_page("settings")
    driver.until(lambda: bool(driver.window.settings.engines_card.rows))
    for fold in (driver.window.settings.data_card.fold, driver.window.settings.advanced):
        fold.button.setChecked(True)
    rows = driver.window.settings.data_card.rows
    driver.until(lambda: bool(rows) and all(is_control(each.get_button) for each in rows.values()))
    # Their states just came, which take two lines: until they are laid out, rows are too near to each other.
    driver.until(lambda: all(each.height() >= each.minimumSizeHint().height() for each in rows.values()))


def show_form(driver: Driver) -> None:
    setup = driver.page.setup
    driver.open_settings()
    setup.choose("demo")  # a form that is newer than what is below it


def show_run(driver: Driver) -> None:
    replay(driver.window, driver.services, until_epoch(recorded_events(), 5, more_steps=214))


def show_result(driver: Driver) -> None:
    run_id = store(driver)[0]
    driver.page.show_result(run_id)
    driver.until(lambda: is_shown(driver, run_id))


def show_stored(driver: Driver) -> None:
    driver.open_run(store(driver)[0])


def show_history(driver: Driver) -> None:
    store(driver)
    results = driver.open_results()
    results.table.selectRow(0)


STATES: dict[str, Callable[[Driver], None]] = {
    **{page.code: partial(show_page, page.code) for page in PAGES},
    **{f"hardware {view}": partial(show_hardware, view) for view in VIEWS},
    "settings": show_settings,
    "form": show_form,
    "run": show_run,
    "result": show_result,
    "stored": show_stored,
    "history": show_history,
    **FULL,
}


@pytest.mark.long
@pytest.mark.parametrize("state", STATES)
def test_tab_reaches_all_in_order_visibly_and_comes_back(driver: Driver, state: str) -> None:
    STATES[state](driver)
    window = driver.window
    settle(driver)
    places = window.side_bar.places.values()
    start = next(place for place in places if place.isChecked())
    stops = round_trip(start)
    assert len(stops) > 1
    assert [stop for stop in stops if stop in places] == [start]
    assert jumps([stop for stop in stops if window.page.isAncestorOf(stop)], window.page) == []
    assert unreached(stops, window.page) == []
    assert round_trip(start, Qt.Key.Key_Backtab) == [start, *reversed(stops[1:])]
    assert without_ring(stops, lambda: settle(driver)) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", DIALOGS)
def test_tab_goes_through_every_dialog(driver: Driver, name: str) -> None:
    dialog = DIALOGS[name](driver)
    dialog.open()
    driver.until(dialog.isActiveWindow)
    settle(driver)
    start = focus()
    stops = round_trip(start)
    assert unreached(stops, dialog) == []
    assert without_ring(stops, lambda: settle(driver)) == []
    dialog.reject()


def test_tab_enters_the_side_bar_at_the_current_page(driver: Driver) -> None:
    driver.window.show_page("compare")
    box = driver.window.page.findChild(ChoiceBox)
    assert isinstance(box, ChoiceBox)
    settle(driver)
    bar = driver.window.side_bar
    assert [stop for stop in round_trip(box) if bar.isAncestorOf(stop)] == [bar.places["compare"], bar.menu_button]


def settle(driver: Driver) -> None:
    QApplication.processEvents()
