"""Helpers of the settings cards: a line, a question, and opening dialogs and folders."""

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import Qt, QUrl
from PySide6.QtGui import QDesktopServices, QFont
from PySide6.QtWidgets import QDialog, QHBoxLayout, QMessageBox, QSizePolicy, QWidget

from app.core.messages import sentence
from app.gui.services.bundle import Services
from app.gui.widgets.basics import ElidedLabel, column, label, row


def setting(name: str, note: QWidget | str, *controls: QWidget) -> QHBoxLayout:
    """Return one line of settings: its name with a note below, and its controls on the right."""
    below = label(note, muted=True, wrap=True) if isinstance(note, str) else note
    if not isinstance(below, ElidedLabel):
        below.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
    result = row(column(label(name, weight=QFont.Weight.Medium), below, spacing_px=2), *controls)
    result.setStretch(0, 1)
    return result


def ask(parent: QWidget, text: str, action: str, do: Callable[[], None]) -> None:
    """Ask before an action that can't be undone.

    Args:
        parent: Widget whose window is blocked by the question.
        text: What will happen, and its consequences.
        action: Text of the button that runs the action.
        do: The action.
    """
    question = QMessageBox(QMessageBox.Icon.Question, action, text, QMessageBox.StandardButton.Cancel, parent)
    question.setTextFormat(Qt.TextFormat.PlainText)
    question.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    question.setDefaultButton(QMessageBox.StandardButton.Cancel)
    question.addButton(action, QMessageBox.ButtonRole.AcceptRole).clicked.connect(lambda _=False: do())
    question.open()


def open_dialog(dialog: QDialog) -> None:
    """Open a dialog that is deleted when it is closed."""
    dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    dialog.open()


def open_folder(services: Services, folder: Path) -> None:
    """Open a folder in the system's file manager."""
    if not QDesktopServices.openUrl(QUrl.fromLocalFile(str(folder))):
        services.notify(sentence("settings.folder_not_opened", folder=str(folder)), "caution", "", None)
