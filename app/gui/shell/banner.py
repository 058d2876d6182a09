"""The banner for messages at the bottom of the pages."""

from collections.abc import Callable

from PySide6.QtCore import QEvent, QObject
from PySide6.QtWidgets import QFrame, QHBoxLayout, QSizePolicy, QWidget

from app.core.messages import sentence
from app.gui.style.theme import Theme
from app.gui.style.tokens import GAP_PX
from app.gui.widgets.basics import Button, Tone, label, set_tone
from app.gui.widgets.timers import timer

BANNER_S = 12
BANNER_WIDTH_PX = 640


class Banner(QFrame):
    """A message that covers the bottom of its parent, and disappears automatically unless it has a tone.

    Args:
        parent: Widget to cover. The banner follows its size.
    """

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._over = parent
        parent.installEventFilter(self)
        self.setObjectName("banner")
        self._action: Callable[[], None] | None = None
        self.text = label(wrap=True)
        self.text.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        self.button = Button(theme, "", kind="flat")
        self.button.clicked.connect(self._act)
        self.close_button = Button(theme, "", "x", kind="flat")
        self.close_button.setAccessibleName(sentence("window.close_message"))
        self.close_button.clicked.connect(self.hide)
        row = QHBoxLayout(self)
        row.setContentsMargins(2 * GAP_PX, GAP_PX // 2, GAP_PX, GAP_PX // 2)
        for widget in (self.text, self.button, self.close_button):
            row.addWidget(widget)
        self._timer = timer(self, BANNER_S * 1000, once=True)
        self._timer.timeout.connect(self.hide)
        self.hide()

    def notify(self, text: str, tone: Tone = "", action: str = "", do: Callable[[], None] | None = None) -> None:
        """Show a message. Cautions and errors are shown until the user dismisses them.

        Args:
            text: One or two sentences.
            tone: Determines the frame.
            action: Text of the button; "" for no button.
            do: Called when the button is clicked.
        """
        self._action = do
        self.text.setText(text)
        self.setAccessibleName(text)
        self.button.setText(action)
        self.button.setAccessibleName(action)
        self.button.setVisible(bool(action))
        set_tone(self, tone)
        self._place()
        self.show()
        self.raise_()
        self._timer.stop()
        if not tone:
            self._timer.start()

    @property
    def goes_by_itself(self) -> bool:
        return self._timer.isActive()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Resize:
            self._place()
        return False

    def _place(self) -> None:
        parent = self._over
        width = min(BANNER_WIDTH_PX, parent.width() - 4 * GAP_PX)
        height = max(self.heightForWidth(width), self.sizeHint().height())
        self.setGeometry((parent.width() - width) // 2, parent.height() - height - 3 * GAP_PX, width, height)

    def _act(self) -> None:
        self.hide()
        if self._action is not None:
            self._action()
