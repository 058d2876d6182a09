"""The button that shares a result: it opens the preview, and its menu saves and copies without a preview."""

from typing import Protocol

from PySide6.QtGui import QAction

from app.core.messages import sentence
from app.gui.style.theme import Theme
from app.gui.widgets.basics import Button
from app.gui.widgets.split_button import SplitButton

_COPY = "button.copy_result"


class Shares(Protocol):
    """A page whose result can be shared."""

    @property
    def can_share(self) -> bool:
        """Whether there is a result to share."""

    @property
    def can_copy(self) -> bool:
        """Whether there is a text to copy."""

    def share(self) -> None:
        """Open the preview."""

    def save_picture(self) -> None:
        """Save the picture of the result."""

    def copy_picture(self) -> None:
        """Copy the picture of the result to the clipboard."""

    def copy_text(self) -> None:
        """Copy the result to the clipboard as text."""


class ShareButton(SplitButton):
    """Shares the result of a page."""

    def __init__(self, theme: Theme, page: Shares) -> None:
        self._page = page
        does = {
            "menu.save_picture": page.save_picture,
            "menu.copy_picture": page.copy_picture,
            _COPY: page.copy_text,
        }
        self.entries = {code: QAction(sentence(code)) for code in does}
        button = Button(theme, sentence("menu.share"), "image", kind="primary", gives_way=True)
        super().__init__(theme, button, self.entries.values(), sentence("share.more"))
        button.clicked.connect(page.share)
        for code, do in does.items():
            self.entries[code].triggered.connect(do)

    def update_state(self) -> None:
        """Enable the actions that are possible with the page's result."""
        self.button.setEnabled(self._page.can_share)
        for code, action in self.entries.items():
            action.setEnabled(self._page.can_copy if code == _COPY else self._page.can_share)
