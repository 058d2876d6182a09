"""A combo box that has a name for screen readers on all systems."""

from PySide6.QtCore import QEvent, Qt
from PySide6.QtGui import QEnterEvent, QPaintEvent, QPalette
from PySide6.QtWidgets import QComboBox, QLabel, QStyle, QStyleOptionComboBox, QStylePainter

from app.gui.widgets.basics import plain_tip

_TEXT_LEFT_PX = 1  # where Qt's styles start to draw the text


class ChoiceBox(QComboBox):
    """A combo box whose accessible name is its label instead of its value."""

    def __init__(self, name: str = "") -> None:
        super().__init__()
        # On Linux, Qt reports the value as the name of a combo box without a label.
        self._label = QLabel(self)
        self._label.hide()
        self._label.setBuddy(self)
        self._own_tip: str | None = None  # original tooltip, while an elided value replaces it
        self.setAccessibleName(name)

    def setAccessibleName(self, name: str) -> None:
        super().setAccessibleName(name)
        self._label.setText(name)

    def shown_text(self) -> str:
        """Return the displayed value, elided if necessary, because Qt would cut it off without an ellipsis."""
        option = QStyleOptionComboBox()
        self.initStyleOption(option)
        part = QStyle.SubControl.SC_ComboBoxEditField
        field = self.style().subControlRect(QStyle.ComplexControl.CC_ComboBox, option, part, self)
        room_px = field.width() - _TEXT_LEFT_PX
        return self.fontMetrics().elidedText(self.currentText(), Qt.TextElideMode.ElideRight, room_px)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter, option = QStylePainter(self), QStyleOptionComboBox()
        self.initStyleOption(option)
        painter.drawComplexControl(QStyle.ComplexControl.CC_ComboBox, option)
        option.currentText = self.shown_text()
        if self.currentIndex() < 0:
            option.palette.setBrush(QPalette.ColorRole.ButtonText, option.palette.placeholderText())
            option.currentText = self.placeholderText()
        painter.drawControl(QStyle.ControlElement.CE_ComboBoxLabel, option)
        painter.end()

    def enterEvent(self, event: QEnterEvent) -> None:
        super().enterEvent(event)
        if self._own_tip is None and self.shown_text() != self.currentText():
            self._own_tip = self.toolTip()
            self.setToolTip(plain_tip(self.currentText()))

    def leaveEvent(self, event: QEvent) -> None:
        super().leaveEvent(event)
        if self._own_tip is not None:
            self.setToolTip(self._own_tip)
            self._own_tip = None
