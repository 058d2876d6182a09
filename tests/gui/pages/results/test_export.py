"""Results leave the window: as files, and as copied rows."""

import csv
import json
from pathlib import Path

import pytest
from PySide6.QtGui import QGuiApplication, QImage
from PySide6.QtWidgets import QMessageBox

from app.core.exchange.png_embed import extract
from app.core.messages import sentence
from app.core.result_file.canonical import decode
from app.gui.pages.results.page import ResultsPage
from app.gui.widgets.basics import plain_tip
from tests.gui.driving import Driver
from tests.gui.pages.results.using import save_to, select
from tests.saying import said


def test_export_of_the_chosen_and_of_all(
    driver: Driver, page: ResultsPage, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    save_to(monkeypatch, tmp_path / "chosen.csv")
    select(page, 2, 3)
    assert page.export_button.text().strip() == sentence("results_page.export_some", count=2)
    driver.press(page.export_button)
    driver.until(lambda: said("export.done", count="2").is_in(driver.message))
    with (tmp_path / "chosen.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(row["id"], row["comment"], row["seconds_per_epoch_s"]) for row in rows] == [
        ("2", "water cooled", "50.0"),
        ("3", "", "40.0"),
    ]
    save_to(monkeypatch, tmp_path / "all.json")
    driver.window.show_page("benchmark")  # where the choice is not visible
    driver.window.action("menu.export").trigger()
    driver.until(lambda: said("export.done", count="4").is_in(driver.message))
    runs = json.loads((tmp_path / "all.json").read_text(encoding="utf-8"))["runs"]
    assert [len(run["epoch_records"]) for run in runs] == [3, 3, 3, 3]
    save_to(monkeypatch, tmp_path / "missing" / "all.csv")
    page.export()
    driver.until(lambda: "missing" in driver.message)


def test_what_the_filter_shows_is_what_is_exported(
    driver: Driver, page: ResultsPage, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    save_to(monkeypatch, tmp_path / "filtered.csv")
    with driver.qtbot.waitSignal(page.model.found):
        page.filters.status.setCurrentIndex(page.filters.status.findData("completed"))
    assert page.count.text() == sentence("results_page.runs_of_all", shown=3, count=4)
    assert page.export_button.text().strip() == sentence("results_page.export_some", count=3)
    driver.press(page.export_button)
    driver.until(lambda: said("export.done", name="filtered.csv", count="3").is_all_of(driver.message))
    with (tmp_path / "filtered.csv").open(encoding="utf-8", newline="") as file:
        assert [row["id"] for row in csv.DictReader(file)] == ["1", "2", "4"]
    with driver.qtbot.waitSignal(page.model.found):
        page.filters.search.setText("water")
    assert page.count.text() == sentence("results_page.runs_of_all", shown=1, count=4)
    driver.window.action("menu.export").trigger()
    driver.until(lambda: said("export.done", name="filtered.csv", count="1").is_all_of(driver.message))
    with driver.qtbot.waitSignal(page.model.found):
        page.filters.search.setText("nothing has this")
    (tmp_path / "filtered.csv").unlink()
    driver.window.action("menu.export").trigger()
    assert said("results_page.no_match").is_all_of(driver.message)
    assert not (tmp_path / "filtered.csv").exists()
    with driver.qtbot.waitSignal(page.model.found):
        page.filters.search.setText("   ")
    with driver.qtbot.waitSignal(page.model.found):
        page.filters.status.setCurrentIndex(0)
    assert page.count.text() == sentence("results_page.runs", count=4)
    assert said("results_page.export_all").is_all_of(page.export_button.text().strip())


def test_a_file_is_of_the_chosen_kind(
    driver: Driver, page: ResultsPage, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    named = {("v1.2", ".json"): "v1.2.json", ("runs", ".csv"): "runs.csv", ("a.csv", ".json"): "a.csv"}
    for (name, kind), written in (named | {("b.JSON", ".csv"): "b.JSON"}).items():
        save_to(monkeypatch, tmp_path / name, kind)
        page.export()
        driver.until(lambda file=written: said("export.done", name=file).is_in(driver.message))  # type: ignore[misc]
        assert (tmp_path / written).read_text()[0] == ("{" if written.lower().endswith(".json") else "f")


def test_a_file_that_exists_is_not_written_over_unasked(
    driver: Driver, page: ResultsPage, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    answers, asked = [QMessageBox.StandardButton.No, QMessageBox.StandardButton.Yes], list[str]()

    def question(parent: object, title: str, text: str, *buttons: object) -> QMessageBox.StandardButton:
        asked.append(text)
        return answers.pop(0)

    monkeypatch.setattr(QMessageBox, "question", question)
    save_to(monkeypatch, tmp_path / "a &amp; b v1.2", ".png")
    file = tmp_path / "a &amp; b v1.2.png"
    file.write_text("mine")
    driver.open_run(2)
    driver.window.action("menu.save_picture").trigger()
    driver.qtbot.wait(100)
    assert file.read_text() == "mine"
    assert plain_tip(sentence("file.ask_to_replace", name=file.name)) in asked
    driver.window.action("menu.save_picture").trigger()
    driver.until(lambda: said("picture.saved", name=file.name).is_in(driver.message))
    assert QImage(str(file)).width() == 1200
    assert len(decode(extract(file.read_bytes()))) == 1, "the picture carries the result file"


def test_copying_rows(driver: Driver, page: ResultsPage) -> None:
    select(page, 1, 2)
    driver.press(page.copy_button)
    driver.until(lambda: said("results_page.copied", count="2").is_in(driver.message))
    lines = QGuiApplication.clipboard().text().splitlines()
    assert len(lines) == 3
    assert "water cooled" in lines[1]
