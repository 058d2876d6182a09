"""The charts: what they draw of given numbers, and Qt's charts on this Python."""

import math
import sys

import pyqtgraph
from pytestqt.qtbot import QtBot

from app.core.analysis.series import Curve, RunSeries
from app.gui.charts.plots import CountAxis, Line, Plot, TimeAxis, ValueAxis, round_up, time_span
from app.gui.charts.telemetry_chart import TelemetryChart
from app.gui.charts.training_charts import EpochChart, LossChart
from app.gui.style.theme import Theme
from app.gui.style.tokens import DARK
from workloads.protocol import events


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


def test_epochs_are_bars_with_a_line_at_the_median_of_the_later_ones(
    qtbot: QtBot, application_theme: Theme
) -> None:
    chart = EpochChart(application_theme)
    qtbot.addWidget(chart)
    chart.show_epochs([90.0, 60.0, 70.0, 62.0], planned=10, current_s=21.0)
    bars, median = chart.bars.opts, chart.median
    assert list(bars["x"]) == [1, 2, 3, 4, 5]
    assert list(bars["height"]) == [90.0, 60.0, 70.0, 62.0, 21.0]
    colours = [brush.color().name().upper() for brush in bars["brushes"]]
    tokens = application_theme.tokens
    assert colours[:2] == [tokens.neutral_bar.upper(), tokens.accent.upper()]
    assert [brush.color().alphaF() < 1 for brush in bars["brushes"]] == [False] * 4 + [True]
    assert set(median.getData()[1]) == {62.0}
    assert span(chart, "x") == (0.4, 10.6)
    assert span(chart, "y")[1] >= 90.0
    assert chart.accessibleDescription() == "4 of 10 epochs: 90.0, 60.0, 70.0, 62.0"
    chart.show_epochs([], planned=10)
    assert not chart.bars.isVisible()
    assert len(median.getData()[0]) == 0


def test_loss_stands_left_and_accuracy_in_percent_right(qtbot: QtBot, application_theme: Theme) -> None:
    chart = LossChart(application_theme)
    qtbot.addWidget(chart)
    series = RunSeries(10)
    for index in range(3):
        series.follow(
            events.Epoch(
                index=index, duration_s=1.0, train_s=1.0, loss=2.0 - index / 2, accuracy=0.5, val_loss=2.5
            )
        )
    chart.show_series(series, planned=5, live=True)
    assert points(chart.lines["loss"]) == [(1.0, 2.0), (2.0, 1.5), (3.0, 1.0)]
    assert points(chart.lines["val_loss"]) == [(1.0, 2.5), (2.0, 2.5), (3.0, 2.5)]
    assert points(chart.lines["accuracy"]) == [(1.0, 50.0), (2.0, 50.0), (3.0, 50.0)]
    assert all(math.isnan(y) for _, y in points(chart.lines["val_accuracy"]))
    assert chart.lines["accuracy"].item in chart.right.addedItems
    assert span(chart, "y")[1] >= 2.5
    assert "validation loss 2.500" in chart.accessibleDescription()


def test_telemetry_is_drawn_against_the_axis_of_its_unit(qtbot: QtBot, application_theme: Theme) -> None:
    chart = TelemetryChart(application_theme)
    qtbot.addWidget(chart)
    curves = {
        "cpu_pct": Curve([1.0, 2.0], [50.0, 98.0]),
        "memory_used_bytes": Curve([1.0, 2.0], [4e9, 8e9]),
        "cpu_clock_mhz": Curve([1.0, 2.0], [2_350.0, 4_700.0]),
        "gpu0_power_w": Curve([1.0, 2.0], [88.0, 288.0]),
        "gpu0_memory_used_bytes": Curve([1.0, 2.0], [1e9, 2e9]),
        "steal_pct": Curve([1.0, 2.0], [0.0, 0.0]),
    }
    chart.show_curves(curves, memory_bytes=16_000_000_000)
    assert points(chart.lines["cpu_pct"]) == [(1.0, 50.0), (2.0, 98.0)]
    assert points(chart.lines["memory_used_bytes"]) == [(1.0, 25.0), (2.0, 50.0)]
    assert points(chart.lines["cpu_clock_mhz"]) == [(1.0, 50.0), (2.0, 100.0)]
    assert points(chart.lines["gpu0_power_w"]) == [(1.0, 88.0), (2.0, 288.0)]
    assert chart.lines["gpu0_power_w"].item in chart.right.addedItems
    assert chart.right.viewRange()[1][1] >= 288.0
    # The host took nothing, and a card's memory is no share of the computer's.
    assert set(chart.lines) == set(curves) - {"steal_pct", "gpu0_memory_used_bytes"}
    assert [text for _, text, _ in chart.entries] == ["CPU 98 %", "memory 7.5 GB", "clock 4.7 GHz", "GPU 288 W"]
    chart.show_curves(curves, memory_bytes=16_000_000_000, live=False)
    assert chart.entries[0][1] == "CPU 74 %"  # of a run that is over, what was typical
    chart.show_curves({"cpu_pct": Curve([3.0], [None])})
    assert [text for _, text, _ in chart.entries] == ["CPU n/a"]
    assert points(chart.lines["gpu0_power_w"]) == []


def test_axes_of_time_and_epochs_are_labelled_in_whole_units(qtbot: QtBot) -> None:
    time_axis, count_axis = TimeAxis(), CountAxis()
    assert time_axis.tickSpacing(0, 600, 400) == [(120.0, 0.0)]
    assert time_axis.tickStrings([0, 90, 3_725], 1, 1) == ["0:00", "1:30", "1:02:05"]
    assert count_axis.tickSpacing(0, 10, 400) == [(1.0, 0.0)]
    assert count_axis.tickSpacing(0, 1_000, 400) == [(100.0, 0.0)]
    assert count_axis.tickStrings([0, 1, 2], 1, 1) == ["", "1", "2"]
    value_axis = ValueAxis("left")
    assert value_axis.tickSpacing(0, 100, 200) == [(10.0, 0.0)]
    assert value_axis.tickSpacing(0, 100, 50) == [(50.0, 0.0)]
    assert value_axis.tickSpacing(0, 0.003, 100) == [(0.001, 0.0)]
    assert [round_up(value) for value in (0, 0.0021, 1, 81.8, 320)] == [1.0, 0.003, 1.0, 100.0, 400.0]
    assert [time_span(value) >= value for value in (1, 11, 61, 5_000)] == [True] * 4


def test_a_theme_recolours_what_is_drawn(qtbot: QtBot, application_theme: Theme) -> None:
    chart = EpochChart(application_theme)
    qtbot.addWidget(chart)
    chart.show_epochs([5.0, 4.0, 4.0], planned=3)
    application_theme.choose("dark")
    assert chart.bars.opts["brushes"][1].color().name().upper() == DARK.accent
    assert chart.backgroundBrush().color().name().upper() == DARK.surface


def span(chart: Plot, axis: str) -> tuple[float, float]:
    low, high = chart.getViewBox().viewRange()["xy".index(axis)]
    return round(low, 6), round(high, 6)


def points(line: Line) -> list[tuple[float, float]]:
    x, y = line.item.getData()
    return [] if x is None else [(float(one), float(other)) for one, other in zip(x, y, strict=True)]
