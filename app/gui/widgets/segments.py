"""Controls that show two or three choices at once."""

from collections.abc import Sequence

from PySide6.QtCore import QSize, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QBoxLayout, QWidget

from app.core.messages import sentence
from app.gui.style.theme import Theme
from app.gui.widgets.basics import Button, row

_BETWEEN_PX = 4


class Segments(QWidget):
    """A group of buttons, one of which is checked. Tab moves to the checked button, arrow keys to the others.

    Signals:
        chosen: The user selected another choice. The argument is its value.
    """

    chosen = Signal(str)

    def __init__(self, theme: Theme, name: str, choices: Sequence[tuple[str, str]]) -> None:
        super().__init__()
        self.setAccessibleName(name)
        self.value = ""
        self.buttons = {value: Button(theme, text, kind="segment") for value, text in choices}
        for value, button in self.buttons.items():
            button.setAccessibleName(f"{name}: {button.text()}")
            button.clicked.connect(lambda _=False, value=value: self._on_clicked(value))
        self.setLayout(row(*self.buttons.values(), spacing_px=_BETWEEN_PX))

    def select(self, value: str) -> None:
        """Select a choice without emitting `chosen`."""
        self.value = value
        self.buttons[value].setChecked(True)

    def _on_clicked(self, value: str) -> None:
        if value != self.value:
            self.value = value
            self.chosen.emit(value)


class Tiles(QWidget):
    """A group of two-line buttons, one of which is checked, arranged side by side if there is room."""

    def __init__(self, theme: Theme, names: Sequence[str]) -> None:
        super().__init__()
        self.buttons = {name: Button(theme, "", kind="segment") for name in names}
        self._layout = row(*self.buttons.values(), spacing_px=_BETWEEN_PX)
        for number in range(len(names)):
            self._layout.setStretch(number, 1)
        self.setLayout(self._layout)

    def name(self, name: str, title: str, note: str, spoken_note: str = "") -> None:
        """Change the lines of a button. Screen readers get `spoken_note`, or the note if that is empty."""
        self.buttons[name].setText(f"{title}\n{note}")
        self.buttons[name].setAccessibleName(sentence("preset.with_note", preset=title, note=spoken_note or note))
        self._arrange()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._arrange()

    def minimumSizeHint(self) -> QSize:
        """Return the minimum size. It is as wide as the widest button, because the buttons can be stacked."""
        return QSize(max(self._widths_px()), super().minimumSizeHint().height())

    def _arrange(self) -> None:
        needed_px = sum(self._widths_px()) + _BETWEEN_PX * (len(self.buttons) - 1)
        direction = QBoxLayout.Direction
        self._layout.setDirection(direction.TopToBottom if needed_px > self.width() else direction.LeftToRight)

    def _widths_px(self) -> list[int]:
        return [button.sizeHint().width() for button in self.buttons.values()]
