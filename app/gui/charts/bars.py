"""Bars of results: their scale, and how one is painted; shared by window and share picture."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QPainter, QPainterPath, QPen

from app.core.analysis.compare import Bar, ratio_text
from app.core.messages import sentence
from app.gui.style.theme import figures, font
from app.gui.style.tokens import Tokens

SHORTEST_PX, TICKS_LIMIT = 3.0, 6


@dataclass(frozen=True, slots=True)
class Scale:
    """From seconds to a share of the room for bars, 0 to 1: logarithmic from a power of ten, or linear from 0."""

    origin: float
    top: float
    log: bool

    def share(self, value_s: float) -> float:
        """Return how long a value's bar is."""
        if self.log:
            return max(0.0, math.log(max(value_s, self.origin) / self.origin) / math.log(self.top / self.origin))
        return value_s / self.top

    def ticks(self) -> list[float]:
        """Return where grid lines stand: at powers of ten, or at round values; at most a few."""
        if self.log:
            first, last = round(math.log10(self.origin)), math.floor(math.log10(self.top) + 1e-9)
            return [10.0**power for power in range(first, last + 1, 1 + (last - first) // TICKS_LIMIT)]
        size = 10.0 ** math.floor(math.log10(self.top))
        step = next(part * size for part in (0.25, 0.5, 1.0, 2.0) if self.top / (part * size) <= 5)
        return [number * step for number in range(int(self.top / step + 1e-9) + 1)]


def scale_for(values_s: Sequence[float], *, log: bool) -> Scale:
    """Return a scale that holds all values; a logarithmic one begins clearly below the smallest."""
    real = [value_s for value_s in values_s if value_s > 0] or [1.0]
    if not log:
        return Scale(0.0, max(real), log=False)
    # A value just above a power of ten would have no length.
    origin = 10.0 ** math.floor(math.log10(min(real) / 1.5))
    return Scale(origin, max(*real, 10 * origin), log=True)


@dataclass(frozen=True, slots=True)
class RowLook:
    """How one row is drawn; sizes in pixels."""

    name_width: float
    text_width: float  # what is kept free behind the longest bar
    bar_height: float
    text_px: int
    radius: float = 4.0
    gap: float = 10.0
    outlined: bool = False  # for pictures: text as shapes, which look the same on every system


def bar_key(bar: Bar) -> str:
    """Return a stable key that identifies a bar."""
    if bar.kind == "you":
        return "you"
    if bar.log is not None:
        return f"log-{bar.log.id}"
    return bar.row.id if bar.row else f"run-{bar.run.id if bar.run else bar.name}"


def value_text(bar: Bar, baseline: Bar | None, *, ratios: bool = False) -> str:
    """Return the text behind a bar: its value and its ratio to the baseline.

    Args:
        bar: Any.
        baseline: What is compared with; None for nothing.
        ratios: Whether published machines have a ratio too, and the baseline is named as such.
    """
    value = bar.text
    if baseline is None or bar.value <= 0 or (bar.kind == "reference" and not ratios):
        return value
    if bar_key(bar) == bar_key(baseline):
        return sentence("chart.is_baseline", value=value) if ratios else value
    ratio = ratio_text(bar.times_as_fast(baseline))
    return (
        f"{value} · {ratio}"
        if ratios and bar.kind != "you"
        else sentence("chart.times_the", value=value, ratio=ratio, baseline=baseline.name)
    )


def text_room(room: float, shares: Sequence[float], texts: Sequence[float]) -> float:
    """Return what bars must leave of their room so that each one's text fits behind it.

    Args:
        room: What bars and texts have together.
        shares: How long each bar is, of what bars have.
        texts: How wide each bar's text is.
    """
    longest = min(
        ((room - text) / share for share, text in zip(shares, texts, strict=True) if share > 0), default=room
    )
    return room - max(0.0, min(longest, room))


def name_font(look: RowLook, bar: Bar | None) -> QFont:
    """Return the font of a bar's name: heavier for the user's own."""
    chosen = font(look.text_px, _weight(bar))
    return unhinted(chosen) if look.outlined else chosen


def value_font(look: RowLook, bar: Bar | None) -> QFont:
    """Return the font of the text behind a bar."""
    chosen = figures(look.text_px, _weight(bar))
    return unhinted(chosen) if look.outlined else chosen


def _weight(bar: Bar | None) -> QFont.Weight:
    own = bar is None or bar.kind == "you"
    return QFont.Weight.DemiBold if own else QFont.Weight.Normal


def unhinted(chosen: QFont) -> QFont:
    """Return a font whose letters are as wide as they were drawn, not as the screen's pixels would have them."""
    chosen.setHintingPreference(QFont.HintingPreference.PreferNoHinting)
    return chosen


def draw_text(painter: QPainter, box: QRectF, text: str, *, outlined: bool = False) -> None:
    """Draw one line of text at the left edge, in the middle."""
    if not outlined:
        painter.drawText(box, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft, text)
        return
    metrics = QFontMetricsF(painter.font())
    base = box.center().y() + (metrics.ascent() - metrics.descent()) / 2
    shapes = QPainterPath()
    shapes.addText(QPointF(box.left(), base), painter.font(), text)
    painter.fillPath(shapes, painter.pen().color())


def paint_bar(
    painter: QPainter,
    rect: QRectF,
    bar: Bar,
    *,
    share: float,
    text: str,
    ground: str,
    look: RowLook,
    tokens: Tokens,
) -> float:
    """Paint one row: name, bar, value. Returns where the value's text ends.

    `ground` is the colour below, which keeps grid lines out of the value.
    """
    mine = bar.kind == "you"
    text_colour = QColor(tokens.text if bar.kind != "reference" else tokens.muted)
    painter.setFont(name_font(look, bar))
    painter.setPen(text_colour)
    name = QFontMetricsF(painter.font()).elidedText(bar.name, Qt.TextElideMode.ElideRight, look.name_width)
    box = QRectF(rect.left(), rect.top(), look.name_width, rect.height())
    draw_text(painter, box, name, outlined=look.outlined)
    room = rect.width() - look.name_width - look.text_width - 2 * look.gap
    length = max(SHORTEST_PX, share * room)
    left = rect.left() + look.name_width + look.gap
    box = QRectF(left, rect.center().y() - look.bar_height / 2, length, look.bar_height)
    painter.setPen(Qt.PenStyle.NoPen)
    others = tokens.neutral_bar if bar.kind == "reference" else tokens.muted
    painter.setBrush(QColor(tokens.accent if mine else others))
    painter.drawRoundedRect(box, look.radius, look.radius)
    painter.setFont(value_font(look, bar))
    start = box.right() + look.gap
    end = min(start + QFontMetricsF(painter.font()).horizontalAdvance(text), rect.right())
    box = QRectF(start, rect.top(), max(0.0, end - start), rect.height())
    margin = max(0.0, (rect.height() - QFontMetricsF(painter.font()).height()) / 2)
    painter.fillRect(box.adjusted(-4, margin, 4, -margin), QColor(ground))
    painter.setPen(text_colour)
    draw_text(painter, box, text, outlined=look.outlined)
    return end


def paint_slot(painter: QPainter, rect: QRectF, name: str, hint: str, *, look: RowLook, tokens: Tokens) -> None:
    """Paint the empty place that waits for the user's own bar."""
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
    """Paint the grid lines of a scale over the rows, and their values below them, the last with its unit."""
    room = rect.width() - look.name_width - look.text_width - 2 * look.gap
    left = rect.left() + look.name_width + look.gap
    painter.setFont(unhinted(figures(label_px)) if look.outlined else figures(label_px))
    metrics = QFontMetricsF(painter.font())
    height = metrics.height()
    for value_s in scale.ticks():
        x = round(left + scale.share(value_s) * room) + 0.5
        painter.setPen(QPen(QColor(tokens.grid), 1))
        painter.drawLine(QPointF(x, rect.top()), QPointF(x, rect.bottom() - height - 2))
        painter.setPen(QColor(tokens.muted))
        text = _tick_text(value_s) + (unit if value_s == scale.ticks()[-1] else "")
        box = QRectF(x - metrics.horizontalAdvance(text) / 2, rect.bottom() - height, 80, height)
        draw_text(painter, box, text, outlined=look.outlined)


def _tick_text(value_s: float) -> str:
    """Return a round value without an exponent."""
    text = f"{value_s:.6f}"
    return text.rstrip("0").rstrip(".")
