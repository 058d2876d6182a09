"""A study of power limits in the real window: what the user has to run, and how to go back."""

import threading
from collections.abc import Generator
from dataclasses import replace

import pytest
from PySide6.QtGui import QGuiApplication

from app.core.messages import sentence
from app.core.plans.study.planning import plan_axes
from app.core.records import Plan
from app.core.runs import plan_session
from app.core.runs.power_limit import PowerLimits
from app.core.runs.runner import Runner
from app.gui.pages.lab.page import LabPage
from tests.gui.driving import Driver
from workloads import CATALOGUE
from workloads.protocol.machine import Gpu, Machine
from workloads.protocol.telemetry import GpuTelemetry, Telemetry


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


def begin(driver: Driver, *limits_w: int) -> LabPage:
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
    page = begin(driver, 370, 230)
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


@pytest.mark.slow
def test_a_wait_for_a_limit_can_be_cancelled(driver: Driver, monkeypatch: pytest.MonkeyPatch) -> None:
    card = Card()
    monkeypatch.setattr(plan_session, "power_limits_for", card.power_limits_for)
    page = begin(driver, 230)
    driver.until(page.foot.copy_button.isVisible)
    driver.press(page.foot.cancel_button)
    card.lowered.set()  # ends the wait of this card's thread
    driver.until(lambda: not driver.services.bridge.is_running)
    assert driver.stored() == []
