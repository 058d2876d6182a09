"""The history in the real window: finding, sorting, naming, deleting, exporting, and a run in full."""

import csv
import json
from pathlib import Path

import pytest
from PySide6.QtCore import QItemSelectionModel, Qt
from PySide6.QtGui import QGuiApplication, QImage
from PySide6.QtWidgets import QFileDialog

from app.core.database import Database
from app.core.history import set_comment
from app.core.model import Machine
from app.gui.results_page import ResultsPage
from app.gui.runs_model import COLUMNS, COMMENT
from tests.core.storing import store
from tests.gui.driving import Driver


def column(page: ResultsPage, key: str) -> list[str]:
    place = [name for name, _ in COLUMNS].index(key)
    model = page.model
    return [str(model.index(row, place).data()) for row in range(model.rowCount())]


def select(page: ResultsPage, *ids: int) -> None:
    flags = QItemSelectionModel.SelectionFlag
    selection = page.table.selectionModel()
    selection.clear()
    for run_id in ids:
        row = page.model.ids.index(run_id)
        selection.select(page.model.index(row, 0), flags.Select | flags.Rows)
        selection.setCurrentIndex(page.model.index(row, 0), flags.NoUpdate)


def save_to(monkeypatch: pytest.MonkeyPatch, path: Path) -> None:
    """Answer the question for a file."""
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: (str(path), ""))


@pytest.fixture
def page(driver: Driver, machine: Machine) -> ResultsPage:
    """The history with four runs: 60, 50, 40 (cancelled) and 30 seconds an epoch."""
    with Database(driver.services.paths.database) as database:
        store(database, machine, 61.0, 60.0, 60.0)
        named = store(database, machine, 51.0, 50.0, 50.0)
        store(database, machine, 41.0, 40.0, 40.0, status="cancelled")
        store(database, machine, 31.0, 30.0, 30.0)
        set_comment(database, named, "water cooled")
    return driver.open_results()


def test_newest_first_and_sorted_on_demand(driver: Driver, page: ResultsPage) -> None:
    assert page.model.ids == [4, 3, 2, 1]
    assert page.count.text() == "4 runs"
    assert column(page, "seconds_per_epoch_s") == ["30.0", "40.0", "50.0", "60.0"]
    with driver.qtbot.waitSignal(page.model.found):
        page.table.sortByColumn(3, Qt.SortOrder.DescendingOrder)
    assert column(page, "seconds_per_epoch_s") == ["60.0", "50.0", "40.0", "30.0"]
    assert column(page, "comment") == ["", "water cooled", "", ""]


def test_filters(driver: Driver, page: ResultsPage) -> None:
    with driver.qtbot.waitSignal(page.model.found):
        page.search.setText("WATER")
    assert page.model.ids == [2]
    with driver.qtbot.waitSignal(page.model.found):
        page.search.setText("nothing has this")
    assert page.count.text() == "0 runs"
    assert page.first_button.isHidden()
    with driver.qtbot.waitSignal(page.model.found):
        page.search.clear()
    with driver.qtbot.waitSignal(page.model.found):
        page.status.setCurrentIndex(page.status.findData("cancelled"))
    assert page.model.ids == [3]
    with driver.qtbot.waitSignal(page.model.found):
        page.workload.setCurrentIndex(page.workload.findData("demo"))
    assert page.model.ids == []


def test_without_results_it_says_what_to_do(driver: Driver) -> None:
    page = driver.open_results()
    assert page.first_button.isVisible()
    driver.press(page.first_button)
    assert driver.window.page is driver.page


def test_naming_a_run(driver: Driver, page: ResultsPage) -> None:
    index = page.model.index(page.model.ids.index(4), COMMENT)
    assert page.model.setData(index, "  overclocked ")
    driver.until(lambda: column(page, "comment")[0] == "overclocked")
    assert driver.stored()[0].comment == "overclocked"
    page.model.setData(index, "x" * 300)
    driver.until(lambda: "200" in driver.message)
    assert driver.stored()[0].comment == "overclocked"


def test_delete_and_undo(driver: Driver, page: ResultsPage) -> None:
    assert not page.delete_button.isEnabled()
    select(page, 4, 2)
    with driver.qtbot.waitSignal(page.model.found):
        driver.press(page.delete_button)
    assert page.model.ids == [3, 1]
    assert [run.id for run in driver.stored()] == [3, 1]
    assert "2 runs were deleted" in driver.message
    assert driver.window.action("Undo delete").isEnabled()
    with driver.qtbot.waitSignal(page.model.found):
        driver.press(driver.window.banner.button)
    assert page.model.ids == [4, 3, 2, 1]
    assert not driver.window.action("Undo delete").isEnabled()


def test_deleted_runs_are_gone_when_the_window_closes(driver: Driver, page: ResultsPage) -> None:
    select(page, 1)
    with driver.qtbot.waitSignal(page.model.found):
        page.delete()
    driver.window.close()
    with Database(driver.services.paths.database) as database:
        left = [row[0] for row in database.connection.execute("SELECT id FROM runs ORDER BY id")]
    assert left == [2, 3, 4]


def test_a_running_run_is_not_deleted(driver: Driver) -> None:
    driver.choose_demo(epochs=1_000, step_s=0.01)
    driver.press(driver.page.setup.run_button)
    driver.wait_for_epochs(1)
    page = driver.open_results()
    select(page, page.model.ids[0])
    page.delete()
    driver.until(lambda: "still running" in driver.message)
    driver.page.cancel()
    driver.wait_for_result()


def test_export_of_the_chosen_and_of_all(
    driver: Driver, page: ResultsPage, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    save_to(monkeypatch, tmp_path / "chosen.csv")
    select(page, 2, 3)
    assert page.export_button.text().strip() == "Export 2 …"
    driver.press(page.export_button)
    driver.until(lambda: "2 runs are written" in driver.message)
    with (tmp_path / "chosen.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(row["id"], row["comment"], row["seconds_per_epoch_s"]) for row in rows] == [
        ("2", "water cooled", "50.0"),
        ("3", "", "40.0"),
    ]
    save_to(monkeypatch, tmp_path / "all.json")
    page.table.clearSelection()
    driver.window.action("Export …").trigger()
    driver.until(lambda: "4 runs are written" in driver.message)
    runs = json.loads((tmp_path / "all.json").read_text(encoding="utf-8"))["runs"]
    assert [len(run["epoch_records"]) for run in runs] == [3, 3, 3, 3]
    save_to(monkeypatch, tmp_path / "missing" / "all.csv")
    page.export()
    driver.until(lambda: "cannot be written" in driver.message)


def test_copying_rows(driver: Driver, page: ResultsPage) -> None:
    select(page, 1, 2)
    driver.press(page.copy_button)
    driver.until(lambda: "on the clipboard" in driver.message)
    lines = QGuiApplication.clipboard().text().splitlines()
    assert len(lines) == 3
    assert "water cooled" in lines[1]


def test_a_run_in_full(driver: Driver, page: ResultsPage, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    select(page, 2)
    driver.press(page.open_button)
    driver.until(lambda: page.run is not None)
    detail = page.detail
    assert detail is not None
    assert detail.view.headline.value.text() == "50.0"
    assert detail.view.charts.epochs.accessibleDescription() == "3 of 10 epochs: 51.0, 50.0, 50.0"
    assert [bar.kind for bar in detail.view.charts.bars.bars].count("you") == 1
    driver.press(detail.table_button)
    shown = detail.table.model()
    assert [shown.index(row, 1).data() for row in range(3)] == ["51.00", "50.00", "50.00"]
    driver.press(detail.charts_button)
    save_to(monkeypatch, tmp_path / "picture.png")
    driver.press(detail.save_button)
    driver.until(lambda: "saved as picture.png" in driver.message)
    assert QImage(str(tmp_path / "picture.png")).size().toTuple() == (1200, 630)
    driver.press(detail.picture_button)
    assert QGuiApplication.clipboard().image().width() == 1200
    driver.press(detail.copy_button)
    assert "50.0" in QGuiApplication.clipboard().text()
    detail.comment.setText("air cooled")
    detail.comment.editingFinished.emit()
    driver.until(lambda: page.run is not None and page.run.summary.comment == "air cooled")
    driver.press(detail.delete_button)
    driver.until(lambda: page.model.ids == [4, 3, 1])
    assert page.run is None


def test_a_live_run_is_found_after_it_ended(driver: Driver) -> None:
    page = driver.open_results()
    assert page.model.ids == []
    driver.window.show_page(0)
    driver.run_demo()
    driver.open_results()
    assert len(page.model.ids) == 1
