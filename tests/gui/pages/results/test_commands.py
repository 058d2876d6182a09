"""What can be done with runs of the history: by button, by menu and by key, all the same."""

import csv
import json
from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QAction, QContextMenuEvent, QGuiApplication, QImage
from PySide6.QtWidgets import QApplication, QLineEdit

from app.core.clock import local_time
from app.core.exchange.png_embed import extract
from app.core.messages import sentence
from app.core.records import RunSummary
from app.core.result_file.canonical import decode
from app.core.storage.database import Database
from app.core.titles import workload_title
from app.gui.pages.compare.page import ComparePage
from app.gui.pages.results.page import ResultsPage
from app.gui.run.share_dialog import ShareDialog
from tests.build import set_fields, store
from tests.gui.driving import Driver
from tests.gui.pages.benchmark.test_page import NO, YES, answer
from tests.gui.pages.results.using import found, press_key, save_to, select
from tests.saying import said
from tests.sure import only, sure
from workloads.protocol.machine import Machine


def open_menu(page: ResultsPage, run_id: int, *, by_keyboard: bool = False) -> dict[str, QAction]:
    """Open the context menu of a run's row; returns its entries by their texts."""
    viewport = page.table.viewport()
    index = page.model.index(page.model.rows.index(run_id), 1)
    reason = QContextMenuEvent.Reason.Keyboard if by_keyboard else QContextMenuEvent.Reason.Mouse
    if by_keyboard:
        page.table.setCurrentIndex(index)
    at = QPoint(1, 1) if by_keyboard else page.table.visualRect(index).center()
    QApplication.sendEvent(viewport, QContextMenuEvent(reason, at, viewport.mapToGlobal(at)))
    assert page.commands.menu.isVisible()
    page.commands.menu.hide()
    return {action.text(): action for action in page.commands.menu.actions() if not action.isSeparator()}


def test_an_opened_run_shows_number_and_date_and_esc_goes_back(driver: Driver, page: ResultsPage) -> None:
    detail = driver.open_run(2)
    assert page.run is not None
    assert detail.place.whole_text == " · ".join(
        (sentence("group.run", run_id=2), local_time(page.run.summary.started_at))
    )
    driver.until(lambda: detail.isAncestorOf(driver.window.focusWidget()))
    press_key(driver, detail.back_button, Qt.Key.Key_Escape)
    assert page.run is None
    driver.until(lambda: driver.window.focusWidget() is page.table)
    detail = driver.open_run(2)
    detail.comment.setFocus()
    driver.qtbot.keyClicks(detail.comment, " and fast")
    press_key(driver, detail.comment, Qt.Key.Key_Escape)
    assert page.run is not None
    assert detail.comment.text() == "water cooled"
    press_key(driver, detail.comment, Qt.Key.Key_Escape)
    assert page.run is None
    assert [run.comment for run in driver.stored() if run.id == 2] == ["water cooled"]


ROW_MENU = [
    *("button.open", "button.run_again", "page.compare", "button.compare_settings", "button.copy", "menu.share"),
    *("menu.save_picture", "menu.copy_picture", "plan_page.export"),
    *("results_page.rename", "button.delete", "compare_page.copy_table"),
]
SEVERAL = ["page.compare", "button.copy", "plan_page.export", "button.delete", "compare_page.copy_table"]


def test_the_menu_is_about_the_selected_rows(driver: Driver, page: ResultsPage) -> None:
    for by_keyboard, run_id in ((False, 4), (True, 3)):
        select(page, 1, 2)
        entries = open_menu(page, run_id, by_keyboard=by_keyboard)
        assert page.selected_ids() == [run_id]
        assert list(entries) == list(map(sentence, ROW_MENU))
        assert all(action.isEnabled() for action in entries.values())
        entries[sentence("button.open")].trigger()
        driver.until(lambda run_id=run_id: page.run is not None and page.run.summary.id == run_id)  # type: ignore[misc]
        driver.press(sure(page.detail).back_button)
    viewport = page.table.viewport()
    below = QPoint(5, viewport.height() - 2)
    QApplication.sendEvent(viewport, QContextMenuEvent(QContextMenuEvent.Reason.Mouse, below, below))
    assert not page.commands.menu.isVisible(), "there is no row"
    select(page, 1, 2, 4)
    entries = open_menu(page, 2)
    assert page.selected_ids() == [4, 2, 1]
    assert [text for text, action in entries.items() if action.isEnabled()] == list(map(sentence, SEVERAL))
    page.copy_text()
    driver.until(lambda: said("compare_page.rows_copied", count="3").is_in(driver.message))
    lines = QGuiApplication.clipboard().text().splitlines()
    assert (len(lines), "water cooled" in lines[2]) == (4, True)
    page.copy_rows("markdown")
    driver.until(lambda: QGuiApplication.clipboard().text().startswith("| "))
    entries[sentence("button.delete")].trigger()
    driver.until(lambda: page.model.rows == [3])


def test_a_selected_run_is_shared_from_the_menu_bar_and_the_tool_bar(driver: Driver, page: ResultsPage) -> None:
    actions = [driver.window.action(code) for code in ("menu.share", "menu.save_picture", "menu.copy_picture")]
    for chosen, can_share in (((1,), True), ((1, 2), False), ((2,), True), ((), False)):
        select(page, *chosen)
        assert [action.isEnabled() for action in actions] == 3 * [can_share]
        assert page.share_button.isEnabled() == can_share
    select(page, 4)
    driver.press(page.share_button)
    driver.until(lambda: driver.window.findChild(ShareDialog) is not None)
    dialog = sure(driver.window.findChild(ShareDialog))
    driver.until(lambda: dialog.shared is not None)
    dialog.reject()


def test_each_entry_does_what_its_button_does(
    driver: Driver, page: ResultsPage, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    save_to(monkeypatch, tmp_path / "menu.png")
    open_menu(page, 1)[sentence("menu.save_picture")].trigger()
    driver.until(lambda: said("picture.saved", name="menu.png").is_all_of(driver.message))
    open_menu(page, 1)[sentence("button.copy")].trigger()
    driver.until(lambda: said("compare_page.rows_copied", count="1").is_all_of(driver.message))
    open_menu(page, 1)[sentence("results_page.rename")].trigger()
    editor = only(QLineEdit, page.table.viewport().findChild(QLineEdit))
    press_key(driver, editor, Qt.Key.Key_Escape)
    detail = driver.open_run(1)
    at = detail.view.rect().center()
    QApplication.sendEvent(detail.view, QContextMenuEvent(QContextMenuEvent.Reason.Mouse, at, at))
    assert detail.commands.menu.isVisible()
    detail.commands.menu.hide()
    assert not said("button.open").is_in([action.text() for action in detail.commands.menu.actions()])
    QGuiApplication.clipboard().clear()
    detail.commands.actions["copy"].trigger()
    assert "60.0" in QGuiApplication.clipboard().text()
    driver.window.activateWindow()  # which a window manager does when the menu closes
    driver.until(driver.window.isActiveWindow)
    press_key(driver, detail.back_button, Qt.Key.Key_F2)
    assert driver.window.focusWidget() is detail.comment
    detail.commands.actions["delete"].trigger()
    driver.until(lambda: page.model.rows == [4, 3, 2])


def compare_page(driver: Driver) -> ComparePage:
    return driver.window.compare


def test_compare_shows_just_the_selected_runs_and_published_ones(driver: Driver, page: ResultsPage) -> None:
    select(page, 1, 4)
    page.commands.actions["compare"].trigger()
    assert driver.window.page is compare_page(driver)
    bars = compare_page(driver).bar_list

    def own() -> list[str]:
        return [bar.name.partition(", ")[0] for bar in bars.bars if bar.kind in ("you", "own")]

    driver.until(lambda: own() == [sentence("compare.you"), sentence("compare.you")])
    assert any(bar.kind == "reference" for bar in bars.bars)
    workload = compare_page(driver).workload
    workload.setCurrentIndex(workload.findData("mnist_mlp"))
    detail_of = driver.open_run(3)
    detail_of.commands.actions["compare"].trigger()
    driver.until(lambda: own() == [sentence("compare.you")])
    assert [bar.value for bar in bars.bars if bar.kind == "you"] == [40.0]


def test_runs_that_cannot_be_compared_say_why(driver: Driver, page: ResultsPage, machine: Machine) -> None:
    with Database(driver.services.paths.database) as database:
        other = store(database, machine, 21.0, 20.0, workload="mnist_mlp")
        none = store(database, machine, status="failed")
        demo = store(database, machine, 1.0, 1.0, workload="demo")
    found(driver, page, page.refresh)
    select(page, other, 4)
    page.commands.actions["compare"].trigger()
    compared = compare_page(driver)
    driver.until(lambda: f"{sentence('compare.you')}, " in compared.reasons.text())
    assert compared.workload.currentData() == "mnist_mlp"
    for run_id, why in (
        (none, said("compare_page.none_has_result")),
        (demo, said("compare_page.not_here", workload=workload_title("demo"))),
    ):
        driver.window.show_page("results")
        select(page, run_id)
        page.commands.actions["compare"].trigger()
        driver.until(lambda why=why: why.is_in(driver.message))  # type: ignore[misc]


def again(driver: Driver, page: ResultsPage, run_id: int) -> None:
    driver.window.show_page("results")
    select(page, run_id)
    page.commands.actions["again"].trigger()


# Takes its time: two real runs, each in a worker of its own.
@pytest.mark.slow
def test_run_again_fills_the_setup_and_starts_the_same_run(driver: Driver) -> None:
    first = driver.run_demo(epochs=2, batch_size=7, seed=3)
    driver.page.choose()
    driver.choose_demo(epochs=5)
    driver.open_results()
    detail = driver.open_run(first.id)
    detail.commands.actions["again"].trigger()
    driver.until(lambda: driver.window.page is driver.page and driver.page.run is not None)
    runs: list[RunSummary] = driver.stored()
    assert len(runs) == 2
    assert (runs[0].workload, runs[0].epochs, runs[0].batch_size, runs[0].seed) == ("demo", 2, 7, 3)
    setup = driver.page.setup
    assert setup.spec().parameters == {"step_s": 0.005, "outcome": "ok"} | setup.spec().parameters
    values = setup.form.values()
    assert (values["epochs"], values["batch_size"], values["seed"], values["step_s"]) == (2, 7, 3, 0.005)


@pytest.mark.slow
def test_run_again_says_why_it_can_not(driver: Driver, page: ResultsPage, machine: Machine) -> None:
    with Database(driver.services.paths.database) as database:
        gone = store(database, machine, 1.0, 1.0)
        set_fields(database, f"id = {gone}", spec={"workload": "gone"})
        damaged = store(database, machine, 1.0, 1.0, columns={"spec": "[1,"})
        card = store(database, machine, 1.0, 1.0, device="gpu:7")
        real = store(database, machine, 1.0, 1.0, data="real")
        engine = store(database, machine, 1.0, 1.0, engine="torch")
    before = len(driver.stored())
    for run_id, why in (
        (gone, said("workload.unknown", workload="gone")),
        (damaged, said("again.damaged", run_id=damaged)),
        (card, said("again.no_device", device="GPU:7")),
        (real, said("again.no_data", title="CIFAR-10")),
        (engine, said("engine.not_installed", engine="PyTorch")),
    ):
        found(driver, page, page.refresh)
        again(driver, page, run_id)
        driver.until(lambda why=why: why.is_in(driver.message))  # type: ignore[misc]
        assert driver.window.page is page
    driver.page.choose()
    driver.window.show_page("benchmark")
    driver.begin_demo(epochs=1_000, step_s=0.01, until_epochs=1)
    again(driver, page, 1)
    assert driver.message == sentence("benchmark.running")
    found(driver, page, page.refresh)
    select(page, driver.stored()[0].id)
    page.delete()
    driver.until(lambda: said("runs.still_running").is_in(driver.message))
    driver.page.cancel()
    driver.wait_for_result()
    assert len(driver.stored()) == before + 1


def test_what_is_chosen_or_shown_is_exported(
    driver: Driver, page: ResultsPage, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    export = driver.window.action("plan_page.export").trigger
    save_to(monkeypatch, tmp_path / "chosen.csv")
    select(page, 2, 3)
    assert page.export_button.text().strip() == sentence("results_page.export_some", count=2)
    driver.press(page.export_button)
    driver.until(lambda: said("export.done", count="2").is_in(driver.message))
    with (tmp_path / "chosen.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    shown = [(row[sentence("heading.name")], row[sentence("heading.result")]) for row in rows]
    assert shown == [("", "40.0"), ("water cooled", "50.0")]
    save_to(monkeypatch, tmp_path / "all.json")
    driver.window.show_page("benchmark")  # where the choice is not visible
    export()
    driver.until(lambda: said("export.done", count="4").is_in(driver.message))
    runs = json.loads((tmp_path / "all.json").read_text(encoding="utf-8"))["runs"]
    assert [len(run["epoch_records"]) for run in runs] == [3, 3, 3, 3]
    save_to(monkeypatch, tmp_path / "missing" / "all.csv")
    page.export()
    driver.until(lambda: "missing" in driver.message)
    driver.open_results()
    select(page)
    save_to(monkeypatch, tmp_path / "filtered.csv")
    for text, count in (("completed", 3), ("water", 1)):
        found(driver, page, page.filters.search.setText, text)
        assert page.count.text() == sentence("results_page.runs_of_all", shown=count, count=4)
        button = sentence("results_page.export_some", count=count)
        driver.until(lambda button=button: page.export_button.text().strip() == button)  # type: ignore[misc]
        export()
        told = said("export.done", name="filtered.csv", count=count)
        driver.until(lambda told=told: told.is_all_of(driver.message))  # type: ignore[misc]
    found(driver, page, page.filters.search.setText, "nothing has this")
    (tmp_path / "filtered.csv").unlink()
    export()
    assert said("results_page.no_match").is_all_of(driver.message)
    assert not (tmp_path / "filtered.csv").exists()
    found(driver, page, page.filters.search.setText, "   ")
    assert page.count.text() == sentence("results_page.runs", count=4)
    driver.until(lambda: said("results_page.export_all").is_all_of(page.export_button.text().strip()))


def test_a_file_that_exists_is_not_written_over_unasked(
    driver: Driver, page: ResultsPage, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    asked = answer(monkeypatch, NO, YES)
    save_to(monkeypatch, tmp_path / "a &amp; b v1.2", ".png")
    file = tmp_path / "a &amp; b v1.2.png"
    file.write_text("mine")
    driver.open_run(2)
    driver.window.action("menu.save_picture").trigger()
    driver.until(lambda: bool(asked))
    assert file.read_text() == "mine"
    assert asked == [sentence("file.ask_to_replace", name=file.name)]
    driver.window.action("menu.save_picture").trigger()
    driver.until(lambda: said("picture.saved", name=file.name).is_in(driver.message))
    assert QImage(str(file)).width() == 1200
    assert len(decode(extract(file.read_bytes()))) == 1, "the picture carries the result file"
