"""A chart of a workload's results over time, with marks at changes to the computer."""

from collections.abc import Sequence

import pyqtgraph
from PySide6.QtGui import QColor

from app.core.analysis.trend import Trend
from app.core.messages import sentence
from app.core.metrics import headline_kind
from app.core.records import RunSummary
from app.gui.charts.plots import RIGHT_MARGIN_PX, Plot
from app.gui.style.theme import Theme, tabular_font
from app.gui.style.tokens import LABEL_PX

POINT_PX, CURRENT_PX = 8, 13
DATE_PX = 90


class TrendChart(Plot):
    """Results with their intervals, evenly spaced, oldest first."""

    def __init__(self, theme: Theme) -> None:
        self._dates = _DateAxis()
        self._trend: tuple[Trend, int] | None = None
        self.points = pyqtgraph.ScatterPlotItem()
        self.intervals = pyqtgraph.ErrorBarItem(beam=0.0)
        self.marks: list[pyqtgraph.InfiniteLine] = []
        super().__init__(theme, self._dates, right_px=RIGHT_MARGIN_PX)
        for item in (self.intervals, self.points):
            self.addItem(item, ignoreBounds=True)
        self.setAccessibleName(sentence("trend.chart"))

    def show_trend(self, trend: Trend, run_id: int) -> None:
        self._trend = (trend, run_id)
        runs = [point.run for point in trend.points]
        self._dates.dates = [run.started_at[:10] for run in runs]
        self.show_emptiness(not runs)
        kind = headline_kind(trend.metric)
        self.getViewBox().invertY(not kind.is_rate)  # higher is faster
        self._draw(runs, kind.scale, run_id)
        self._mark([number for number, point in enumerate(trend.points) if point.changes])
        self.setAccessibleDescription(trend.sentence())

    def colour(self) -> None:
        super().colour()
        if self._trend is not None:
            self.show_trend(*self._trend)

    def _draw(self, runs: Sequence[RunSummary], scale: float, run_id: int) -> None:
        import numpy as np

        tokens = self.theme.tokens
        x = np.arange(len(runs), dtype=float)
        y = np.array([(run.value or 0.0) * scale for run in runs], dtype=float)
        low = np.array([(run.value_low or run.value or 0.0) * scale for run in runs], dtype=float)
        high = np.array([(run.value_high or run.value or 0.0) * scale for run in runs], dtype=float)
        self.intervals.setData(
            x=x, y=y, top=np.maximum(0, high - y), bottom=np.maximum(0, y - low), pen=self.pen(tokens.muted)
        )
        brushes = [QColor(tokens.accent if run.id == run_id else tokens.muted) for run in runs]
        sizes = [CURRENT_PX if run.id == run_id else POINT_PX for run in runs]
        self.points.setData(x=x, y=y, brush=brushes, size=sizes, pen=None)
        self.set_range("x", -0.6, max(0.6, len(runs) - 0.4))
        bottom, top = (float(low.min()), float(high.max())) if runs else (0.0, 1.0)
        room = 0.15 * (top - bottom) or 0.1 * top or 1.0
        self.set_range("y", max(0.0, bottom - room), top + 1.6 * room)

    def _mark(self, places: Sequence[int]) -> None:
        for mark in self.marks:
            self.removeItem(mark)
        tokens = self.theme.tokens
        self.marks = []
        for number, place in enumerate(places, 1):
            options = {"position": 0.94, "color": tokens.text, "fill": tokens.surface}
            mark = pyqtgraph.InfiniteLine(
                place - 0.5, pen=self.pen(tokens.caution, dashed=True), label=str(number), labelOpts=options
            )
            mark.label.setFont(tabular_font(LABEL_PX))
            self.addItem(mark, ignoreBounds=True)
            self.marks.append(mark)


class _DateAxis(pyqtgraph.AxisItem):  # type: ignore[misc]
    """An axis labelled with the dates of the runs."""

    def __init__(self) -> None:
        super().__init__("bottom")
        self.dates: list[str] = []

    def tickSpacing(self, low: float, high: float, size: float) -> list[tuple[float, float]]:
        """Return the number of runs between labels that keeps the dates from overlapping."""
        room = max(1.0, size / DATE_PX)
        return [(float(max(1, -(-int(high - low + 1) // int(room)))), 0.0)]

    def tickStrings(self, values: Sequence[float], scale: float, spacing: float) -> list[str]:
        return [self.dates[round(value)] if 0 <= round(value) < len(self.dates) else "" for value in values]
