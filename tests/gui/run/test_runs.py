"""Runs in the real window: how they go, how they end, and what is shown of them."""

import psutil
import pytest
from PySide6.QtWidgets import QMessageBox

from app.core.analysis.published import comparable_rows
from app.core.analysis.trend import trend_of
from app.core.formats import format_seconds
from app.core.plans.repeat import repeat_plan
from app.core.report.run_texts import error_advice
from app.core.storage.database import Database
from app.core.storage.past_runs import past_runs
from app.gui.services.run_bridge import BusyError, RunBridge
from tests.gui.driving import Driver
from tests.saying import said
from tests.sure import sure
from tests.systems import FATAL
from workloads.protocol import events

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


def test_first_look(driver: Driver) -> None:
    setup = driver.page.setup
    published = comparable_rows("cifar10_keras_cnn")
    assert [bar.kind for bar in setup.known.bars.bars] == ["reference"] * len(published)
    assert setup.run_button.isEnabled()
    assert not driver.window.action("menu.cancel").isEnabled()


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
    # What was measured before is kept and shown.
    assert summary.epochs_done == 1
    assert driver.view.charts.epochs.accessibleDescription().startswith("1 of 3")
    assert driver.page.retry_button.isEnabled()
    assert driver.page.retry_button.isVisible()
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
def test_quick_is_called_an_estimate(driver: Driver) -> None:
    driver.choose_demo()
    driver.page.setup.choose_length("quick")
    driver.press(driver.page.setup.run_button)
    summary = driver.wait_for_result()
    assert summary.basis == "estimate"
    assert driver.view.headline.value.text().startswith("≈")


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
def test_closing_ends_even_a_deaf_worker(driver: Driver, monkeypatch: pytest.MonkeyPatch) -> None:
    driver.begin_demo("hang", until_epochs=1)
    answer(monkeypatch, YES)
    driver.window.close()
    driver.until(lambda: not driver.window.isVisible())
    assert not workers()


@pytest.mark.slow
def test_another_epochmark_is_not_disturbed(driver: Driver, monkeypatch: pytest.MonkeyPatch) -> None:
    driver.begin_demo(epochs=1_000, step_s=0.01, until_epochs=1)
    other = RunBridge(lambda: driver.services.paths, driver.services.tasks)
    machine = driver.machine
    with driver.qtbot.waitSignal(other.refused, timeout=10_000) as refusal:
        other.start(repeat_plan(driver.page.setup.spec()), machine)
    assert isinstance(refusal.args[0], BusyError)
    other.start(repeat_plan(driver.page.setup.spec()), machine, allow_concurrent=True)
    driver.until(lambda: other.state is not None and len(other.state.series.epochs) >= 1)
    assert other.finish(10)
    driver.press(driver.page.cancel_button)
    driver.wait_for_result()
    assert {run.status for run in driver.stored()} == {"cancelled"}


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
    assert driver.view.headline.unit.text() == "ms / step"
    assert not driver.page.share_button.isEnabled()
    assert driver.page.can_copy


@pytest.mark.slow
def test_every_page_opens_in_both_themes(driver: Driver) -> None:
    for code in ("results", "compare", "lab", "hardware", "settings", "benchmark"):
        driver.window.show_page(code)
        driver.until(driver.window.page.isVisible)
    light = driver.window.grab().toImage().pixelColor(5, 200)
    driver.services.theme.choose("dark")
    dark = driver.window.grab().toImage().pixelColor(5, 200)
    assert light.lightness() > 200
    assert dark.lightness() < 60


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
    view = driver.view
    assert view.headline.unit.text() == "ms / step"
    assert "TensorFlow" in view.headline.facts.whole_text
