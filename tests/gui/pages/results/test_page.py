"""The window over results of which one run is broken: it shows all others, and of the broken one what is left."""

import os
from pathlib import Path

import pytest

from app.core.messages import sentence
from app.core.storage.database import Database
from app.gui.pages.results.columns import COLUMNS
from app.gui.pages.results.page import ResultsPage
from tests import broken
from tests.gui.driving import Driver
from tests.gui.pages.results.using import found
from tests.saying import said
from workloads.protocol.machine import Machine

CHOSEN = (
    ("runs", "value", "fast"),
    ("runs", "status", b"\xff\xfe\x00"),
    ("runs", "spec", "[1,"),
    ("runs", "group_id", 99),
    ("runs", "machine", "{"),
    ("runs", "record", "null"),
    ("epochs", "duration_s", float("inf")),
    ("step_blocks", "durations_s", '["a"]'),
    ("samples", "telemetry", '{"gpus": [1]}'),
)


@pytest.fixture
def page(driver: Driver, machine: Machine) -> ResultsPage:
    with Database(driver.services.paths.database) as database:
        broken.make_results(database, machine)
    return driver.open_results()


def open_all(driver: Driver, page: ResultsPage) -> None:
    for row in reversed(range(page.model.count())):
        if page.model.is_group(row):
            page.open_group(-page.model.rows[row])
            driver.until(lambda: page.group is not None)
            assert page.group_detail is not None
            driver.press(page.group_detail.copy_button)
            driver.press(page.group_detail.back_button)
    for run_id in page.model.shown.ids:
        page.open_run(run_id)
        driver.until(lambda run_id=run_id: page.run is not None and page.run.summary.id == run_id)  # type: ignore[misc]
        assert page.detail is not None
        driver.press(page.detail.back_button)


@pytest.mark.skipif(os.name == "nt", reason="an open file can't be replaced there")
@pytest.mark.slow
@pytest.mark.parametrize(
    "chosen", [CHOSEN[2:6], pytest.param(CHOSEN, marks=pytest.mark.long)], ids=["records", "all"]
)
def test_every_run_opens_and_exports(
    driver: Driver, page: ResultsPage, tmp_path: Path, chosen: tuple[tuple[str, str, object], ...]
) -> None:
    path = driver.services.paths.database
    with Database(path) as database:
        database.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    page.model.close()
    sound = path.read_bytes()
    for table, column, value in chosen:
        with Database(path) as database:
            assert broken.break_cell(database, table, column, value)
        found(driver, page, page.refresh)
        assert sorted(page.model.shown.ids) == [1, 2, 3, 4, 5], (table, column)
        open_all(driver, page)
        for ending in ("csv", "json"):
            target = tmp_path / f"all.{ending}"
            target.unlink(missing_ok=True)
            page.result_actions.export([], target)
            driver.until(target.exists)
        driver.window.show_page("compare")
        driver.open_results()
        page.model.close()
        for old in path.parent.glob("runs.sqlite3*"):
            old.unlink(missing_ok=True)  # the last reader removes it, too
        path.write_bytes(sound)


def test_a_broken_run_is_shown_as_such_and_can_be_deleted(driver: Driver, page: ResultsPage) -> None:
    with Database(driver.services.paths.database) as database:
        broken.break_cell(database, "runs", "spread_pct", "wide")
    found(driver, page, page.refresh)
    page.model.toggle(next(row for row in range(page.model.count()) if page.model.is_group(row)))
    row = page.model.rows.index(broken.BROKEN)
    cells = {key: page.model.index(row, at).data() for at, key in enumerate(COLUMNS)}
    assert cells["verdict"] == sentence("level.invalid")
    page.open_run(broken.BROKEN)
    driver.until(lambda: page.run is not None)
    assert page.detail is not None
    message = page.detail.view.headline.message
    assert said("advice.damaged").is_in(message.whole_text)
    page.detail.commands.actions["delete"].trigger()
    driver.until(lambda: broken.BROKEN not in page.model.rows)
