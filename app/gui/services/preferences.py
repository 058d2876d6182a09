"""The user's settings while the window is open: read once, saved on each change."""

from pathlib import Path
from typing import Any

import msgspec
from PySide6.QtCore import QObject, Signal

from app.core.settings import Settings, load_settings, save_settings


class Preferences(QObject):
    """Holds the settings and saves changes.

    Signals:
        changed: The settings changed.
    """

    changed = Signal()

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._path = path
        self.settings = load_settings(path)

    def change(self, **changes: Any) -> None:
        """Apply and save changed values. Raises AppError if they can't be saved; they apply anyway."""
        # From the file, because another window may have changed other settings in the meantime.
        self._take(msgspec.structs.replace(load_settings(self._path), **changes))

    def reset(self) -> None:
        """Restore the default settings. Raises AppError as `change` does."""
        self._take(Settings())

    def _take(self, settings: Settings) -> None:
        if settings != self.settings:
            self.settings = settings
            self.changed.emit()
            save_settings(self._path, settings)
