"""The position and size of the window, which are stored on closing and adjusted to fit the screen."""

import logging

from PySide6.QtCore import QByteArray, QSize
from PySide6.QtWidgets import QMainWindow, QStyle

from app.core.errors import AppError
from app.gui.services.preferences import Preferences

USUAL_PX = (1200, 800)
_log = logging.getLogger(__name__)


def restore(window: QMainWindow, preferences: Preferences) -> None:
    stored = preferences.settings.geometry
    if not stored or not window.restoreGeometry(QByteArray.fromBase64(stored.encode("ascii", "replace"))):
        window.resize(*USUAL_PX)
    _fit_screen(window)


def _fit_screen(window: QMainWindow) -> None:
    screen = window.screen().availableGeometry()
    frame_px = window.style().pixelMetric(QStyle.PixelMetric.PM_TitleBarHeight)
    room = QSize(screen.width(), screen.height() - frame_px)
    window.setMinimumSize(window.minimumSize().boundedTo(room))
    if window.width() > room.width() or window.height() > room.height():
        window.resize(window.size().boundedTo(room))
        window.move(screen.topLeft())


def save(window: QMainWindow, preferences: Preferences) -> None:
    geometry = bytes(window.saveGeometry().toBase64().data()).decode("ascii")
    try:
        preferences.change(geometry=geometry)
    except AppError as error:
        _log.info("The window's position wasn't saved: %s", error)
