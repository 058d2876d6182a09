"""The progress bar while the progress is unknown: one piece, never cut in two, that stops when it isn't needed."""

import pytest
from pytestqt.qtbot import QtBot

from app.gui.style.theme import Theme
from app.gui.widgets.busy_bar import FRAME_MS, SWEEP_MS, BusyBar
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
