"""A box to choose from, with a name for screen readers on every system."""

from PySide6.QtWidgets import QComboBox, QLabel


class ChoiceBox(QComboBox):
    """A combo box whose accessible name is its label, not its value.

    Args:
        name: Its name; "" to set it later.
    """

    def __init__(self, name: str = "") -> None:
        super().__init__()
        # On Linux, Qt reports the value as a combo box's name, and names it by its label only.
        self._label = QLabel(self)
        self._label.hide()
        self._label.setBuddy(self)
        self.setAccessibleName(name)

    def setAccessibleName(self, name: str) -> None:
        """Name the box and its label."""
        super().setAccessibleName(name)
        self._label.setText(name)
