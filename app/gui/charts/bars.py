"""Scales and painting of result bars, for the GUI and for share pictures."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QPainter, QPainterPath, QPen

from app.core.analysis.compare import Bar
from app.core.formats import format_ratio
from app.core.messages import sentence
from app.core.plain_text import safe_text
from app.gui.style.theme import font, tabular_font
from app.gui.style.tokens import Tokens

SHORTEST_PX, TICKS_LIMIT = 3.0, 6
SMALLEST_POWER = -300  # smallest exponent at which a logarithmic scale starts
# Colours by kind of bar. The user's other runs are paler.
_FILLS = {
    "you": "accent",
    "own": "accent",
    "reference": "neutral_bar",
    "imported": "pink",
}


@dataclass(frozen=True, slots=True)
class Scale:
    """Maps values to a share of the bar width, 0 to 1, logarithmically from a power of ten or linearly from 0."""

    origin: float
    top: float
    log: bool

    def share(self, value_s: float) -> float:
        """Return the length of the bar for a value, 0 to 1."""
        if self.log:
            # Don't use ratios. They overflow for absurd values in imported files.
            low, high = math.log(self.origin), math.log(self.top)
            return max(0.0, (math.log(max(value_s, self.origin)) - low) / (high - low))
        return value_s / self.top

    def ticks(self) -> list[float]:
        """Return a few values for grid lines: powers of ten or round values."""
        if self.log:
            first, last = round(math.log10(self.origin)), math.floor(math.log10(self.top) + 1e-9)
            return [10.0**power for power in range(first, last + 1, 1 + (last - first) // TICKS_LIMIT)]
        size = 10.0 ** math.floor(math.log10(self.top))
        step = next(part * size for part in (0.25, 0.5, 1.0, 2.0) if self.top / (part * size) <= 5)
        return [number * step for number in range(int(self.top / step + 1e-9) + 1)]


def scale_for(values_s: Sequence[float], *, log: bool) -> Scale:
    real = [value_s for value_s in values_s if value_s > 0] or [1.0]
    if not log:
        return Scale(0.0, max(real), log=False)
    # Otherwise the bar of a value just above a power of ten would have no length.
    origin = 10.0 ** max(SMALLEST_POWER, math.floor(math.log10(min(real) / 1.5)))
    return Scale(origin, max(*real, 10 * origin), log=True)


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


def value_text(bar: Bar, baseline: Bar | None, *, ratios: bool = False) -> str:
    """Return the text after a bar: the value, and its ratio to the baseline.

    The baseline is named by the sentence above the chart or by the chart's note. Next to the bar, the year of the
    baseline's software would seem to belong to the bar.

    Args:
        baseline: The bar to compare with; None for no ratio. Invalid results aren't compared.
        ratios: Whether published bars also show a ratio, and the baseline is labelled.
    """
    value, times = bar.text, bar.times_as_fast(baseline)
    if baseline is None or times is None or (bar.kind == "reference" and not ratios):
        return value
    if bar_key(bar) == bar_key(baseline):
        return sentence("chart.is_baseline", value=value) if ratios else value
    return sentence("chart.times", value=value, ratio=format_ratio(times))


def value_texts(bar: Bar, baseline: Bar | None, *, ratios: bool = False) -> tuple[str, ...]:
    """Return the text of `value_text` and, unless all bars show ratios, a shorter text with only the value."""
    whole = value_text(bar, baseline, ratios=ratios)
    return (whole,) if ratios or whole == bar.text else (whole, bar.text)


def text_room(room: float, shares: Sequence[float], texts: Sequence[float]) -> float:
    """Return the width to reserve for texts so that each text fits after its bar.

    Args:
        room: Total width of bars and texts.
        shares: Length of each bar as a share of the width available for bars.
        texts: Width of each bar's text.
    """
    longest = min(
        ((room - text) / share for share, text in zip(shares, texts, strict=True) if share > 0), default=room
    )
    return room - max(0.0, min(longest, room))


def name_font(look: RowLook, bar: Bar | None) -> QFont:
    """Return the font for a bar's name. It is bold for the user's own bar."""
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
    if bar.kind == "own" or (mine and bar.verdict == "invalid"):
        fill.setAlphaF(0.4)
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
    left = rect.left() + look.name_width + look.gap
    box = QRectF(left, rect.center().y() - look.bar_height / 2, rect.right() - left, look.bar_height)
    pen = QPen(QColor(tokens.accent), 1, Qt.PenStyle.DashLine)
    painter.setPen(pen)
    painter.setBrush(Qt.BrushStyle.NoBrush)
    painter.drawRoundedRect(box.adjusted(0.5, 0.5, -0.5, -0.5), look.radius, look.radius)
    painter.setFont(font(look.text_px - 1))
    painter.setPen(QColor(tokens.muted))
    hint = QFontMetricsF(painter.font()).elidedText(hint, Qt.TextElideMode.ElideRight, box.width() - 16)
    painter.drawText(box.adjusted(8, 0, -8, 0), middle, hint)


def paint_grid(
    painter: QPainter, rect: QRectF, scale: Scale, look: RowLook, tokens: Tokens, *, label_px: int, unit: str
) -> None:
    """Paint grid lines across the rows, with each line's value below it. The last value includes the unit."""
    room = rect.width() - look.name_width - look.text_width - 2 * look.gap
    left = rect.left() + look.name_width + look.gap
    painter.setFont(unhinted(tabular_font(label_px)) if look.outlined else tabular_font(label_px))
    metrics = QFontMetricsF(painter.font())
    height = metrics.height()
    for value_s in scale.ticks():
        x = round(left + scale.share(value_s) * room) + 0.5
        painter.setPen(QPen(QColor(tokens.grid), 1))
        painter.drawLine(QPointF(x, rect.top()), QPointF(x, rect.bottom() - height - 2))
        painter.setPen(QColor(tokens.muted))
        text = tick_text(value_s) + (unit if value_s == scale.ticks()[-1] else "")
        box = QRectF(x - metrics.horizontalAdvance(text) / 2, rect.bottom() - height, 80, height)
        draw_text(painter, box, text, outlined=look.outlined)


def tick_text(value_s: float) -> str:
    """Format a round value without an exponent, with thousands separators."""
    return f"{value_s:,.6f}".rstrip("0").rstrip(".")
