"""Names that only programs use reach nobody: not on a page, in a dialog, in a picture, or in a terminal."""

import re
from collections.abc import Callable, Iterable, Iterator

import pytest
from PySide6.QtCore import QModelIndex
from PySide6.QtWidgets import QAbstractButton, QComboBox, QLabel, QTableView, QWidget

from app.core.exchange.sharing import shared_result
from app.core.storage.database import Database
from app.core.storage.runs import load_run
from app.core.verdict.judged_run import JudgedRun
from app.gui.run.verdict_dialog import VerdictDialog
from app.gui.shell.pages import PAGES
from tests.conftest import CommandLine
from tests.gui.driving import Driver
from tests.gui.full_pages import show_ab, show_group, show_imported, show_study, show_suite
from tests.recording import recorded_events, store_recording
from workloads import CATALOGUE

IDENTIFIER = re.compile(r"(?<![\w./-])[a-z]+(?:_[a-z0-9]+)+(?![\w./-])")
# Values of settings are called as engines call them, and workloads are typed in a terminal.
KNOWN = {"mixed_float16", "mixed_bfloat16", *CATALOGUE}


def identifiers(texts: Iterable[str]) -> set[str]:
    """Return the names in texts that only programs use."""
    return {name for text in texts for name in IDENTIFIER.findall(text)} - KNOWN


def shown(window: QWidget) -> Iterator[str]:
    """Yield all texts in a window."""
    for label in window.findChildren(QLabel):
        yield label.text()
    for button in window.findChildren(QAbstractButton):
        yield button.text()
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
def test_results_dialogs_pictures_and_texts_have_none(driver: Driver) -> None:
    with Database(driver.services.paths.database) as database:
        run_id = store_recording(database, recorded_events())
        judged = JudgedRun(load_run(database, run_id))
        shared = shared_result(database, judged)
    detail = driver.open_run(run_id)
    driver.press(detail.table_button)
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
