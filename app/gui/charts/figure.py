"""Paints the charts of studies, which look the same in the GUI and in pictures."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QPainter, QPaintEvent, QPen, QPolygonF, QResizeEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from app.core.messages import sentence
from app.core.plain_text import safe_text
from app.core.report.card import Figure, Series, Spot
from app.gui.charts.bars import draw_text, unhinted
from app.gui.charts.figure_scale import Axis, label_step, value_axis, x_axis
from app.gui.style.theme import Theme, font, tabular_font
from app.gui.style.tokens import LABEL_PX, SERIES, TEXT_PX, Tokens

ROW_MAX_PX, BAR_SHARE, SMALLEST_PX = 52.0, 0.5, 220
# Layout stretch. The empty space below gets the height that a chart can't use.
CHART_STRETCH = 100
UNLIMITED_PX = 2**24 - 1  # Qt's QWIDGETSIZE_MAX
_GAP, _DOT_PX, _LINE_PX = 10.0, 4.0, 2.0


@dataclass(frozen=True, slots=True)
class ChartStyle:
    """The style of a figure."""

    tokens: Tokens
    text_px: int = TEXT_PX  # of names and values
    label_px: int = LABEL_PX  # of axes and legend
    row_max_px: float = ROW_MAX_PX
    outlined: bool = False  # whether to paint text as outlines, so that it looks the same on all systems

    def font(self, size_px: int, weight: QFont.Weight = QFont.Weight.Normal) -> QFont:
        chosen = font(size_px, weight) if self.outlined else tabular_font(size_px, weight)
        return unhinted(chosen) if self.outlined else chosen

    def write(
        self, painter: QPainter, box: QRectF, text: str, size_px: int, colour: str, *, align: str = "left"
    ) -> None:
        chosen = self.font(size_px)
        metrics = QFontMetricsF(chosen)
        text = metrics.elidedText(safe_text(text), Qt.TextElideMode.ElideRight, max(0.0, box.width()))
        width = metrics.horizontalAdvance(text)
        shift = {"left": 0.0, "right": box.width() - width, "middle": (box.width() - width) / 2}[align]
        painter.setFont(chosen)
        painter.setPen(QColor(colour))
        place = QRectF(box.left() + shift, box.top(), width + 2, box.height())
        draw_text(painter, place, text, outlined=self.outlined)

    def width(self, text: str, size_px: int) -> float:
        return QFontMetricsF(self.font(size_px)).horizontalAdvance(text)


def paint_figure(painter: QPainter, rect: QRectF, figure: Figure, look: ChartStyle) -> None:
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    line = look.label_px * 1.6
    entries = _entries(figure, look)
    legend = _legend_lines(entries, rect.width(), look)
    area = rect.adjusted(0, 0, 0, -len(legend) * line - (6 if legend else 0))
    if figure.kind == "lines":
        _paint_lines(painter, area, figure, look)
    else:
        _paint_rows(painter, area, figure, look)
    for number, entries_of_line in enumerate(legend):
        top = area.bottom() + 6 + number * line
        _paint_legend(painter, QRectF(rect.left(), top, rect.width(), line), entries_of_line, look)
    painter.restore()


def figure_height(figure: Figure, width: float, look: ChartStyle) -> float:
    line = look.label_px * 1.6
    legend = len(_legend_lines(_entries(figure, look), width, look)) * line
    if figure.kind == "lines":
        return SMALLEST_PX + legend
    return len(figure.rows) * 1.7 * look.text_px + 5 * line + legend


def largest_height(figure: Figure, width: float, look: ChartStyle) -> float | None:
    if figure.kind == "lines":
        return None
    line = look.label_px * 1.5
    legend = len(_legend_lines(_entries(figure, look), width, look)) * look.label_px * 1.6
    around = (3 if figure.baseline is not None else 2) * line + 8
    return max(figure_height(figure, width, look), len(figure.rows) * look.row_max_px + around + legend)


def _colour(figure: Figure, series: Series, tokens: Tokens) -> str:
    """Return a series' colour: accent if it is the only one of this computer, muted for ideal lines."""
    own = [each for each in figure.series if each.is_own and not each.is_dashed]
    if series.is_dashed:
        return tokens.muted
    if series in own and len(own) == 1:
        return tokens.accent
    others = own if series in own else [each for each in figure.series if not each.is_own]
    first = 0 if series in own else max(1, len(own))
    return str(getattr(tokens, SERIES[(others.index(series) + first) % len(SERIES)]))


def _is_square(figure: Figure, series: Series) -> bool:
    others = [each for each in figure.series if not each.is_own]
    own = [each for each in figure.series if each.is_own and not each.is_dashed]
    return series in others and others.index(series) + max(1, len(own)) >= len(SERIES)


_Entry = tuple[str, str, bool, bool]


def _entries(figure: Figure, look: ChartStyle) -> list[_Entry]:
    """Return the name, colour and shape of each series for the legend; empty if there is only one series."""
    named = [series for series in figure.series if series.name]
    if len(named) < 2:
        return []
    return [
        (series.name, _colour(figure, series, look.tokens), _is_square(figure, series), series.is_dashed)
        for series in named
    ]


def _legend_lines(entries: Sequence[_Entry], width: float, look: ChartStyle) -> list[list[_Entry]]:
    lines: list[list[_Entry]] = []
    used = width + 1
    for entry in entries:
        wanted = min(width, look.width(entry[0], look.label_px) + 2.2 * look.label_px + _GAP)
        if used + wanted > width:
            lines.append([])
            used = 0.0
        lines[-1].append(entry)
        used += wanted
    return lines


def _paint_legend(painter: QPainter, box: QRectF, entries: Sequence[_Entry], look: ChartStyle) -> None:
    x = box.left()
    for name, colour, is_square, is_dashed in entries:
        sign = QPointF(x + 0.6 * look.label_px, box.center().y())
        if is_dashed:
            painter.setPen(QPen(QColor(colour), 1.5, Qt.PenStyle.DashLine))
            painter.drawLine(QPointF(x, sign.y()), QPointF(x + 1.2 * look.label_px, sign.y()))
        else:
            _paint_dot(painter, sign, 0.35 * look.label_px, colour, is_square=is_square)
        left = x + 1.6 * look.label_px
        width = min(look.width(name, look.label_px) + 1, box.right() - left)
        look.write(painter, QRectF(left, box.top(), width, box.height()), name, look.label_px, look.tokens.muted)
        x = left + width + 0.6 * look.label_px + _GAP


def _paint_dot(painter: QPainter, at: QPointF, size: float, colour: str, *, is_square: bool = False) -> None:
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(QColor(colour))
    if is_square:
        painter.drawRect(QRectF(at.x() - size, at.y() - size, 2 * size, 2 * size))
    else:
        painter.drawEllipse(at, size, size)


def _paint_lines(painter: QPainter, rect: QRectF, figure: Figure, look: ChartStyle) -> None:
    values, xs, tokens = value_axis(figure), x_axis(figure), look.tokens
    line = look.label_px * 1.5
    texts = {tick: _tick(tick) for tick in values.ticks()}
    left = max((look.width(text, look.label_px) for text in texts.values()), default=0.0) + _GAP
    plot = QRectF(rect.left() + left, rect.top() + line + 4, rect.width() - left - 12, 0)
    plot.setBottom(rect.bottom() - 2 * line - 2)
    title = QRectF(rect.left(), rect.top(), rect.width(), line)
    look.write(painter, title, figure.value_title, look.label_px, tokens.muted)
    for tick, text in texts.items():
        y = plot.bottom() - values.share(tick) * plot.height()
        painter.setPen(QPen(QColor(tokens.grid), 1))
        painter.drawLine(QPointF(plot.left(), y), QPointF(plot.right(), y))
        box = QRectF(rect.left(), y - line / 2, left - _GAP, line)
        look.write(painter, box, text, look.label_px, tokens.muted, align="right")
    _paint_x_ticks(painter, plot, figure, xs, look)
    foot = QRectF(plot.left(), rect.bottom() - line, plot.width(), line)
    look.write(painter, foot, figure.x_title, look.label_px, tokens.muted, align="middle")
    for x, name in figure.marks:
        _paint_mark(painter, plot, plot.left() + xs.share(x) * plot.width(), name, look)
    for series in sorted(figure.series, key=lambda each: (each.is_own, not each.is_dashed)):
        _Pen(painter, plot, figure, values, xs, look).paint(series)


def _paint_x_ticks(painter: QPainter, plot: QRectF, figure: Figure, xs: Axis, look: ChartStyle) -> None:
    ticks = figure.ticks or tuple((tick, _tick(tick)) for tick in xs.ticks())
    line, last = look.label_px * 1.5, plot.left() - 100
    for x, text in ticks:
        at = plot.left() + xs.share(x) * plot.width()
        half = look.width(text, look.label_px) / 2
        if at - half < last + 6:
            continue
        last = at + half
        box = QRectF(at - half - 1, plot.bottom() + 3, 2 * half + 2, line)
        look.write(painter, box, text, look.label_px, look.tokens.muted)


def _paint_mark(painter: QPainter, plot: QRectF, x: float, name: str, look: ChartStyle) -> None:
    painter.setPen(QPen(QColor(look.tokens.muted), 1, Qt.PenStyle.DashLine))
    painter.drawLine(QPointF(x, plot.top()), QPointF(x, plot.bottom()))
    width = look.width(name, look.label_px) + 2
    left = x + 4 if x + 4 + width <= plot.right() else x - 4 - width
    box = QRectF(left, plot.bottom() - 1.6 * look.label_px, width, 1.5 * look.label_px)
    look.write(painter, box, name, look.label_px, look.tokens.muted)


@dataclass(frozen=True, slots=True)
class _Pen:
    """Paints the series of a line chart."""

    painter: QPainter
    plot: QRectF
    figure: Figure
    values: Axis
    xs: Axis
    look: ChartStyle

    def at(self, x: float, value: float) -> QPointF:
        left = self.plot.left() + self.xs.share(x) * self.plot.width()
        return QPointF(left, self.plot.bottom() - self.values.share(value) * self.plot.height())

    def paint(self, series: Series) -> None:
        painter, colour = self.painter, _colour(self.figure, series, self.look.tokens)
        spots = [spot for spot in series.spots if spot is not None]
        style = Qt.PenStyle.DashLine if series.is_dashed else Qt.PenStyle.SolidLine
        painter.save()
        painter.setClipRect(self.plot.adjusted(-6, -6, 6, 6))
        painter.setPen(QPen(QColor(colour), _LINE_PX if series.is_own else 1.2, style))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawPolyline(QPolygonF([self.at(spot.x, spot.value) for spot in spots]))
        for spot in spots:
            if spot.low is not None and spot.high is not None:
                painter.setPen(QPen(QColor(colour), 1))
                painter.drawLine(self.at(spot.x, spot.low), self.at(spot.x, spot.high))
            if not series.is_dashed:
                size = _DOT_PX * (1.5 if spot.is_marked else 1.0 if series.is_own else 0.7)
                _paint_dot(painter, self.at(spot.x, spot.value), size, colour)
        painter.restore()
        for spot in spots:
            if spot.is_marked:
                self._write(spot)

    def _write(self, spot: Spot) -> None:
        look, plot, place = self.look, self.plot, self.at(spot.x, spot.value)
        width = look.width(spot.text, look.text_px) + 2
        left = min(max(plot.left(), place.x() - width / 2), plot.right() - width)
        end = place if spot.high is None else self.at(spot.x, spot.high)
        top = max(plot.top() - 1.5 * look.label_px, end.y() - 2.2 * look.text_px)
        if top + 1.5 * look.text_px > end.y():  # no room above the interval, so beside the value
            beside = place.x() - width - 2 * _DOT_PX
            left = beside if beside >= plot.left() else place.x() + 2 * _DOT_PX
            top = place.y() - 0.75 * look.text_px
        box = QRectF(left, top, width, 1.5 * look.text_px)
        ground = QColor(look.tokens.surface)  # keeps lines from crossing the text
        ground.setAlphaF(0.85)
        self.painter.setPen(Qt.PenStyle.NoPen)
        self.painter.setBrush(ground)
        self.painter.drawRoundedRect(box.adjusted(-3, 0, 3, 0), 3, 3)
        look.write(self.painter, box, spot.text, look.text_px, look.tokens.text)


def _paint_rows(painter: QPainter, rect: QRectF, figure: Figure, look: ChartStyle) -> None:
    values, tokens = value_axis(figure), look.tokens
    line = look.label_px * 1.5
    look = _fitting(look, (rect.height() - 3 * line) / max(1, len(figure.rows)))
    names = max((look.width(name, look.text_px) for name in figure.rows), default=0.0) + 2
    names = min(names, 0.42 * rect.width())
    is_bars = len(figure.series) == 1
    texts = [spot.text for spot in figure.series[0].spots if spot is not None] if is_bars else []
    room = max((look.width(text, look.text_px) for text in texts), default=0.0) + (_GAP if texts else 12)
    head = line + 4 + (line if figure.baseline is not None else 0)
    plot = QRectF(rect.left() + names + _GAP, rect.top() + head, rect.width() - names - _GAP - room, 0)
    height = min(look.row_max_px, (rect.height() - line - 4 - head) / max(1, len(figure.rows)))
    plot.setHeight(height * len(figure.rows))
    title = QRectF(rect.left(), rect.top(), rect.width(), line)
    look.write(painter, title, figure.value_title, look.label_px, tokens.muted)
    _paint_row_ticks(painter, plot, values, look)
    if figure.baseline is not None:
        x = plot.left() + values.share(figure.baseline[0]) * plot.width()
        _paint_baseline(painter, plot, x, figure.baseline[1], look)
    for number, name in enumerate(figure.rows):
        row = QRectF(plot.left(), plot.top() + number * height, plot.width(), height)
        box = QRectF(rect.left(), row.top(), names, height)
        look.write(painter, box, name, look.text_px, tokens.text)
        for series in sorted(figure.series, key=lambda each: each.is_own):
            spot = series.spots[number]
            if spot is None:
                continue
            if is_bars:
                _paint_bar(painter, row, figure, spot, look)
            else:
                place = QPointF(row.left() + values.share(spot.value) * row.width(), row.center().y())
                size = _DOT_PX * (1.5 if series.is_own else 1.0)
                is_square = _is_square(figure, series)
                _paint_dot(painter, place, size, _colour(figure, series, tokens), is_square=is_square)


def _fitting(look: ChartStyle, row_px: float) -> ChartStyle:
    """Return a style whose names fit rows of this height, but aren't smaller than labels."""
    return replace(look, text_px=max(look.label_px, min(look.text_px, int(row_px / 1.2))))


def _paint_baseline(painter: QPainter, plot: QRectF, x: float, name: str, look: ChartStyle) -> None:
    painter.setPen(QPen(QColor(look.tokens.muted), 1.5, Qt.PenStyle.DashLine))
    painter.drawLine(QPointF(x, plot.top()), QPointF(x, plot.bottom()))
    width, height = look.width(name, look.label_px) + 2, 1.5 * look.label_px
    box = QRectF(min(x - width / 2, plot.right() - width), plot.top() - height - 2, width, height)
    look.write(painter, box, name, look.label_px, look.tokens.text)


def _paint_row_ticks(painter: QPainter, plot: QRectF, values: Axis, look: ChartStyle) -> None:
    """Paint grid lines across the rows with their values. If space is limited, some values are omitted."""
    labels = []
    for tick in values.ticks():
        x, half = plot.left() + values.share(tick) * plot.width(), look.width(_tick(tick), look.label_px) / 2
        painter.setPen(QPen(QColor(look.tokens.grid), 1))
        painter.drawLine(QPointF(x, plot.top()), QPointF(x, plot.bottom()))
        labels.append((x - half - 1, x + half + 1, _tick(tick)))
    for left, right, text in labels[:: label_step([label[:2] for label in labels])]:
        box = QRectF(left, plot.bottom() + 3, right - left, 1.5 * look.label_px)
        look.write(painter, box, text, look.label_px, look.tokens.muted)


def _paint_bar(painter: QPainter, row: QRectF, figure: Figure, spot: Spot, look: ChartStyle) -> None:
    values, tokens, height = value_axis(figure), look.tokens, BAR_SHARE * row.height()
    end = row.left() + max(3.0, values.share(spot.value) * row.width())
    bar = QRectF(row.left(), row.center().y() - height / 2, end - row.left(), height)
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(QColor(tokens.accent if spot.is_marked else tokens.neutral_bar))
    painter.drawRoundedRect(bar, 4, 4)
    right = end
    if spot.low is not None and spot.high is not None:
        left, right = (row.left() + values.share(value) * row.width() for value in (spot.low, spot.high))
        painter.setPen(QPen(QColor(tokens.muted), 1.5))
        y = row.center().y()
        painter.drawLine(QPointF(left, y), QPointF(right, y))
    width = look.width(spot.text, look.text_px) + 2
    box = QRectF(max(end, right) + _GAP / 2, row.top(), width, row.height())
    if figure.baseline is not None:
        line_x = row.left() + values.share(figure.baseline[0]) * row.width()
        if box.left() - 2 < line_x < box.right() + 2:
            box.moveLeft(line_x + _GAP / 2)
    margin = max(0.0, (row.height() - 1.2 * look.text_px) / 2)
    painter.fillRect(box.adjusted(-1, margin, 1, -margin), QColor(tokens.surface))  # hides lines behind the text
    look.write(painter, box, spot.text, look.text_px, tokens.text)


def _tick(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 or value == 0 else f"{value:g}"


class FigureView(QWidget):
    """Displays one chart of a study."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self.figure: Figure | None = None
        self.setAccessibleName(sentence("studies.chart"))
        self.setAccessibleDescription(sentence("chart.nothing_yet"))
        policy = QSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        policy.setVerticalStretch(CHART_STRETCH)
        self.setSizePolicy(policy)
        theme.changed.connect(self.update)

    def show_figure(self, figure: Figure | None) -> None:
        self.figure = figure
        self.setAccessibleDescription(figure.description if figure else sentence("chart.nothing_yet"))
        self._take_room()
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(560, 320)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Request more height if the legend needs more lines."""
        super().resizeEvent(event)
        self._take_room()

    def _take_room(self) -> None:
        least_px, most_px = float(SMALLEST_PX), None
        if self.figure is not None:
            asked = self.figure, self.width(), ChartStyle(self._theme.tokens)
            least_px, most_px = figure_height(*asked), largest_height(*asked)
        self.setMinimumHeight(round(least_px))
        self.setMaximumHeight(UNLIMITED_PX if most_px is None else math.ceil(most_px))

    def paintEvent(self, _: QPaintEvent) -> None:
        if self.figure is None:
            return
        painter = QPainter(self)
        paint_figure(painter, QRectF(self.rect()), self.figure, ChartStyle(self._theme.tokens))
        painter.end()
