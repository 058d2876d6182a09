"""What studies and the suite share, in the real window: running the demo, resuming, opening, exporting."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from app.gui.pages.lab.studies.page import StudiesPage
from PySide6.QtGui import QGuiApplication, QImage
from PySide6.QtWidgets import QApplication

from app.core.messages import sentence
from app.core.plans.study.planning import plan_axes
from app.core.plans.suite.definition import DEMO
from app.core.runs.runner import Runner
from app.gui.pages.suite import page as suite_page
from app.gui.pages.suite.page import SuitePage
from app.gui.run.share_dialog import ShareDialog
from app.gui.shell import attention
from tests.gui.driving import Driver
from tests.gui.pages.lab import test_studies as studies
from tests.gui.pages.results.using import column, save_to
from tests.gui.pages.suite import test_page as suite
from tests.saying import said
from tests.sure import only, sure
from workloads import CATALOGUE
from workloads.protocol.machine import Machine

Page = StudiesPage | SuitePage


def check_study(page: Page, notice: tuple[str, str]) -> str:
    """Check what is shown of a finished study; return what is in its text."""
    assert isinstance(page, StudiesPage)
    fastest = sentence("studies.batch_of", batch=200)
    assert said("studies.fastest_rate", point=fastest).begins(page.headline.text())
    assert [row[0] for row in suite.rows(page)] == ["50", "80", "200"]
    assert page.view.figure is not None
    assert "200: " in page.view.accessibleDescription()
    return fastest


def check_suite(page: Page, notice: tuple[str, str]) -> str:
    assert isinstance(page, SuitePage)
    assert page.result is not None
    assert page.result.has_result
    points = page.headline.value.text()
    assert points.replace(",", "").isdigit()
    assert "Suite 0" in notice[0]
    assert notice[1].startswith(f"Suite 0: {points} points")
    assert page.headline.pill.tone == "invalid", "the demo trains nothing"
    return "Suite 0: "


@dataclass(frozen=True)
class Kind:
    """A kind of plan.

    Attributes:
        open: Opens its page.
        runs: How many are started: a suite does each part twice.
        progress: What is shown of the first one.
        check: Checks what is shown after the last one.
        store: Stores one with three results.
        states: What an export says of its parts.
    """

    open: Callable[[Driver], Page]
    runs: int
    progress: str
    check: Callable[[Page, tuple[str, str]], str]
    store: Callable[[Driver, Machine], int]
    states: list[str]


KINDS = {
    "studies": Kind(
        studies.open_page,
        3,
        "of 3 ·",
        check_study,
        lambda driver, machine: studies.batches(driver, machine).group.id,
        ["done"] * 3 + ["out_of_memory"],
    ),
    "suite": Kind(
        suite.open_page,
        6,
        "1 of 6 ·",
        check_suite,
        lambda driver, machine: suite.store(driver, machine, runs=3),
        ["done"] * 3 + ["waiting"] * 5,
    ),
}
both = pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)


@pytest.fixture(autouse=True)
def demo(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    """Offer the suite that trains nothing, where one is run."""
    if any(map(request.node.get_closest_marker, ("slow", "long"))):
        monkeypatch.setattr(suite_page, "NEWEST", DEMO.number)


def start(driver: Driver, page: Page) -> None:
    if isinstance(page, SuitePage):
        page.start("auto", "auto")
        return
    spec = CATALOGUE["demo"].default_spec("standard")
    plan = plan_axes(spec, {"batch_size": (50, 80, 200)}, Runner(driver.services.paths, driver.machine))
    page.begin(plan, driver.machine)


def completed(page: Page) -> set[int]:
    assert page.result is not None
    return {run.id for run in page.result.group.runs if run.status == "completed"}


# Takes its time: a suite's six runs, each in a worker of its own.
@pytest.mark.slow
@both
def test_one_click_runs_all_and_shows_an_answer_to_post(
    kind: Kind, driver: Driver, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    notices: list[tuple[str, str]] = []
    monkeypatch.setattr(attention, "notify", lambda _, title, text: notices.append((title, text)))
    monkeypatch.setattr(QApplication, "activeWindow", lambda: None)
    attention.Attention(driver.services.bridge, driver.window, every_s=0.0, worth_telling_s=0.0)
    page = kind.open(driver)
    start(driver, page)
    driver.until(lambda: page.foot.isVisible() and kind.progress in page.foot.progress_text.whole_text)
    assert "%" in driver.window.windowTitle()
    assert not driver.window.benchmark.setup.run_button.isEnabled(), "one run at a time"
    driver.until(lambda: len(driver.services.bridge.done) >= 1)
    driver.until(lambda: page.view.figure is not None and any(page.view.figure.series[0].spots))  # part by part
    driver.until(lambda: not driver.services.bridge.is_running and page.share_button.isVisible())
    (notice,) = notices
    text = kind.check(page, notice)
    driver.press(page.share_button)
    dialog = only(ShareDialog, page.findChild(ShareDialog))
    driver.until(lambda: dialog.shared is not None)
    assert not dialog.boxes
    assert text in sure(dialog.shared).text
    dialog.reject()
    save_to(monkeypatch, tmp_path / "picture.png")
    page.save_picture()
    driver.until((tmp_path / "picture.png").is_file)
    assert QImage(str(tmp_path / "picture.png")).width() == 1200
    page.copy_text()
    assert text in QGuiApplication.clipboard().text()


@pytest.mark.long
@both
def test_what_was_cancelled_is_resumed_without_what_is_finished(kind: Kind, driver: Driver) -> None:
    page, bridge = kind.open(driver), driver.services.bridge
    start(driver, page)
    driver.until(lambda: len(bridge.done) >= 1)
    driver.press(page.foot.cancel_button)
    driver.until(lambda: not bridge.is_running and page.resume_button.isVisible())
    finished = completed(page)
    assert finished
    assert page.share_button.isEnabled() == isinstance(page, StudiesPage), "a part of a suite has no score"
    driver.press(page.resume_button)
    driver.until(page.foot.isVisible)
    driver.until(
        lambda: (whole := bridge.whole_group()) is not None and {run.id for run in whole[0].runs} >= finished
    )
    driver.until(lambda: not bridge.is_running and page.result is not None and page.result.is_finished)
    assert len(completed(page)) == kind.runs
    assert completed(page) >= finished


@both
def test_results_open_its_page_and_an_export_has_every_part(
    kind: Kind, driver: Driver, machine: Machine, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    group_id = kind.store(driver, machine)
    results = driver.open_results()
    code = "suite.parts_done" if "waiting" in kind.states else "studies_page.runs"
    answer = said(code, count="3")
    assert answer.is_all_of(column(results, "value")[0]), "never a median of what isn't comparable"
    results.table.activated.emit(results.model.index(0, 0))
    page: Page = driver.window.suite if "waiting" in kind.states else driver.window.studies
    driver.until(lambda: page.isVisible() and page.result is not None)
    assert page.result is not None
    assert page.result.group.id == group_id
    assert page.resume_button.isVisible() == ("waiting" in kind.states)
    save_to(monkeypatch, tmp_path / "plan.json")
    driver.press(page.export_button)
    driver.until((tmp_path / "plan.json").is_file)
    plain = json.loads((tmp_path / "plan.json").read_text(encoding="utf-8"))
    assert sorted(part["state"] for part in plain.get("points", plain.get("parts"))) == kind.states
