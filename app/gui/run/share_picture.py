"""A result as a picture to post: 1200 x 630 pixels, the same on every computer, screen and system."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from PySide6.QtCore import QBuffer, QIODevice, QPointF, QRectF
from PySide6.QtGui import QFont, QGuiApplication, QImage, QPainter

from app.core.analysis.compare import Bar, shortlist
from app.core.errors import AppError, UsageError
from app.core.exchange.png_embed import embed
from app.core.files import write_whole
from app.core.messages import message
from app.core.metrics import headline_kind
from app.core.plans.ab_card import AbCard
from app.core.plans.kind import Card
from app.core.plans.study.share import StudyCard
from app.core.plans.suite.share import SuiteCard
from app.core.report.formats.result_document import PICTURE_LIMIT_BYTES
from app.core.report.share import ShareCard
from app.gui.charts.bars import (
    RowLook,
    name_font,
    paint_bar,
    paint_divide,
    paint_grid,
    scale_for,
    value_font,
)
from app.gui.charts.figure import ChartStyle, paint_figure
from app.gui.run.ab_picture import paint_ab
from app.gui.run.picture_frame import (
    CODE_BESIDE_PX,
    MARGIN_PX,
    SMALLEST_PX,
    WIDTH_PX,
    code_edge_px,
    empty_picture,
    paint_badge,
    paint_card,
    paint_code,
    paint_head,
    room_above_code,
    type_of,
    width_of,
    wrapped,
    write_within,
)
from app.gui.run.study_picture import paint_study
from app.gui.style.theme import load_fonts
from app.gui.style.tokens import DARK, LIGHT, Tokens

BARS_LIMIT, ROW_MIN_PX, ROW_MAX_PX = 12, 21.0, 96.0
_RESULT = QRectF(MARGIN_PX, 120, 400, 384)
_CHART = QRectF(496, 120, WIDTH_PX - 496 - MARGIN_PX, 360)
_DETAILS_LIMIT, _TICKS_PX = 4, 24
AnyCard = Card | StudyCard | SuiteCard


def paint_share_picture(card: AnyCard, tokens: Tokens) -> QImage:
    """Return the picture in a theme's colours."""
    picture = empty_picture(tokens)
    painter = QPainter(picture)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    paint_head(painter, card.title, tokens)
    if isinstance(card, AbCard):
        paint_ab(painter, card, tokens)
    elif isinstance(card, StudyCard):
        paint_study(painter, card, tokens)
    elif isinstance(card, SuiteCard):
        _paint_result(painter, card, tokens)
        _paint_figure(painter, card, tokens)
        _paint_foot(painter, card, tokens)
    else:
        _paint_result(painter, card, tokens)
        _paint_chart(painter, card, tokens)
        _paint_foot(painter, card, tokens)
    painter.end()
    return picture


def save_share_picture(card: AnyCard, tokens: Tokens, path: Path, enclosed: bytes = b"") -> None:
    """Write the picture as a PNG, completely or not at all.

    Args:
        card: What is painted.
        tokens: In which colours.
        path: The file.
        enclosed: The result file that the picture carries, unless it's too large for one; b"" for none.

    Raises:
        UsageError: The name doesn't end in .png.
        AppError: The file can't be written.
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
            message("picture.not_saved", path=str(path), reason=error.strerror or str(error)),
            message("picture.choose_another"),
        ) from error


def draw_headless(card: AnyCard, path: Path, dark: bool, enclosed: bytes = b"") -> None:
    """Write the picture from a process without a window; needs and uses no display.

    Raises:
        AppError: Like `save_share_picture`.
    """
    application = QGuiApplication(["epochmark", "-platform", "offscreen"])
    try:
        load_fonts()
        save_share_picture(card, DARK if dark else LIGHT, path, enclosed)
    finally:
        application.shutdown()


def _paint_result(painter: QPainter, card: ShareCard | SuiteCard, tokens: Tokens) -> None:
    """Paint the headline, the machine and the method."""
    left, width = _RESULT.left(), _RESULT.width()
    between = "" if card.certainty.startswith("±") else "· " if card.certainty else ""
    unit = f"{card.unit} {between}{card.certainty}".strip()
    bold, medium, heavy = QFont.Weight.Bold, QFont.Weight.Medium, QFont.Weight.DemiBold
    write_within(painter, QPointF(left, 210), card.value, type_of(124, bold), tokens.text, width=width)
    below_px = 264 if "," in card.value else 258  # a comma reaches far down
    write_within(painter, QPointF(left, below_px), unit, type_of(28, medium), tokens.muted, width=width)
    write_within(painter, QPointF(left, 326), card.machine, type_of(26, heavy), tokens.text, width=width)
    lines = [text for detail in card.details for text in wrapped(detail, type_of(18), width)]
    if len(lines) > _DETAILS_LIMIT:
        lines = wrapped(" · ".join(card.details), type_of(18), width)
    for number, text in enumerate(lines[:_DETAILS_LIMIT]):
        place = QPointF(left, 358 + 26 * number)
        write_within(painter, place, text, type_of(18), tokens.muted, width=width)
    paint_badge(painter, _RESULT.bottomLeft(), card.level, card.badge, tokens, width=width)


def _paint_chart(painter: QPainter, card: ShareCard, tokens: Tokens) -> None:
    """Paint the bars on a card of their own, with row heights that depend on their number."""
    chart = room_above_code(_CHART, card.short_form)
    paint_card(painter, chart, tokens)
    inside = chart.adjusted(24, 20, -24, -20)
    write_within(painter, inside.bottomLeft(), card.axis, type_of(SMALLEST_PX), tokens.muted, width=inside.width())
    room = inside.height() - 30
    bars = shortlist(card.bars, min(BARS_LIMIT, int((room - _TICKS_PX) / ROW_MIN_PX)))
    if not bars:
        return
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
    if unlike := next((number for number, bar in enumerate(bars) if not bar.is_like), 0):
        paint_divide(painter, QPointF(area.left(), area.top() + unlike * height), area.width(), tokens)


def _paint_figure(painter: QPainter, card: SuiteCard, tokens: Tokens) -> None:
    """Paint the points of all parts on a card of their own."""
    paint_card(painter, _CHART, tokens)
    look = ChartStyle(tokens, text_px=17, label_px=SMALLEST_PX, outlined=True)
    paint_figure(painter, _CHART.adjusted(24, 14, -24, -12), card.figure, look)


def _row_look(bars: Sequence[Bar], height: float, width: float) -> RowLook:
    text_px = SMALLEST_PX if height < 28 else 17 if height < 56 else 19
    draft = RowLook(0, 0, min(32.0, 0.56 * height), text_px, radius=5, gap=12, outlined=True)
    names = max(width_of(bar.name, name_font(draft, bar)) for bar in bars) + 1
    texts = max(width_of(bar.text, value_font(draft, bar)) for bar in bars)
    return replace(draft, name_width=min(names, 0.4 * width), text_width=texts)


def _paint_foot(painter: QPainter, card: ShareCard | SuiteCard, tokens: Tokens) -> None:
    width = float(WIDTH_PX - 2 * MARGIN_PX)
    if isinstance(card, ShareCard) and card.short_form:
        paint_code(painter, card.short_form)
        width -= code_edge_px(card.short_form) + CODE_BESIDE_PX
    lines = wrapped(card.footer, type_of(18), width)[:2]
    for number, line in enumerate(lines):
        place = QPointF(MARGIN_PX, 570 - 14 * (len(lines) - 1) + 28 * number)
        write_within(painter, place, line, type_of(18), tokens.muted, width=width)
