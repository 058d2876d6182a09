"""Names that only programs use reach nobody: not on a page, in a dialog, in a picture, or in a terminal."""

import re
from collections.abc import Iterable, Iterator

import pytest
from PySide6.QtWidgets import QApplication, QMessageBox, QPlainTextEdit, QWidget

from app.core.errors import AppError
from app.core.exchange.sharing import shared_result
from app.core.messages import message
from app.core.storage.database import Database
from app.core.storage.runs import load_run
from app.core.verdict.judged_run import JudgedRun
from app.gui.run.verdict_dialog import VerdictDialog
from app.gui.shell.pages import PAGES
from app.gui.widgets.dialogs import MethodDialog, ask_to_run_concurrently
from tests.conftest import CommandLine, pretend_installed
from tests.gui.driving import Driver
from tests.gui.full_pages import show_ab, show_group, show_imported, show_study, show_suite
from tests.gui.test_accessibility import DIALOGS
from tests.gui.test_pseudo import texts_of
from tests.recording import recorded_events, store_recording
from tests.sure import sure
from workloads import CATALOGUE

IDENTIFIER = re.compile(r"(?<![\w./-])[a-z]+(?:_[a-z0-9]+)+(?![\w./-])")
# Values of settings are called as engines call them. Workloads are typed in a terminal. The last is a column
# of a user's table.
KNOWN = {"mixed_float16", "mixed_bfloat16", *CATALOGUE, "usd_per_hour"}


def identifiers(texts: Iterable[str]) -> set[str]:
    return {name for text in texts for name in IDENTIFIER.findall(text)} - KNOWN


def shown(window: QWidget) -> Iterator[str]:
    """Yield all texts in a window, including what screen readers say, but not texts to copy."""
    for widget in (window, *window.findChildren(QWidget)):
        yield widget.windowTitle()
        if not isinstance(widget, QPlainTextEdit):
            yield from (text for _, text in texts_of(widget))


@pytest.mark.slow
def test_pages_have_none(driver: Driver) -> None:
    for show in (show_ab, show_group, show_imported, show_study, show_suite):
        show(driver)
        for page in PAGES:
            driver.window.show_page(page.code)
        assert identifiers(shown(driver.window)) == set()


@pytest.mark.slow
@pytest.mark.parametrize("name", [*DIALOGS, "method"])
def test_dialogs_have_none(driver: Driver, name: str) -> None:
    dialog = DIALOGS[name](driver) if name in DIALOGS else MethodDialog(driver.window)
    dialog.show()
    QApplication.processEvents()
    texts = list(shown(dialog))
    assert any(texts)
    assert identifiers(texts) == set()
    dialog.reject()


@pytest.mark.slow
def test_questions_have_none(driver: Driver, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[list[str]] = []

    def read(box: QMessageBox) -> None:
        asked.append(list(shown(box)))
        sure(box.escapeButton()).click()

    monkeypatch.setattr(QMessageBox, "exec", read)
    ask_to_run_concurrently(driver.window, AppError(message("busy.other_epochmark")))
    driver.begin_demo(epochs=1_000, step_s=0.01, until_epochs=1)
    driver.window.close()
    driver.page.cancel()
    driver.wait_for_result()
    pretend_installed("jax", driver.services.paths)
    driver.window.show_page("settings")
    card = driver.window.settings.engines_card
    driver.services.engines.look()
    driver.until(lambda: "jax" in card.rows and card.rows["jax"].row.state == "ready")
    driver.until(card.rows["jax"].remove_button.isVisible)
    driver.press(card.rows["jax"].remove_button)
    read(sure(card.findChild(QMessageBox)))
    assert len(asked) == 3
    for texts in asked:
        assert any(texts)
        assert identifiers(texts) == set()


@pytest.mark.slow
def test_results_dialogs_pictures_and_texts_have_none(driver: Driver) -> None:
    with Database(driver.services.paths.database) as database:
        run_id = store_recording(database, recorded_events())
        judged = JudgedRun(load_run(database, run_id))
        shared = shared_result(database, judged)
    detail = driver.open_run(run_id)
    dialog = VerdictDialog(driver.services.theme, judged, driver.window)
    card = shared.card
    texts = [card.title, card.headline, card.unit, card.machine, card.footer]
    texts += [*card.notes, *card.details, *card.badge]
    texts += [shared.text, *(field.text for field in shared.fields), *shown(detail), *shown(dialog)]
    assert identifiers(texts) == set()


@pytest.mark.slow
def test_terminals_have_none(epochmark: CommandLine) -> None:
    epochmark("run", "demo", "--epochs", "2")
    for command in ("results show 1", "results list", "compare", "hardware"):
        assert identifiers([epochmark(*command.split()).stdout]) == set()
