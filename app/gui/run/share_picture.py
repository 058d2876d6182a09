"""A result as a picture to post: 1200 x 630 pixels, the same on every computer, screen and system."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from PySide6.QtCore import QBuffer, QIODevice, QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QGuiApplication, QImage, QPainter, QPainterPath, QPen
from PySide6.QtSvg import QSvgRenderer

from app.core.analysis.compare import Bar, shortlist
from app.core.errors import AppError, UsageError
from app.core.files import write_whole
from app.core.messages import message
from app.core.metrics import headline_kind
from app.core.report.share import ShareCard
from app.gui.charts.bars import (
    RowLook,
    name_font,
    paint_bar,
    paint_grid,
    scale_for,
    unhinted,
    value_font,
)
from app.gui.style.icons import FOLDER, LEVELS, renderer
from app.gui.style.theme import font, load_fonts
from app.gui.style.tokens import CARD_RADIUS_PX, DARK, LIGHT, Tokens

WIDTH_PX, HEIGHT_PX, MARGIN_PX = 1200, 630, 56
SMALLEST_PX = 16  # still readable where a forum shows the picture at half its size
BARS_LIMIT, ROW_MAX_PX = 12, 96.0
_DOTS_PER_METER = 3780  # 96 per inch; by default, Qt uses the screen's
_RESULT = QRectF(MARGIN_PX, 120, 400, 384)
_CHART = QRectF(496, 120, WIDTH_PX - 496 - MARGIN_PX, 384)
_DETAILS_LIMIT, _TICKS_PX, _BADGE_ICON_PX = 4, 24, 20


def paint_share_picture(card: ShareCard, tokens: Tokens) -> QImage:
    """Return the picture in a theme's colours."""
    picture = QImage(WIDTH_PX, HEIGHT_PX, QImage.Format.Format_RGB32)
    picture.setDevicePixelRatio(1)
    picture.setDotsPerMeterX(_DOTS_PER_METER)
    picture.setDotsPerMeterY(_DOTS_PER_METER)
    picture.fill(QColor(tokens.window))
    painter = QPainter(picture)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    _paint_head(painter, card, tokens)
    _paint_result(painter, card, tokens)
    _paint_chart(painter, card, tokens)
    _paint_foot(painter, card, tokens)
    painter.end()
    return picture


def save_share_picture(card: ShareCard, tokens: Tokens, path: Path) -> None:
    """Write the picture as a PNG, completely or not at all.

    Raises:
        UsageError: The name doesn't end in .png.
        AppError: The file can't be written.
    """
    if path.suffix.lower() != ".png":
        raise UsageError(message("picture.not_png", name=str(path.name or path)), message("picture.choose_png"))
    content = QBuffer()
    content.open(QIODevice.OpenModeFlag.WriteOnly)
    paint_share_picture(card, tokens).save(content, "PNG")  # type: ignore[call-overload]
    try:
        write_whole(path, [bytes(content.data().data())])
    except OSError as error:
        raise AppError(
            message("picture.not_saved", path=str(path), reason=error.strerror or str(error)),
            message("picture.choose_another"),
        ) from error


def draw_headless(card: ShareCard, path: Path, dark: bool) -> None:
    """Write the picture from a process without a window; needs and uses no display.

    Raises:
        AppError: Like `save_share_picture`.
    """
    application = QGuiApplication(["epochmark", "-platform", "offscreen"])
    try:
        load_fonts()
        save_share_picture(card, DARK if dark else LIGHT, path)
    finally:
        application.shutdown()


def _paint_head(painter: QPainter, card: ShareCard, tokens: Tokens) -> None:
    QSvgRenderer(str(FOLDER / "epochmark.svg")).render(painter, QRectF(MARGIN_PX, 46, 36, 36))
    _write(painter, QPointF(MARGIN_PX + 50, 73), "Epochmark", _type(26, QFont.Weight.Bold), tokens.text)
    chosen = _fitting(card.title, _type(20), 760)
    text = _elided(card.title, chosen, 760)
    _write(painter, QPointF(WIDTH_PX - MARGIN_PX - _width(text, chosen), 72), text, chosen, tokens.muted)


def _paint_result(painter: QPainter, card: ShareCard, tokens: Tokens) -> None:
    """Paint the headline, the machine and the method."""
    left, width = _RESULT.left(), _RESULT.width()
    between = "" if card.certainty.startswith("±") else "· " if card.certainty else ""
    unit = f"{card.unit} {between}{card.certainty}".strip()
    bold, medium, heavy = QFont.Weight.Bold, QFont.Weight.Medium, QFont.Weight.DemiBold
    _write_within(painter, QPointF(left, 210), card.value, _type(124, bold), tokens.text, width=width)
    _write_within(painter, QPointF(left, 258), unit, _type(28, medium), tokens.muted, width=width)
    _write_within(painter, QPointF(left, 326), card.machine, _type(26, heavy), tokens.text, width=width)
    lines = [text for detail in card.details for text in _wrapped(detail, _type(18), width)]
    if len(lines) > _DETAILS_LIMIT:
        lines = _wrapped(" · ".join(card.details), _type(18), width)
    for number, text in enumerate(lines[:_DETAILS_LIMIT]):
        place = QPointF(left, 358 + 26 * number)
        _write_within(painter, place, text, _type(18), tokens.muted, width=width)
    _paint_badge(painter, card, tokens)


def _paint_badge(painter: QPainter, card: ShareCard, tokens: Tokens) -> None:
    """Paint the verdict in as many words as fit."""
    colour, width = getattr(tokens, card.level), _RESULT.width() - 44 - _BADGE_ICON_PX
    sizes = [_type(size_px, QFont.Weight.DemiBold) for size_px in (18, 17, SMALLEST_PX)]
    chosen, text = next(
        ((each, text) for text in card.badge for each in sizes if _width(text, each) <= width),
        (sizes[-1], card.level.capitalize()),
    )
    box = QRectF(_RESULT.left() + 0.5, _RESULT.bottom() - 40.5, _width(text, chosen) + 36 + _BADGE_ICON_PX + 8, 40)
    ground, frame = QColor(colour), QColor(colour)
    ground.setAlphaF(0.12)
    frame.setAlphaF(0.45)
    painter.setPen(QPen(frame, 1))
    painter.setBrush(ground)
    painter.drawRoundedRect(box, 20, 20)
    icon = QRectF(box.left() + 16, box.center().y() - _BADGE_ICON_PX / 2, _BADGE_ICON_PX, _BADGE_ICON_PX)
    renderer(LEVELS[card.level], colour).render(painter, icon)
    base = box.center().y() + 0.36 * chosen.pixelSize()
    _write(painter, QPointF(icon.right() + 8, base), text, chosen, colour)


def _paint_chart(painter: QPainter, card: ShareCard, tokens: Tokens) -> None:
    """Paint the bars on a card of their own, with row heights that depend on their number."""
    painter.setPen(QPen(QColor(tokens.border), 1))
    painter.setBrush(QColor(tokens.surface))
    painter.drawRoundedRect(_CHART.adjusted(0.5, 0.5, -0.5, -0.5), CARD_RADIUS_PX, CARD_RADIUS_PX)
    inside = _CHART.adjusted(24, 20, -24, -20)
    _write_within(painter, inside.bottomLeft(), card.axis, _type(SMALLEST_PX), tokens.muted, width=inside.width())
    bars = shortlist(card.bars, BARS_LIMIT)
    if not bars:
        return
    room = inside.height() - 30
    height = min(ROW_MAX_PX, (room - _TICKS_PX) / len(bars))
    used = height * len(bars) + _TICKS_PX
    area = QRectF(inside.left(), inside.top() + (room - used) / 2, inside.width(), used)
    look = _row_look(bars, height, area.width())
    scale = scale_for([bar.shown for bar in bars], log=True)
    paint_grid(
        painter, area, scale, look, tokens, label_px=SMALLEST_PX, unit=headline_kind(bars[0].metric).tick_unit
    )
    for number, bar in enumerate(bars):
        row = QRectF(area.left(), area.top() + number * height, area.width(), height)
        share, texts = scale.share(bar.shown), (bar.text,)
        paint_bar(painter, row, bar, share=share, texts=texts, ground=tokens.surface, look=look, tokens=tokens)


def _row_look(bars: Sequence[Bar], height: float, width: float) -> RowLook:
    text_px = SMALLEST_PX if height < 28 else 17 if height < 56 else 19
    draft = RowLook(0, 0, min(32.0, 0.56 * height), text_px, radius=5, gap=12, outlined=True)
    names = max(_width(bar.name, name_font(draft, bar)) for bar in bars) + 1
    texts = max(_width(bar.text, value_font(draft, bar)) for bar in bars)
    return replace(draft, name_width=min(names, 0.4 * width), text_width=texts)


def _paint_foot(painter: QPainter, card: ShareCard, tokens: Tokens) -> None:
    width = WIDTH_PX - 2 * MARGIN_PX
    _write_within(painter, QPointF(MARGIN_PX, 570), card.footer, _type(20), tokens.muted, width=width)


def _type(size_px: int, weight: QFont.Weight = QFont.Weight.Normal) -> QFont:
    """Return the bundled font, with proportional figures, as nothing here changes."""
    return unhinted(font(size_px, weight))


def _fitting(text: str, wanted: QFont, width: float) -> QFont:
    """Return a font that makes a text fit, at most a third smaller than wanted."""
    chosen, smallest_px = QFont(wanted), max(SMALLEST_PX, wanted.pixelSize() * 2 // 3)
    while chosen.pixelSize() > smallest_px and _width(text, chosen) > width:
        chosen.setPixelSize(chosen.pixelSize() - 1)
    return chosen


def _wrapped(text: str, chosen: QFont, width: float) -> list[str]:
    """Return a text in lines, broken only between its parts."""
    lines: list[str] = []
    for part in text.split(" · "):
        longer = f"{lines[-1]} · {part}" if lines else part
        if lines and _width(longer, chosen) <= width:
            lines[-1] = longer
        else:
            lines.append(part)
    return lines


def _width(text: str, chosen: QFont) -> float:
    return QFontMetricsF(chosen).horizontalAdvance(text)


def _elided(text: str, chosen: QFont, width: float) -> str:
    return QFontMetricsF(chosen).elidedText(text, Qt.TextElideMode.ElideRight, width)


def _write_within(
    painter: QPainter, place: QPointF, text: str, wanted: QFont, colour: str, *, width: float
) -> None:
    """Write a line within a width: smaller if necessary, then cut."""
    chosen = _fitting(text, wanted, width)
    _write(painter, place, _elided(text, chosen, width), chosen, colour)


def _write(painter: QPainter, place: QPointF, text: str, chosen: QFont, colour: str) -> None:
    """Write a line on its baseline, as outlines: the system's letters differ between systems."""
    shapes = QPainterPath()
    shapes.addText(place, chosen, text)
    # First letters begin slightly right of their position, which shows in large type.
    shapes.translate(place.x() - shapes.boundingRect().left(), 0)
    painter.fillPath(shapes, QColor(colour))
