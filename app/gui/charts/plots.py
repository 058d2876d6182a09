"""Base classes of live charts: plots in the theme's colours that are created once and then updated.

Import this module late, because it imports pyqtgraph and NumPy, which takes longer than importing the rest of the
GUI.
"""

import contextlib
import math
from collections.abc import Sequence

import pyqtgraph
from PySide6.QtCore import QEvent, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QPen, QResizeEvent
from PySide6.QtWidgets import QSizePolicy

from app.core.analysis.series import Curve
from app.core.messages import sentence
from app.gui.style.theme import Theme, tabular_font
from app.gui.style.tokens import LABEL_PX
from app.gui.widgets.basics import label

AXIS_WIDTH_PX, AXIS_HEIGHT_PX, RIGHT_MARGIN_PX = 42, 24, 12
_BELOW_PX = 6  # keeps the first time label from touching the lowest value
# Minimum height of a chart. The smaller value is used where it avoids scrolling.
LOW_PX, LOWEST_PX = 140, 112
SMOOTH_PX, SMOOTH_POINTS = 1.6, 1_000
DASH = 0.3
VALUE_STEP_PX = 20
# Lines are thin and not antialiased while a run is live. Anything else costs up to a hundred times as much,
# because Qt strokes wide lines as paths.
pyqtgraph.setConfigOptions(antialias=False, useOpenGL=False)


class Plot(pyqtgraph.PlotWidget):  # type: ignore[misc]
    """A plot without mouse interaction, menu or buttons. Callers set its ranges.

    Args:
        bottom: Bottom axis; None for plain numbers.
        unit: Unit of the left axis; "" for none.
        right_px: Space to the right of the plot.
    """

    _is_made = False  # Qt sends events before __init__ has finished

    def __init__(
        self, theme: Theme, bottom: "pyqtgraph.AxisItem | None" = None, *, unit: str = "", right_px: int = 0
    ) -> None:
        axes = {"left": ValueAxis("left", unit)} | ({"bottom": bottom} if bottom else {})
        super().__init__(axisItems=axes, enableMenu=False)
        self.theme = theme
        self._least_px = LOW_PX
        self.instead = label(muted=True, wrap=True)
        self.instead.setParent(self)
        self.instead.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.instead.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self._ranges: dict[str, tuple[float, float]] = {}
        self._shown: tuple[object, ...] | None = None
        self._lines: list[Line] = []
        self.setAccessibleDescription(sentence("chart.nothing_yet"))
        self.setMouseEnabled(x=False, y=False)
        self.hideButtons()
        self.setFrameShape(self.Shape.NoFrame)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        # Screen readers use the description, but there is nothing to focus.
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        box = self.getViewBox()
        box.disableAutoRange()
        box.setDefaultPadding(0.0)
        for side in ("left", "bottom"):
            self._set_up_axis(side)
        # Space for the upper half of the top label, and for the right half of the last one.
        self.getPlotItem().layout.setContentsMargins(0, LABEL_PX // 2 + 2, right_px, 0)
        self.getAxis("left").setWidth(AXIS_WIDTH_PX)
        self.getAxis("bottom").setHeight(AXIS_HEIGHT_PX)
        self.getAxis("left").setGrid(255)
        theme.changed.connect(self.colour)
        self.colour()
        self.show_emptiness(True)
        self._is_made = True

    def event(self, event: QEvent) -> bool:
        """Preserve line widths when moving to a screen with a different pixel density."""
        if self._is_made and event.type() == QEvent.Type.DevicePixelRatioChange:
            self.colour()
        return bool(super().event(event))

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if self._is_made:
            self.instead.setGeometry(self.rect())

    def close(self) -> bool:
        """Close and disconnect from the theme, because a closed plot has no axes to colour."""
        with contextlib.suppress(RuntimeError, TypeError):  # it was already closed
            self.theme.changed.disconnect(self.colour)
        return bool(super().close())

    def minimumSizeHint(self) -> QSize:
        """Return a small size, because several charts share a window that may be small."""
        return QSize(120, self._least_px)

    def sizeHint(self) -> QSize:
        return QSize(240, LOW_PX)

    def allow_height(self, least_px: int) -> None:
        if least_px != self._least_px:
            self._least_px = least_px
            self.updateGeometry()

    def setAccessibleName(self, name: str) -> None:
        """Also set the name of the viewport, because screen readers treat it as a separate widget."""
        super().setAccessibleName(name)
        self.viewport().setAccessibleName(name)

    def setAccessibleDescription(self, description: str) -> None:
        super().setAccessibleDescription(description)
        self.viewport().setAccessibleDescription(description)

    def is_shown(self, *data: object) -> bool:
        """Return whether exactly this was shown last, and remember it. Painting a chart is expensive."""
        before, self._shown = self._shown, data
        return data == before

    def show_emptiness(self, is_empty: bool, *, live: bool = True) -> None:
        """Show the axes, or a text instead of them if there is no data. While live, data may still arrive."""
        if is_empty:
            self.instead.setText(sentence("chart.nothing_yet" if live else "chart.nothing_recorded"))
        self.instead.setVisible(is_empty)
        # If hidden, the axes would lose their size. If transparent, they aren't painted either.
        self.getPlotItem().setOpacity(0.0 if is_empty else 1.0)

    def pen(self, colour: str, *, dashed: bool = False) -> QPen:
        """Return a pen that is one logical pixel wide, regardless of the plot's units.

        The width is rounded to whole screen pixels, because fractional widths are expensive.
        """
        pen = QPen(QColor(colour), 1, Qt.PenStyle.DashLine if dashed else Qt.PenStyle.SolidLine)
        pen.setWidth(max(1, round(self.devicePixelRatioF())))  # the width of a cosmetic pen is in screen pixels
        pen.setCosmetic(True)
        return pen

    def add_line(self, colour: str, *, dashed: bool = False, box: "pyqtgraph.ViewBox | None" = None) -> "Line":
        """Add a line in one of the SERIES colours, optionally to another view box with its own axis."""
        line = Line(self, colour, dashed=dashed)
        line.colour()
        self._lines.append(line)
        (box or self.getViewBox()).addItem(line.item)
        return line

    def set_range(self, axis: str, low: float, high: float, box: "pyqtgraph.ViewBox | None" = None) -> None:
        """Set the range of an axis ("x", "y" or another name) if it has changed. Painting axes is expensive."""
        if self._ranges.get(axis) != (low, high):
            self._ranges[axis] = (low, high)
            if axis == "x":
                self.getViewBox().setXRange(low, high, padding=0)
            else:
                (box or self.getViewBox()).setYRange(low, high, padding=0)
            if axis == "y":
                self.getAxis("left").setWidth(self.getAxis("left").room_px(low, high))

    def colour(self) -> None:
        tokens = self.theme.tokens
        self.setBackground(tokens.surface)
        for side in ("left", "bottom", "right"):
            axis = self.getAxis(side)
            axis.setPen(self.pen(tokens.grid))
            axis.setTextPen(self.pen(tokens.muted))
        for line in self._lines:
            line.colour()

    def _set_up_axis(self, side: str) -> None:
        axis = self.getAxis(side)
        axis.setStyle(tickFont=tabular_font(LABEL_PX), tickLength=0, maxTickLevel=0)
        axis.setStyle(autoExpandTextSpace=False, autoReduceTextSpace=False, hideOverlappingLabels=False)
        if side == "bottom":
            axis.setStyle(tickTextOffset=_BELOW_PX)
        axis.enableAutoSIPrefix(False)
        axis.setZValue(-1)  # paints the grid behind the curves


class DoublePlot(Plot):
    """A plot with a second vertical axis on the right, for another unit."""

    def __init__(
        self, theme: Theme, bottom: "pyqtgraph.AxisItem | None" = None, *, unit: str = "", right_unit: str = ""
    ) -> None:
        super().__init__(theme, bottom, unit=unit)
        self.right = pyqtgraph.ViewBox(enableMouse=False, enableMenu=False)
        self.right.disableAutoRange()
        self.right.setDefaultPadding(0.0)
        self.setAxisItems({"right": ValueAxis("right", right_unit)})
        self.showAxis("right")
        self._set_up_axis("right")
        self.getAxis("right").setWidth(AXIS_WIDTH_PX)
        self.getAxis("right").linkToView(self.right)
        self.scene().addItem(self.right)
        self.right.setXLink(self.getViewBox())
        self.getViewBox().sigResized.connect(self._on_resized)
        self.colour()

    def show_right(self, shown: bool) -> None:
        width_px = AXIS_WIDTH_PX if shown else RIGHT_MARGIN_PX
        if self.getAxis("right").width() != width_px:
            self.getAxis("right").setWidth(width_px)

    def _on_resized(self) -> None:
        self.right.setGeometry(self.getViewBox().sceneBoundingRect())


class Line:
    """A line in a plot, in one of the SERIES colours."""

    def __init__(self, plot: Plot, colour: str, *, dashed: bool) -> None:
        self._plot = plot
        self._colour, self._is_dashed, self._is_smooth = colour, dashed, False
        self._thin = self._smooth = QPen()
        self.item = _LineItem(connect="finite")

    def colour(self) -> None:
        self._thin = self._plot.pen(getattr(self._plot.theme.tokens, self._colour), dashed=self._is_dashed)
        self._smooth = QPen(self._thin)
        self._smooth.setWidthF(SMOOTH_PX * self._plot.devicePixelRatioF())
        self.item.setPen(self._smooth if self._is_smooth else self._thin)

    def show(self, curve: Curve, *, smooth: bool = False) -> None:
        """Replace the points of the line. A value of None leaves a gap.

        Smooth lines are expensive to draw, which is acceptable for few points, or if they are drawn only once.
        """
        import numpy as np

        if smooth and len(curve.x) == 1:  # a single point has no line, so draw a dash
            curve = Curve([curve.x[0] - DASH / 2, curve.x[0] + DASH / 2], 2 * curve.y)
        y = np.array([math.nan if value is None else value for value in curve.y], dtype=float)
        self._is_smooth = smooth and len(y) <= SMOOTH_POINTS
        pen = self._smooth if self._is_smooth else self._thin
        self.item.setData(np.array(curve.x, dtype=float), y, pen=pen, antialias=self._is_smooth)


class _LineItem(pyqtgraph.PlotCurveItem):  # type: ignore[misc]
    """A curve in a view whose ranges are fixed."""

    def boundingRect(self) -> QRectF:
        """Return the whole view, because exact bounds are expensive to compute and not needed."""
        box = self.getViewBox()
        if box is None or self.xData is None or not len(self.xData):
            return QRectF()
        return QRectF(box.viewRect())


class ValueAxis(pyqtgraph.AxisItem):  # type: ignore[misc]
    """An axis that shows as many round values as fit, and their unit."""

    def __init__(self, side: str, unit: str = "") -> None:
        super().__init__(side)
        self._unit = f" {unit}" if unit not in ("", "×") else unit

    def boundingRect(self) -> QRectF:
        """Include space for half a label at both ends. pyqtgraph omits it if there are grid lines."""
        return QRectF(super().boundingRect()).adjusted(0, -LABEL_PX, 0, LABEL_PX)

    def tickSpacing(self, low: float, high: float, size: float) -> list[tuple[float, float]]:
        """Return a step of 1, 2 or 5 times a power of ten that prevents labels from overlapping."""
        room = max(1.0, size / VALUE_STEP_PX)
        power = math.floor(math.log10(max(high - low, 1e-12) / room))
        steps = [part * 10.0**exponent for exponent in (power, power + 1) for part in (1, 2, 5)]
        return [(next(step for step in steps if (high - low) / step <= room), 0.0)]

    def tickStrings(self, values: Sequence[float], scale: float, spacing: float) -> list[str]:
        places = max(0, math.ceil(-math.log10(spacing * scale) - 1e-9))
        return [f"{value * scale:,.{places}f}{self._unit}" for value in values]

    def room_px(self, low: float, high: float) -> int:
        spacing = self.tickSpacing(low, high, self.size().height())[0][0]
        (text,) = self.tickStrings([high], 1.0, spacing)
        return max(AXIS_WIDTH_PX, math.ceil(QFontMetricsF(tabular_font(LABEL_PX)).horizontalAdvance(text)) + 8)


class StepAxis(pyqtgraph.AxisItem):  # type: ignore[misc]
    """A bottom axis whose labels have the first of these distances that leaves enough room for each."""

    steps: Sequence[int] = ()
    label_px = 0

    def __init__(self) -> None:
        super().__init__("bottom")

    def tickSpacing(self, low: float, high: float, size: float) -> list[tuple[float, float]]:
        room = max(2.0, size / self.label_px)
        # Of a broken record, the range may be beyond all distances.
        longest = max(self.steps[-1], (high - low) / room)
        return [(float(next((step for step in self.steps if (high - low) / step <= room), longest)), 0.0)]


class TimeAxis(StepAxis):
    """An axis that shows seconds as minutes and seconds, such as "2:30"."""

    steps = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1_800, 3_600, 7_200, 14_400, 43_200, 86_400)
    label_px = 48

    def tickStrings(self, values: Sequence[float], scale: float, spacing: float) -> list[str]:
        return [format_clock(value) for value in values]


class CountAxis(StepAxis):
    """An axis of integers, for epochs."""

    steps = tuple(part * 10**power for power in range(9) for part in (1, 2, 5))
    label_px = 32

    def tickStrings(self, values: Sequence[float], scale: float, spacing: float) -> list[str]:
        """Return the labels. There is no epoch 0."""
        return [f"{value:.0f}" if value >= 1 else "" for value in values]


def has_values(curve: Curve) -> bool:
    return any(value is not None for value in curve.y)


def format_clock(duration_s: float) -> str:
    minutes, seconds = divmod(round(duration_s), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"


def round_up(value: float) -> float:
    """Round up to 1, 1.5, 2, 3, 4, 5, 6, 8 or 10 times a power of ten. Returns 1 for values of 0 or less."""
    if not math.isfinite(value) or value <= 0:
        return 1.0
    size = 10.0 ** math.floor(math.log10(value))
    return next(
        part * size for part in (1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0) if value <= part * size * 1.000001
    )


def time_span(seconds: float) -> float:
    """Return the end of a live time axis, which grows in large steps so that it isn't redrawn every second."""
    span = 10.0
    while span < seconds:
        span *= 1.25 if span >= 60 else 1.5
    return span
