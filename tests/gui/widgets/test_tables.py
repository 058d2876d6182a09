"""Small tables in windows of any width: no column is cut."""

from PySide6.QtGui import QFontMetrics
from pytestqt.qtbot import QtBot

from app.core.report.card import Table
from app.gui.widgets.tables import TextTable

HEADINGS = ("Batch size", "Images per second", "95 % interval", "Result", "Memory", "Verdict")
ROW = ("512", "3,351", "3,284 to 3,418", "14.9 s / epoch", "", "Valid")
LEAST = {0, 1, 5}


def test_a_table_hides_what_is_empty_and_what_does_not_fit(qtbot: QtBot) -> None:
    table = TextTable("Table")
    qtbot.addWidget(table)
    table.show()
    table.show_table(Table(HEADINGS, (ROW,)))
    seen = []
    for width_px in (*range(2_000, 100, -50), 2_000):
        table.resize(width_px, 200)
        shown = {place for place in range(len(HEADINGS)) if not table.isColumnHidden(place)}
        needed_px = sum(QFontMetrics(table.font()).horizontalAdvance(HEADINGS[place]) for place in shown)
        assert shown == LEAST or needed_px <= table.viewport().width()
        assert shown >= LEAST
        assert 4 not in shown
        seen.append(shown)
    assert seen[0] == seen[-1] == {0, 1, 2, 3, 5}
    assert {0, 1, 2, 5} in seen
    assert seen[-2] == LEAST
