"""One run of the history in full."""

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from PySide6.QtCore import QCoreApplication, QPoint, QPointF, Qt
from PySide6.QtGui import QGuiApplication, QImage
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QScrollArea

from app.core.messages import message, sentence
from app.core.records import Run
from app.core.storage.database import Database
from app.core.storage.queries import set_comment
from app.core.storage.recording import RunWriter
from app.core.storage.runs import load_run
from app.core.verdict import judged_run
from app.gui.charts.plots import Plot
from app.gui.pages.results import model as runs_model
from app.gui.pages.results import page as results_page
from app.gui.pages.results.page import ResultsPage
from app.gui.run import share_picture
from app.gui.run.share_dialog import ShareDialog
from tests.build import store
from tests.gui.driving import Driver
from tests.gui.pages.results.using import column, press_key, save_to, select
from tests.saying import said
from tests.sure import sure
from workloads.protocol import events
from workloads.protocol.machine import Machine


@pytest.mark.slow
def test_a_run_in_full(driver: Driver, page: ResultsPage, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    select(page, 2)
    page.commands.actions["open"].trigger()
    driver.until(lambda: page.run is not None)
    detail = sure(page.detail)
    assert detail.view.headline.value.text() == "50.0"
    assert detail.view.charts.epochs.accessibleDescription() == "3 of 10 epochs: 51.0, 50.0, 50.0"
    assert [bar.kind for bar in detail.view.charts.bars.bars].count("you") == 1
    driver.until(detail.trend_button.isVisible)
    driver.press(detail.trend_button)
    assert detail.share_button.isVisible()
    driver.press(detail.charts_button)
    save_to(monkeypatch, tmp_path / "picture.png")
    detail.commands.actions["picture"].trigger()
    driver.until(lambda: said("picture.saved", name="picture.png").is_in(driver.message))
    assert QImage(str(tmp_path / "picture.png")).size().toTuple() == (1200, 630)
    clipboard, action = QGuiApplication.clipboard(), driver.window.action
    own = detail.commands.actions
    pictures: list[Callable[[], object]] = [own["copy_picture"].trigger, action("menu.copy_picture").trigger]
    texts: list[Callable[[], object]] = [own["copy"].trigger, action("button.copy_result").trigger]
    for do in pictures:
        clipboard.clear()
        do()
        driver.until(lambda: clipboard.image().width() == 1200)
    for do in texts:
        clipboard.clear()
        do()
        assert "50.0" in clipboard.text()
    detail.comment.setText("air cooled")
    detail.comment.editingFinished.emit()
    driver.until(lambda: page.run is not None and page.run.summary.comment == "air cooled")
    detail.commands.actions["delete"].trigger()
    driver.until(lambda: page.model.rows == [4, 3, 1])
    assert page.run is None


@pytest.mark.slow
def test_a_live_run_is_found_after_it_ended(driver: Driver) -> None:
    page = driver.open_results()
    assert page.model.rows == []
    driver.window.show_page("benchmark")
    driver.run_demo()
    driver.open_results()
    assert len(page.model.rows) == 1


def test_naming_then_leaving_or_deleting(
    driver: Driver, page: ResultsPage, monkeypatch: pytest.MonkeyPatch
) -> None:
    go_on = {"one": threading.Event(), "one two": threading.Event()}

    def set_slowly(database: Database, run_id: int, comment: str | None) -> None:
        assert go_on[str(comment)].wait(60)
        set_comment(database, run_id, comment)

    monkeypatch.setattr(runs_model, "set_comment", set_slowly)
    detail = driver.open_run(4)
    for text, comment, button in ((" one", "one", detail.back_button), (" two", "one two", detail.more_button)):
        driver.open_run(4)
        detail.comment.setFocus()
        driver.qtbot.keyClicks(detail.comment, text)  # type: ignore[no-untyped-call]
        driver.press(button)
        if button is detail.more_button:
            detail.commands.actions["delete"].trigger()
        assert page.run is None
        go_on[comment].set()
        if button is detail.back_button:
            driver.until(lambda: column(page, "comment")[0] == "one")
    driver.until(lambda: said("results_page.deleted", count="1").begins(driver.message))
    page.undo()
    driver.until(lambda: page.model.rows == [4, 3, 2, 1])
    driver.until(lambda: column(page, "comment")[0] == "one two")


def test_the_last_requested_run_is_shown(
    driver: Driver, page: ResultsPage, monkeypatch: pytest.MonkeyPatch
) -> None:
    go_on = threading.Event()
    looks: list[threading.Thread] = []

    def load_slowly(database: Database, run_id: int) -> Run:
        if run_id == 2:
            looks.append(threading.current_thread())
        assert run_id != 2 or go_on.wait(10)
        return load_run(database, run_id)

    monkeypatch.setattr(results_page, "load_run", load_slowly)
    page.open_run(2)
    detail = driver.open_run(4)
    page.open_run(2)
    driver.press(detail.back_button)
    driver.until(lambda: len(looks) == 2)
    go_on.set()
    for look in looks:
        look.join(20)
    QCoreApplication.processEvents()
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
        charts = driver.open_run(run_id).view.charts
        assert set(charts.loss.lines["loss"].item.getData()[1]) == {float(run_id)}
        assert f"{sentence('column.loss')} {run_id}.000" in charts.loss.accessibleDescription()
        assert max(charts.throughput.line.item.getData()[1]) == run_id
        assert said("chart.epochs_done", done="3", planned="10", durations=seconds).is_all_of(
            charts.epochs.accessibleDescription()
        )


def test_charts_of_an_opened_run_can_be_read_in_a_small_window(driver: Driver, page: ResultsPage) -> None:
    driver.window.resize(1024, 700)
    detail = driver.open_run(2)
    plots = [plot for plot in detail.view.charts.findChildren(Plot) if plot.isVisible()]
    assert len(plots) >= 4
    driver.until(lambda: min(plot.getViewBox().height() for plot in plots) >= 105)  # and labels
    scroll = next(area for area in detail.view.findChildren(QScrollArea) if area.isAncestorOf(plots[0]))
    below = scroll.verticalScrollBar()
    assert below.maximum() > 0
    press_key(driver, detail.share_button, Qt.Key.Key_PageDown)  # without a mouse
    assert below.value() > 0
    below.setValue(0)
    at = plots[0].mapTo(driver.window, plots[0].rect().center())
    QTest.wheelEvent(driver.window.windowHandle(), QPointF(at), QPoint(0, -240))
    assert below.value() > 0  # over a chart too
    driver.window.resize(1440, 900)
    driver.until(lambda: below.maximum() == 0)


def test_a_picture_that_takes_its_time_does_not_replace_what_was_copied_later(
    driver: Driver, page: ResultsPage, monkeypatch: pytest.MonkeyPatch
) -> None:
    select(page, 2)
    page.commands.actions["open"].trigger()
    driver.until(lambda: page.run is not None)
    assert page.detail is not None
    asked: list[Any] = []
    paint = share_picture.paint_share_picture

    def noted(*arguments: Any) -> QImage:
        asked.append(arguments)
        return paint(*arguments)

    monkeypatch.setattr(share_picture, "paint_share_picture", noted)
    page.detail.commands.actions["copy_picture"].trigger()
    page.detail.commands.actions["copy"].trigger()
    driver.until(lambda: bool(asked))
    after: list[QImage] = []  # so long does the other one take
    driver.services.tasks.start(lambda: paint(*asked[0]), after.append, driver.services.complain)
    driver.until(lambda: bool(after))
    assert "50.0" in QGuiApplication.clipboard().text()


def test_a_run_is_judged_once_and_not_in_the_windows_thread(
    driver: Driver, page: ResultsPage, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    made: list[tuple[str, bool]] = []

    def counting(name: str) -> Callable[[Run], object]:
        make = getattr(judged_run, name)

        def count(run: Run) -> object:
            made.append((name, threading.current_thread() is threading.main_thread()))
            return make(run)

        return count

    names = ("judge", "series_of", "bottleneck_text")
    for name in names:
        monkeypatch.setattr(judged_run, name, counting(name))
    save_to(monkeypatch, tmp_path / "picture.png")
    page.open_run(1)
    driver.until(lambda: page.run is not None)
    detail = sure(page.detail)
    detail.view.headline.why_button.click()
    page.copy_text()
    page.save_picture()
    driver.until((tmp_path / "picture.png").is_file)
    page.share()
    driver.until(lambda: any(each.shared is not None for each in driver.window.findChildren(ShareDialog)))
    assert sorted(made) == sorted((name, False) for name in names)


VALUES = (60.0, 50.0, 40.0, 45.0)


def test_an_opened_run_is_shown_against_the_best_and_the_last(driver: Driver, machine: Machine) -> None:
    with Database(driver.services.paths.database) as database:
        for number, value in enumerate(VALUES, 1):
            columns = {"verdict": "valid", "started_at": f"2026-11-{number:02}T10:00:00Z", "value_low": None}
            columns["engine_version"] = "2.20.0" if number < 3 else "2.21.0"
            store(database, machine, value, value, value, columns=columns)
        store(database, machine, status="failed")
    driver.open_results()
    detail = driver.open_run(4)
    driver.until(lambda: detail.trend.trend is not None)
    best = message("trend.earlier", value="40.0", run_id=3, date="2026-11-03")
    slower = {"how": message("trend.slower", by_pct=11.1), "which": best}
    assert detail.trend.line.whole_text == sentence("trend.against_best", **slower)
    assert detail.trend.line.isVisible()
    driver.press(detail.trend_button)
    chart = detail.trend.chart
    assert chart.isVisible()
    x, y = chart.points.getData()
    assert list(y) == list(VALUES)
    assert list(x) == [0, 1, 2, 3]
    assert [mark.value() for mark in chart.marks] == [1.5]
    engine = message("trend.other_engine", engine="TensorFlow", before="2.20.0", now="2.21.0")
    change = sentence("trend.changes", number=1, date="2026-11-03", run_id=3, changes=[engine])
    assert detail.trend.changes.text() == change
    figures = {"count": 4, "first": "2026-11-01", "last": "2026-11-04", "low": "40.0", "high": "60.0"}
    described = sentence("trend.described", unit="s per epoch", **figures)
    assert chart.accessibleDescription() == f"{described} {change}"
    driver.services.theme.choose("dark")
    assert len(chart.marks) == 1
    detail = driver.open_run(1)
    driver.until(lambda: detail.trend.trend is not None)
    slower = {"how": message("trend.slower", by_pct=33.3), "which": best}
    assert detail.trend.line.whole_text == sentence("trend.against_best", **slower)
    detail = driver.open_run(5)
    driver.until(lambda: detail.trend.trend is not None)
    assert detail.trend.line.whole_text == ""
    assert not chart.isVisible()


def test_a_trend_needs_several_runs(driver: Driver, machine: Machine) -> None:
    with Database(driver.services.paths.database) as database:
        for number, workload in enumerate(("mnist_mlp", "mnist_cnn", "mnist_cnn"), 1):
            columns = {"verdict": "valid", "started_at": f"2026-11-{number:02}T10:00:00Z"}
            store(database, machine, 60.0, 60.0, 60.0, workload=workload, columns=columns)
        store(database, machine, status="failed")
    driver.open_results()
    for run_id, is_offered in ((1, False), (2, True), (4, False)):
        detail = driver.open_run(run_id)
        driver.until(lambda detail=detail: detail.trend.trend is not None)  # type: ignore[misc]
        assert detail.trend_button.isVisible() == is_offered
        assert not is_offered or said("trend.no_changes").is_all_of(detail.trend.changes.text())
