"""One run of the history in full."""

from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from PySide6.QtGui import QGuiApplication, QImage

from app.core.messages import message, sentence
from app.core.storage.database import Database
from app.core.storage.recording import RunWriter
from app.gui.pages.results.page import ResultsPage
from tests.build import store
from tests.gui.driving import Driver
from tests.gui.pages.results.using import save_to, select
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
