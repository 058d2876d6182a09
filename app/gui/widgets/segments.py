"""Controls that show two or three choices at once."""

from collections.abc import Sequence

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QWidget

from app.gui.style.theme import Theme
from app.gui.widgets.basics import Button, row

_BETWEEN_PX = 4


class Segments(QWidget):
    """A group of buttons, one of which is checked. Tab moves to the checked button, arrow keys to the others."""

    chosen = Signal(str)  # the user selected another choice, with this value

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
        self.value = value
        self.buttons[value].setChecked(True)

    def _on_clicked(self, value: str) -> None:
        if value != self.value:
            self.value = value
            self.chosen.emit(value)
