"""The trend of an opened run: its line, and the chart that says the same to a screen reader."""

from functools import partial

from app.core.messages import message, sentence
from app.core.storage.database import Database
from tests.core.storage.storing import store
from tests.gui.driving import Driver
from tests.saying import said
from workloads.protocol.machine import Machine

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
    best = message("trend.run", run_id=3, date="2026-11-03")
    slower = {"how": message("trend.slower", by_pct=11.1), "which": best}
    assert detail.trend.line.whole_text == sentence("trend.against_both", **slower)
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
    driver.press(detail.table_button)
    assert not chart.isVisible()
    assert detail.table.isVisible()


def test_nothing_changed_is_said_only_of_several_runs(driver: Driver, machine: Machine) -> None:
    with Database(driver.services.paths.database) as database:
        for number, workload in enumerate(("mnist_mlp", "mnist_cnn", "mnist_cnn"), 1):
            columns = {"verdict": "valid", "started_at": f"2026-11-{number:02}T10:00:00Z"}
            store(database, machine, 60.0, 60.0, 60.0, workload=workload, columns=columns)
        store(database, machine, status="failed")
    driver.open_results()
    for run_id, code in ((1, "trend.only_one"), (2, "trend.no_changes"), (4, "trend.nothing")):
        changes = driver.open_run(run_id).trend.changes
        driver.until(partial(lambda code, changes: said(code).is_all_of(changes.text()), code, changes))
