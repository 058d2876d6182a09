"""The Suite page in the real window: running the demo, cancelling, resuming, sharing, and stored suites."""

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtGui import QGuiApplication, QImage
from PySide6.QtWidgets import QApplication

from app.core.report.share_texts import DEVICE_CHARS
from app.core.runs.runner import Runner
from app.core.storage.database import Database
from app.core.storage.groups import begin_group
from app.core.suite.definition import DEMO, SUITE_1
from app.core.suite.planning import plan_suite
from app.core.suite.share import SuiteCard
from app.core.suite.stored import load_suite
from app.gui.charts import figure
from app.gui.pages.suite import setup as suite_setup
from app.gui.pages.suite.page import SuitePage
from app.gui.shell import attention
from tests.core.studies.storing_studies import Outcome, store_point
from tests.gui.accessible import faults
from tests.gui.clipped import clipped
from tests.gui.driving import Driver
from tests.gui.pages.results.using import save_to
from tests.gui.test_texts import steering
from tests.saying import said
from workloads.protocol.machine import Machine


@pytest.fixture
def demo(monkeypatch: pytest.MonkeyPatch) -> None:
    """Offer the suite that trains nothing."""
    monkeypatch.setattr(suite_setup, "NEWEST", DEMO.number)


def open_page(driver: Driver) -> SuitePage:
    driver.window.show_page("suite")
    page = driver.window.suite
    driver.until(page.setup.run_button.isEnabled)
    return page


def store(driver: Driver, machine: Machine, outcomes: Mapping[str, Outcome] | None = None, runs: int = 8) -> int:
    """Store a suite as fast as the reference machine, but for what some workloads gave."""
    with Database(driver.services.paths.database) as database:
        plan = plan_suite(Runner(driver.services.paths, machine), "tensorflow", "cpu")
        group_id = begin_group(database, plan)
        for spec, part in list(zip(plan.specs, SUITE_1.parts, strict=True))[:runs]:
            outcome = (outcomes or {}).get(part.workload, part.reference)
            store_point(database, machine, spec, group_id, outcome, engine_version="2.21.0")
    return group_id


def rows(page: SuitePage) -> list[list[str]]:
    table = page.table
    return [
        [table.item(row, column).text() for column in range(table.columnCount())]  # type: ignore[union-attr]
        for row in range(table.rowCount())
    ]


@pytest.mark.long
@pytest.mark.slow
def test_one_click_runs_all_parts_and_shows_a_score_to_post(
    demo: None, driver: Driver, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    notices: list[tuple[str, str]] = []
    monkeypatch.setattr(attention, "notify", lambda _, title, text: notices.append((title, text)))
    monkeypatch.setattr(QApplication, "activeWindow", lambda: None)
    attention.Attention(driver.services.bridge, driver.window, every_s=0.0, worth_telling_s=0.0)
    page = open_page(driver)
    driver.press(page.setup.run_button)
    driver.until(lambda: "Suite 0" in driver.window.windowTitle())
    driver.until(lambda: page.foot.isVisible() and "Part 1 of 3" in page.foot.progress_text.whole_text)
    assert not page.setup.run_button.isEnabled()
    assert not driver.window.benchmark.setup.run_button.isEnabled(), "one run at a time"
    driver.until(lambda: len(driver.services.bridge.done) >= 1)
    driver.until(lambda: rows(page)[0][1] != "")  # live, part by part
    driver.until(lambda: not driver.services.bridge.is_running and page.save_button.isVisible())
    assert page.result is not None
    assert page.result.total is not None
    assert page.headline.value.text().replace(",", "").isdigit()
    ((title, text),) = notices
    assert "Suite 0" in title
    assert text.startswith(f"Suite 0: {page.headline.value.text()} points")
    assert page.headline.pill.tone == "invalid", "the demo trains nothing"
    save_to(monkeypatch, tmp_path / "score.png")
    driver.press(page.save_button)
    driver.until((tmp_path / "score.png").is_file)
    assert QImage(str(tmp_path / "score.png")).width() == 1200
    driver.press(page.copy_button)
    assert "Suite 0: " in QGuiApplication.clipboard().text()


@pytest.mark.long
@pytest.mark.slow
def test_a_cancelled_suite_is_resumed_where_it_stopped(demo: None, driver: Driver) -> None:
    page = open_page(driver)
    driver.press(page.setup.run_button)
    driver.until(lambda: len(driver.services.bridge.done) >= 1)
    driver.press(page.foot.cancel_button)
    driver.until(lambda: not driver.services.bridge.is_running and page.resume_button.isVisible())
    assert page.result is not None
    finished = {run.id for run in page.result.runs}
    assert finished
    assert not page.save_button.isEnabled()
    driver.press(page.resume_button)
    driver.until(
        lambda: not driver.services.bridge.is_running and page.result is not None and page.result.is_finished
    )
    assert {run.id for run in page.result.runs} >= finished


def test_a_stored_suite_shows_score_parts_and_all_scores(driver: Driver, machine: Machine) -> None:
    store(driver, machine)
    store(driver, machine, {"matmul": 2 * SUITE_1.parts[-1].reference})
    page = open_page(driver)
    driver.until(lambda: page.result is not None)
    assert page.headline.value.text() == "1,091"
    assert page.headline.pill.whole_text == "Valid"
    assert [row[0] for row in rows(page)] == [part.title for part in SUITE_1.parts]
    assert rows(page)[-1][1] == "2,000"
    assert page.charts.count() == 2
    page.charts.setCurrentIndex(1)
    page.charts.activated.emit(1)
    assert page.view.figure is not None
    assert page.view.figure.rows == ("TensorFlow, Test CPU (2)", "TensorFlow, Test CPU (1)")


def test_a_part_that_does_not_fit_scores_nothing_and_says_so(driver: Driver, machine: Machine) -> None:
    store(driver, machine, {"gpt_mini": "out_of_memory"})
    page = open_page(driver)
    driver.until(lambda: page.result is not None)
    assert page.headline.value.text() == "0"
    assert said("suite.zeros", parts="GPT mini").is_in(page.more.text())
    assert page.resume_button.isVisible()


def test_results_open_a_suite_and_an_export_has_every_part(
    driver: Driver, machine: Machine, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    group_id = store(driver, machine, runs=5)
    results = driver.open_results()
    results.open_group(group_id)
    driver.until(lambda: results.group is not None)
    detail = results.group_detail
    assert detail is not None
    assert said("results_page.open_suite").is_all_of(detail.page_button.accessibleName())
    driver.press(detail.page_button)
    page = driver.window.suite
    driver.until(lambda: page.isVisible() and page.result is not None)
    assert page.headline.value.text() == "–"
    assert page.headline.pill.whole_text == "5 of 8 parts"
    assert page.resume_button.isVisible()
    save_to(monkeypatch, tmp_path / "suite.json")
    driver.press(page.export_button)
    driver.until((tmp_path / "suite.json").is_file)
    plain = json.loads((tmp_path / "suite.json").read_text(encoding="utf-8"))
    assert [part["state"] for part in plain["parts"]] == ["done"] * 5 + ["waiting"] * 3


def test_what_a_terminal_finished_meanwhile_is_not_run_again(driver: Driver, machine: Machine) -> None:
    group_id = store(driver, machine, runs=7)
    page = open_page(driver)
    driver.until(page.resume_button.isVisible)
    with Database(driver.services.paths.database) as database:
        spec, part = load_suite(database, group_id).left[0].spec, SUITE_1.parts[-1]
        store_point(database, machine, spec, group_id, part.reference, engine_version="2.21.0")
    driver.press(page.resume_button)
    driver.until(lambda: page.headline.value.text() == "1,000")
    assert not driver.services.bridge.is_running
    assert not page.resume_button.isVisible()


def test_every_text_of_a_suite_can_be_read_and_heard(driver: Driver, machine: Machine) -> None:
    store(driver, machine, {"gpt_mini": "out_of_memory", "resnet_56": "crashed"})
    page = open_page(driver)
    driver.until(lambda: page.result is not None)
    for size in ((1024, 600), (1440, 900), (3840, 2160)):
        driver.window.resize(*size)
        for _ in range(5):
            QApplication.processEvents()
        assert clipped(driver.window, left_out=[page.headline.value]) == [], (
            size
        )  # its line is higher than figures
    assert faults(driver.window) == []


def test_a_device_whose_name_turns_texts_around_or_never_ends_is_shown_safely(
    driver: Driver, machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    painted = set[str]()
    monkeypatch.setattr(figure, "draw_text", lambda _painter, _box, text, **_: painted.add(text))
    for _ in range(2):
        store(driver, replace(machine, cpu_name="\u202egnorw" + " Very Long Name" * 20))
    page = open_page(driver)
    driver.until(lambda: page.charts.count() == 2)
    page.charts.setCurrentIndex(1)
    page.charts.activated.emit(1)
    driver.window.grab()
    assert page.more.text().startswith(r"\u202egnorw Very Long Name")
    assert any(r"\u202egnorw" in text for text in painted)
    assert not any("\u202e" in text for text in painted)
    assert steering(driver.window) == []
    card = page.card()
    assert isinstance(card, SuiteCard)
    assert card.machine.startswith(r"\u202egnorw Very Long Name")
    assert len(card.machine) <= DEVICE_CHARS
