"""What a user does on the Results page."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QItemSelectionModel, Qt
from PySide6.QtWidgets import QFileDialog, QLineEdit, QWidget

from app.core.storage.database import Database
from app.gui.pages.results.columns import COLUMNS, COMMENT
from app.gui.pages.results.page import ResultsPage
from tests.build import store
from tests.gui.driving import Driver
from workloads.protocol.machine import Machine


def found(driver: Driver, page: ResultsPage, act: Callable[..., object], *arguments: Any) -> None:
    """Do something, and wait until the table shows what was found then."""
    with driver.qtbot.waitSignal(page.model.found):
        act(*arguments)


def column(page: ResultsPage, key: str) -> list[str]:
    place = list(COLUMNS).index(key)
    return [str(page.model.index(row, place).data()) for row in range(page.model.rowCount())]


def select(page: ResultsPage, *ids: int) -> None:
    flags = QItemSelectionModel.SelectionFlag
    selection = page.table.selectionModel()
    selection.clear()
    for run_id in ids:
        row = page.model.rows.index(run_id)
        selection.select(page.model.index(row, 0), flags.Select | flags.Rows)
        selection.setCurrentIndex(page.model.index(row, 0), flags.NoUpdate)


def save_to(monkeypatch: pytest.MonkeyPatch, path: Path, ending: str = "") -> None:
    """Answer the question for a file, with the kind that has the ending: that of the name if none is given."""

    def answer(parent: object, heading: str, name: str, kinds: str) -> tuple[str, str]:
        return str(path), next(kind for kind in kinds.split(";;") if f"*{ending or path.suffix})" in kind)

    monkeypatch.setattr(QFileDialog, "getSaveFileName", answer)


def type_comment(driver: Driver, page: ResultsPage, run_id: int, text: str) -> QLineEdit:
    page.table.edit(page.model.index(page.model.rows.index(run_id), COMMENT))
    editor = page.table.viewport().findChild(QLineEdit)
    assert isinstance(editor, QLineEdit)
    driver.qtbot.keyClicks(editor, text)  # type: ignore[no-untyped-call]
    return editor


def press_key(driver: Driver, widget: QWidget, key: Qt.Key) -> None:
    driver.qtbot.keyClick(widget, key)  # type: ignore[no-untyped-call]


def store_another(driver: Driver, machine: Machine) -> int:
    with Database(driver.services.paths.database) as database:
        return store(database, machine, 21.0, 20.0, 20.0)
