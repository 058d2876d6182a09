"""The charts on share pictures: rankings, the sides of an A/B test, or studies."""

from collections.abc import Sequence
from dataclasses import replace

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFont, QPainter, QPen

from app.core.analysis.bars import Bar, one_each, ranked_count, shortlist
from app.core.analysis.position import chart_note
from app.core.analysis.speed_scale import speed_scale
from app.core.messages import sentence
from app.core.plain_text import joined
from app.core.report.card import Bars, Figure, Side, Sides
from app.gui.charts.bars import RowLook, name_font, paint_bar, paint_divide, value_font
from app.gui.charts.figure import ChartStyle, paint_figure
from app.gui.run.picture_frame import (
    SMALLEST_PX,
    fitting,
    paint_card,
    type_of,
    width_of,
    wrapped,
    write,
    write_within,
)
from app.gui.style.tokens import Tokens

BARS_LIMIT, ROW_MIN_PX, ROW_MAX_PX = 12, 26.0, 60.0
_LINE_PX = 22
_SIDE_MAX_PX, _NAME_PX, _BAR_PX, _CAP_PX, _GAP_PX = 84.0, 34, 26, 7, 14


def paint_chart(painter: QPainter, box: QRectF, chart: Bars | Sides | Figure, tokens: Tokens) -> None:
    """Paint a ranking or, on a card, the sides of an A/B test or a chart of a study or suite."""
    if isinstance(chart, Bars):
        _paint_bars(painter, box, chart, tokens)
        return
    paint_card(painter, box, tokens)
    if isinstance(chart, Figure):
        look = ChartStyle(tokens, text_px=17, label_px=SMALLEST_PX, row_max_px=96.0, outlined=True)
        paint_figure(painter, box.adjusted(24, 14, -24, -12), chart, look)
        return
    inside = box.adjusted(24, 14, -24, -16)
    small = type_of(SMALLEST_PX)
    write_within(painter, inside.bottomLeft(), chart.axis, small, tokens.muted, width=inside.width())
    _paint_sides(painter, inside.adjusted(0, 0, 0, -22), chart.sides, tokens)


def _paint_bars(painter: QPainter, box: QRectF, chart: Bars, tokens: Tokens) -> None:
    """Paint a ranking without a frame: rows from the top, and the note below them."""
    notes = type_of(SMALLEST_PX)
    bars = shortlist(chart.bars, min(BARS_LIMIT, int((box.height() - 3 * _LINE_PX) / ROW_MIN_PX)))
    if not bars:
        return
    lines = wrapped(_note(chart, bars), notes, box.width())
    height = min(ROW_MAX_PX, (box.height() - _LINE_PX * len(lines) - _GAP_PX) / len(bars))
    look = _row_look(bars, height, box.width())
    scale = speed_scale([bar.speed for bar in bars])
    for number, bar in enumerate(bars):
        row = QRectF(box.left(), box.top() + number * height, box.width(), height)
        share, texts = scale.share(bar.speed), (bar.text,)
        paint_bar(painter, row, bar, share=share, texts=texts, ground=tokens.window, look=look, tokens=tokens)
    if (ranked := ranked_count(bars)) is not None:
        paint_divide(painter, QPointF(box.left(), box.top() + ranked * height), box.width(), tokens)
    base = box.top() + height * len(bars) + _GAP_PX
    for number, line in enumerate(lines, 1):
        place = QPointF(box.left(), base + number * _LINE_PX)
        write_within(painter, place, line, notes, tokens.muted, width=box.width())


def _note(chart: Bars, bars: Sequence[Bar]) -> str:
    parts = [chart_note(bars)]
    if any(bar.row is not None and bar.row.is_doubtful for bar in bars):
        parts.append(sentence("share.likely_cpu"))
    if len(bars) < (count := len(one_each(chart.bars))):
        parts.append(sentence("share.shown_of", shown=len(bars), count=count))
    return joined(parts)


def _row_look(bars: Sequence[Bar], height: float, width: float) -> RowLook:
    text_px = 17 if height < 34 else 19
    draft = RowLook(0, 0, min(28.0, 0.6 * height), text_px, radius=5, gap=12, outlined=True)
    names = max(width_of(bar.name, name_font(draft, bar)) for bar in bars) + 1
    texts = max(width_of(bar.text, value_font(draft, bar)) for bar in bars)
    return replace(draft, name_width=min(names, 0.4 * width), text_width=texts)


def _paint_sides(painter: QPainter, room: QRectF, sides: tuple[Side, Side], tokens: Tokens) -> None:
    """Paint both sides of an A/B test on a common scale from 0, so that bar lengths are proportional."""
    height = min(_SIDE_MAX_PX, room.height() / 2)
    top = room.top() + (room.height() - 2 * height) / 2
    chosen = type_of(19, QFont.Weight.DemiBold)
    width = room.width() - max(width_of(side.text, chosen) for side in sides) - 2 * _GAP_PX
    most = max(max(side.speed, side.high or 0.0) for side in sides) or 1.0
    for number, side in enumerate(sides):
        row = QRectF(room.left(), top + number * height, room.width(), height)
        _paint_names(painter, row, side, tokens)
        box = QRectF(row.left(), row.top() + _NAME_PX, side.speed / most * width, _BAR_PX)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(tokens.accent if side.is_faster else tokens.neutral_bar))
        painter.drawRoundedRect(box, 5, 5)
        end = box.right()
        if side.low is not None and side.high is not None:
            low, high = (row.left() + end / most * width for end in (side.low, side.high))
            _paint_interval(painter, low, high, box.center().y(), tokens)
            end = max(end, high)
        place = QPointF(end + _GAP_PX, box.center().y() + 0.36 * chosen.pixelSize())
        write(painter, place, side.text, chosen, tokens.text)


def _paint_names(painter: QPainter, row: QRectF, side: Side, tokens: Tokens) -> None:
    heavy, light = type_of(19, QFont.Weight.DemiBold), type_of(18)
    room = (
        row.width()
        if not side.settings
        else max(2 * row.width() / 3, row.width() - width_of(side.settings, light))
    )
    room -= _GAP_PX if side.settings else 0
    base = QPointF(row.left(), row.top() + 20)
    write_within(painter, base, side.name, heavy, tokens.text, width=room)
    if side.settings:
        used = min(room, width_of(side.name, fitting(side.name, heavy, room)))
        place = QPointF(row.left() + used + _GAP_PX, base.y())
        write_within(painter, place, side.settings, light, tokens.muted, width=row.right() - place.x())


def _paint_interval(painter: QPainter, low: float, high: float, y: float, tokens: Tokens) -> None:
    painter.setPen(QPen(QColor(tokens.text), 2))
    painter.drawLine(QPointF(low, y), QPointF(high, y))
    for x in (low, high):
        painter.drawLine(QPointF(x, y - _CAP_PX), QPointF(x, y + _CAP_PX))
