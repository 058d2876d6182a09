"""The history in the real window: finding, sorting, naming, deleting, exporting, and a run in full."""

import csv
import json
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from unittest.mock import Mock

import msgspec
import pytest
from PySide6.QtCore import QItemSelectionModel, Qt
from PySide6.QtGui import QGuiApplication, QImage
from PySide6.QtWidgets import QFileDialog, QLineEdit, QMessageBox, QWidget

from app.core.errors import AppError
from app.core.records import Machine, Run
from app.core.storage.database import Database
from app.core.storage.queries import set_comment
from app.core.storage.recording import RunWriter
from app.core.storage.runs import load_run
from app.gui.pages.results import page as results_page
from app.gui.pages.results import table as runs_model
from app.gui.pages.results.page import ResultsPage
from app.gui.pages.results.run_detail import RunDetail
from app.gui.pages.results.table import COLUMNS, COMMENT
from app.gui.shell.main_window import BENCHMARK
from tests.core.storage.storing import store
from tests.gui.driving import Driver
from workloads.protocol import events


def column(page: ResultsPage, key: str) -> list[str]:
    place = list(COLUMNS).index(key)
    return [str(page.model.index(row, place).data()) for row in range(page.model.rowCount())]


def select(page: ResultsPage, *ids: int) -> None:
    flags = QItemSelectionModel.SelectionFlag
    selection = page.table.selectionModel()
    selection.clear()
    for run_id in ids:
        row = page.model.ids.index(run_id)
        selection.select(page.model.index(row, 0), flags.Select | flags.Rows)
        selection.setCurrentIndex(page.model.index(row, 0), flags.NoUpdate)


def save_to(monkeypatch: pytest.MonkeyPatch, path: Path, ending: str = "") -> None:
    """Answer the question for a file, with the kind that has the ending: that of the name if none is given."""

    def answer(parent: object, heading: str, name: str, kinds: str) -> tuple[str, str]:
        return str(path), next(kind for kind in kinds.split(";;") if f"*{ending or path.suffix})" in kind)

    monkeypatch.setattr(QFileDialog, "getSaveFileName", answer)


def show_in_full(driver: Driver, page: ResultsPage, run_id: int) -> RunDetail:
    """Open a run and wait until it is shown."""
    page.open_run(run_id)
    driver.until(lambda: page.run is not None and page.run.summary.id == run_id)
    assert page.detail is not None
    return page.detail


def type_comment(driver: Driver, page: ResultsPage, run_id: int, text: str) -> QLineEdit:
    """Begin to type a run's comment in the table."""
    page.table.edit(page.model.index(page.model.ids.index(run_id), COMMENT))
    editor = page.table.viewport().findChild(QLineEdit)
    assert isinstance(editor, QLineEdit)
    driver.qtbot.keyClicks(editor, text)  # type: ignore[no-untyped-call]
    return editor


def press_key(driver: Driver, widget: QWidget, key: Qt.Key) -> None:
    driver.qtbot.keyClick(widget, key)  # type: ignore[no-untyped-call]


def store_another(driver: Driver, machine: Machine) -> int:
    with Database(driver.services.paths.database) as database:
        return store(database, machine, 21.0, 20.0, 20.0)


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
    assert page.export_button.accessibleName() == "Export all …"
    driver.until(lambda: driver.window.focusWidget() is page.table)
    assert column(page, "value") == ["30.0 s/epoch", "40.0 s/epoch", "50.0 s/epoch", "60.0 s/epoch"]
    with driver.qtbot.waitSignal(page.model.found):
        page.table.sortByColumn(3, Qt.SortOrder.DescendingOrder)
    assert column(page, "value") == ["60.0 s/epoch", "50.0 s/epoch", "40.0 s/epoch", "30.0 s/epoch"]
    assert column(page, "comment") == ["", "water cooled", "", ""]
    assert column(page, "device") == ["Test CPU"] * 4


def test_filters(driver: Driver, page: ResultsPage) -> None:
    with driver.qtbot.waitSignal(page.model.found):
        page.search.setText("WATER")
    assert page.model.ids == [2]
    with driver.qtbot.waitSignal(page.model.found):
        page.search.setText("cifar-10")
    assert page.model.ids == [4, 3, 2, 1]
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
    press_key(driver, type_comment(driver, page, 4, "x" * 300), Qt.Key.Key_Return)
    driver.until(lambda: "200" in driver.message)
    assert column(page, "comment")[0] == driver.stored()[0].comment == "overclocked"


def test_a_comment_being_typed_outlasts_new_runs(driver: Driver, page: ResultsPage, machine: Machine) -> None:
    editor = type_comment(driver, page, 3, "nothing")
    assert store_another(driver, machine) == 5
    page.refresh()
    driver.qtbot.wait(200)
    assert page.model.ids == [4, 3, 2, 1]
    press_key(driver, editor, Qt.Key.Key_Escape)
    driver.until(lambda: page.model.ids == [5, 4, 3, 2, 1])
    driver.until(lambda: page.table.viewport().findChild(QLineEdit) is None)
    editor = type_comment(driver, page, 3, "night run")
    page.refresh()
    driver.qtbot.wait(200)
    press_key(driver, editor, Qt.Key.Key_Return)
    driver.until(lambda: column(page, "comment") == ["", "", "night run", "water cooled", ""])


def test_chosen_runs_stay_chosen(driver: Driver, page: ResultsPage, machine: Machine) -> None:
    select(page, 2, 4, 3)
    driver.window.show_page(BENCHMARK)
    with driver.qtbot.assertNotEmitted(page.model.modelReset):
        driver.open_results()
    assert sorted(page.selected_ids()) == [2, 3, 4]
    store_another(driver, machine)
    with driver.qtbot.waitSignal(page.model.found):
        page.refresh()
    assert page.selected_ids() == [4, 3, 2]
    assert page.model.ids[page.table.currentIndex().row()] == 3
    with driver.qtbot.waitSignal(page.model.found):
        page.status.setCurrentIndex(page.status.findData("completed"))
    assert page.export_button.text().strip() == "Export 2 …"


def test_delete_and_undo(driver: Driver, page: ResultsPage) -> None:
    assert not page.delete_button.isEnabled()
    select(page, 4, 2)
    with driver.qtbot.waitSignal(page.model.found):
        driver.press(page.delete_button)
    assert page.model.ids == [3, 1]
    assert [run.id for run in driver.stored()] == [3, 1]
    assert "Deleted 2 runs" in driver.message
    assert driver.window.action("menu.undo_delete").isEnabled()
    with driver.qtbot.waitSignal(page.model.found):
        driver.press(driver.window.banner.button)
    assert page.model.ids == [4, 3, 2, 1]
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
    driver.until(lambda: "Exported 2 runs" in driver.message)
    with (tmp_path / "chosen.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(row["id"], row["comment"], row["seconds_per_epoch_s"]) for row in rows] == [
        ("2", "water cooled", "50.0"),
        ("3", "", "40.0"),
    ]
    save_to(monkeypatch, tmp_path / "all.json")
    driver.window.show_page(BENCHMARK)  # where nobody sees what is chosen
    driver.window.action("menu.export").trigger()
    driver.until(lambda: "Exported 4 runs" in driver.message)
    runs = json.loads((tmp_path / "all.json").read_text(encoding="utf-8"))["runs"]
    assert [len(run["epoch_records"]) for run in runs] == [3, 3, 3, 3]
    save_to(monkeypatch, tmp_path / "missing" / "all.csv")
    page.export()
    driver.until(lambda: "missing" in driver.message)


def test_a_file_is_of_the_chosen_kind(
    driver: Driver, page: ResultsPage, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    named = {("v1.2", ".json"): "v1.2.json", ("runs", ".csv"): "runs.csv", ("a.csv", ".json"): "a.csv"}
    for (name, kind), written in (named | {("b.JSON", ".csv"): "b.JSON"}).items():
        save_to(monkeypatch, tmp_path / name, kind)
        page.export()
        driver.until(lambda file=written: f" to {file}" in driver.message)  # type: ignore[misc]
        assert (tmp_path / written).read_text()[0] == ("{" if written.lower().endswith(".json") else "f")


def test_a_file_that_exists_is_not_written_over_unasked(
    driver: Driver, page: ResultsPage, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    answers = [QMessageBox.StandardButton.No, QMessageBox.StandardButton.Yes]
    monkeypatch.setattr(QMessageBox, "question", lambda *_: answers.pop(0))
    save_to(monkeypatch, tmp_path / "result v1.2", ".png")
    file = tmp_path / "result v1.2.png"
    file.write_text("mine")
    show_in_full(driver, page, 2)
    driver.window.action("menu.save_picture").trigger()
    driver.qtbot.wait(100)
    assert file.read_text() == "mine"
    driver.window.action("menu.save_picture").trigger()
    driver.until(lambda: "Saved picture as result v1.2.png" in driver.message)
    assert QImage(str(file)).width() == 1200


def test_copying_rows(driver: Driver, page: ResultsPage) -> None:
    select(page, 1, 2)
    driver.press(page.copy_button)
    driver.until(lambda: "Copied" in driver.message)
    lines = QGuiApplication.clipboard().text().splitlines()
    assert len(lines) == 3
    assert "water cooled" in lines[1]


@pytest.mark.slow
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
    driver.until(lambda: "Saved picture as picture.png" in driver.message)
    assert QImage(str(tmp_path / "picture.png")).size().toTuple() == (1200, 630)
    clipboard, action = QGuiApplication.clipboard(), driver.window.action
    pictures: list[Callable[[], object]] = [detail.picture_button.click, action("menu.copy_picture").trigger]
    texts: list[Callable[[], object]] = [detail.copy_button.click, action("menu.copy_result").trigger]
    for do in pictures + texts:
        clipboard.clear()
        do()
        assert clipboard.image().width() == 1200 if do in pictures else "50.0" in clipboard.text()
    detail.comment.setText("air cooled")
    detail.comment.editingFinished.emit()
    driver.until(lambda: page.run is not None and page.run.summary.comment == "air cooled")
    driver.press(detail.delete_button)
    driver.until(lambda: page.model.ids == [4, 3, 1])
    assert page.run is None


@pytest.mark.slow
def test_a_live_run_is_found_after_it_ended(driver: Driver) -> None:
    page = driver.open_results()
    assert page.model.ids == []
    driver.window.show_page(0)
    driver.run_demo()
    driver.open_results()
    assert len(page.model.ids) == 1


def test_naming_then_leaving_or_deleting(
    driver: Driver, page: ResultsPage, monkeypatch: pytest.MonkeyPatch
) -> None:
    go_on = {"one": threading.Event(), "one two": threading.Event()}

    def set_slowly(database: Database, run_id: int, comment: str | None) -> None:
        assert go_on[str(comment)].wait(60)
        set_comment(database, run_id, comment)

    monkeypatch.setattr(runs_model, "set_comment", set_slowly)
    detail = show_in_full(driver, page, 4)
    for text, comment, button in (
        (" one", "one", detail.back_button),
        (" two", "one two", detail.delete_button),
    ):
        show_in_full(driver, page, 4)
        detail.comment.setFocus()
        driver.qtbot.keyClicks(detail.comment, text)  # type: ignore[no-untyped-call]
        driver.press(button)
        assert page.run is None
        go_on[comment].set()
        if button is detail.back_button:
            driver.until(lambda: column(page, "comment")[0] == "one")
    driver.until(lambda: driver.message.startswith("Deleted 1 run"))
    page.undo()
    driver.until(lambda: page.model.ids == [4, 3, 2, 1])
    driver.until(lambda: column(page, "comment")[0] == "one two")


def test_the_run_wanted_last_is_shown(driver: Driver, page: ResultsPage, monkeypatch: pytest.MonkeyPatch) -> None:
    go_on = threading.Event()

    def load_slowly(database: Database, run_id: int) -> Run:
        assert run_id != 2 or go_on.wait(10)
        return load_run(database, run_id)

    monkeypatch.setattr(results_page, "load_run", load_slowly)
    page.open_run(2)
    detail = show_in_full(driver, page, 4)
    page.open_run(2)
    driver.press(detail.back_button)
    go_on.set()
    driver.qtbot.wait(200)
    assert page.run is None
    assert detail.comment.text() == ""


def test_the_curves_are_those_of_the_run_that_is_shown(driver: Driver, page: ResultsPage) -> None:
    with Database(driver.services.paths.database) as database:
        database.connection.execute("UPDATE epochs SET loss = run_id")
        for run_id in (1, 2):
            writer = RunWriter(database, run_id)
            for number in range(4):
                block = {"phase": "measure", "epoch": 0, "first_index": run_id * number, "seq": number}
                block |= {"durations_s": (1 / run_id,) * run_id, "t_s": number + 1, "loss": run_id}
                writer.add(msgspec.convert(block, events.Steps))
            writer.flush()
    for run_id, seconds in ((2, "51.0, 50.0, 50.0"), (1, "61.0, 60.0, 60.0")):
        charts = show_in_full(driver, page, run_id).view.charts
        assert set(charts.loss.lines["loss"].item.getData()[1]) == {float(run_id)}
        assert f"loss {run_id}.000" in charts.loss.accessibleDescription()
        assert max(charts.throughput.line.item.getData()[1]) == run_id
        assert charts.epochs.accessibleDescription() == f"3 of 10 epochs: {seconds}"


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
