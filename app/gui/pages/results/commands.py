"""Commands for stored runs, shared by buttons, context menus and keyboard shortcuts."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from PySide6.QtCore import QObject, QPoint, Qt
from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import QMenu, QWidget

from app.core.messages import sentence
from app.gui.style.icons import icon
from app.gui.style.theme import Theme
from app.gui.widgets.basics import Button


@dataclass(frozen=True, slots=True)
class Command:
    """A command."""

    text: str
    icon: str
    keys: str = ""  # keyboard shortcut, active only where enabled; see `RunCommands`


COMMANDS = {
    "open": Command("button.open", "chart-bar"),
    "again": Command("button.run_again", "rotate-ccw"),
    "compare": Command("page.compare", "chart-bar-decreasing"),
    "change": Command("button.compare_settings", "sliders-horizontal"),
    "copy": Command("button.copy", "copy", "Ctrl+C"),
    "share": Command("menu.share", "image"),
    "picture": Command("menu.save_picture", "image"),
    "copy_picture": Command("menu.copy_picture", "image"),
    "export": Command("plan_page.export", "file-down"),
    "rename": Command("results_page.rename", "pencil", "F2"),
    "delete": Command("button.delete", "trash-2", "Del"),
}
Handlers = Mapping[str, Callable[[], object]]


class RunCommands(QObject):
    """The commands of a view. Buttons, menu and keyboard shortcuts share their state.

    Commands without a handler are omitted. The shortcuts of those `with_keys` are active in the owner, so they
    must not be used for editing there.
    """

    def __init__(self, theme: Theme, owner: QWidget, handlers: Handlers, with_keys: Sequence[str]) -> None:
        super().__init__(owner)
        self._theme = theme
        self._owner = owner
        self.menu = QMenu(owner)
        self.actions = {code: self._action(code, do, code in with_keys) for code, do in handlers.items()}
        for code, action in self.actions.items():
            if code == "delete":
                self.menu.addSeparator()
            self.menu.addAction(action)
        theme.changed.connect(self._colour)
        self._colour()

    def allow(self, allowed: Mapping[str, bool]) -> None:
        """Enable or disable some commands. Others are unchanged."""
        for code, is_allowed in allowed.items():
            if code in self.actions:
                self.actions[code].setEnabled(is_allowed)

    def button(self, code: str, kind: Literal["primary", "plain"] = "plain", *, brief: bool = False) -> Button:
        action = self.actions[code]
        button = Button(
            self._theme, "" if brief else action.text(), COMMANDS[code].icon, kind=kind, gives_way=True
        )
        button.clicked.connect(action.trigger)

        def follow() -> None:
            button.setEnabled(action.isEnabled())
            if brief:
                button.setAccessibleName(action.text())
                button.setToolTip(action.text())
            else:
                button.setText(action.text())

        action.changed.connect(follow)
        follow()
        return button

    def open_menu(self, at: QPoint) -> None:
        self.menu.popup(at)

    def _action(self, code: str, do: Callable[[], object], has_keys: bool) -> QAction:
        command = COMMANDS[code]
        action = QAction(sentence(command.text), self)
        action.triggered.connect(lambda _=False: do())
        if has_keys:
            action.setShortcut(QKeySequence(command.keys))
            action.setShortcutContext(Qt.ShortcutContext.WidgetWithChildrenShortcut)
            action.setShortcutVisibleInContextMenu(True)
            self._owner.addAction(action)
        return action

    def _colour(self) -> None:
        for code, action in self.actions.items():
            action.setIcon(icon(COMMANDS[code].icon, self._theme.tokens.text))
