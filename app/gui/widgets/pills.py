"""Short facts in rounded frames on one line."""

from collections.abc import Iterable

from PySide6.QtCore import Qt
from PySide6.QtGui import QFont, QResizeEvent
from PySide6.QtWidgets import QLabel, QSizePolicy, QWidget

from app.core.plain_text import safe_text
from app.gui.style.theme import font
from app.gui.style.tokens import GAP_PX
from app.gui.widgets.basics import Tone, set_tip

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


class PillRow(QWidget):
    """A line of short facts. If some don't fit, their number is shown at the end. The tooltip lists all facts."""

    def __init__(self) -> None:
        super().__init__()
        self._facts: list[str] = []
        self._pills: list[Pill] = []
        self._more = Pill()
        self._more.setParent(self)
        self.setMinimumWidth(2 * PILL_PX)  # for the number of hidden facts
        self.setFixedHeight(PILL_PX)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)

    def show_facts(self, facts: Iterable[str]) -> None:
        for pill in self._pills:
            pill.hide()
            pill.deleteLater()
        self._facts = list(facts)
        self._pills = [Pill(fact) for fact in self._facts]
        for pill in self._pills:
            pill.setParent(self)
        self.setAccessibleName(", ".join(self._facts))
        self._place()

    @property
    def shown_facts(self) -> list[str]:
        return [pill.text() for pill in self._pills if not pill.isHidden()]

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._place()

    def _place(self) -> None:
        shown = len(self._pills)
        while self._wanted_px(shown) > self.width() and shown:
            shown -= 1
        for number, pill in enumerate(self._pills):
            pill.setVisible(number < shown)
        self._more.setVisible(shown < len(self._pills))
        x_px = 0
        for pill in (*self._pills[:shown], self._more):
            pill.setGeometry(x_px, 0, pill.sizeHint().width(), PILL_PX)
            x_px += pill.width() + GAP_PX
        set_tip(self, " · ".join(self._facts) if shown < len(self._pills) else "")

    def _wanted_px(self, count: int) -> int:
        self._more.setText(f"+{len(self._pills) - count}")
        pills = [*self._pills[:count], *([self._more] if count < len(self._pills) else [])]
        return sum(pill.sizeHint().width() + GAP_PX for pill in pills) - GAP_PX
