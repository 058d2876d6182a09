"""The list of questions, each with its duration or the reason why it can't be answered here."""

from collections.abc import Iterable
from dataclasses import dataclass

from PySide6.QtCore import QSignalBlocker, QSize, Qt, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QListWidget, QListWidgetItem, QWidget

from app.gui.style.tokens import GAP_PX
from app.gui.widgets.basics import label, row

ITEM_PX = (8, 5)  # padding of items in the style sheet


@dataclass(frozen=True, slots=True)
class Question:
    """A question."""

    key: str
    text: str
    note: str  # its duration, or the reason why it can't be answered on this computer
    is_possible: bool = True


class QuestionList(QListWidget):
    """Lists questions or earlier answers. Those that aren't possible are last, and can't be selected."""

    chosen = Signal(str)

    def __init__(self, name: str) -> None:
        super().__init__()
        self.setFrameShape(QListWidget.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setAccessibleName(name)
        self.currentItemChanged.connect(self._on_current)

    @property
    def key(self) -> str:
        item: QListWidgetItem | None = self.currentItem()
        return "" if item is None else str(item.data(Qt.ItemDataRole.UserRole))

    def show_questions(self, questions: Iterable[Question], *, keeps_one: bool = False) -> None:
        """Replace the questions. `keeps_one` selects the same one as before or, if impossible, the first."""
        before = self.key
        with QSignalBlocker(self):
            self.clear()
            for question in sorted(questions, key=lambda question: not question.is_possible):
                item = QListWidgetItem()
                item.setData(Qt.ItemDataRole.UserRole, question.key)
                item.setData(Qt.ItemDataRole.AccessibleTextRole, f"{question.text} {question.note}")
                self.addItem(item)
                self.setItemWidget(item, _line(question))
                if not question.is_possible:
                    item.setFlags(Qt.ItemFlag.NoItemFlags)
            if keeps_one:
                self.choose(before)
            else:
                self.setCurrentRow(-1)
        self._fit()
        if keeps_one and self.key != before:
            self.chosen.emit(self.key)

    def choose(self, key: str) -> None:
        """Select a question if it can be answered; otherwise, the first one."""
        items = [self.item(number) for number in range(self.count())]
        usable = [item for item in items if item.flags()]
        wanted = (item for item in usable if item.data(Qt.ItemDataRole.UserRole) == key)
        self.setCurrentItem(next(wanted, usable[0]))

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def _fit(self) -> None:
        width_px = self.viewport().width() - 2 * ITEM_PX[0]
        for item in map(self.item, range(self.count())):
            shown: QWidget | None = self.itemWidget(item)
            if shown is not None:  # otherwise, the list is being filled
                item.setSizeHint(QSize(0, shown.heightForWidth(width_px) + 2 * ITEM_PX[1]))

    def _on_current(self, item: QListWidgetItem | None) -> None:
        if item is not None:
            self.chosen.emit(self.key)


def _line(question: Question) -> QWidget:
    result = QWidget()
    result.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
    layout = row(label(question.text, wrap=True, muted=not question.is_possible), label(question.note, muted=True))
    layout.setContentsMargins(0, GAP_PX - 2, 0, GAP_PX - 2)
    layout.setStretch(0, 1)
    result.setLayout(layout)
    return result
