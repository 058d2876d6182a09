"""Charts that show the estimate with its shrinking interval, or the sustained speed."""

import statistics
from collections.abc import Mapping, Sequence

import pyqtgraph
from PySide6.QtGui import QColor

from app.core.analysis.headline import half_interval_pct
from app.core.analysis.series import Curve, RunSeries
from app.core.messages import sentence
from app.core.metrics import amount_text, headline_kind
from app.core.verdict.rules import DRIFT_PCT
from app.gui.charts.plots import RIGHT_MARGIN_PX, DoublePlot, Plot, TimeAxis, has_values
from app.gui.style.theme import Theme
from app.gui.style.tokens import SERIES

BLUE, ORANGE, _, _, _, RED = SERIES
PASS_PCT = 100 - DRIFT_PCT
_BAND_ALPHA = 0.18
# The view includes at least this range around the latest estimate, plus margins that total an eighth of its
# height. Uncertain values, from the first quarter of the time, may be outside of it.
_VIEW_SHARE, _MARGIN, EARLY_SHARE = 0.15, 0.06, 0.25
_LOOSE = 1.7  # if the view is larger than its contents by this factor, it is adjusted


class EstimateChart(Plot):
    """The estimate over time with its 95 % interval."""

    def __init__(self, theme: Theme) -> None:
        self.low, self.high = pyqtgraph.PlotCurveItem(pen=None), pyqtgraph.PlotCurveItem(pen=None)
        self.band = pyqtgraph.FillBetweenItem(self.low, self.high)
        super().__init__(theme, TimeAxis(), right_px=RIGHT_MARGIN_PX)
        self.getViewBox().addItem(self.band)
        self.line = self.add_line(BLUE)
        self._view = (0.0, 0.0)  # lower and upper end
        self.setAccessibleName(sentence("chart.estimate"))

    def show_estimates(self, series: RunSeries, metric: str, span_s: float, *, live: bool) -> None:
        begin_s = series.estimate.x[0] if series.estimate.x else 0.0
        self.set_range("x", begin_s, max(span_s, begin_s + 1.0))
        if self.is_shown(series, len(series.estimate.x), metric, live):
            return
        self.show_emptiness(not has_values(series.estimate), live=live)
        kind = headline_kind(metric)
        self.getViewBox().invertY(not kind.is_rate)  # higher is faster
        value, low, high = (_scaled(curve, kind.scale) for curve in (series.estimate, series.low, series.high))
        if value.last is not None:
            self._look_at(value, low, high)
            value, low, high = self._in_view(value, low, high)
        self.line.show(value, smooth=not live)
        self._fill(low, high)
        if value.last is None:
            self.set_range("y", 0.0, 1.0)
            self.setAccessibleDescription(sentence("chart.nothing_yet"))
            return
        text = amount_text(metric, series.estimate.last)
        if (half_pct := half_interval_pct(metric, value.last, low.last, high.last)) is not None:
            text = sentence("chart.value_with_half", value=text, half_pct=half_pct)
        self.setAccessibleDescription(text)

    def colour(self) -> None:
        super().colour()
        band = QColor(getattr(self.theme.tokens, BLUE))
        band.setAlphaF(_BAND_ALPHA)
        self.band.setBrush(band)

    def _look_at(self, value: Curve, low: Curve, high: Curve) -> None:
        """Zoom to the last three quarters of the estimates and intervals, but keep a view that still fits well."""
        begin_s = value.x[0] + (value.x[-1] - value.x[0]) * EARLY_SHARE
        later = [
            y for curve in (value, low, high) for x, y in zip(curve.x, curve.y, strict=True) if x >= begin_s and y
        ]
        latest = value.last or 0.0
        lowest, highest = min(*later, latest * (1 - _VIEW_SHARE)), max(*later, latest * (1 + _VIEW_SHARE))
        margin = _MARGIN * (highest - lowest)
        bottom, top = self._view
        if not (bottom <= lowest and highest <= top and top - bottom < _LOOSE * (highest - lowest)):
            self._view = (max(0.0, lowest - 2 * margin), highest + 2 * margin)
        self.set_range("y", *self._view)

    def _in_view(self, *curves: Curve) -> list[Curve]:
        """Return the curves, starting when all of them are in view, because a clipped band would look broken."""
        bottom, top = self._view
        moments = list(zip(*(curve.y for curve in curves), strict=True))
        unseen = [any(y is not None and not bottom <= y <= top for y in moment) for moment in moments]
        first = max((number for number, is_unseen in enumerate(unseen, 1) if is_unseen), default=0)
        return [Curve(curve.x[first:], curve.y[first:]) for curve in curves]

    def _fill(self, low: Curve, high: Curve) -> None:
        points = [
            (x, below, above)
            for x, below, above in zip(low.x, low.y, high.y, strict=True)
            if below is not None and above is not None
        ]
        self.band.setVisible(len(points) > 1)
        if len(points) > 1:
            x, below, above = (list(column) for column in zip(*points, strict=True))
            self.low.blockSignals(True)  # setting either edge rebuilds the band, but once is enough
            self.low.setData(x, below)
            self.low.blockSignals(False)
            self.high.setData(x, above)


class SustainedChart(DoublePlot):
    """Speed and clock as percentages of their initial values, with temperature on the right axis."""

    def __init__(self, theme: Theme) -> None:
        super().__init__(theme, TimeAxis(), unit="%")
        self.speed, self.clock = self.add_line(BLUE), self.add_line(RED)
        self.degrees = self.add_line(ORANGE, dashed=True, box=self.right)
        self.limit = pyqtgraph.InfiniteLine(PASS_PCT, angle=0)
        self.addItem(self.limit, ignoreBounds=True)
        self.entries: list[tuple[str, str, bool]] = []
        self.set_range("right", 20.0, 100.0, self.right)
        self.setAccessibleName(sentence("chart.sustained"))
        self.colour()

    def show_series(self, series: RunSeries, span_s: float, *, live: bool) -> None:
        self.set_range("x", 0.0, span_s)
        if self.is_shown(series, len(series.steps_per_s.x), live):
            return
        speed = in_percent(series.steps_per_s)
        clock = in_percent(_curve(series.telemetry, ("gpu0_clock_mhz", "cpu_clock_mhz")))
        degrees = _curve(series.telemetry, ("gpu0_temperature_c", "cpu_temperature_c"))
        self.show_emptiness(not has_values(speed), live=live)
        for line, curve in ((self.speed, speed), (self.clock, clock), (self.degrees, degrees)):
            line.show(curve, smooth=not live)
        has_degrees = has_values(degrees)
        self.entries = [(BLUE, sentence("chart.speed"), False)]
        self.entries += [(RED, sentence("chart.clock"), False)] if clock.x else []
        self.entries += [(ORANGE, "°C", True)] if has_degrees else []
        self.getAxis("right").setStyle(showValues=has_degrees)
        self.show_right(has_degrees)
        values = sorted(value for value in speed.y if value is not None)
        # Brief stalls may be outside of the view. Otherwise they would flatten everything else.
        typical = values[len(values) // 20 : len(values) - len(values) // 20]
        self.set_range("y", max(0.0, min([*typical, 90.0]) - 2), max([*typical, 104.0]) + 2)
        code = "chart.nothing_yet" if speed.last is None else "chart.speed_now"
        self.setAccessibleDescription(sentence(code, share_pct=speed.last))

    def colour(self) -> None:
        super().colour()
        if hasattr(self, "limit"):
            self.limit.setPen(self.pen(self.theme.tokens.valid, dashed=True))


def in_percent(curve: Curve) -> Curve:
    """Convert a curve to percentages of the median of its first third; empty if that third has no values."""
    first = [value for value in curve.y[: max(1, len(curve.y) // 3)] if value is not None]
    whole = statistics.median(first) if first else 0.0
    return _scaled(curve, 100 / whole) if whole else Curve()


def _curve(curves: Mapping[str, Curve], names: Sequence[str]) -> Curve:
    return next((curves[name] for name in names if name in curves), Curve())


def _scaled(curve: Curve, scale: float) -> Curve:
    return Curve(list(curve.x), [None if value is None else value * scale for value in curve.y])
