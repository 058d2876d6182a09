"""The picture of an A/B: which side is faster, and both sides as bars."""

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFont, QPainter, QPen

from app.core.plans.ab_card import AbCard, Side
from app.gui.charts.bars import scale_for
from app.gui.run.picture_frame import (
    CODE_BESIDE_PX,
    MARGIN_PX,
    SMALLEST_PX,
    WIDTH_PX,
    code_edge_px,
    fitting,
    paint_badge,
    paint_card,
    paint_code,
    room_above_code,
    type_of,
    width_of,
    wrapped,
    write,
    write_within,
)
from app.gui.style.tokens import Tokens

_LEFT, _WIDTH = MARGIN_PX, WIDTH_PX - 2 * MARGIN_PX
_CHART = QRectF(_LEFT, 226, _WIDTH, 204)
_ROW_PX, _BAR_PX, _CAP_PX, _GAP_PX = 70, 26, 7, 14
_TEXT_TOP, _LINE_PX, _LINES, _NAME_LINES = 464, 23, 4, 3
_FOOT_BOTTOM, _NAME_LIMIT = 588, 600


def paint_ab(painter: QPainter, card: AbCard, tokens: Tokens) -> None:
    """Paint an A/B below the picture's head."""
    bold = type_of(56, QFont.Weight.Bold)
    write_within(painter, QPointF(_LEFT, 166), card.headline, bold, tokens.text, width=_WIDTH)
    write_within(painter, QPointF(_LEFT, 204), card.note, type_of(22), tokens.muted, width=_WIDTH)
    _paint_sides(painter, card, tokens)
    width: float = _WIDTH
    if card.short_form:
        paint_code(painter, card.short_form)
        width -= code_edge_px(card.short_form) + CODE_BESIDE_PX
    _paint_texts(painter, card, tokens, width)
    _paint_foot(painter, card, tokens, width)


def _paint_sides(painter: QPainter, card: AbCard, tokens: Tokens) -> None:
    """Paint both sides on one scale from 0, so that their lengths can be compared."""
    chart = room_above_code(_CHART, card.short_form)
    paint_card(painter, chart, tokens)
    inside = chart.adjusted(24, 14, -24, -16)
    row_px = _ROW_PX - (_CHART.height() - chart.height()) / 2
    write_within(painter, inside.bottomLeft(), card.axis, type_of(SMALLEST_PX), tokens.muted, width=inside.width())
    chosen = type_of(19, QFont.Weight.DemiBold)
    texts = max(width_of(side.text, chosen) for side in card.sides)
    room = inside.width() - texts - 2 * _GAP_PX
    scale = scale_for([max(side.value, side.high or 0.0) for side in card.sides], log=False)
    for number, side in enumerate(card.sides):
        row = QRectF(inside.left(), inside.top() + number * (row_px + 6), inside.width(), row_px)
        _paint_names(painter, row, side, tokens)
        box = QRectF(row.left(), row.bottom() - _BAR_PX - 10, scale.share(side.value) * room, _BAR_PX)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(tokens.accent if side.is_faster else tokens.neutral_bar))
        painter.drawRoundedRect(box, 5, 5)
        end = box.right()
        if side.low is not None and side.high is not None:
            low, high = (row.left() + scale.share(each) * room for each in (side.low, side.high))
            _paint_interval(painter, low, high, box.center().y(), tokens)
            end = max(end, high)
        place = QPointF(end + _GAP_PX, box.center().y() + 0.36 * chosen.pixelSize())
        write(painter, place, side.text, chosen, tokens.text)


def _paint_names(painter: QPainter, row: QRectF, side: Side, tokens: Tokens) -> None:
    """Paint a side's name and, behind it, its settings; the name takes what it needs of two thirds."""
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


def _paint_texts(painter: QPainter, card: AbCard, tokens: Tokens, width: float) -> None:
    """Paint the machine, the engine and what to know about the test, as far as there is room."""
    heavy, light = type_of(22, QFont.Weight.DemiBold), type_of(18)
    names = [card.machine]
    if width_of(card.machine, fitting(card.machine, heavy, width)) > width:
        heavy = type_of(SMALLEST_PX, QFont.Weight.DemiBold)
        names = _broken(card.machine[:_NAME_LIMIT], heavy, width)[:_NAME_LINES]
    details = [text for detail in card.details for text in wrapped(detail, light, width)]
    if len(names) + len(details) > _LINES:
        details = [" · ".join(card.details)]
    lines = [(name, heavy, tokens.text) for name in names] + [(text, light, tokens.muted) for text in details]
    for number, (text, chosen, colour) in enumerate(lines[:_LINES]):
        place = QPointF(_LEFT, _TEXT_TOP + number * _LINE_PX)
        write_within(painter, place, text, chosen, colour, width=width)


def _broken(text: str, chosen: QFont, width: float) -> list[str]:
    """Return a text in lines, broken between words or, where that left half a line empty, within one."""
    lines = []
    while text:
        end = next((end for end in range(len(text), 1, -1) if width_of(text[:end], chosen) <= width), 1)
        if end < len(text):
            end = text.rfind(" ", end // 2, end) + 1 or end
        lines.append(text[:end].strip())
        text = text[end:]
    return lines


def _paint_foot(painter: QPainter, card: AbCard, tokens: Tokens, width: float) -> None:
    """Paint the verdict at the left, date and version at the right."""
    chosen = type_of(18)
    footer = width_of(card.footer, chosen)
    write(painter, QPointF(_LEFT + width - footer, _FOOT_BOTTOM - 14), card.footer, chosen, tokens.muted)
    room = width - footer - 2 * _GAP_PX
    paint_badge(painter, QPointF(_LEFT, _FOOT_BOTTOM), card.level, card.badge, tokens, width=room)
