"""What should change? The dialog that leads to the A/B test, study or page that compares it."""

import pytest
from PySide6.QtWidgets import QLabel

from app.core.plans.study.presets import PRESETS
from app.core.storage.database import Database
from app.gui.shell.change_dialog import QUESTIONS, ChangeDialog
from tests.conftest import pretend_installed
from tests.core.storage.storing import store
from tests.gui.driving import Driver
from tests.saying import said
from tests.sure import only


def asked(driver: Driver) -> ChangeDialog:
    """Open the dialog from the sidebar, and wait until it shows what can't be compared here."""
    driver.press(driver.window.side_bar.change_button)
    return opened(driver)


def opened(driver: Driver) -> ChangeDialog:
    driver.until(lambda: driver.window.findChild(ChangeDialog) is not None)
    dialog = only(ChangeDialog, driver.window.findChild(ChangeDialog))
    driver.until(lambda: not dialog.buttons["power"].isEnabled())  # no test computer has a limit that can be set
    return dialog


def choose(driver: Driver, dialog: ChangeDialog, key: str) -> None:
    driver.press(dialog.buttons[key])
    driver.until(lambda: driver.window.findChild(ChangeDialog) is None)


@pytest.mark.parametrize("key", ["setting", "batch", "precision", "compile", "by_hand", "computer"])
def test_each_question_leads_to_the_page_that_answers_it(driver: Driver, key: str) -> None:
    question = next(each for each in QUESTIONS if each.key == key)
    choose(driver, asked(driver), key)
    window = driver.window
    assert window.page is getattr(window, question.page)
    if question.page == "studies":
        assert window.studies.setup.study == question.choice


def test_an_ab_test_starts_with_the_setting_that_should_change(driver: Driver) -> None:
    choose(driver, asked(driver), "compile")
    setup = driver.window.ab.setup
    a, b = (side.compiled for side in setup.sides)
    assert (a.isChecked(), b.isChecked()) == (False, True)
    assert driver.window.focusWidget() is b
    assert not setup.by_hand.isChecked()
    choose(driver, asked(driver), "by_hand")
    assert setup.by_hand.isChecked()
    assert driver.window.focusWidget() is setup.sides[0].name


def test_two_engines_are_compared_if_there_are_two(driver: Driver) -> None:
    dialog = asked(driver)
    assert not dialog.buttons["engine"].isEnabled()
    assert said("change_dialog.one_engine").is_all_of(dialog.lines["engine"].text())
    dialog.reject()
    pretend_installed("torch", driver.services.paths)
    with driver.qtbot.waitSignal(driver.services.engines.changed):
        driver.services.engines.look()
    choose(driver, asked(driver), "engine")
    assert [side.engine.engine for side in driver.window.ab.setup.sides] == ["tensorflow", "torch"]


def test_what_cannot_be_compared_here_says_why(driver: Driver) -> None:
    dialog = asked(driver)
    reason = dialog.lines["power"].text()
    assert said("studies.nothing_to_run").is_in(reason)
    assert dialog.buttons["power"].accessibleDescription() == reason
    text = dialog.lines["batch"].text()
    assert said("change_dialog.study", question=PRESETS["batch"].question).is_all_of(text)
    assert all(line.text() for line in dialog.findChildren(QLabel))


def test_a_stored_run_is_the_start(driver: Driver) -> None:
    with Database(driver.services.paths.database) as database:
        run_id = store(database, driver.machine, 61.0, workload="mnist_cnn", preset="standard", batch_size=64)
    detail = driver.open_run(run_id)
    detail.commands.actions["change"].trigger()
    choose(driver, opened(driver), "compile")
    setup = driver.window.ab.setup
    assert setup.workload.currentData() == "mnist_cnn"
    a, b = setup.plan().specs
    assert (a.batch_size, b.batch_size, a.jit, b.jit) == (64, 64, False, True)
    driver.open_run(run_id).commands.actions["change"].trigger()
    choose(driver, opened(driver), "batch")
    assert driver.window.studies.setup.workload.currentData() == "mnist_cnn"
