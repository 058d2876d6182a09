"""Waits before a run, in the real window: what is shown of them, and the setting that turns one off."""

import threading
from collections.abc import Callable, Generator

import pytest

from app.core.messages import sentence
from app.core.plans.repeat import repeat_plan
from app.core.records import Plan
from app.core.runs.cool_down import CoolDown
from app.core.runs.plan_session import QuietWaiter, Wait
from app.core.runs.quiet import QuietWait
from app.core.runs.runner import Runner
from app.core.verdict.preflight import passing
from app.gui.shell import application
from tests.gui.driving import Driver
from workloads import CATALOGUE
from workloads.protocol.telemetry import Telemetry

BUSY = passing((Telemetry(other_cpu_pct=40.0),), ("backup",))
SPEC = CATALOGUE["demo"].default_spec(epochs=1, parameters={"step_s": 0.001})


class Device:
    """Hot before the second run, until a test lets it cool down."""

    def __init__(self) -> None:
        self.cool = threading.Event()
        self.waits = 0

    def readings(self, stop: threading.Event) -> Generator[Telemetry, None, None]:
        self.waits += 1
        if self.waits == 2:
            yield Telemetry(cpu_temperature_c=71.0)
            self.cool.wait(60)
        yield Telemetry(cpu_temperature_c=50.0)

    def cool_down_for(self, plan: Plan, runner: Runner) -> CoolDown:
        return CoolDown(lambda _: None, self.readings, lambda: 0.0)


@pytest.fixture
def device(monkeypatch: pytest.MonkeyPatch) -> Device:
    device = Device()
    monkeypatch.setattr(application, "cool_down_for", device.cool_down_for)
    return device


@pytest.mark.slow
def test_the_run_view_shows_the_wait(device: Device, driver: Driver) -> None:
    driver.page.run_again(repeat_plan(SPEC, 2), driver.machine)
    bridge = driver.services.bridge
    driver.until(lambda: bridge.waiting is not None)
    text = sentence("run.cooling_down", now_c=71, goal_c=53)
    driver.until(lambda: driver.view.headline.progress_text.whole_text == text)
    device.cool.set()
    driver.wait_for_result()
    assert bridge.waiting is None
    assert [run.status for run in driver.stored()] == ["completed"] * 2


@pytest.mark.slow
def test_the_page_of_a_plan_shows_the_wait_which_can_be_cancelled(device: Device, driver: Driver) -> None:
    driver.window.show_page("ab")
    page, bridge = driver.window.ab, driver.services.bridge
    plan = Plan(kind="ab", order="pairs", specs=(SPEC, SPEC), rounds=1)
    page.begin(plan, driver.machine)
    text = sentence("run.cooling_down", now_c=71, goal_c=53)
    driver.until(lambda: page.foot.going.progress_text.whole_text == text)
    driver.press(page.foot.cancel_button)
    assert page.foot.going.progress_text.whole_text == sentence("run.cancelling")
    device.cool.set()
    driver.until(lambda: not bridge.is_running)
    assert [run.status for run in driver.stored()] == ["completed"]


@pytest.mark.slow
def test_the_setting_turns_it_off(device: Device, driver: Driver) -> None:
    driver.services.preferences.change(cool_down=False)
    driver.page.run_again(repeat_plan(SPEC, 2), driver.machine)
    driver.wait_for_result()
    assert device.waits == 0


class Neighbours:
    """Other programs, which are busy until a test lets them rest."""

    def __init__(self) -> None:
        self.rest = threading.Event()
        self.plans = 0

    def quiet_wait_for(self, plan: Plan) -> QuietWaiter:
        self.plans += 1
        return self.wait

    def wait(self, stop: threading.Event, on_waiting: Callable[[Wait], None]) -> None:
        while not (stop.is_set() or self.rest.wait(0.01)):
            on_waiting(QuietWait(BUSY, 28.0))


@pytest.fixture
def neighbours(monkeypatch: pytest.MonkeyPatch) -> Neighbours:
    neighbours = Neighbours()
    monkeypatch.setattr(application, "quiet_wait_for", neighbours.quiet_wait_for)
    return neighbours


@pytest.mark.slow
def test_a_repeated_run_waits_for_other_programs_and_a_new_one_starts_at_once(
    neighbours: Neighbours, driver: Driver
) -> None:
    driver.page.setup.run_requested.emit(SPEC, driver.machine)
    driver.wait_for_result()
    assert neighbours.plans == 0
    bridge = driver.services.bridge
    driver.press(driver.page.again_button)
    wait = QuietWait(BUSY, 28.0)
    driver.until(lambda: driver.view.headline.progress_text.whole_text == wait.text)
    assert not driver.view.charts.isVisible()
    driver.press(driver.page.cancel_button)
    driver.until(lambda: not bridge.is_running)
    assert driver.wait_for_result().id == 1  # the result is there again
    assert driver.view.charts.isVisible()
    assert driver.page.share_button.button.isEnabled()
    assert not driver.window.banner.isVisible()
    assert len(driver.stored()) == 1
    driver.press(driver.page.new_button)
    driver.page.run_again(repeat_plan(SPEC, 1), driver.machine)
    driver.until(lambda: bridge.waiting is not None)
    neighbours.rest.set()
    driver.wait_for_result()
    assert [run.status for run in driver.stored()] == ["completed"] * 2
