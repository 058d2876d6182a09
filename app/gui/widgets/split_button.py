"""A button with a menu of related actions next to it."""

from collections.abc import Iterable

from PySide6.QtGui import QAction
from PySide6.QtWidgets import QMenu, QWidget

from app.gui.style.theme import Theme
from app.gui.widgets.basics import Button, row, set_tip


class SplitButton(QWidget):
    """A button, and a narrow one that opens a menu."""

    def __init__(self, theme: Theme, button: Button, actions: Iterable[QAction], name: str) -> None:
        super().__init__()
        self.button, self.more_button = button, Button(theme, "", "chevron-down", kind="arrow")
        self.more_button.setAccessibleName(name)
        set_tip(self.more_button, name)
        self.menu = QMenu(self)
        self.menu.addActions(list(actions))
        self.more_button.clicked.connect(self._open)
        layout = row(self.button, self.more_button, spacing_px=2)
        layout.setStretch(0, 1)
        self.setLayout(layout)

    def _open(self) -> None:
        self.menu.popup(self.more_button.mapToGlobal(self.more_button.rect().bottomLeft()))
