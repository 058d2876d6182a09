"""The progress bar while the progress is unknown: one piece, never cut in two, that stops when it isn't needed."""

import pytest
from PySide6.QtGui import QFontMetrics
from pytestqt.qtbot import QtBot

from app.core.report.card import Table
from app.gui.style.theme import Theme
from app.gui.widgets.busy_bar import FRAME_MS, SWEEP_MS, BusyBar
from app.gui.widgets.tables import TextTable
from tests.gui.driving import added
from tests.gui.pixels import number, pixels


@pytest.fixture
def bar(application_theme: Theme, qtbot: QtBot) -> BusyBar:
    bar = added(qtbot, BusyBar(application_theme, 1_000))
    bar.resize(400, 8)
    bar.setMaximum(0)
    bar.show()
    return bar


def test_the_piece_is_whole_at_any_time(bar: BusyBar, application_theme: Theme) -> None:
    for elapsed_ms in range(0, 3 * SWEEP_MS, FRAME_MS):
        piece = bar.piece(elapsed_ms)
        assert 0 <= piece.left() < piece.right() < bar.width()
        assert piece.width() == bar.width() // 4
    assert (bar.piece(0).left(), bar.piece(SWEEP_MS).right()) == (0, bar.width() - 1)
    middle = (pixels(bar.grab().toImage())[4] == number(application_theme.tokens.accent)).nonzero()[0]
    assert len(middle) > 80
    assert middle[-1] - middle[0] == len(middle) - 1, "one piece"


def test_it_moves_only_while_it_is_busy_and_visible(bar: BusyBar) -> None:
    assert bar.frames.isActive()
    bar.setMaximum(1_000)
    assert not bar.frames.isActive()
    bar.setMaximum(0)
    assert bar.frames.isActive()
    bar.hide()
    assert not bar.frames.isActive()


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
