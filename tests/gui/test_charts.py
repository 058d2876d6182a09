"""Qt and its charts on this Python, before any window uses them."""

import sys

import pyqtgraph
from pytestqt.qtbot import QtBot


def test_live_charts_leave_the_reference_count_of_none_alone(qtbot: QtBot) -> None:
    """PySide6 6.12.0 loses one reference at each call on Python 3.11 and aborts after seconds (PYSIDE-3474)."""
    widget = pyqtgraph.PlotWidget()
    qtbot.addWidget(widget)
    widget.show()
    curve = widget.plot(pen=pyqtgraph.mkPen("#4C8DFF", width=1))
    values = list(range(100))

    def update(times: int) -> None:
        for number in range(times):
            values[number % 100] = number
            curve.setData(values)
            widget.setObjectName(str(number))
            qtbot.wait(0) if number % 100 == 0 else None

    update(100)
    before = sys.getrefcount(None)
    update(3_000)
    assert sys.getrefcount(None) > before - 500
