"""A progress bar that shows a piece moving back and forth while busy. Qt's piece is cut in two at the ends."""

from PySide6.QtCore import QElapsedTimer, QRect, Qt
from PySide6.QtGui import QColor, QHideEvent, QPainter, QPaintEvent, QShowEvent
from PySide6.QtWidgets import QProgressBar

from app.gui.style.theme import Theme
from app.gui.widgets.timers import timer

FRAME_MS, SWEEP_MS = 50, 1_500  # duration of a frame, and of the way from one end to the other
PIECE_SHARE = 0.25  # width of the moving piece


class BusyBar(QProgressBar):
    """A progress bar without text. A maximum of 0 means busy."""

    def __init__(self, theme: Theme, maximum: int) -> None:
        super().__init__(textVisible=False)
        self._theme = theme
        self._clock = QElapsedTimer()
        self._clock.start()
        self.frames = timer(self, FRAME_MS)
        self.frames.timeout.connect(self.update)
        self.setMaximum(maximum)

    @property
    def is_busy(self) -> bool:
        return self.maximum() <= self.minimum()

    def setMaximum(self, maximum: int) -> None:
        super().setMaximum(maximum)
        self._move()

    def piece(self, elapsed_ms: int) -> QRect:
        sweeps, in_sweep_ms = divmod(elapsed_ms, SWEEP_MS)
        share = in_sweep_ms / SWEEP_MS if sweeps % 2 == 0 else 1 - in_sweep_ms / SWEEP_MS
        width = round(PIECE_SHARE * self.width())
        return QRect(round(share * (self.width() - width)), 0, width, self.height())

    def paintEvent(self, event: QPaintEvent) -> None:
        if not self.is_busy:
            super().paintEvent(event)
            return
        painter, tokens = QPainter(self), self._theme.tokens
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        for box, colour in ((self.rect(), tokens.grid), (self.piece(self._clock.elapsed()), tokens.accent)):
            painter.setBrush(QColor(colour))
            painter.drawRoundedRect(box, box.height() / 2, box.height() / 2)
        painter.end()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._move()

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self._move()

    def _move(self) -> None:
        if self.is_busy and self.isVisible():
            if not self.frames.isActive():
                self.frames.start()
        else:
            self.frames.stop()
