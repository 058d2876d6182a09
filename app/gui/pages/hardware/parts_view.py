"""The computer's components as a table, without unknown ones."""

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QGridLayout, QLabel, QWidget

from app.core.hardware.part_texts import NOT_KNOWN, MachinePart, machine_parts
from app.core.messages import sentence
from app.core.plain_text import safe_text
from app.gui.services.bundle import Services
from app.gui.style.tokens import GAP_PX
from app.gui.widgets.basics import Card, column, label, panel, set_tip

NAME_PX, WORD_PX = 132, 420


class PartsView(QWidget):
    """Displays the computer's components."""

    def __init__(self, services: Services) -> None:
        super().__init__()
        self._services = services
        self._parts: tuple[MachinePart, ...] = ()
        self._table = QWidget()
        self.card = Card(sentence("compare.you"))
        self.card.note.hide()
        self.card.body.addWidget(self._table)
        self.setLayout(column(self.card, None))
        services.finder.found.connect(self.show_machine)
        self.show_machine()

    def show_machine(self) -> None:
        finder = self._services.finder
        parts = machine_parts(finder.machine, finder.power) if finder.machine else ()
        self._parts = tuple(part for part in parts if part.value != NOT_KNOWN)
        table = _table(self._parts)
        self.card.body.replaceWidget(self._table, table)
        self._table.setParent(None)
        self._table.deleteLater()
        self._table = table

    def text(self) -> str:
        return "".join(f"{part.name}: {part.value}\n" for part in self._parts)


def _table(parts: tuple[MachinePart, ...]) -> QWidget:
    grid = QGridLayout()
    grid.setContentsMargins(0, 0, 0, 0)
    grid.setHorizontalSpacing(2 * GAP_PX)
    grid.setVerticalSpacing(GAP_PX)
    grid.setColumnMinimumWidth(0, NAME_PX)
    grid.setColumnStretch(1, 1)
    if not parts:
        grid.addWidget(label(sentence("label.checking"), muted=True), 0, 0)
    for number, part in enumerate(parts):
        value = label(wrap=True)
        value.setText(_narrower(value, safe_text(part.value)))
        value.setAccessibleName(f"{part.name}: {part.value}" + (f" ({part.reason})" if part.reason else ""))
        value.setObjectName("value")
        value.setTextInteractionFlags(
            Qt.TextInteractionFlag.TextSelectableByMouse | Qt.TextInteractionFlag.TextSelectableByKeyboard
        )
        set_tip(value, part.reason or (part.value if value.text() != safe_text(part.value) else ""))
        grid.addWidget(label(part.name, muted=True, wrap=True), number, 0, Qt.AlignmentFlag.AlignTop)
        grid.addWidget(value, number, 1)
    return panel(grid)


def _narrower(shown: QLabel, text: str) -> str:
    """Elide long words, because Qt breaks lines only between words."""
    metrics = shown.fontMetrics()
    words = (metrics.elidedText(word, Qt.TextElideMode.ElideMiddle, WORD_PX) for word in text.split(" "))
    return " ".join(words)
