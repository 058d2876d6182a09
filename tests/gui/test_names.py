"""Names that only programs use reach nobody: not on a page, in a dialog, in a picture, or in a terminal."""

import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QModelIndex, QTimer
from PySide6.QtWidgets import (
    QAbstractButton,
    QApplication,
    QComboBox,
    QDialog,
    QLabel,
    QLineEdit,
    QListWidget,
    QMenu,
    QTableView,
    QWidget,
)

from app.core.doctor.rules import diagnose
from app.core.errors import AppError
from app.core.exchange.sharing import shared_result
from app.core.messages import message
from app.core.storage.database import Database
from app.core.storage.runs import load_run
from app.core.verdict.judged_run import JudgedRun
from app.gui.pages.hardware import doctor_view
from app.gui.pages.settings.engine_work import EngineWork
from app.gui.run.verdict_dialog import VerdictDialog
from app.gui.shell.pages import PAGES
from app.gui.widgets.dialogs import MethodDialog, ask_to_run_concurrently
from tests.conftest import CommandLine, pretend_installed
from tests.core.doctor.cases import BLACKWELL, INVALID_PTX, driven, listing, work
from tests.gui.driving import Driver
from tests.gui.full_pages import show_ab, show_group, show_imported, show_study, show_suite
from tests.gui.shell.test_imports import drop
from tests.gui.test_accessibility import DIALOGS
from tests.recording import recorded_events, store_recording
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
        yield from (
            widget.windowTitle(),
            widget.accessibleName(),
            widget.accessibleDescription(),
            widget.toolTip(),
        )
    for label in window.findChildren(QLabel):
        yield label.text()
    for button in window.findChildren(QAbstractButton):
        yield button.text()
    for field in window.findChildren(QLineEdit):
        yield field.placeholderText()
    for entries in window.findChildren(QListWidget):
        yield from (entries.item(number).text() for number in range(entries.count()))
    for menu in window.findChildren(QMenu):
        yield from (action.text() for action in menu.actions())
    for box in window.findChildren(QComboBox):
        yield from (box.itemText(number) for number in range(box.count()))
    for view in window.findChildren(QTableView):
        if (model := view.model()) is not None:
            rows, columns = range(min(50, model.rowCount(QModelIndex()))), range(model.columnCount(QModelIndex()))
            yield from (str(model.index(row, column).data() or "") for row in rows for column in columns)


@pytest.mark.slow
@pytest.mark.parametrize("show", [show_ab, show_group, show_imported, show_study, show_suite])
def test_pages_have_none(driver: Driver, show: Callable[[Driver], None]) -> None:
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


def ask_to_run(driver: Driver) -> None:
    ask_to_run_concurrently(driver.window, AppError(message("busy.other_epochmark")))


def ask_to_remove(driver: Driver) -> None:
    pretend_installed("jax", driver.services.paths)
    driver.window.show_page("settings")
    card = driver.window.settings.engines_card
    driver.services.engines.look()
    driver.until(lambda: "jax" in card.rows and card.rows["jax"].remove_button.isVisible())
    driver.press(card.rows["jax"].remove_button)


def ask_to_quit(driver: Driver) -> None:
    driver.begin_demo(epochs=1_000, step_s=0.01, until_epochs=1)
    driver.window.close()
    driver.page.cancel()
    driver.wait_for_result()


QUESTIONS = {"run": ask_to_run, "quit": ask_to_quit}


@pytest.mark.slow
@pytest.mark.parametrize("name", [*QUESTIONS, "remove"])
def test_questions_have_none(driver: Driver, name: str) -> None:
    texts: list[str] = []

    def read() -> None:
        dialog = QApplication.activeModalWidget()
        if isinstance(dialog, QDialog):
            texts.extend(shown(dialog))
            dialog.reject()
        else:
            QTimer.singleShot(10, driver.window, read)

    QTimer.singleShot(0, driver.window, read)
    (QUESTIONS | {"remove": ask_to_remove})[name](driver)
    driver.until(lambda: bool(texts))
    assert any(texts)
    assert identifiers(texts) == set()


@pytest.mark.slow
def test_problems_of_imports_engines_and_cards_have_none(
    driver: Driver, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "broken.json").write_text("{")
    drop(driver, tmp_path / "broken.json")
    driver.until(lambda: "broken.json" in driver.message)
    trials = [listing(BLACKWELL), work(), work("gpu:0", status="failed", exit_code=1, log=INVALID_PTX)]
    diagnosis = diagnose(driven(BLACKWELL), trials)
    monkeypatch.setattr(doctor_view, "examine", lambda *_: diagnosis)
    driver.window.action("menu.doctor").trigger()
    driver.until(lambda: driver.window.hardware.doctor.diagnosis is not None)
    driver.window.show_page("settings")
    card = driver.window.settings.engines_card
    driver.until(lambda: "torch" in card.rows)
    installing = EngineWork("PyTorch")
    installing.report("download", 1_000_000, 4_000_000)
    card.rows["torch"].show_work(installing)
    assert identifiers(shown(driver.window)) == set()


@pytest.mark.slow
def test_results_dialogs_pictures_and_texts_have_none(driver: Driver) -> None:
    with Database(driver.services.paths.database) as database:
        run_id = store_recording(database, recorded_events())
        judged = JudgedRun(load_run(database, run_id))
        shared = shared_result(database, judged)
    detail = driver.open_run(run_id)
    dialog = VerdictDialog(driver.services.theme, judged, driver.window)
    card = shared.card
    texts = [
        card.title,
        card.headline,
        card.unit,
        *card.notes,
        card.machine,
        *card.details,
        *card.badge,
        card.footer,
    ]
    texts += [shared.text, *(field.text for field in shared.fields), *shown(detail), *shown(dialog)]
    assert identifiers(texts) == set()


@pytest.mark.slow
@pytest.mark.parametrize("command", ["results show 1", "results list", "compare", "hardware"])
def test_terminals_have_none(epochmark: CommandLine, command: str) -> None:
    epochmark("run", "demo", "--epochs", "2")
    assert identifiers([epochmark(*command.split()).stdout]) == set()
