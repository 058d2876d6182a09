"""Charts of a run: seconds per epoch, loss and accuracy, and throughput."""

import statistics
from collections.abc import Callable, Sequence
from functools import partial

import pyqtgraph
from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QBrush, QColor, QFontMetrics, QPainter, QPaintEvent, QPen, QResizeEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from app.core.analysis.series import POINTS_LIMIT, Curve, RunSeries
from app.core.formats import format_seconds
from app.core.messages import sentence
from app.gui.charts.plots import AXIS_HEIGHT_PX, CountAxis, DoublePlot, Plot, TimeAxis, has_values, round_up
from app.gui.style.theme import Theme, tabular_font
from app.gui.style.tokens import LABEL_PX, SERIES
from app.gui.widgets.basics import set_tip

BLUE, ORANGE = SERIES[:2]
_HALF_LABEL_PX = LABEL_PX // 2 + 2
BAR_WIDTH, BARS_LIMIT = 0.68, 1_000
DESCRIBED = 20  # number of epochs in the description for screen readers


class Legend(QWidget):
    """A legend that shows a stroke in each line's colour before its name, wrapped if necessary."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._entries: list[tuple[str, str, bool]] = []
        self.setFont(tabular_font(LABEL_PX))
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setFixedHeight(self._line_px)
        self.setAccessibleName(sentence("chart.nothing_yet"))
        theme.changed.connect(self.update)

    def show_entries(self, entries: Sequence[tuple[str, str, bool]], about: str = "") -> None:
        """Show legend entries. Each entry has a theme colour, a text, and whether its line is dashed.

        `about` is shown in the tooltip.
        """
        if list(entries) != self._entries:
            self._entries = list(entries)
            text = ", ".join(name for _, name, _ in entries) + (f" ({about})" if about else "")
            self.setAccessibleName(text)
            set_tip(self, text)
            self._fit()
            self.update()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        for (colour, name, dashed), (x, line) in zip(self._entries, self._places(), strict=True):
            middle = round((line + 0.5) * self._line_px)
            style = Qt.PenStyle.DotLine if dashed else Qt.PenStyle.SolidLine
            painter.setPen(QPen(QColor(getattr(self._theme.tokens, colour)), 3, style))
            painter.drawLine(x, middle, x + 12, middle)
            painter.setPen(QColor(self._theme.tokens.muted))
            box = QRectF(x + 17, line * self._line_px, self.width(), self._line_px)
            painter.drawText(box, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft, name)
        painter.end()

    @property
    def _line_px(self) -> int:
        return QFontMetrics(self.font()).height() + 2

    def _places(self) -> list[tuple[int, int]]:
        metrics = QFontMetrics(self.font())
        places, x, line = [], 0, 0
        for _, name, _ in self._entries:
            width = metrics.horizontalAdvance(name) + 30
            if x and x + width - 13 > self.width():
                x, line = 0, line + 1
            places.append((x, line))
            x += width
        return places

    def _fit(self) -> None:
        lines = max((line for _, line in self._places()), default=0) + 1
        if self.height() != lines * self._line_px:
            self.setFixedHeight(lines * self._line_px)


class EpochChart(Plot):
    """A bar chart of the speed of epochs or runs. A dashed line marks the median, which is 1×.

    The first epoch is set apart.
    """

    def __init__(self, theme: Theme) -> None:
        self.bars = pyqtgraph.BarGraphItem(x=[], height=[], width=BAR_WIDTH, pen=QPen(Qt.PenStyle.NoPen))
        self.median = pyqtgraph.PlotCurveItem(pen=None)
        self._show_again: Callable[[], None] | None = None
        super().__init__(theme, CountAxis(), unit="×")
        for item in (self.bars, self.median):
            self.addItem(item, ignoreBounds=True)
        self.setAccessibleName(sentence("chart.speed_by_epoch"))

    def show_epochs(
        self,
        values: Sequence[float],
        planned: int,
        median: float | None = None,
        *,
        is_rate: bool = False,
        apart: bool = True,
        live: bool = True,
    ) -> None:
        """Show the finished epochs or, without a first one that is set apart, the finished runs.

        The values are durations in s or, if higher ones are faster, speeds in any unit. The median is 1×.
        """
        if self.is_shown(tuple(values), planned, median, is_rate, apart, live):
            return
        options = {"is_rate": is_rate, "apart": apart, "live": live}
        self._show_again = partial(self.show_epochs, tuple(values), planned, median, **options)
        self.show_emptiness(not any(values), live=live)
        if median is None and values:
            median = statistics.median(values[1:] if apart and len(values) > 1 else values)
        times = [(value / median if is_rate else median / value) for value in values if value and median]
        count = max(planned, len(times), 1)
        self.set_range("x", 0.4, count + 0.6)
        self.set_range("y", 0.0, round_up(1.08 * max(times, default=1.0)))
        self._draw(times, 1 if apart else 0)
        self.median.setData([0.4, count + 0.6] if times else [], [1.0, 1.0] if times else [])
        self.setAccessibleName(sentence("chart.speed_by_epoch" if apart else "chart.speed_by_run"))
        latest = values[-DESCRIBED:]
        texts = ["…"] if len(values) > DESCRIBED else []
        texts += [format_seconds(value) if apart else f"{value:.4g}" for value in latest]
        code = "chart.epochs_done" if apart else "chart.runs_done"
        done = sentence(code, done=len(values), planned=planned, durations=", ".join(texts))
        self.setAccessibleDescription(done if texts else sentence("chart.nothing_yet"))

    def colour(self) -> None:
        super().colour()
        self.median.setPen(self.pen(self.theme.tokens.text, dashed=True))
        if self._show_again is not None:
            self.is_shown()
            self._show_again()

    def _draw(self, heights: Sequence[float], apart: int) -> None:
        tokens = self.theme.tokens
        # Above the limit, each bar represents the same number of epochs by their median.
        group = max(1, -(-len(heights) // BARS_LIMIT))
        firsts = range(0, len(heights), group)
        shown = _medians(heights, group) if group > 1 else [*heights]
        # A single epoch is the result but includes startup, so it is also set apart.
        brushes = [QBrush(QColor(tokens.neutral_bar if first < apart else tokens.accent)) for first in firsts]
        self.bars.setVisible(bool(heights))
        if heights:  # pyqtgraph fails on empty lists of colours
            places = [first + (group + 1) / 2 for first in firsts]
            self.bars.setOpts(x=places, height=shown, brushes=brushes, width=group if group > 1 else BAR_WIDTH)


def _medians(values: Sequence[float], each: int) -> list[float]:
    """Return the median of each group of `each` consecutive values.

    For 10^5 values, sorting with NumPy halves the time. NumPy's median function would import a package first,
    which takes 15 ms.
    """
    import numpy as np

    whole = len(values) // each * each
    ordered = np.sort(np.reshape(values[:whole], (-1, each)), axis=1)
    medians: list[float] = ((ordered[:, (each - 1) // 2] + ordered[:, each // 2]) / 2).tolist()
    return [*medians, statistics.median(values[whole:])] if whole < len(values) else medians


class LossChart(DoublePlot):
    """Loss on the left axis and accuracy in percent on the right, by epoch. Validation lines are dashed."""

    # Colour, message code of the name, and whether the line is dashed.
    ENTRIES = (
        (ORANGE, "column.loss", False),
        (BLUE, "column.accuracy", False),
        (ORANGE, "column.validation", True),
    )

    def __init__(self, theme: Theme) -> None:
        super().__init__(theme, CountAxis(), right_unit="%")
        self.lines = {
            "loss": self.add_line(ORANGE),
            "val_loss": self.add_line(ORANGE, dashed=True),
            "accuracy": self.add_line(BLUE, box=self.right),
            "val_accuracy": self.add_line(BLUE, dashed=True, box=self.right),
        }
        self.set_range("accuracy", 0.0, 100.0, self.right)
        self.setAccessibleName(sentence("chart.loss_over_epochs"))

    def show_series(self, series: RunSeries, planned: int, *, live: bool) -> None:
        if self.is_shown(series, len(series.epochs), len(series.loss.x), planned, live):
            return
        epochs = series.epochs[:: 1 + len(series.epochs) // POINTS_LIMIT]
        ends = [float(epoch.index + 1) for epoch in epochs]
        curves = {name: Curve(ends, [getattr(epoch, name) for epoch in epochs]) for name in ("loss", "val_loss")}
        for name in ("accuracy", "val_accuracy"):
            shares = [getattr(epoch, name) for epoch in epochs]
            curves[name] = Curve(ends, [None if share is None else 100 * share for share in shares])
        if series.loss.x:
            curves["loss"] = series.loss
        for name, curve in curves.items():
            self.lines[name].show(curve, smooth=name != "loss" or not live)
        values = [value for value in (*curves["loss"].y, *curves["val_loss"].y) if value is not None]
        self.show_emptiness(not values, live=live)
        self.set_range("x", 0.0, 1.04 * max(planned, len(series.epochs), 1))
        self.set_range("y", 0.0, round_up(1.05 * max(values, default=1.0)))
        self.setAccessibleDescription(_loss_sentence(series))


class ThroughputChart(DoublePlot):
    """Training steps per second over time. Marks at the top show interruptions."""

    colour_name = BLUE

    def __init__(self, theme: Theme) -> None:
        super().__init__(theme, TimeAxis())
        self.line = self.add_line(BLUE)
        self.marks = pyqtgraph.ScatterPlotItem(size=9, symbol="t", pen=QPen(Qt.PenStyle.NoPen))
        self.getViewBox().addItem(self.marks, ignoreBounds=True)
        # The right axis has no values. It only aligns the plot with the telemetry chart below.
        self.getAxis("right").setStyle(showValues=False)
        self.getAxis("bottom").setStyle(showValues=False)
        self.getAxis("bottom").setHeight(_HALF_LABEL_PX)
        self.setAccessibleName(sentence("chart.steps_per_second"))
        self.colour()

    def show_curve(
        self, curve: Curve, span_s: float, *, live: bool, interrupted_t_s: Sequence[float] = ()
    ) -> None:
        self.set_range("x", 0.0, span_s)
        if self.is_shown(curve, len(curve.x), live, tuple(interrupted_t_s)):
            return
        self.show_emptiness(not has_values(curve), live=live)
        self.line.show(curve, smooth=not live)
        highest = max((value for value in curve.y if value is not None), default=1.0)
        top = round_up(1.1 * highest)
        self.set_range("y", 0.0, top)
        # Slightly below the upper edge, to avoid clipping the marks.
        self.marks.setData(list(interrupted_t_s), [0.94 * top] * len(interrupted_t_s))
        code = "chart.steps_now_interrupted" if interrupted_t_s else "chart.steps_now"
        last = "n/a" if curve.last is None else f"{curve.last:.1f}"
        self.setAccessibleDescription(sentence(code, now=last, highest=highest, count=len(interrupted_t_s)))

    def minimumSizeHint(self) -> QSize:
        """Return a smaller height, because there are no time labels."""
        return super().minimumSizeHint() - QSize(0, AXIS_HEIGHT_PX - _HALF_LABEL_PX)

    def colour(self) -> None:
        super().colour()
        if hasattr(self, "marks"):
            self.marks.setBrush(QColor(self.theme.tokens.caution))


def _loss_sentence(series: RunSeries) -> str:
    if not series.epochs:
        return sentence("chart.nothing_yet")
    last = series.epochs[-1]
    named = {
        "column.loss": last.loss,
        "column.accuracy": last.accuracy,
        "chart.validation_loss": last.val_loss,
        "chart.validation_accuracy": last.val_accuracy,
    }
    values = [f"{sentence(code)} {value:.3f}" for code, value in named.items() if value is not None]
    return sentence("chart.after_epoch", number=last.index + 1, values=values)
