"""A box to choose from, with a name for screen readers on every system."""

from PySide6.QtCore import QEvent, Qt
from PySide6.QtGui import QHelpEvent, QPaintEvent
from PySide6.QtWidgets import QComboBox, QLabel, QStyle, QStyleOptionComboBox, QStylePainter, QToolTip

from app.gui.widgets.basics import plain_tip

_TEXT_LEFT_PX = 1  # where Qt's styles begin to draw it


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

    def shown_text(self) -> str:
        """Return the value as there is room for it: Qt would cut it without a sign."""
        option = QStyleOptionComboBox()
        self.initStyleOption(option)
        part = QStyle.SubControl.SC_ComboBoxEditField
        field = self.style().subControlRect(QStyle.ComplexControl.CC_ComboBox, option, part, self)
        room_px = field.width() - _TEXT_LEFT_PX
        return self.fontMetrics().elidedText(self.currentText(), Qt.TextElideMode.ElideRight, room_px)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Paint the box with the end of a long value as "…"."""
        painter, option = QStylePainter(self), QStyleOptionComboBox()
        self.initStyleOption(option)
        option.currentText = self.shown_text()
        painter.drawComplexControl(QStyle.ComplexControl.CC_ComboBox, option)
        painter.drawControl(QStyle.ControlElement.CE_ComboBoxLabel, option)
        painter.end()

    def event(self, event: QEvent) -> bool:
        """Show an elided value whole under the pointer, unless the box has a hint of its own."""
        if isinstance(event, QHelpEvent) and event.type() == QEvent.Type.ToolTip and not self.toolTip():
            is_whole = self.shown_text() == self.currentText()
            QToolTip.showText(event.globalPos(), "" if is_whole else plain_tip(self.currentText()), self)
            return True
        return super().event(event)
