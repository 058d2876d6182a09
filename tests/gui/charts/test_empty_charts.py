"""Charts without data have no axes, but say what will appear; lines are as thick on every screen."""

import os
from collections.abc import Callable

import pytest
from PySide6.QtGui import QFontMetricsF
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from app.core.analysis.series import Curve, RunSeries
from app.gui.charts.plots import Plot
from app.gui.charts.speed_charts import EstimateChart, SustainedChart
from app.gui.charts.telemetry_chart import TelemetryChart
from app.gui.charts.training_charts import EpochChart, LossChart, ThroughputChart
from app.gui.charts.trend_chart import TrendChart
from app.gui.style.theme import Theme
from tests.child import python
from tests.gui.pixels import names, pixels
from workloads.protocol import events

TICK_GAP_PX = 5  # pyqtgraph's, between label and line
TELEMETRY = {"cpu_pct": Curve([1.0, 2.0], [50.0, 98.0])}
CHARTS: dict[type[Plot], Callable[[Plot, RunSeries, bool], None]] = {
    EpochChart: lambda chart, series, live: chart.show_epochs(
        [epoch.duration_s for epoch in series.epochs], planned=3, live=live
    ),
    LossChart: lambda chart, series, live: chart.show_series(series, 3, live=live),
    ThroughputChart: lambda chart, series, live: chart.show_curve(series.steps_per_s, 5.0, live=live),
    EstimateChart: lambda chart, series, live: chart.show_estimates(series, "seconds_per_epoch_s", 5.0, live=live),
    SustainedChart: lambda chart, series, live: chart.show_series(series, 5.0, live=live),
    TelemetryChart: lambda chart, series, live: chart.show_curves(series.telemetry, live=live),
}
# Prints how many pixels of the screen a line of a chart is high.
THICKNESS = """
from PySide6.QtGui import QColor
from PySide6.QtWidgets import QApplication
application = QApplication([])
from app.core.analysis.series import Curve
from app.gui.charts.training_charts import ThroughputChart
from app.gui.style.theme import Theme
theme = Theme(application, "light")
chart = ThroughputChart(theme)
chart.resize(400, 200)
chart.show_curve(Curve([0.0, 10.0], [5.0, 5.0]), 10.0, live=True)
chart.show()
application.processEvents()
picture = chart.grab().toImage()
x, line = picture.width() // 2, QColor(theme.tokens.sky)
print(sum(picture.pixelColor(x, y) == line for y in range(picture.height())))
"""


def a_run() -> RunSeries:
    """Return what a short run has told of."""
    series = RunSeries(3)
    series.telemetry |= TELEMETRY
    series.steps_per_s = Curve([1.0, 2.0, 3.0], [9.0, 9.5, 9.0])
    series.estimate = series.low = series.high = Curve([1.0, 2.0], [5.0, 5.1])
    for index in range(2):
        series.follow(events.Epoch(index=index, duration_s=1.0, train_s=1.0, loss=2.0, accuracy=0.5))
    return series


@pytest.mark.parametrize("kind", CHARTS)
def test_a_chart_has_axes_only_with_data(kind: type[Plot], qtbot: QtBot, application_theme: Theme) -> None:
    chart, show = kind(application_theme), CHARTS[kind]
    qtbot.addWidget(chart)
    chart.resize(400, 200)
    chart.show()

    for series, live in ((None, True), (RunSeries(3), True), (RunSeries(3), False)):
        if series is not None:
            show(chart, series, live)
        assert chart.instead.isVisible()
        assert ("appear" in chart.instead.text()) == live
        assert not has_axes(chart)
    show(chart, a_run(), True)
    assert has_axes(chart)
    assert not chart.instead.isVisible()
    show(chart, RunSeries(3), True)
    assert not has_axes(chart)


def test_a_trend_without_results_has_no_axes_either(qtbot: QtBot, application_theme: Theme) -> None:
    chart = TrendChart(application_theme)
    qtbot.addWidget(chart)
    assert not has_axes(chart)
    assert "appear" in chart.instead.text()


def test_axes_of_percent_say_so(qtbot: QtBot, application_theme: Theme) -> None:
    chart, loss = TelemetryChart(application_theme), LossChart(application_theme)
    for each in (chart, loss):
        qtbot.addWidget(each)
        each.resize(400, 200)
        each.show()
    for axis in (chart.getAxis("left"), loss.getAxis("right"), SustainedChart(application_theme).getAxis("left")):
        assert axis.tickStrings([0.0, 50.0, 100.0], 1.0, 50.0) == ["0 %", "50 %", "100 %"]
    chart.show_curves(TELEMETRY)
    # The widest label has the room it needs.
    QApplication.processEvents()
    left = chart.getAxis("left")
    assert QFontMetricsF(left.style["tickFont"]).horizontalAdvance("100 %") + TICK_GAP_PX <= left.width()


@pytest.mark.slow
@pytest.mark.parametrize(("scale", "thickness_px"), [("1", 1), ("2", 2), ("1.25", 1)])
def test_a_line_is_as_thick_on_every_screen(scale: str, thickness_px: int) -> None:
    environment = {**os.environ, "QT_SCALE_FACTOR": scale, "QT_QPA_PLATFORM": "offscreen"}
    assert int(python("-c", THICKNESS, env=environment).stdout) == thickness_px


def has_axes(chart: Plot) -> bool:
    """Return whether pixels have the colour of the grid."""
    return chart.theme.tokens.grid in names(pixels(chart.grab().toImage()))
