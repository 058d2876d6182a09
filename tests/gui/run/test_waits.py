"""Waits before a run, in the real window: what is shown of them."""

import threading
from collections.abc import Callable

import pytest

from app.core.plans.repeat import repeat_plan
from app.core.records import PlannedRun
from app.core.runs.plan_session import Wait
from app.core.runs.quiet import QuietWait
from app.core.verdict.preflight import passing
from app.gui.services import run_bridge
from tests.gui.driving import Driver
from workloads import CATALOGUE
from workloads.protocol.telemetry import Telemetry

BUSY = passing((Telemetry(other_cpu_pct=40.0),), ("backup",))
SPEC = CATALOGUE["demo"].default_spec(epochs=1, parameters={"step_s": 0.001})


class Neighbours:
    """Other programs, which are busy until a test lets them rest."""

    restore_command = None

    def __init__(self) -> None:
        self.rest = threading.Event()
        self.plans = 0

    def __call__(self) -> "Neighbours":
        self.plans += 1
        return self

    def wait(self, planned: PlannedRun, stop: threading.Event, on_waiting: Callable[[Wait], None]) -> bool:
        while not (stop.is_set() or self.rest.wait(0.01)):
            on_waiting(QuietWait(BUSY, 28.0))
        return True


@pytest.fixture
def neighbours(monkeypatch: pytest.MonkeyPatch) -> Neighbours:
    neighbours = Neighbours()
    monkeypatch.setattr(run_bridge, "QuietComputer", neighbours)
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
    driver.until(lambda: driver.view.headline.unit.text() == wait.text)
    assert not driver.view.charts.isVisible()
    driver.press(driver.page.cancel_button)
    driver.until(lambda: not bridge.is_running)
    assert driver.wait_for_result().id == 1  # the result is there again
    assert driver.view.charts.isVisible()
    assert driver.page.share_button.isEnabled()
    assert not driver.window.banner.isVisible()
    assert len(driver.stored()) == 1
    driver.press(driver.page.new_button)
    driver.page.run_again(repeat_plan(SPEC, 1), driver.machine)
    driver.until(lambda: bridge.waiting is not None)
    neighbours.rest.set()
    driver.wait_for_result()
    assert [run.status for run in driver.stored()] == ["completed"] * 2
