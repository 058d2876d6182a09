"""Choices side by side, all of them visible; for two or three choices."""

from collections.abc import Sequence

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QWidget

from app.gui.style.theme import Theme
from app.gui.widgets.basics import Button, row

_BETWEEN_PX = 4


class Segments(QWidget):
    """Buttons of which one is checked. Tab moves to the checked button, the arrow keys to the others.

    Args:
        theme: Colours of the buttons.
        name: Name of the group, for screen readers.
        choices: Value and text of each.

    Signals:
        chosen: The user made another choice; with its value.
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
        """Mark a choice as selected, without emitting `chosen`."""
        self.value = value
        self.buttons[value].setChecked(True)

    def _on_clicked(self, value: str) -> None:
        if value != self.value:
            self.value = value
            self.chosen.emit(value)
