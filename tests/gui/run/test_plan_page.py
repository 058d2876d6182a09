"""What A/B tests, studies and the suite share, in the real window: run, resumed, opened, exported."""

import json
import threading
from collections.abc import Callable, Generator
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from PySide6.QtGui import QGuiApplication, QImage
from PySide6.QtWidgets import QApplication

from app.core.messages import sentence
from app.core.plans.ab import ab_plan
from app.core.plans.study.planning import plan_axes
from app.core.plans.suite.definition import DEMO
from app.core.records import Plan
from app.core.runs import plan_session
from app.core.runs.power_limit import PowerLimits
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
from workloads.protocol.machine import Gpu, Machine
from workloads.protocol.telemetry import GpuTelemetry, Telemetry

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
    """A kind of plan."""

    open: Callable[[Driver], Page]
    runs: int  # a suite does each part twice
    progress: str  # what is shown of the first run
    check: Callable[[Page, tuple[str, str]], str]  # of what is shown after the last one
    store: Callable[[Driver, Machine], int] | None = None  # stores one with three results
    states: list[str] = field(default_factory=list)  # what an export says of its parts


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
def test_one_click_gives_an_answer(
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


class Card:
    """A card at its default limit until a test lowers it."""

    def __init__(self) -> None:
        self.lowered = threading.Event()

    def readings(self, stop: threading.Event) -> Generator[Telemetry, None, None]:
        while not stop.is_set():
            limit_w = 230.0 if self.lowered.is_set() else 370.0
            yield Telemetry(gpus=(GpuTelemetry(0, power_limit_w=limit_w),))
            self.lowered.wait(60)

    def power_limits_for(self, plan: Plan, runner: Runner) -> PowerLimits:
        return PowerLimits(runner.machine, lambda _: 0, self.readings, self.command)

    def command(self, machine: Machine, index: int | None, limit_w: float | None) -> str:
        return f"set {index} {limit_w}"


def begin_limits(driver: Driver, *limits_w: int) -> LabPage:
    gpu = Gpu("NVIDIA GeForce RTX 3090", "nvidia", power_limit_w=370.0, power_default_w=370.0)
    machine = replace(driver.machine, gpus=(gpu,))
    spec = CATALOGUE["demo"].default_spec(epochs=1, parameters={"step_s": 0.001})
    plan = plan_axes(spec, {"power_limit_w": limits_w}, Runner(driver.services.paths, machine))
    driver.window.show_page("lab")
    page = driver.window.lab
    page.begin(plan, machine)
    return page


@pytest.mark.slow
def test_the_window_shows_the_command_and_the_way_back(driver: Driver, monkeypatch: pytest.MonkeyPatch) -> None:
    card = Card()
    monkeypatch.setattr(plan_session, "power_limits_for", card.power_limits_for)
    page = begin_limits(driver, 370, 230)
    foot, bridge = page.foot, driver.services.bridge
    driver.until(foot.copy_button.isVisible)
    assert foot.progress_text.whole_text == sentence("run.set_limit", limit_w=230, now_w=370.0)
    driver.until(lambda: page.more.whole_text == "set 0 230")
    assert page.sentence.whole_text == foot.progress_text.whole_text
    driver.press(foot.copy_button)
    assert QGuiApplication.clipboard().text() == "set 0 230"
    card.lowered.set()
    driver.until(lambda: not bridge.is_running)
    assert [run.status for run in driver.stored()] == ["completed"] * 2
    banner = driver.window.banner
    assert banner.text.text() == sentence("window.restore_limit", command="set 0 None")
    assert not banner.goes_by_itself
    driver.press(banner.button)
    assert QGuiApplication.clipboard().text() == "set 0 None"
