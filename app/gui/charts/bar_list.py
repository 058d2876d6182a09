"""A widget that lists bars. The user's own bar moves to its rank, and tooltips show the sources of values."""

import html
from collections.abc import Sequence

from PySide6.QtCore import QEvent, QPoint, QPointF, QRectF, QSize, Qt, QVariantAnimation, Signal
from PySide6.QtGui import (
    QColor,
    QFocusEvent,
    QFontMetricsF,
    QHelpEvent,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QResizeEvent,
)
from PySide6.QtWidgets import QSizePolicy, QToolTip, QWidget

from app.core.analysis.bars import Bar, doubts, ranked_count, shortlist
from app.core.analysis.provenance import provenance
from app.core.analysis.speed_scale import SpeedScale, speed_scale
from app.core.messages import sentence
from app.core.metrics import headline_kind
from app.core.plain_text import joined
from app.gui.charts.bars import (
    RowLook,
    bar_key,
    name_font,
    name_within,
    paint_bar,
    paint_divide,
    paint_grid,
    paint_slot,
    text_room,
    value_font,
    value_texts,
)
from app.gui.style.theme import Theme, font
from app.gui.style.tokens import LABEL_PX

ROW_MIN_PX, ROW_PX, ROW_MAX_PX, AXIS_PX = 20, 28, 36, 20
WIDE_ROW_PX = 64  # taller rows, on large screens, have larger bars and text
ROWS_AT_LEAST = 5
REMARKS_SHARE, REMARK_LINES = 0.3, 4  # maximum share of the width, and maximum number of lines
BARS_SHARE = 0.4  # minimum share of bars in their space; below it, values use their shortest form
NAMES_SHARE = 0.36  # maximum share of the width
REMARKS_GAP_PX, REMARKS_LEAST_PX = 12, 72  # space before remarks, and the least space for a cut remark
SHORT_REMARK, NO_BREAK = 24, "\N{NO-BREAK SPACE}"
MOVE_MS = 300
PAD_PX = 6  # space on both sides for the focus frame


def fitting_remarks(remarks: Sequence[str], metrics: QFontMetricsF, room_px: float) -> str:
    """Return as many complete remarks as fit, but at least the start of the first. The tooltip shows them all."""
    words = remarks[0].split() if remarks else []
    shorter = [joined(remarks[:count]) for count in range(len(remarks), 0, -1)]
    shorter += [f"{' '.join(words[:count]).rstrip(',;:')} …" for count in range(len(words) - 1, 0, -1)]
    text = next((each for each in shorter if metrics.horizontalAdvance(each) <= room_px), joined(remarks))
    return metrics.elidedText(text, Qt.TextElideMode.ElideRight, room_px)


class BarList(QWidget):
    """Shows bars, fastest first. If detailed, all have a ratio to the baseline, and remarks have a column."""

    pointed = Signal(object)  # the mouse or the keyboard has highlighted a bar, or no bar (None)
    chosen = Signal(object)  # a bar was clicked, or Enter was pressed on it
    slot_chosen = Signal()  # the empty slot was clicked, or Enter was pressed while no bar was highlighted

    def __init__(self, theme: Theme, *, row_max_px: int = ROW_MAX_PX, detailed: bool = False) -> None:
        super().__init__()
        self._theme = theme
        self._row_max_px = row_max_px
        self._detailed = detailed
        self.opens_runs = detailed  # whether clicking a run's bar opens the run
        self._all: tuple[Bar, ...] = ()
        self._bars: tuple[Bar, ...] = ()  # the visible bars
        self._baseline: Bar | None = None
        self._slot: tuple[str, str] | None = None
        self._slot_opens = True
        self._at: int | None = None
        # Position of each bar in rows from the top: currently, before its move, and after it.
        self._rows: dict[str, float] = {}
        self._from: dict[str, float] = {}
        self._to: dict[str, float] = {}
        self._move = QVariantAnimation(self, startValue=0.0, endValue=1.0, duration=MOVE_MS)
        self._move.valueChanged.connect(self._on_moved)
        self.setMouseTracking(True)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        theme.changed.connect(self.update)

    @property
    def bars(self) -> tuple[Bar, ...]:
        return self._all

    @property
    def slot(self) -> tuple[str, str] | None:
        return self._slot

    def show_bars(
        self,
        bars: Sequence[Bar],
        baseline: Bar | None = None,
        *,
        slot: tuple[str, str] | None = None,
        slot_opens: bool = True,
    ) -> None:
        """Show bars, and animate those whose rank changes. Ratios and ticks refer to the baseline.

        `slot` is the name and the hint of an empty slot among the bars.
        """
        self._slot_opens = slot_opens
        if (tuple(bars), baseline, slot) == (self._all, self._baseline, self._slot):
            return
        self._all, self._baseline, self._slot = tuple(bars), baseline, slot
        self._place()
        metric = bars[0].metric if bars else "seconds_per_epoch_s"
        self.setAccessibleName(sentence("chart.fastest_first", label=headline_kind(metric).label))
        self.setAccessibleDescription(self.sentence())
        self.updateGeometry()

    def _place(self) -> None:
        self._bars = (
            tuple(shortlist(self._all, self._fitting())) if self._fitting() < len(self._all) else self._all
        )
        target = {bar_key(bar): float(number) for number, bar in enumerate(self._bars)}
        if self._at is not None and self._at >= len(self._bars):
            self._at = None
        if target != self._to:
            self._from = {key: self._rows.get(key, row) for key, row in target.items()}
            moves = any(key in self._rows and self._rows[key] != row for key, row in target.items())
            self._rows, self._to = self._from, target
            self._move.stop()
            if moves and self.isVisible():
                self._move.start()
            else:
                self._rows = target
        self.update()

    def _fitting(self) -> int:
        if self._detailed:
            return len(self._all)
        return max(1, (self.height() - AXIS_PX) // ROW_MIN_PX - (1 if self._slot else 0))

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if min(self._fitting(), len(self._all)) != len(self._bars):
            self._place()
        if self._detailed and event.size().width() != event.oldSize().width():
            self.updateGeometry()  # the number of lines of remarks may have changed

    def sentence(self) -> str:
        parts = [f"{bar.name} {bar.text}" for bar in self._all]
        return "; ".join(parts) or sentence("chart.nothing_yet")

    def sizeHint(self) -> QSize:
        rows = len(self._all) + bool(self._slot)
        return QSize(420, (self._row_max_px if self._detailed else ROW_PX) * rows + AXIS_PX)

    def minimumSizeHint(self) -> QSize:
        """Return the minimum size at which rows are readable: all rows in detailed lists, otherwise a few."""
        rows = len(self._all) + bool(self._slot)
        if self._detailed:
            return QSize(240, round(max(ROW_PX, self._remarks_height_px()) * rows) + AXIS_PX)
        return QSize(240, ROW_MIN_PX * min(rows, ROWS_AT_LEAST) + AXIS_PX)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        look, tokens = self._look(), self._theme.tokens
        height = self._row_px()
        painter.translate(PAD_PX, 0)
        width = self._width - self._remarks_px()
        rows = QRectF(0, 0, width, height * (len(self._bars) + bool(self._slot)) + AXIS_PX)
        scale = self._scale()
        if self._bars:
            paint_grid(painter, rows, scale, look, tokens)
        if self._slot:
            slot = QRectF(0, len(self._bars) * height, width, height)  # below, because it has no place yet
            paint_slot(painter, slot, *self._slot, look=look, tokens=tokens)
        for number, bar in enumerate(self._bars):
            rect = QRectF(0, self._rows.get(bar_key(bar), number) * height, self._width, height)
            ground = tokens.surface
            if number == self._at:
                ground = tokens.selected
                painter.setPen(Qt.PenStyle.NoPen)
                painter.setBrush(QColor(ground))
                painter.drawRoundedRect(rect.adjusted(-PAD_PX, 0, PAD_PX, 0), 6, 6)
            share, texts = scale.share(bar.speed), value_texts(bar, self._baseline)
            room = QRectF(0, rect.top(), width, height)
            end = paint_bar(painter, room, bar, share=share, texts=texts, ground=ground, look=look, tokens=tokens)
            self._paint_remarks(painter, rect, bar, width if self._detailed else end)
        if (ranked := ranked_count(self._bars)) is not None:
            paint_divide(painter, QPointF(0, ranked * height), width, tokens)
        if self.hasFocus():
            self._paint_focus(painter)
        painter.end()

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        number = self._bar_at(event.position().toPoint())
        self._point(number)
        opens = self.opens_runs and number is not None and self._bars[number].run is not None
        opens |= self._is_slot(event.position().toPoint())
        self.setCursor(Qt.CursorShape.PointingHandCursor if opens else Qt.CursorShape.ArrowCursor)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        number = self._bar_at(event.position().toPoint())
        if event.button() != Qt.MouseButton.LeftButton:
            return
        if number is not None:
            self.chosen.emit(self._bars[number])
        elif self._is_slot(event.position().toPoint()):
            self.slot_chosen.emit()

    def leaveEvent(self, event: QEvent) -> None:
        self._point(None)

    def focusOutEvent(self, event: QFocusEvent) -> None:
        self._point(None)
        super().focusOutEvent(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            if self._at is not None:
                self.chosen.emit(self._bars[self._at])
            elif self._slot is not None and self._slot_opens:
                self.slot_chosen.emit()
            return
        step = {Qt.Key.Key_Down: 1, Qt.Key.Key_Up: -1}.get(Qt.Key(event.key()))
        if step is None or not self._bars:
            super().keyPressEvent(event)
            return
        now = self._at if self._at is not None else (-1 if step > 0 else len(self._bars))
        self._point(min(max(now + step, 0), len(self._bars) - 1))
        if self._at is not None:
            place = QPoint(self.width() // 3, round((self._at + 0.5) * self._row_px()))
            QToolTip.showText(self.mapToGlobal(place), _tip(self._bars[self._at]), self)

    def event(self, event: QEvent) -> bool:
        if isinstance(event, QHelpEvent) and event.type() == QEvent.Type.ToolTip:
            number = self._bar_at(event.pos())
            if number is None:
                QToolTip.hideText()
            else:
                QToolTip.showText(event.globalPos(), _tip(self._bars[number]), self)
            return True
        return super().event(event)

    def _on_moved(self, share: float) -> None:
        self._rows = {key: self._from[key] + share * (row - self._from[key]) for key, row in self._to.items()}
        self.update()

    @property
    def _width(self) -> int:
        return self.width() - 2 * PAD_PX

    def _row_px(self) -> float:
        room = (self.height() - AXIS_PX) / max(1, len(self._bars) + bool(self._slot))
        return max(self._remarks_height_px(), min(self._row_max_px, max(ROW_MIN_PX, room)))

    def _scale(self) -> SpeedScale:
        unit = self._baseline.speed if self._baseline is not None else None
        return speed_scale([bar.speed for bar in self._bars], unit)

    def _look(self) -> RowLook:
        row_px = self._row_px()
        text_px = 12 if row_px < 26 else 13 if row_px <= WIDE_ROW_PX else 16
        draft = RowLook(0, 0, min(26.0 if row_px <= WIDE_ROW_PX else 40.0, row_px * 0.54), text_px)
        most = self._width * NAMES_SHARE
        metrics = [QFontMetricsF(name_font(draft, bar)) for bar in self._bars]
        names = [
            each.horizontalAdvance(name_within(bar, each, most))
            for bar, each in zip(self._bars, metrics, strict=True)
        ]
        if self._slot:
            names.append(QFontMetricsF(name_font(draft, None)).horizontalAdvance(self._slot[0]))
        texts = self._text_widths(draft, 0)
        name_width = min(max(names, default=0.0) + 1, most)
        text_width = min(max(texts, default=0.0), self._width * 0.34)
        room = self._width - self._remarks_px() - name_width - 2 * draft.gap
        scale = self._scale()
        shares = [scale.share(bar.speed) for bar in self._bars]
        if not self._detailed:
            needed = text_room(room, shares, self._with_first_remarks(texts))
            text_width = max(text_width, min(needed, room * (1 - BARS_SHARE)))
        else:  # values don't change here, so bars can use all the space
            text_width = text_room(room, shares, texts)
            if text_width > room * (1 - BARS_SHARE):  # very short bars would be meaningless
                text_width = text_room(room, shares, self._text_widths(draft, -1))
        return RowLook(name_width, text_width, draft.bar_height, text_px)

    def _text_widths(self, look: RowLook, place: int) -> list[float]:
        return [
            QFontMetricsF(value_font(look, bar)).horizontalAdvance(value_texts(bar, self._baseline)[place])
            for bar in self._bars
        ]

    def _with_first_remarks(self, texts: Sequence[float]) -> list[float]:
        metrics = QFontMetricsF(font(LABEL_PX))
        first = (doubts(bar)[:1] for bar in self._bars)
        return [
            width + sum(REMARKS_GAP_PX + metrics.horizontalAdvance(each) + 1 for each in remark)
            for width, remark in zip(texts, first, strict=True)
        ]

    def _remarks_px(self) -> float:
        """Return the width of the column of remarks; 0 if remarks follow the bars."""
        if not self._detailed:
            return 0.0
        metrics = QFontMetricsF(font(LABEL_PX))
        widest = max((metrics.horizontalAdvance(self._remarks(bar)) for bar in self._bars), default=0.0)
        return min(widest + 20, self._width * REMARKS_SHARE)

    def _remarks_height_px(self) -> float:
        if not self._detailed:
            return 0.0
        metrics = QFontMetricsF(font(LABEL_PX))
        room = QRectF(0, 0, self._remarks_px() - 12, REMARK_LINES * metrics.lineSpacing())
        wrap = Qt.TextFlag.TextWordWrap
        heights = (metrics.boundingRect(room, wrap, self._remarks(bar)).height() for bar in self._bars)
        return min(room.height(), max(heights, default=0.0)) + 4

    def _paint_remarks(self, painter: QPainter, rect: QRectF, bar: Bar, start: float) -> None:
        """Paint a bar's remarks if they fit, either in their column or on one line after the bar."""
        room = rect.right() - start - REMARKS_GAP_PX
        remarks = self._remarks(bar)
        if not remarks:
            return
        painter.setFont(font(LABEL_PX))
        least = 0.0 if self._detailed else QFontMetricsF(painter.font()).horizontalAdvance(doubts(bar)[0])
        if room < min(REMARKS_LEAST_PX, least or REMARKS_LEAST_PX):
            return
        painter.setPen(QColor(self._theme.tokens.muted))
        flags = Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft
        box = QRectF(start + REMARKS_GAP_PX, rect.top(), room, rect.height())
        if self._detailed:
            painter.drawText(box, flags | Qt.TextFlag.TextWordWrap, remarks)
        else:
            painter.drawText(box, flags, fitting_remarks(doubts(bar), QFontMetricsF(painter.font()), room))

    def _remarks(self, bar: Bar) -> str:
        if not self._detailed:
            return joined(doubts(bar))
        # Break lines only after a dot, and don't break short remarks.
        kept = (each.replace(" ", NO_BREAK) if len(each) <= SHORT_REMARK else each for each in bar.remarks)
        return f"{NO_BREAK}· ".join(kept)

    def _paint_focus(self, painter: QPainter) -> None:
        """Paint a frame around the bar highlighted with the arrow keys, or around the list if there is none."""
        ring = QRectF(-PAD_PX, 0, self.width(), self.height())
        if self._at is not None:
            top = self._rows.get(bar_key(self._bars[self._at]), self._at) * self._row_px()
            ring = QRectF(-PAD_PX, top, self.width(), self._row_px())
        painter.setPen(QPen(QColor(self._theme.tokens.accent), 1))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawRoundedRect(ring.adjusted(0.5, 0.5, -0.5, -0.5), 6, 6)

    def _is_slot(self, place: QPoint) -> bool:
        return self._slot is not None and self._slot_opens and place.y() // self._row_px() == len(self._bars)

    def _bar_at(self, place: QPoint) -> int | None:
        row = int(place.y() // self._row_px())
        return row if 0 <= row < len(self._bars) else None

    def _point(self, number: int | None) -> None:
        if number != self._at:
            self._at = number
            self.pointed.emit(None if number is None else self._bars[number])
            self.update()


def _tip(bar: Bar) -> str:
    lines = [f"<b>{html.escape(label)}</b> {html.escape(text)}" for label, text in provenance(bar)]
    return f"<qt><div style='width: 360px'>{'<br>'.join(lines)}</div></qt>"
