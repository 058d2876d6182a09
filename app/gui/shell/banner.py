"""The banner for messages below the pages."""

from collections.abc import Callable

from PySide6.QtWidgets import QFrame, QHBoxLayout, QSizePolicy

from app.core.messages import sentence
from app.gui.style.theme import Theme
from app.gui.style.tokens import GAP_PX
from app.gui.widgets.basics import Button, Tone, label, set_tone
from app.gui.widgets.timers import timer

BANNER_S = 12


class Banner(QFrame):
    """A message that disappears with its page and, unless it has a tone, after a while."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self.setObjectName("banner")
        self._action: Callable[[], None] | None = None
        self._stays = False
        self.text = label(wrap=True)
        self.text.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        self.button = Button(theme, "", kind="flat")
        self.button.clicked.connect(self._act)
        self.close_button = Button(theme, "", "x", kind="flat")
        self.close_button.setAccessibleName(sentence("window.close_message"))
        self.close_button.clicked.connect(self.hide)
        row = QHBoxLayout(self)
        row.setContentsMargins(3 * GAP_PX, GAP_PX // 2, GAP_PX, GAP_PX // 2)
        for widget in (self.text, self.button, self.close_button):
            row.addWidget(widget)
        self._timer = timer(self, BANNER_S * 1000, once=True)
        self._timer.timeout.connect(self.hide)
        self.hide()

    def notify(self, text: str, tone: Tone = "", action: str = "", do: Callable[[], None] | None = None) -> None:
        """Show a message, with a button if there is an action.

        Cautions and errors are shown until the user dismisses them or, without an action, opens another page.
        """
        self._action, self._stays = do, bool(tone and action)
        self.text.setText(text)
        self.setAccessibleName(text)
        self.button.setText(action)
        self.button.setAccessibleName(action)
        self.button.setVisible(bool(action))
        set_tone(self, tone)
        self.show()
        self._timer.stop()
        if not tone:
            self._timer.start()

    @property
    def goes_by_itself(self) -> bool:
        return self._timer.isActive()

    def leave_page(self) -> None:
        if not self._stays:
            self.hide()

    def _act(self) -> None:
        self.hide()
        if self._action is not None:
            self._action()
