"""The computer's components, with a card for each group and an explanation for each "n/a"."""

from itertools import groupby

from PySide6.QtCore import Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QGridLayout, QLabel, QWidget

from app.core.hardware.part_texts import NOT_KNOWN, MachinePart, machine_parts
from app.core.messages import sentence
from app.core.plain_text import safe_text
from app.gui.services.bundle import Services
from app.gui.style.tokens import GAP_PX
from app.gui.widgets.basics import Card, column, label, row, set_tip

NAME_PX, WIDE_PX, WORD_PX = 132, 760, 420


class PartsView(QWidget):
    """Displays the computer's components, in two columns if there is space."""

    def __init__(self, services: Services) -> None:
        super().__init__()
        self._services = services
        self._parts: tuple[MachinePart, ...] = ()
        self._cards: list[Card] = []
        self._columns = (column(spacing_px=2 * GAP_PX), column(spacing_px=2 * GAP_PX))
        self._right = QWidget()
        self._right.setLayout(self._columns[1])
        both = row(self._columns[0], self._right, spacing_px=2 * GAP_PX)
        both.setStretch(0, 1)
        both.setStretch(1, 1)
        self.setLayout(both)
        services.finder.found.connect(self.show_machine)
        self.show_machine()

    def show_machine(self) -> None:
        """Show the computer's components, or a note that they are still being detected."""
        finder = self._services.finder
        looking = (
            MachinePart(
                "parts",
                sentence("compare.you"),
                sentence("hardware_page.parts"),
                sentence("label.checking"),
            ),
        )
        self._parts = machine_parts(finder.machine, finder.power) if finder.machine else looking
        for card in self._cards:
            card.setParent(None)
            card.deleteLater()
        self._cards = [_card(group, list(parts)) for group, parts in groupby(self._parts, lambda part: part.group)]
        self._place()

    def text(self) -> str:
        if self._services.finder.machine is None:
            return ""
        return "".join(f"{part.name}: {part.value}\n" for part in self._parts)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._place()

    def _place(self) -> None:
        """Distribute the cards so that the columns have about the same height."""
        wide = self.width() >= WIDE_PX
        self._right.setVisible(wide)
        rows = [card.property("rows") for card in self._cards]
        filled = 0
        for each in self._columns:
            while each.count():
                each.takeAt(0)
        for card, count in zip(self._cards, rows, strict=True):
            self._columns[1 if wide and filled + count / 2 > sum(rows) / 2 else 0].addWidget(card)
            filled += count
        for each in self._columns:
            each.addStretch(1)


def _card(group: str, parts: list[MachinePart]) -> Card:
    card = Card(group)
    card.note.hide()
    grid = QGridLayout()
    grid.setHorizontalSpacing(2 * GAP_PX)
    grid.setVerticalSpacing(GAP_PX)
    grid.setColumnMinimumWidth(0, NAME_PX)
    grid.setColumnStretch(1, 1)
    unknown = [part for part in parts if part.value == NOT_KNOWN and part.reason]
    shown = [part for part in parts if part not in unknown]
    for number, part in enumerate(shown):
        name = label(part.name, muted=True, wrap=True)
        text = label(wrap=True, muted=bool(part.reason))
        text.setText(_narrower(text, safe_text(part.value)))
        spoken = f"{part.name}: {part.value}" + (f" ({part.reason})" if part.reason else "")
        text.setAccessibleName(spoken)
        text.setObjectName("value")
        text.setTextInteractionFlags(
            Qt.TextInteractionFlag.TextSelectableByMouse | Qt.TextInteractionFlag.TextSelectableByKeyboard
        )
        for each in (name, text):
            set_tip(each, part.reason or (part.value if text.text() != safe_text(part.value) else ""))
            if part.reason:  # indicates that there is a tooltip
                each.setCursor(Qt.CursorShape.WhatsThisCursor)
        grid.addWidget(name, number, 0, Qt.AlignmentFlag.AlignTop)
        grid.addWidget(text, number, 1)
    card.body.addLayout(grid)
    if unknown:
        names = label(
            sentence("hardware_page.unknown", names=[part.name for part in unknown]), muted=True, wrap=True
        )
        names.setObjectName("unknown")
        set_tip(names, "; ".join(f"{part.name}: {part.reason}" for part in unknown))
        names.setCursor(Qt.CursorShape.WhatsThisCursor)
        card.body.addWidget(names)
    card.setProperty("rows", len(shown) + bool(unknown) + 2)  # heading and margins are about as high as two rows
    return card


def _narrower(shown: QLabel, text: str) -> str:
    """Elide long words, because Qt breaks lines only between words."""
    metrics = shown.fontMetrics()
    words = (metrics.elidedText(word, Qt.TextElideMode.ElideMiddle, WORD_PX) for word in text.split(" "))
    return " ".join(words)
