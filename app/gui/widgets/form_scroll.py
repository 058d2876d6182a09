"""A form that scrolls only if it doesn't fit. If it fits, the next widget follows directly below."""

from PySide6.QtCore import QEvent, QObject, QSize, Qt
from PySide6.QtWidgets import QFrame, QScrollArea, QSizePolicy, QWidget

LEAST_PX = 80


class FormScroll(QScrollArea):
    """A scroll area that is no higher than its content."""

    def __init__(self, content: QWidget) -> None:
        super().__init__(widgetResizable=True)
        self._content = content
        content.setObjectName("scrolled")
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Maximum)
        self.setWidget(content)

    def sizeHint(self) -> QSize:
        content = self._content
        width = self.viewport().width()
        height = content.heightForWidth(width) if content.hasHeightForWidth() else content.sizeHint().height()
        return QSize(content.sizeHint().width(), height)

    def minimumSizeHint(self) -> QSize:
        bar_px = self.verticalScrollBar().sizeHint().width()
        return QSize(self._content.minimumSizeHint().width() + bar_px, LEAST_PX)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if watched is self.widget() and event.type() in (QEvent.Type.LayoutRequest, QEvent.Type.Resize):
            self.updateGeometry()
        return super().eventFilter(watched, event)
