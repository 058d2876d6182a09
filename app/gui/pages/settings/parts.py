"""Helpers for the settings cards: rows, questions, dialogs and folders."""

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import Qt, QUrl
from PySide6.QtGui import QDesktopServices, QFont
from PySide6.QtWidgets import QDialog, QHBoxLayout, QSizePolicy, QWidget

from app.core.messages import sentence
from app.gui.services.bundle import Services
from app.gui.widgets.basics import ElidedLabel, column, label, row
from app.gui.widgets.dialogs import question


def setting(name: str, note: QWidget | str, *controls: QWidget) -> QHBoxLayout:
    words = column(label(name, weight=QFont.Weight.Medium), spacing_px=2)
    if note:
        below = label(note, muted=True, wrap=True) if isinstance(note, str) else note
        if not isinstance(below, ElidedLabel):
            below.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        words.addWidget(below)
    return row(words, *controls, stretch=0)


def ask(parent: QWidget, text: str, action: str, do: Callable[[], None]) -> None:
    """Ask for confirmation, named like the action, before doing something that can't be undone."""
    box, button = question(parent, action, text, action)
    box.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    button.clicked.connect(lambda _=False: do())
    box.open()


def open_dialog(dialog: QDialog) -> None:
    dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    dialog.open()


def open_folder(services: Services, folder: Path) -> None:
    if not QDesktopServices.openUrl(QUrl.fromLocalFile(str(folder))):
        services.notify(sentence("settings.folder_not_opened", folder=str(folder)), "caution", "", None)
