"""Common parts of all share pictures: size, header, verdict, QR code, and text at fixed positions."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Literal

from PySide6.QtCore import QPointF, QRectF, QSizeF, Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QImage, QPainter, QPainterPath, QPen
from PySide6.QtSvg import QSvgRenderer

from app.core.plain_text import safe_text
from app.core.titles import level_title
from app.gui.charts.bars import unhinted
from app.gui.style.icons import FOLDER, LEVELS, renderer
from app.gui.style.theme import font
from app.gui.style.tokens import CARD_RADIUS_PX, Tokens

WIDTH_PX, HEIGHT_PX, MARGIN_PX = 1200, 630, 56
# Size of a QR code's modules, its quiet zone in modules, and the space around it.
MODULE_PX, QUIET, CODE_ABOVE_PX, CODE_BESIDE_PX = 3, 3, 14, 24
_CODE_BELOW_PX, _LARGE_CODE_PX, _LARGE_CODE_BELOW_PX = 46, 180, 6
SMALLEST_PX = 16  # still readable if a forum displays the picture at half size
_DOTS_PER_METER = 3780  # 96 dpi, because Qt would use the screen's density by default
_BADGE_ICON_PX, _BADGE_PX = 20, 40


def empty_picture(tokens: Tokens) -> QImage:
    picture = QImage(WIDTH_PX, HEIGHT_PX, QImage.Format.Format_RGB32)
    picture.setDevicePixelRatio(1)
    picture.setDotsPerMeterX(_DOTS_PER_METER)
    picture.setDotsPerMeterY(_DOTS_PER_METER)
    picture.fill(QColor(tokens.window))
    return picture


def paint_head(painter: QPainter, title: str, tokens: Tokens) -> None:
    QSvgRenderer(str(FOLDER / "epochmark.svg")).render(painter, QRectF(MARGIN_PX, 46, 36, 36))
    write(painter, QPointF(MARGIN_PX + 50, 73), "Epochmark", type_of(26, QFont.Weight.Bold), tokens.text)
    chosen = fitting(title, type_of(20), 760)
    text = _elided(title, chosen, 760)
    write(painter, QPointF(WIDTH_PX - MARGIN_PX - width_of(text, chosen), 72), text, chosen, tokens.muted)


def paint_card(painter: QPainter, box: QRectF, tokens: Tokens) -> None:
    painter.setPen(QPen(QColor(tokens.border), 1))
    painter.setBrush(QColor(tokens.surface))
    painter.drawRoundedRect(box.adjusted(0.5, 0.5, -0.5, -0.5), CARD_RADIUS_PX, CARD_RADIUS_PX)


def code_edge_px(text: str) -> int:
    """Return the edge length of the QR code for a text; 0 if the text is empty."""
    return (len(_modules(text)) + 2 * QUIET) * MODULE_PX if text else 0


def code_below_px(text: str) -> int:
    """Return the space below the QR code for a text. It is smaller for a large QR code, so that the chart fits."""
    return _CODE_BELOW_PX if code_edge_px(text) <= _LARGE_CODE_PX else _LARGE_CODE_BELOW_PX


def room_above_code(box: QRectF, text: str) -> QRectF:
    """Return a box shortened to end above the QR code for a text, or unchanged if it already does."""
    top = HEIGHT_PX - code_below_px(text) - code_edge_px(text)
    return QRectF(
        box.topLeft(), QPointF(box.right(), min(box.bottom(), top - CODE_ABOVE_PX) if text else box.bottom())
    )


def paint_code(painter: QPainter, text: str) -> None:
    """Paint a QR code in the lower right corner, black on white in all themes."""
    modules, edge = _modules(text), code_edge_px(text)
    corner = QPointF(WIDTH_PX - MARGIN_PX - edge, HEIGHT_PX - edge - code_below_px(text))
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing, on=False)
    painter.fillRect(QRectF(corner, QSizeF(edge, edge)), Qt.GlobalColor.white)
    for y, line in enumerate(modules):
        for x, is_dark in enumerate(line):
            if is_dark:
                place = corner + QPointF((x + QUIET) * MODULE_PX, (y + QUIET) * MODULE_PX)
                painter.fillRect(QRectF(place, QSizeF(MODULE_PX, MODULE_PX)), Qt.GlobalColor.black)
    painter.restore()


@lru_cache(4)
def _modules(text: str) -> tuple[bytes, ...]:
    """Return the rows of modules of a QR code, where 1 is dark."""
    import segno  # imported late, because it takes as long as opening a page

    # Use the smallest version that can contain the text. Level M recovers about 15 % of damaged data.
    return tuple(map(bytes, segno.make_qr(text, error="m", boost_error=False).matrix))


def paint_badge(
    painter: QPainter,
    corner: QPointF,
    level: Literal["valid", "caution", "invalid"],
    texts: Sequence[str],
    tokens: Tokens,
    *,
    width: float,
) -> None:
    """Paint a verdict, using the longest text that fits. `corner` is the lower left corner."""
    colour, room = getattr(tokens, level), width - 44 - _BADGE_ICON_PX
    sizes = [type_of(size_px, QFont.Weight.DemiBold) for size_px in (18, 17, SMALLEST_PX)]
    chosen, text = next(
        ((each, text) for text in texts for each in sizes if width_of(text, each) <= room),
        (sizes[-1], level_title(level)),
    )
    of_text = width_of(text, chosen) + 36 + _BADGE_ICON_PX + 8
    box = QRectF(corner.x() + 0.5, corner.y() - _BADGE_PX - 0.5, of_text, _BADGE_PX)
    ground, frame = QColor(colour), QColor(colour)
    ground.setAlphaF(0.12)
    frame.setAlphaF(0.45)
    painter.setPen(QPen(frame, 1))
    painter.setBrush(ground)
    painter.drawRoundedRect(box, _BADGE_PX / 2, _BADGE_PX / 2)
    icon = QRectF(box.left() + 16, box.center().y() - _BADGE_ICON_PX / 2, _BADGE_ICON_PX, _BADGE_ICON_PX)
    renderer(LEVELS[level], colour).render(painter, icon)
    base = box.center().y() + 0.36 * chosen.pixelSize()
    write(painter, QPointF(icon.right() + 8, base), text, chosen, colour)


def type_of(size_px: int, weight: QFont.Weight = QFont.Weight.Normal) -> QFont:
    """Return the bundled font with proportional digits, because the numbers on a picture don't change."""
    return unhinted(font(size_px, weight))


def fitting(text: str, wanted: QFont, width: float) -> QFont:
    """Return a font in which a text fits, if possible, but at most a third smaller than `wanted`."""
    chosen, smallest_px = QFont(wanted), max(SMALLEST_PX, wanted.pixelSize() * 2 // 3)
    while chosen.pixelSize() > smallest_px and width_of(text, chosen) > width:
        chosen.setPixelSize(chosen.pixelSize() - 1)
    return chosen


def wrapped(text: str, chosen: QFont, width: float, between: str = " · ") -> list[str]:
    lines: list[str] = []
    for part in text.split(between):
        longer = f"{lines[-1]}{between}{part}" if lines else part
        if lines and width_of(longer, chosen) <= width:
            lines[-1] = longer
        else:
            lines.append(part)
    return lines


def broken(text: str, chosen: QFont, width: float) -> list[str]:
    """Wrap text, breaking lines between words or, if this would leave half a line empty, within a word."""
    lines = []
    while text:
        end = next((end for end in range(len(text), 1, -1) if width_of(text[:end], chosen) <= width), 1)
        if end < len(text):
            end = text.rfind(" ", end // 2, end) + 1 or end
        lines.append(text[:end].strip())
        text = text[end:]
    return lines


def width_of(text: str, chosen: QFont) -> float:
    return QFontMetricsF(chosen).horizontalAdvance(text)


def write_within(
    painter: QPainter, place: QPointF, text: str, wanted: QFont, colour: str, *, width: float
) -> None:
    """Draw a line of text within a width. Long text is made smaller and, if necessary, elided."""
    chosen = fitting(text, wanted, width)
    write(painter, place, _elided(text, chosen, width), chosen, colour)


def write(painter: QPainter, place: QPointF, text: str, chosen: QFont, colour: str) -> None:
    """Draw a line of text with its baseline at `place`, as outlines, because systems render fonts differently."""
    shapes = QPainterPath()
    shapes.addText(place, chosen, text)
    # Compensate for the left bearing of the first letter, which is visible in large type.
    shapes.translate(place.x() - shapes.boundingRect().left(), 0)
    painter.fillPath(shapes, QColor(colour))


def _elided(text: str, chosen: QFont, width: float) -> str:
    return QFontMetricsF(chosen).elidedText(safe_text(text), Qt.TextElideMode.ElideRight, width)
