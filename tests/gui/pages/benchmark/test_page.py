"""Runs in the real window: how they go, how they end, and what is shown of them."""

import threading
from collections.abc import Callable

import psutil
import pytest
from PySide6.QtWidgets import QMessageBox

from app.core.analysis.trend import trend_of
from app.core.formats import format_seconds
from app.core.messages import sentence
from app.core.plans.repeat import repeat_plan
from app.core.records import PlannedRun
from app.core.report.run_texts import error_advice
from app.core.runs.plan_session import Wait
from app.core.runs.quiet import QuietWait
from app.core.storage.database import Database
from app.core.storage.groups import list_groups
from app.core.storage.past_runs import past_runs
from app.core.verdict.preflight import passing
from app.gui.pages.benchmark.setup import SetupView
from app.gui.services import run_bridge
from tests.build import in_database
from tests.gui.driving import Driver
from tests.saying import said
from tests.sure import sure
from tests.systems import FATAL
from workloads import CATALOGUE
from workloads.protocol import events
from workloads.protocol.telemetry import Telemetry

YES, NO = True, False


def workers() -> list[psutil.Process]:
    found = []
    for child in psutil.Process().children(recursive=True):
        try:
            if "workloads" in child.cmdline():
                found.append(child)
        except psutil.Error:
            continue
    return found


def answer(monkeypatch: pytest.MonkeyPatch, *answers: bool) -> list[str]:
    """Answer questions in turn, the last answer also to all further ones; returns what was asked."""
    asked: list[str] = []

    def click(box: QMessageBox) -> None:
        wanted = answers[min(len(asked), len(answers) - 1)]
        asked.append(box.text())
        next(button for button in box.buttons() if (button is not box.defaultButton()) == wanted).click()

    monkeypatch.setattr(QMessageBox, "exec", click)
    return asked


@pytest.mark.slow
def test_run_to_completion(driver: Driver) -> None:
    driver.begin_demo(epochs=4, step_s=0.04, until_epochs=2)
    view = driver.view
    assert driver.page.cancel_button.isVisible()
    assert view.headline.progress_bar.isVisible()
    driver.until(lambda: "of 4 · step" in view.headline.progress_text.whole_text)
    summary = driver.wait_for_result()
    assert (summary.status, summary.epochs_done) == ("completed", 4)
    assert view.headline.value.text() == format_seconds(summary.seconds_per_epoch_s)
    assert view.headline.pill.whole_text.startswith("Invalid")
    assert said("advice.run_workload").is_in(view.headline.message.whole_text)
    assert len(view.charts.epochs.accessibleDescription().split(",")) == 4
    assert [bar.kind for bar in view.charts.bars.bars] == ["you"]
    assert driver.page.share_button.isEnabled()
    assert not driver.page.cancel_button.isVisible()
    assert not workers()
    settings = driver.services.preferences.settings
    assert (settings.preset, settings.recent_workloads) == ("standard", ("demo",))
    assert SetupView(driver.services).preset == "standard"


@pytest.mark.slow
def test_cancel_keeps_what_was_measured(driver: Driver) -> None:
    driver.begin_demo(epochs=200, step_s=0.01, until_epochs=2)
    driver.press(driver.page.cancel_button)
    assert "Cancelling" in driver.view.headline.progress_text.whole_text
    summary = driver.wait_for_result()
    assert summary.status == "cancelled"
    assert summary.epochs_done >= 2
    assert "Cancelled" in driver.view.headline.pill.whole_text
    assert not workers()
    driver.press(driver.page.new_button)
    driver.begin_demo(epochs=1_000, step_s=0.01, until_epochs=1)
    assert driver.services.bridge.finish(10), "as at the end of the application"
    assert not workers()


@pytest.mark.slow
def test_a_run_cancelled_before_its_first_step_leaves_nothing(driver: Driver) -> None:
    driver.begin_demo(step_s=30.0)
    driver.until(lambda: sure(driver.services.bridge.state).progress.phase == "measure")
    assert driver.view.headline.value.text() == ""
    assert driver.view.headline.unit.text() != ""
    driver.press(driver.page.cancel_button)
    driver.until(lambda: driver.page.setup.isVisible() and not driver.stored())
    assert said("run.cancelled_early").is_all_of(driver.message)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("outcome", "code", "title", "words"),
    [
        ("crash", "crashed", "crashed", FATAL),
        ("out_of_memory", "out_of_memory", "Out of memory", "smaller batch"),
        ("fail", "internal", "Failed", "told to fail"),
        ("non_finite", "non_finite_loss", "NaN", "nan"),
        pytest.param("hang", "hung", "hung", "no answer for", marks=pytest.mark.long),
    ],
)
def test_failures_are_shown_in_words(driver: Driver, outcome: str, code: str, title: str, words: str) -> None:
    summary = driver.run_demo(outcome)
    assert (summary.status, summary.error_code) == ("failed", code)
    headline = driver.view.headline
    assert title in headline.pill.whole_text
    assert words in headline.message.whole_text
    assert headline.message.whole_text.endswith(error_advice(code, "tensorflow") or "?")
    assert summary.epochs_done == 1
    assert driver.view.charts.epochs.accessibleDescription().startswith("1 of 3")
    assert driver.page.retry_button.isEnabled()
    assert driver.page.retry_button.isVisible()
    driver.press(driver.page.log_button)
    log = driver.page.log
    driver.until(log.isVisible)
    assert said("log.phase", name="measure").is_in(log.text.toPlainText())
    assert log.place.text().endswith(f"run-{summary.id}.log")
    log.close()
    assert not workers()


@pytest.mark.slow
def test_two_runs_in_a_row(driver: Driver) -> None:
    first = driver.run_demo(epochs=3)
    message = driver.view.headline.message
    driver.press(driver.page.again_button)
    assert driver.page.run is None
    driver.until(lambda: driver.services.bridge.is_running)
    second = driver.wait_for_result()
    assert second.id == first.id + 1
    assert (second.epochs_done, second.status) == (3, "completed")
    with Database(driver.services.paths.database) as database:
        line = trend_of(second, past_runs(database, second.workload)).line
    assert line
    assert line in message.whole_text
    assert driver.view.charts.epochs.accessibleDescription().startswith("3 of 3")
    driver.press(driver.page.new_button)
    assert driver.page.setup.isVisible()


@pytest.mark.slow
def test_closing_asks_and_leaves_no_process(driver: Driver, monkeypatch: pytest.MonkeyPatch) -> None:
    driver.begin_demo(epochs=1_000, step_s=0.01, until_epochs=1)
    asked = answer(monkeypatch, NO)
    driver.window.close()
    assert driver.window.isVisible()
    assert said("window.ask_to_cancel").is_in(asked[0])
    assert driver.services.bridge.is_running
    answer(monkeypatch, YES)
    driver.window.close()
    assert driver.window.isVisible()  # until the run is stored
    driver.until(lambda: not driver.window.isVisible())
    assert not workers()
    assert driver.stored()[0].status == "cancelled"


@pytest.mark.slow
def test_bad_settings_are_reported_before_the_run(driver: Driver) -> None:
    setup = driver.page.setup
    driver.choose_demo(steps=11)  # an epoch of the demo has ten
    assert said("workload.too_many_steps", asked="11").is_in(setup.problem.text())
    assert not setup.run_button.isEnabled()
    driver.window.action("menu.run").trigger()
    assert not driver.services.bridge.is_running
    setup.form.set_value("steps", 5)
    assert setup.run_button.isEnabled()
    summary = driver.run_demo(steps=5)
    assert summary.seconds_per_epoch_s is None
    charts = driver.view.charts
    assert driver.view.headline.unit.text() == sentence("run.ms_per_step")
    assert said("chart.steps_each", whole="10", steps="5").is_in(charts.epochs_card.note.whole_text)
    assert not driver.page.share_button.isEnabled()
    assert driver.page.can_copy


# Takes its time, as the worker loads the real engine and trains the standard network: what most users do first.
@pytest.mark.engine
def test_real_tensorflow_trains_in_the_window(driver: Driver) -> None:
    setup = driver.page.setup
    setup.choose_length("standard")
    for name, value in {"epochs": 2, "steps": 6, "batch_size": 20}.items():
        setup.form.set_value(name, value)
    driver.press(setup.run_button)
    driver.qtbot.waitUntil(lambda: driver.page.run is not None, timeout=180_000)
    run = driver.page.run
    assert run is not None
    assert (run.summary.status, run.summary.epochs_done) == ("completed", 2), run.summary.error_message
    assert run.summary.engine_version
    assert run.model == events.Model(parameters_count=1_337_002, flops_per_example=236_330_496)
    assert all(epoch.loss is not None and epoch.val_accuracy is not None for epoch in run.epochs)
    assert "TensorFlow" in driver.view.headline.facts.whole_text


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
def test_a_repeated_run_waits_for_other_programs(neighbours: Neighbours, driver: Driver) -> None:
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


@pytest.mark.slow
def test_repetitions_are_counted_and_summed_up(driver: Driver) -> None:
    driver.begin_demo(repeat=2)
    view = driver.view
    driver.until(lambda: view.about.whole_text.startswith("run 2 of 2 · "))
    summary = driver.wait_for_result()
    (group,) = in_database(driver.services.paths.database, list_groups)
    assert [run.id for run in group.runs] == [summary.id - 1, summary.id]
    assert driver.epochs_done() == 3, "of the last run alone"
    assert view.headline.note.whole_text.startswith("median of 2 runs · ")
    assert len(view.charts.epochs.bars.opts["height"]) == 2, "a bar for each run"
    driver.press(driver.page.again_button)
    driver.until(lambda: len(driver.services.bridge.done) == 1)
    driver.press(driver.page.cancel_button)
    driver.wait_for_result()
    groups = in_database(driver.services.paths.database, list_groups)
    assert ([len(each.runs) for each in groups], groups[0].planned) == ([2, 2], 2)
    assert groups[0].runs[-1].status == "cancelled"
    driver.press(driver.page.new_button)
    assert driver.run_demo(repeat=1).group_id is None
    assert not view.headline.message.whole_text.startswith("2 runs")
    assert not workers()
