"""The table of runs under the keyboard."""

from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLineEdit

from app.core.keeping.database import Database
from app.core.model import Machine
from tests.core.storing import store
from tests.gui.driving import Driver


def test_f2_names_the_run_whichever_cell_is_current(driver: Driver, machine: Machine) -> None:
    with Database(driver.services.paths.database) as database:
        store(database, machine, 61.0, 60.0, 60.0)
    page = driver.open_results()
    page.table.setCurrentIndex(page.model.index(0, 2))
    QTest.keyClick(page.table, Qt.Key.Key_F2)
    editor = page.table.viewport().findChild(QLineEdit)
    assert isinstance(editor, QLineEdit)
    QTest.keyClicks(editor, "quiet night")
    QTest.keyClick(editor, Qt.Key.Key_Return)
    driver.until(lambda: driver.stored()[0].comment == "quiet night")
