"""What A/B tests, studies and the suite share, in the real window: run, resumed, opened, exported."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from PySide6.QtGui import QGuiApplication, QImage
from PySide6.QtWidgets import QApplication

from app.core.messages import sentence
from app.core.plans.ab import ab_plan
from app.core.plans.study.planning import plan_axes
from app.core.plans.suite.definition import DEMO
from app.core.runs.runner import Runner
from app.gui.pages.lab.page import LabPage
from app.gui.pages.suite import page as suite_page
from app.gui.pages.suite.page import SuitePage
from app.gui.run.share_dialog import ShareDialog
from app.gui.shell import attention
from tests.gui.driving import Driver
from tests.gui.pages.lab import test_page as lab
from tests.gui.pages.results.using import column, save_to
from tests.gui.pages.suite import test_page as suite
from tests.saying import said
from tests.sure import only, sure
from workloads import CATALOGUE
from workloads.protocol.machine import Machine

Page = LabPage | SuitePage


def check_study(page: Page, notice: tuple[str, str]) -> str:
    """Check what is shown of a finished study; return what is in its text."""
    assert isinstance(page, LabPage)
    fastest = sentence("studies.batch_of", batch=200)
    assert said("studies.fastest_rate", point=fastest).begins(page.sentence.whole_text)
    assert [row[0] for row in suite.rows(page)] == ["50", "80", "200"]
    assert page.view.figure is not None
    assert "200: " in page.view.accessibleDescription()
    return fastest


def check_ab(page: Page, notice: tuple[str, str]) -> str:
    assert page.plot.isVisible()
    assert not page.table.isVisible()
    return "in the only pair · A/B test · Demo"


def check_suite(page: Page, notice: tuple[str, str]) -> str:
    assert isinstance(page, SuitePage)
    assert page.report is not None
    assert page.report.has_result
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
    store: Callable[[Driver, Machine], int] | None = None
    states: list[str] = field(default_factory=list)


KINDS = {
    "ab": Kind(lab.open_page, 2, "1 of 2 ·", check_ab),
    "studies": Kind(
        lab.open_page,
        3,
        "1 of 3 ·",
        check_study,
        lambda driver, machine: lab.batches(driver, machine).group.id,
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
each_kind = pytest.mark.parametrize("kind", KINDS)
both = pytest.mark.parametrize("kind", ["studies", "suite"])


@pytest.fixture(autouse=True)
def demo(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    """Offer the suite that trains nothing, where one is run."""
    if any(map(request.node.get_closest_marker, ("slow", "long"))):
        monkeypatch.setattr(suite_page, "NEWEST", DEMO.number)


def start(driver: Driver, page: Page, kind: str) -> None:
    if isinstance(page, SuitePage):
        page.start("auto", "auto")
        return
    spec = CATALOGUE["demo"].default_spec
    if kind == "ab":
        plan = ab_plan((spec("standard"), spec("standard", batch_size=200)), 1, ("batch 100", "batch 200"))
    else:
        batches = {"batch_size": (50, 80, 200)}
        plan = plan_axes(spec("standard"), batches, Runner(driver.services.paths, driver.machine))
    page.begin(plan, driver.machine)


def completed(page: Page) -> set[int]:
    return {run.id for run in sure(page.report).group.runs if run.status == "completed"}


# Takes its time: a suite's six runs, each in a worker of its own.
@pytest.mark.slow
@each_kind
def test_one_click_runs_all_and_shows_an_answer_to_post(
    kind: str, driver: Driver, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    notices: list[tuple[str, str]] = []
    monkeypatch.setattr(attention, "notify", lambda _, title, text: notices.append((title, text)))
    monkeypatch.setattr(QApplication, "activeWindow", lambda: None)
    attention.Attention(driver.services.bridge, driver.window, every_s=0.0, worth_telling_s=0.0)
    page, bridge = KINDS[kind].open(driver), driver.services.bridge
    start(driver, page, kind)
    driver.until(lambda: page.foot.isVisible() and KINDS[kind].progress in page.foot.progress_text.whole_text)
    driver.until(lambda: "%" in driver.window.windowTitle())
    assert not driver.window.benchmark.setup.run_button.isEnabled(), "one run at a time"
    driver.until(lambda: len(bridge.done) >= 1)
    if kind != "ab":  # part by part
        driver.until(lambda: page.view.figure is not None and any(page.view.figure.series[0].spots))
    driver.until(lambda: not bridge.is_running and page.share_button.isVisible())
    (notice,) = notices
    text = KINDS[kind].check(page, notice)
    driver.press(page.share_button)
    dialog = only(ShareDialog, page.findChild(ShareDialog))
    driver.until(lambda: dialog.shared is not None)
    assert bool(dialog.boxes) == (kind == "ab"), "fields of a single computer's runs can be left out"
    assert text in sure(dialog.shared).text
    dialog.reject()
    save_to(monkeypatch, tmp_path / "picture.png")
    page.save_picture()
    driver.until(lambda: said("picture.saved", name="picture.png").is_all_of(driver.message))
    assert QImage(str(tmp_path / "picture.png")).size().toTuple() == (1200, 630)
    page.copy_text()
    driver.until(lambda: text in QGuiApplication.clipboard().text())


@pytest.mark.long
@both
def test_what_was_cancelled_is_resumed_without_what_is_finished(kind: str, driver: Driver) -> None:
    page, bridge = KINDS[kind].open(driver), driver.services.bridge
    start(driver, page, kind)
    driver.until(lambda: len(bridge.done) >= 1)
    driver.press(page.foot.cancel_button)
    driver.until(lambda: not bridge.is_running and page.resume_button.isVisible())
    finished = completed(page)
    assert finished
    assert page.share_button.isEnabled() == isinstance(page, LabPage), "a part of a suite has no score"
    driver.press(page.resume_button)
    driver.until(page.foot.isVisible)
    driver.until(
        lambda: (whole := bridge.whole_group()) is not None and {run.id for run in whole[0].runs} >= finished
    )
    driver.until(lambda: not bridge.is_running and page.report is not None and page.report.is_finished)
    assert len(completed(page)) == KINDS[kind].runs
    assert completed(page) >= finished


@both
def test_results_open_its_page_and_an_export_has_every_part(
    kind: str, driver: Driver, machine: Machine, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    group_id = sure(KINDS[kind].store)(driver, machine)
    results = driver.open_results()
    code = "suite.parts_done" if kind == "suite" else "studies_page.runs"
    answer = said(code, count="3")
    assert answer.is_all_of(column(results, "value")[0]), "never a median of what isn't comparable"
    results.table.activated.emit(results.model.index(0, 0))
    page: Page = driver.window.suite if kind == "suite" else driver.window.lab
    driver.until(lambda: page.isVisible() and page.report is not None)
    assert sure(page.report).group.id == group_id
    assert page.resume_button.isVisible() == (kind == "suite")
    save_to(monkeypatch, tmp_path / "plan.json")
    driver.press(page.export_button)
    driver.until((tmp_path / "plan.json").is_file)
    plain = json.loads((tmp_path / "plan.json").read_text(encoding="utf-8"))
    assert sorted(part["state"] for part in plain.get("points", plain.get("parts"))) == KINDS[kind].states
