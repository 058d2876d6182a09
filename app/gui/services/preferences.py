"""The user's settings while the window is open: read once, written at each change."""

from pathlib import Path
from typing import Any

import msgspec
from PySide6.QtCore import QObject, Signal

from app.core.settings import Settings, load_settings, save_settings


class Preferences(QObject):
    """Holds the settings and saves what changes.

    Signals:
        changed: The settings are others now.
    """

    changed = Signal()

    def __init__(self, path: Path, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._path = path
        self.settings = load_settings(path)

    def change(self, **changes: Any) -> None:
        """Take and save other values; raises AppError if they cannot be saved (they are used all the same)."""
        # From the file: another window may have changed other settings meanwhile.
        self._take(msgspec.structs.replace(load_settings(self._path), **changes))

    def reset(self) -> None:
        """Go back to the settings of a first start; raises AppError like `change`."""
        self._take(Settings())

    def _take(self, settings: Settings) -> None:
        if settings != self.settings:
            self.settings = settings
            self.changed.emit()
            save_settings(self._path, settings)
