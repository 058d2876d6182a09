"""Painting of result bars, for the GUI and for share pictures."""

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QPainter, QPainterPath, QPen

from app.core.analysis.bars import Bar
from app.core.analysis.speed_scale import SpeedScale
from app.core.formats import format_ratio
from app.core.messages import sentence
from app.core.plain_text import safe_text
from app.gui.style.theme import font, tabular_font
from app.gui.style.tokens import LABEL_PX, Tokens

SHORTEST_PX, SLOT_PX = 3.0, 40.0
PALE_ALPHA = 0.4  # of the user's other runs, and of bars without a rank
# Colours by kind of bar. The user's other runs are paler.
_FILLS = {"you": "accent", "own": "accent", "reference": "neutral_bar", "imported": "pink"}


@dataclass(frozen=True, slots=True)
class RowLook:
    """The style of a row. Sizes are in pixels."""

    name_width: float
    text_width: float  # width reserved for text after the longest bar
    bar_height: float
    text_px: int
    radius: float = 4.0
    gap: float = 10.0
    outlined: bool = False  # paint text as outlines, so that pictures look the same on all systems


def bar_key(bar: Bar) -> str:
    if bar.kind == "you":
        return "you"
    if bar.imported is not None:
        return f"imported-{bar.imported.id}"
    return bar.row.id if bar.row else f"run-{bar.run.id if bar.run else bar.name}"


def value_texts(bar: Bar, baseline: Bar | None) -> tuple[str, ...]:
    """Return the text after a bar: the value with its ratio to the baseline, then a shorter one without the ratio.

    Only the user's bars and imported ones have a ratio.
    """
    times = bar.times_as_fast(baseline)
    if baseline is None or times is None or bar.kind == "reference" or bar_key(bar) == bar_key(baseline):
        return (bar.text,)
    return sentence("chart.times", value=bar.text, ratio=format_ratio(times)), bar.text


def text_room(room: float, shares: Sequence[float], texts: Sequence[float]) -> float:
    """Return the width to reserve for texts, of all the room, so that each text fits after its bar.

    Bars have lengths as a share of the width available for bars.
    """
    lengths = ((room - text) / share for share, text in zip(shares, texts, strict=True) if share > 0)
    longest = min(lengths, default=room)
    return room - max(0.0, min(longest, room))


def name_font(look: RowLook, bar: Bar | None) -> QFont:
    chosen = font(look.text_px, _weight(bar))
    return unhinted(chosen) if look.outlined else chosen


def name_within(bar: Bar, metrics: QFontMetricsF, width: float) -> str:
    """Return the name of a bar, or its brief name if the full name doesn't fit within the width."""
    name = safe_text(bar.name)
    return name if not bar.brief or metrics.horizontalAdvance(name) <= width else safe_text(bar.brief)


def value_font(look: RowLook, bar: Bar | None) -> QFont:
    chosen = tabular_font(look.text_px, _weight(bar))
    return unhinted(chosen) if look.outlined else chosen


def _weight(bar: Bar | None) -> QFont.Weight:
    own = bar is None or bar.kind == "you"
    return QFont.Weight.DemiBold if own else QFont.Weight.Normal


def unhinted(chosen: QFont) -> QFont:
    """Disable hinting, so that letters have their designed widths instead of widths in whole screen pixels."""
    chosen.setHintingPreference(QFont.HintingPreference.PreferNoHinting)
    return chosen


def draw_text(painter: QPainter, box: QRectF, text: str, *, outlined: bool = False) -> None:
    if not outlined:
        painter.drawText(box, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft, text)
        return
    metrics = QFontMetricsF(painter.font())
    base = box.center().y() + (metrics.ascent() - metrics.descent()) / 2
    shapes = QPainterPath()
    shapes.addText(QPointF(box.left(), base), painter.font(), text)
    painter.fillPath(shapes, painter.pen().color())


def paint_divide(painter: QPainter, left: QPointF, width: float, tokens: Tokens) -> None:
    painter.setPen(QPen(QColor(tokens.muted), 1, Qt.PenStyle.DashLine))
    painter.drawLine(left, left + QPointF(width, 0))


def paint_bar(
    painter: QPainter,
    rect: QRectF,
    bar: Bar,
    *,
    share: float,
    texts: Sequence[str],
    ground: str,
    look: RowLook,
    tokens: Tokens,
) -> float:
    """Paint a row with name, bar and value, and return the right end of the value's text.

    The first of `texts` that fits is drawn after the bar. `ground` is the background colour, used to hide grid
    lines behind the text.
    """
    mine = bar.kind == "you"
    text_colour = QColor(tokens.text if bar.kind != "reference" else tokens.muted)
    painter.setFont(name_font(look, bar))
    painter.setPen(text_colour)
    name = name_within(bar, QFontMetricsF(painter.font()), look.name_width)
    name = QFontMetricsF(painter.font()).elidedText(name, Qt.TextElideMode.ElideRight, look.name_width)
    box = QRectF(rect.left(), rect.top(), look.name_width, rect.height())
    draw_text(painter, box, name, outlined=look.outlined)
    room = rect.width() - look.name_width - look.text_width - 2 * look.gap
    length = max(SHORTEST_PX, share * room)
    left = rect.left() + look.name_width + look.gap
    box = QRectF(left, rect.center().y() - look.bar_height / 2, length, look.bar_height)
    painter.setPen(Qt.PenStyle.NoPen)
    fill = QColor(getattr(tokens, _FILLS[bar.kind]))
    if bar.kind == "own" or not bar.is_like or (mine and bar.verdict == "invalid"):
        fill.setAlphaF(PALE_ALPHA)
    painter.setBrush(fill)
    painter.drawRoundedRect(box, look.radius, look.radius)
    painter.setFont(value_font(look, bar))
    start = box.right() + look.gap
    metrics, room = QFontMetricsF(painter.font()), rect.right() - start
    text = next((text for text in texts if metrics.horizontalAdvance(text) <= room), texts[-1])
    end = min(start + metrics.horizontalAdvance(text), rect.right())
    box = QRectF(start, rect.top(), max(0.0, end - start), rect.height())
    margin = max(0.0, (rect.height() - metrics.height()) / 2)
    painter.fillRect(box.adjusted(-4, margin, 4, -margin), QColor(ground))
    painter.setPen(text_colour)
    draw_text(painter, box, text, outlined=look.outlined)
    return end


def paint_slot(painter: QPainter, rect: QRectF, name: str, hint: str, *, look: RowLook, tokens: Tokens) -> None:
    painter.setFont(name_font(look, None))
    painter.setPen(QColor(tokens.accent))
    middle = Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft
    painter.drawText(QRectF(rect.left(), rect.top(), look.name_width, rect.height()), middle, name)
    hint_font = font(look.text_px - 1)
    left = rect.left() + look.name_width + look.gap
    # Short, because a length would look like a prediction.
    box = QRectF(left, rect.center().y() - look.bar_height / 2, SLOT_PX, look.bar_height)
    painter.setPen(QPen(QColor(tokens.accent), 1, Qt.PenStyle.DashLine))
    painter.setBrush(QColor(tokens.surface))
    painter.drawRoundedRect(box.adjusted(0.5, 0.5, -0.5, -0.5), look.radius, look.radius)
    painter.setFont(hint_font)
    painter.setPen(QColor(tokens.accent))
    start = box.right() + look.gap
    hint = QFontMetricsF(hint_font).elidedText(hint, Qt.TextElideMode.ElideRight, rect.right() - start)
    painter.drawText(QRectF(start, rect.top(), rect.right() - start, rect.height()), middle, hint)


def paint_grid(painter: QPainter, rect: QRectF, scale: SpeedScale, look: RowLook, tokens: Tokens) -> None:
    """Paint grid lines across the rows, with each line's multiple of the baseline below it."""
    room = rect.width() - look.name_width - look.text_width - 2 * look.gap
    left = rect.left() + look.name_width + look.gap
    painter.setFont(tabular_font(LABEL_PX))
    metrics = QFontMetricsF(painter.font())
    height, free = metrics.height(), 0.0
    for share, text in scale.ticks():
        x, width = round(left + share * room) + 0.5, metrics.horizontalAdvance(text)
        painter.setPen(QPen(QColor(tokens.grid), 1))
        painter.drawLine(QPointF(x, rect.top()), QPointF(x, rect.bottom() - height - 2))
        if x - width / 2 >= free:  # labels never overlap
            painter.setPen(QColor(tokens.muted))
            draw_text(painter, QRectF(x - width / 2, rect.bottom() - height, 80, height), text)
            free = x + width / 2 + 6
