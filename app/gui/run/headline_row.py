"""Rows of the headline card: the value in large type with unit and verdict, and the progress."""

from collections.abc import Sequence

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QPainter, QPaintEvent, QPen, QResizeEvent
from PySide6.QtWidgets import QLabel, QSizePolicy, QWidget

from app.core.plain_text import joined
from app.gui.style.icons import LEVELS, renderer
from app.gui.style.theme import Theme, font, tabular_font
from app.gui.style.tokens import GAP_PX, HEADLINE_PX, TEXT_PX, TITLE_PX
from app.gui.widgets.basics import Button, ElidedLabel, Tone, label, set_tip

SMALLEST_PX, HEIGHT_PX, PILL_PX, ICON_PX = 16, 72, 30, 16
_PADDING_PX, _ICON_GAP_PX = 10, 5


class VerdictPill(QWidget):
    """Shows a verdict in its colour, using the longest text that fits."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._texts: tuple[str, ...] = ("",)
        self.tone: Tone = ""
        self.setFont(font(TEXT_PX, QFont.Weight.DemiBold))
        self.setFixedHeight(PILL_PX)
        theme.changed.connect(self.update)

    @property
    def whole_text(self) -> str:
        return self._texts[0]

    def show_verdict(self, texts: Sequence[str], tone: Tone, tip: str = "") -> None:
        """Show the longest of a verdict's texts that fits, or hide the pill if there is none."""
        self._texts, self.tone = tuple(texts) or ("",), tone
        self.setVisible(bool(self.whole_text))
        self.setAccessibleName(self.whole_text)
        set_tip(self, joined((self.whole_text, tip)))
        self.update()

    def width_within(self, room_px: int) -> int:
        return self._width(self._fitting(room_px))

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        colour = QColor(getattr(self._theme.tokens, self.tone or "muted"))
        ground, frame = QColor(colour), QColor(colour)
        ground.setAlphaF(0.12)
        frame.setAlphaF(0.45)
        painter.setPen(QPen(frame, 1))
        painter.setBrush(ground)
        box = QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5)
        painter.drawRoundedRect(box, box.height() / 2, box.height() / 2)
        place = QRectF(_PADDING_PX, (self.height() - ICON_PX) / 2, ICON_PX, ICON_PX)
        renderer(LEVELS[self.tone or "fact"], colour.name()).render(painter, place)
        painter.setPen(colour)
        start = place.right() + _ICON_GAP_PX
        area = QRectF(start, 0, self.width() - start - _PADDING_PX + 1, self.height())
        text = self._fitting(self.width())
        painter.drawText(area, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft, text)
        painter.end()

    def _fitting(self, room_px: int) -> str:
        return next((text for text in self._texts if self._width(text) <= room_px), self._texts[-1])

    def _width(self, text: str) -> int:
        return round(QFontMetricsF(self.font()).horizontalAdvance(text)) + ICON_PX + _ICON_GAP_PX + 2 * _PADDING_PX


class HeadlineRow(QWidget):
    """A row with the value, unit and verdict. The verdict is shortened before the value is made smaller."""

    def __init__(self, theme: Theme, button: Button | None = None) -> None:
        super().__init__()
        self.value = QLabel("", self)
        self.value.setTextFormat(Qt.TextFormat.PlainText)
        self.unit = label("", TITLE_PX, muted=True)
        self.pill = VerdictPill(theme)
        self.button = button if button is not None else Button(theme, "")
        if button is None:
            self.button.hide()
        for widget in (self.unit, self.pill, self.button):
            widget.setParent(self)
        self.setFixedHeight(HEIGHT_PX)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)

    def show_number(self, value: str, unit: str, *, muted: bool) -> None:
        """Show a value, or "" if there is none yet. `muted` marks it as doubtful."""
        if (value, unit) != (self.value.text(), self.unit.text()):
            self.value.setText(value)
            self.value.setAccessibleName(f"{value} {unit}".strip())
            self.unit.setText(unit)
        if bool(self.value.property("muted")) != muted:
            self.value.setProperty("muted", muted)
            self.value.style().unpolish(self.value)
            self.value.style().polish(self.value)
        self.place()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.place()

    def minimumSizeHint(self) -> QSize:
        return QSize(0, HEIGHT_PX)

    def place(self) -> None:
        """Position all parts. Call this after a part has changed."""
        unit_px = self.unit.sizeHint().width()
        button_px = 0 if self.button.isHidden() else self.button.sizeHint().width()
        least_px = 0 if self.pill.isHidden() else self.pill.width_within(0)
        room_px = self.width() - unit_px - 2 * GAP_PX - 4 - button_px - least_px - 2
        number_font = _font_within(self.value.text(), room_px)
        metrics = QFontMetricsF(number_font)
        if self.value.font() != number_font:
            self.value.setFont(number_font)
        number_px = round(metrics.horizontalAdvance(self.value.text())) + 2
        # Qt's line height exceeds the height of digits. At this baseline, digits of the largest size touch the
        # bottom.
        base = round(HEIGHT_PX / 2 + QFontMetricsF(_number_font(HEADLINE_PX)).capHeight() / 2)
        self.value.setGeometry(0, base - round(metrics.ascent()), number_px, round(metrics.height()))
        unit_metrics = QFontMetricsF(self.unit.font())
        x = number_px + GAP_PX
        self.unit.setGeometry(x, base - round(unit_metrics.ascent()), unit_px, round(unit_metrics.height()))
        x += unit_px + GAP_PX + 4
        middle = HEIGHT_PX // 2
        if not self.pill.isHidden():
            width = self.pill.width_within(self.width() - x - button_px)
            self.pill.setGeometry(x, middle - PILL_PX // 2, width, PILL_PX)
            x += width
        height = self.button.sizeHint().height()
        self.button.setGeometry(x, middle - height // 2, button_px, height)


class ProgressLine(QWidget):
    """Shows activity and remaining time. It has no layout, because Qt would then lay out the whole window."""

    def __init__(self, left: ElidedLabel, right: QLabel) -> None:
        super().__init__()
        self._left, self._right = left, right
        for widget in (left, right):
            widget.setParent(self)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.place()

    def sizeHint(self) -> QSize:
        return QSize(0, max(self._left.sizeHint().height(), self._right.sizeHint().height()))

    def minimumSizeHint(self) -> QSize:
        return self.sizeHint()

    def place(self) -> None:
        """Position both texts. Call this after one has changed."""
        right_px = min(self.width(), self._right.sizeHint().width())
        self._right.setGeometry(self.width() - right_px, 0, right_px, self.height())
        self._left.setGeometry(0, 0, max(0, self.width() - right_px - GAP_PX), self.height())


def _number_font(size_px: int) -> QFont:
    return tabular_font(size_px, QFont.Weight.Bold)


def _font_within(text: str, room_px: int) -> QFont:
    """Return the largest font in which a text fits; the smallest font if it fits in none."""
    size_px = HEADLINE_PX
    while size_px > SMALLEST_PX and QFontMetricsF(_number_font(size_px)).horizontalAdvance(text) > room_px:
        size_px -= 2
    return _number_font(size_px)
