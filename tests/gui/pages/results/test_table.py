"""The table of runs under the keyboard, and its column of verdicts."""

from typing import Any

from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLineEdit

from app.core.storage.database import Database
from app.gui.pages.results.columns import COLUMNS
from tests.core.storage.storing import store
from tests.gui.driving import Driver
from workloads.protocol.machine import Machine


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


def test_tab_leaves_the_table_and_arrows_stay_inside(driver: Driver, machine: Machine) -> None:
    with Database(driver.services.paths.database) as database:
        for _ in range(3):
            store(database, machine, 61.0, 60.0)
    page = driver.open_results()
    driver.until(lambda: driver.window.focusWidget() is page.table)
    page.table.setCurrentIndex(page.model.index(0, 1))
    for key, place in (
        (Qt.Key.Key_Down, (1, 1)),
        (Qt.Key.Key_Right, (1, 2)),
        (Qt.Key.Key_Up, (0, 2)),
        (Qt.Key.Key_Left, (0, 1)),
    ):
        QTest.keyClick(page.table, key)
        index = page.table.currentIndex()
        assert (index.row(), index.column()) == place
        assert driver.window.focusWidget() is page.table
    for key in (Qt.Key.Key_Tab, Qt.Key.Key_Backtab):
        page.table.setFocus()
        QTest.keyClick(page.table, key)
        assert driver.window.focusWidget() is not page.table
        assert page.table.currentIndex().row() == 0


def test_verdicts_are_shown_sorted_and_found(driver: Driver, machine: Machine) -> None:
    with Database(driver.services.paths.database) as database:
        for verdict in ("valid", "caution", "invalid", None):
            codes = "on_battery other_load" if verdict == "caution" else None
            store(database, machine, 61.0, 60.0, columns={"verdict": verdict, "reasons": codes})
    page = driver.open_results()
    place = list(COLUMNS).index("verdict")

    def cells(role: Qt.ItemDataRole = Qt.ItemDataRole.DisplayRole) -> list[Any]:
        return [page.model.index(row, place).data(role) for row in range(page.model.rowCount())]

    assert cells() == ["n/a", "invalid", "caution", "valid"]
    tokens, colours = driver.services.theme.tokens, cells(Qt.ItemDataRole.ForegroundRole)
    told = [colour.name().upper() if colour is not None else None for colour in colours]
    assert told == [None, tokens.invalid, tokens.caution, tokens.valid]
    assert "on battery, other load" in cells(Qt.ItemDataRole.ToolTipRole)[2]
    with driver.qtbot.waitSignal(page.model.found):
        page.table.sortByColumn(place, Qt.SortOrder.AscendingOrder)
    assert cells() == ["caution", "invalid", "valid", "n/a"]
    with driver.qtbot.waitSignal(page.model.found):
        page.filters.search.setText("valid")
    assert page.model.rows == [1]
    driver.window.resize(1024, 700)
    driver.until(lambda: page.table.isColumnHidden(place + 1))
    assert not page.table.isColumnHidden(place)
    assert page.table.horizontalScrollBar().maximum() == 0


def test_each_status_has_its_colour(driver: Driver, machine: Machine) -> None:
    tones = {
        "completed": None,
        "cancelled": "caution",
        "interrupted": "caution",
        "failed": "invalid",
        "running": "accent",
        "of another version": None,
    }
    with Database(driver.services.paths.database) as database:
        for status in tones:
            store(database, machine, 61.0, 60.0, columns={"status": status})
        broken = store(database, machine, 61.0, 60.0, columns={"spread_pct": "much"})
    page = driver.open_results()
    place, tokens = list(COLUMNS).index("status"), driver.services.theme.tokens
    found = {}
    for row in range(page.model.rowCount()):
        index = page.model.index(row, place)
        colour = index.data(Qt.ItemDataRole.ForegroundRole)
        found[index.data()] = colour and colour.name().upper()
    expected = {
        status: tone and getattr(tokens, tone) for status, tone in (tones | {"damaged": "invalid"}).items()
    }
    assert found == expected
    assert page.model.rows[0] == broken
