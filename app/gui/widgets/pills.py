"""Short facts in rounded frames on one line."""

from PySide6.QtCore import Qt
from PySide6.QtGui import QFont
from PySide6.QtWidgets import QLabel, QSizePolicy

from app.core.plain_text import safe_text
from app.gui.style.theme import font
from app.gui.widgets.basics import Tone

PILL_PX = 24


class Pill(QLabel):
    """A short fact in a rounded frame."""

    def __init__(self, text: str = "", tone: Tone = "") -> None:
        super().__init__(safe_text(text))
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setFont(font(12, QFont.Weight.Medium))
        self.setFixedHeight(PILL_PX)
        self.setProperty("pill", True)
        self.setProperty("tone", tone)
        self.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Fixed)
