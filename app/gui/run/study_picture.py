"""The picture of a study: its answer and its chart."""

from PySide6.QtCore import QPointF, QRectF
from PySide6.QtGui import QFont, QPainter

from app.core.plans.study.share import StudyCard
from app.gui.charts.figure import ChartStyle, paint_figure
from app.gui.run.picture_frame import (
    MARGIN_PX,
    SMALLEST_PX,
    WIDTH_PX,
    fitting,
    paint_badge,
    paint_card,
    type_of,
    width_of,
    wrapped,
    write,
    write_within,
)
from app.gui.style.tokens import Tokens

_LEFT, _WIDTH = MARGIN_PX, WIDTH_PX - 2 * MARGIN_PX
_HEADLINE_BASE, _NOTE_BASE, _NOTE_LINES, _LINE_PX = 136, 166, 2, 23
_CHART = QRectF(_LEFT, 202, _WIDTH, 310)
_MACHINE_BASE, _FOOT_BOTTOM, _GAP_PX = 542, 604, 14


def paint_study(painter: QPainter, card: StudyCard, tokens: Tokens) -> None:
    """Paint a study below the picture's head."""
    bold, light = type_of(32, QFont.Weight.Bold), type_of(18)
    write_within(painter, QPointF(_LEFT, _HEADLINE_BASE), card.headline, bold, tokens.text, width=_WIDTH)
    notes = _notes(card, light)
    for number, note in enumerate(notes):
        place = QPointF(_LEFT, _NOTE_BASE + number * _LINE_PX)
        write_within(painter, place, note, light, tokens.muted, width=_WIDTH)
    chart = _CHART.adjusted(0, -(_NOTE_LINES - len(notes)) * _LINE_PX, 0, 0)
    paint_card(painter, chart, tokens)
    look = ChartStyle(tokens, text_px=17, label_px=SMALLEST_PX, row_max_px=96.0, outlined=True)
    paint_figure(painter, chart.adjusted(24, 14, -24, -12), card.figure, look)
    _paint_foot(painter, card, tokens)


def _notes(card: StudyCard, chosen: QFont) -> list[str]:
    """Return as many whole sentences as fit into the lines."""
    lines: list[str] = []
    for count in range(1, len(card.notes) + 1):
        longer = wrapped(" ".join(card.notes[:count]), chosen, _WIDTH, between=" ")
        if len(longer) > _NOTE_LINES:
            break
        lines = longer
    return lines


def _paint_foot(painter: QPainter, card: StudyCard, tokens: Tokens) -> None:
    """Paint the computer in one line, and the verdict with date and version below it."""
    heavy, light = type_of(20, QFont.Weight.DemiBold), type_of(18)
    room = 0.6 * _WIDTH
    write_within(painter, QPointF(_LEFT, _MACHINE_BASE), card.machine, heavy, tokens.text, width=room)
    used = min(room, width_of(card.machine, fitting(card.machine, heavy, room)))
    place = QPointF(_LEFT + used + _GAP_PX, _MACHINE_BASE)
    rest = _WIDTH - used - _GAP_PX
    write_within(painter, place, card.details, light, tokens.muted, width=rest)
    width = width_of(card.footer, light)
    write(painter, QPointF(_LEFT + _WIDTH - width, _FOOT_BOTTOM - 14), card.footer, light, tokens.muted)
    place = QPointF(_LEFT, _FOOT_BOTTOM)
    paint_badge(painter, place, card.level, card.badge, tokens, width=_WIDTH - width - 2 * _GAP_PX)
