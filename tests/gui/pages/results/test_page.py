"""The history in the real window: finding, sorting, naming and deleting."""

import sys
from unittest.mock import Mock

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLineEdit

from app.core.errors import AppError
from app.core.storage.database import Database
from app.gui.pages.results import model as runs_model
from app.gui.pages.results.columns import COMMENT
from app.gui.pages.results.page import ResultsPage
from tests.core.storage.storing import store
from tests.gui.driving import Driver
from tests.gui.pages.results.using import column, press_key, select, store_another, type_comment
from tests.saying import said
from workloads.protocol.machine import Machine


def test_newest_first_and_sorted_on_demand(driver: Driver, page: ResultsPage) -> None:
    assert page.model.rows == [4, 3, 2, 1]
    assert said("results_page.runs", count="4").is_all_of(page.count.text())
    assert said("results_page.export_all").is_all_of(page.export_button.accessibleName())
    driver.until(lambda: driver.window.focusWidget() is page.table)
    assert column(page, "value") == ["30.0 s/epoch", "40.0 s/epoch", "50.0 s/epoch", "60.0 s/epoch"]
    with driver.qtbot.waitSignal(page.model.found):
        page.table.sortByColumn(3, Qt.SortOrder.DescendingOrder)
    assert column(page, "value") == ["60.0 s/epoch", "50.0 s/epoch", "40.0 s/epoch", "30.0 s/epoch"]
    assert column(page, "comment") == ["", "water cooled", "", ""]
    assert column(page, "device") == ["Test CPU"] * 4


def test_filters(driver: Driver, page: ResultsPage) -> None:
    with driver.qtbot.waitSignal(page.model.found):
        page.filters.search.setText("WATER")
    assert page.model.rows == [2]
    with driver.qtbot.waitSignal(page.model.found):
        page.filters.search.setText("cifar-10")
    assert page.model.rows == [4, 3, 2, 1]
    with driver.qtbot.waitSignal(page.model.found):
        page.filters.search.setText("nothing has this")
    assert said("results_page.runs_of_all", shown="0", count="4").is_all_of(page.count.text())
    assert page.first_button.isHidden()
    with driver.qtbot.waitSignal(page.model.found):
        page.filters.search.clear()
    with driver.qtbot.waitSignal(page.model.found):
        page.filters.status.setCurrentIndex(page.filters.status.findData("cancelled"))
    assert page.model.rows == [3]
    with driver.qtbot.waitSignal(page.model.found):
        page.filters.workload.setCurrentIndex(page.filters.workload.findData("demo"))
    assert page.model.rows == []


def test_without_results_it_says_what_to_do(driver: Driver) -> None:
    page = driver.open_results()
    assert page.first_button.isVisible()
    driver.press(page.first_button)
    assert driver.window.page is driver.page


def test_naming_a_run(driver: Driver, page: ResultsPage) -> None:
    index = page.model.index(page.model.rows.index(4), COMMENT)
    assert page.model.setData(index, "  overclocked ")
    driver.until(lambda: column(page, "comment")[0] == "overclocked")
    assert driver.stored()[0].comment == "overclocked"
    press_key(driver, type_comment(driver, page, 4, "x" * 300), Qt.Key.Key_Return)
    driver.until(lambda: "200" in driver.message)
    assert column(page, "comment")[0] == driver.stored()[0].comment == "overclocked"


def test_a_comment_being_typed_outlasts_new_runs(driver: Driver, page: ResultsPage, machine: Machine) -> None:
    editor = type_comment(driver, page, 3, "nothing")
    assert store_another(driver, machine) == 5
    page.refresh()
    driver.qtbot.wait(200)
    assert page.model.rows == [4, 3, 2, 1]
    press_key(driver, editor, Qt.Key.Key_Escape)
    driver.until(lambda: page.model.rows == [5, 4, 3, 2, 1])
    driver.until(lambda: page.table.viewport().findChild(QLineEdit) is None)
    editor = type_comment(driver, page, 3, "night run")
    page.refresh()
    driver.qtbot.wait(200)
    press_key(driver, editor, Qt.Key.Key_Return)
    driver.until(lambda: column(page, "comment") == ["", "", "night run", "water cooled", ""])


def test_chosen_runs_stay_chosen(driver: Driver, page: ResultsPage, machine: Machine) -> None:
    select(page, 2, 4, 3)
    driver.window.show_page("benchmark")
    with driver.qtbot.assertNotEmitted(page.model.modelReset):
        driver.open_results()
    assert sorted(page.selected_ids()) == [2, 3, 4]
    store_another(driver, machine)
    with driver.qtbot.waitSignal(page.model.found):
        page.refresh()
    assert page.selected_ids() == [4, 3, 2]
    assert page.model.rows[page.table.currentIndex().row()] == 3
    with driver.qtbot.waitSignal(page.model.found):
        page.filters.status.setCurrentIndex(page.filters.status.findData("completed"))
    assert said("results_page.export_some", count="2").is_all_of(page.export_button.text().strip())


def test_delete_and_undo(driver: Driver, page: ResultsPage) -> None:
    assert not page.delete_button.isEnabled()
    select(page, 4, 2)
    with driver.qtbot.waitSignal(page.model.found):
        driver.press(page.delete_button)
    assert page.model.rows == [3, 1]
    assert [run.id for run in driver.stored()] == [3, 1]
    assert said("results_page.deleted", count="2").is_in(driver.message)
    assert driver.window.action("menu.undo_delete").isEnabled()
    with driver.qtbot.waitSignal(page.model.found):
        driver.press(driver.window.banner.button)
    assert page.model.rows == [4, 3, 2, 1]
    assert not driver.window.action("menu.undo_delete").isEnabled()


def test_deleted_runs_are_gone_when_the_window_closes(driver: Driver, page: ResultsPage) -> None:
    select(page, 1)
    with driver.qtbot.waitSignal(page.model.found):
        press_key(driver, page.table, Qt.Key.Key_Delete)
    driver.window.close()
    with Database(driver.services.paths.database) as database:
        left = [row[0] for row in database.connection.execute("SELECT id FROM runs ORDER BY id")]
    assert left == [2, 3, 4]


@pytest.mark.slow
def test_a_running_run_is_not_deleted(driver: Driver) -> None:
    driver.begin_demo(epochs=1_000, step_s=0.01, until_epochs=1)
    page = driver.open_results()
    select(page, page.model.rows[0])
    page.delete()
    driver.until(lambda: said("runs.still_running").is_in(driver.message))
    driver.page.cancel()
    driver.wait_for_result()


@pytest.mark.skipif(sys.platform == "win32", reason="an open file cannot be moved")
def test_another_database_in_its_place_is_seen(driver: Driver, page: ResultsPage, machine: Machine) -> None:
    path = driver.services.paths.database
    assert column(page, "comment")[2] == "water cooled"
    for file in path.parent.glob(f"{path.name}*"):
        file.rename(file.with_name("old-" + file.name))
    with Database(path) as database:
        for seconds_s in (11.0, 12.0, 13.0, 14.0):
            store(database, machine, 1.0, seconds_s, seconds_s)
    with driver.qtbot.waitSignal(page.model.found):
        page.refresh()
    assert column(page, "value") == ["14.0 s/epoch", "13.0 s/epoch", "12.0 s/epoch", "11.0 s/epoch"]


@pytest.mark.slow
def test_unread_rows_are_read_later(driver: Driver, page: ResultsPage, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[AppError] = []
    page.model.failed.connect(told.append)
    with monkeypatch.context() as broken:
        broken.setattr(runs_model, "list_runs", Mock(side_effect=AppError("The disk is away.")))
        for _ in range(2):
            page.model.forget()
            assert column(page, "id") == ["None"] * 4
        assert [str(error) for error in told] == ["The disk is away."]
    driver.until(lambda: column(page, "id") == ["4", "3", "2", "1"])
