"""A result as a share picture of 1200 × 630 pixels that looks the same on all computers and screens."""

from pathlib import Path

from PySide6.QtCore import QBuffer, QIODevice, QPointF, QRectF
from PySide6.QtGui import QFont, QGuiApplication, QImage, QPainter

from app.core.errors import AppError, UsageError
from app.core.exchange.png_embed import embed
from app.core.files import write_whole
from app.core.messages import message, sentence
from app.core.plain_text import joined
from app.core.report.card import Figure, ShareCard
from app.core.report.formats.result_document import PICTURE_LIMIT_BYTES
from app.gui.run.picture_charts import paint_chart
from app.gui.run.picture_frame import (
    CODE_BESIDE_PX,
    MARGIN_PX,
    SMALLEST_PX,
    WIDTH_PX,
    broken,
    code_edge_px,
    empty_picture,
    fitting,
    paint_badge,
    paint_code,
    paint_head,
    room_above_code,
    type_of,
    width_of,
    wrapped,
    write,
    write_within,
)
from app.gui.style.theme import load_fonts
from app.gui.style.tokens import DARK, LIGHT, Tokens

_LEFT, _WIDTH, _GAP_PX, _LINE_PX = MARGIN_PX, WIDTH_PX - 2 * MARGIN_PX, 14, 23
# For a value next to its chart.
_VALUE_PX, _CHART_LEFT, _TOP = 430, 524, 118
_BADGE_BOTTOM, _CHART_BOTTOM, _FOOT_BASE = 486, 512, 574
_DETAILS_LIMIT = 3
# For a sentence above its chart.
_HEADLINE_TOP, _NOTE_LINES, _TEXT_LINES, _NAME_LINES, _NAME_LIMIT = 108, 2, 4, 3, 600
_TEXT_BOTTOM, _FOOT_BOTTOM = 542, 604


def paint_share_picture(card: ShareCard, tokens: Tokens) -> QImage:
    """Paint a share picture in a theme's colours: a value next to its chart, or a sentence above it."""
    picture = empty_picture(tokens)
    painter = QPainter(picture)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    paint_head(painter, card.title, tokens)
    width: float = _WIDTH
    if card.short_form:
        paint_code(painter, card.short_form)
        width -= code_edge_px(card.short_form) + CODE_BESIDE_PX
    if card.unit:
        _paint_value(painter, card, tokens, width)
    else:
        _paint_sentence(painter, card, tokens, width)
    painter.end()
    return picture


def save_share_picture(card: ShareCard, tokens: Tokens, path: Path, enclosed: bytes = b"") -> None:
    """Save a share picture as a PNG, completely or not at all, and embed a result file unless it is too large.

    Raises UsageError if the file name doesn't end in .png, AppError if the file can't be written.
    """
    if path.suffix.lower() != ".png":
        raise UsageError(message("picture.not_png", name=str(path.name or path)), message("picture.choose_png"))
    content = QBuffer()
    content.open(QIODevice.OpenModeFlag.WriteOnly)
    paint_share_picture(card, tokens).save(content, "PNG")  # type: ignore[call-overload]
    picture = bytes(content.data().data())
    if 0 < len(enclosed) <= PICTURE_LIMIT_BYTES:
        picture = embed(picture, enclosed)
    try:
        write_whole(path, [picture])
    except OSError as error:
        raise AppError(
            message("export.not_written", path=str(path), reason=error.strerror or str(error)),
            message("export.choose_another"),
        ) from error


def draw_headless(card: ShareCard, path: Path, dark: bool, enclosed: bytes = b"") -> None:
    """Save a share picture from a process without a GUI or display. Raises the same as `save_share_picture`."""
    application = QGuiApplication(["epochmark", "-platform", "offscreen"])
    try:
        load_fonts()
        save_share_picture(card, DARK if dark else LIGHT, path, enclosed)
    finally:
        application.shutdown()


def _paint_value(painter: QPainter, card: ShareCard, tokens: Tokens, foot_width: float) -> None:
    """Paint value, place, computer and verdict on the left, the chart on the right, and the footer below."""
    base, certainty = _TOP + 88.0, card.notes[0] if card.notes else ""
    place_type, place_lines = _place_lines(card.place)
    lines = [
        (card.headline, type_of(112, QFont.Weight.Bold), tokens.text, 0),
        (joined((card.unit, certainty)), type_of(24), tokens.muted, 50),
        *(
            (line, place_type, tokens.text, place_type.pixelSize() + (7 if number else 19))
            for number, line in enumerate(place_lines)
        ),
        (card.machine, type_of(22, QFont.Weight.DemiBold), tokens.text, 56 if card.place else 72),
    ]
    details = [text for detail in card.details for text in wrapped(detail, type_of(17), _VALUE_PX)]
    details += card.notes[1:]
    lines += [
        (text, type_of(17), tokens.muted, 28 - 4 * bool(number))
        for number, text in enumerate(details[: _DETAILS_LIMIT - max(0, len(place_lines) - 2)])
    ]
    for text, chosen, colour, below in lines:
        base += below if text else 0
        write_within(painter, QPointF(_LEFT, base), text, chosen, colour, width=_VALUE_PX)
    corner = QPointF(_LEFT, max(base + 62, _BADGE_BOTTOM if card.place else 0))
    paint_badge(painter, corner, card.level, card.badge, tokens, width=_VALUE_PX)
    box = QRectF(QPointF(_CHART_LEFT, _TOP), QPointF(WIDTH_PX - MARGIN_PX, _CHART_BOTTOM))
    box = room_above_code(box, card.short_form)
    paint_chart(painter, box, card.chart, tokens)
    _paint_foot(painter, card, tokens, foot_width)


def _place_lines(place: str) -> tuple[QFont, list[str]]:
    """Return the place on one line, or on two with the factor on the second, or on more in smaller type."""
    chosen = type_of(25, QFont.Weight.DemiBold)
    if width_of(place, fitting(place, chosen, _VALUE_PX)) <= _VALUE_PX:
        return chosen, [place]
    if len(lines := broken(place, chosen, _VALUE_PX)) > 2:
        chosen = type_of(20, QFont.Weight.DemiBold)
        lines = broken(place, chosen, _VALUE_PX)[:_TEXT_LINES]
    return chosen, lines


def _paint_foot(painter: QPainter, card: ShareCard, tokens: Tokens, width: float) -> None:
    text = joined((card.footer, _caption(card)))
    lines = wrapped(text, type_of(17), width)[:2]
    for number, line in enumerate(lines):
        place = QPointF(_LEFT, _FOOT_BASE - 24 * (len(lines) - 1 - number))
        write_within(painter, place, line, type_of(17), tokens.muted, width=width)


def _caption(card: ShareCard) -> str:
    return sentence("share.caption") if card.short_form else ""


def _paint_sentence(painter: QPainter, card: ShareCard, tokens: Tokens, foot_width: float) -> None:
    # A smaller headline leaves more space for the charts of studies.
    bold, light = type_of(32 if isinstance(card.chart, Figure) else 56, QFont.Weight.Bold), type_of(18)
    base = _HEADLINE_TOP + bold.pixelSize()
    write_within(painter, QPointF(_LEFT, base), card.headline, bold, tokens.text, width=_WIDTH)
    for number, note in enumerate(_notes(card.notes, light)):
        base += _LINE_PX if number else _LINE_PX + bold.pixelSize() // 4
        write_within(painter, QPointF(_LEFT, base), note, light, tokens.muted, width=_WIDTH)
    top = _paint_texts(painter, card, tokens, foot_width)
    box = QRectF(QPointF(_LEFT, base + 16), QPointF(_LEFT + _WIDTH, top - 12))
    paint_chart(painter, room_above_code(box, card.short_form), card.chart, tokens)
    footer = width_of(card.footer, light)
    caption = _caption(card)
    of_caption = width_of(caption, light)
    place = QPointF(_LEFT + foot_width - of_caption, _FOOT_BOTTOM - 14 - _LINE_PX)
    write(painter, place, caption, light, tokens.muted)
    write(painter, QPointF(_LEFT + foot_width - footer, _FOOT_BOTTOM - 14), card.footer, light, tokens.muted)
    room = foot_width - max(footer, of_caption) - 2 * _GAP_PX
    paint_badge(painter, QPointF(_LEFT, _FOOT_BOTTOM), card.level, card.badge, tokens, width=room)


def _notes(notes: tuple[str, ...], chosen: QFont) -> list[str]:
    """Return as many complete sentences as fit on the available lines, but at least the first one."""
    lines = [notes[0]] if notes else []
    for count in range(1, len(notes) + 1):
        longer = wrapped(" ".join(notes[:count]), chosen, _WIDTH, between=" ")
        if len(longer) > _NOTE_LINES:
            break
        lines = longer
    return lines


def _paint_texts(painter: QPainter, card: ShareCard, tokens: Tokens, width: float) -> float:
    """Paint the computer, the engine and as many other notes as fit; return the position of their upper edge."""
    heavy, light = type_of(20, QFont.Weight.DemiBold), type_of(18)
    name_width = width_of(card.machine, heavy) + _GAP_PX
    if len(card.details) == 1 and name_width + width_of(card.details[0], light) <= width:
        write(painter, QPointF(_LEFT, _TEXT_BOTTOM), card.machine, heavy, tokens.text)
        write(painter, QPointF(_LEFT + name_width, _TEXT_BOTTOM), card.details[0], light, tokens.muted)
        return _TEXT_BOTTOM - _LINE_PX
    names = [card.machine]
    if width_of(card.machine, fitting(card.machine, heavy, width)) > width:
        heavy = type_of(SMALLEST_PX, QFont.Weight.DemiBold)
        names = broken(card.machine[:_NAME_LIMIT], heavy, width)[:_NAME_LINES]
    details = [text for detail in card.details for text in wrapped(detail, light, width)]
    if len(names) + len(details) > _TEXT_LINES:
        details = [joined(card.details)]
    lines = [(name, heavy, tokens.text) for name in names] + [(text, light, tokens.muted) for text in details]
    base = _TEXT_BOTTOM - _LINE_PX * (len(lines[:_TEXT_LINES]) - 1)
    for number, (text, chosen, colour) in enumerate(lines[:_TEXT_LINES]):
        place = QPointF(_LEFT, base + number * _LINE_PX)
        write_within(painter, place, text, chosen, colour, width=width)
    return base - _LINE_PX
