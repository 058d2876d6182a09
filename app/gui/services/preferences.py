"""The user's settings while the app is running: loaded once, and saved after each change."""

from pathlib import Path
from typing import Any

import msgspec
from PySide6.QtCore import QObject, Signal

from app.core.settings import Settings, load_settings, save_settings


class Preferences(QObject):
    """Provides the settings, and saves changes."""

    changed = Signal()

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._path = path
        self.settings = load_settings(path)

    def change(self, **changes: Any) -> None:
        """Change and save settings. Raises AppError if they can't be saved, but still applies them."""
        # Reload the file first, because another instance may have changed other settings.
        self._take(msgspec.structs.replace(load_settings(self._path), **changes))

    def reset(self) -> None:
        """Restore the default settings. Raises AppError, as `change` does."""
        self._take(Settings())

    def _take(self, settings: Settings) -> None:
        if settings != self.settings:
            self.settings = settings
            self.changed.emit()
            save_settings(self._path, settings)
