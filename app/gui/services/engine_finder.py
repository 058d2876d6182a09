"""Finds the installed engines in the background."""

from collections.abc import Callable
from functools import partial

from PySide6.QtCore import QObject, Signal

from app.core.engines.choices import Installed, included, installed_engines
from app.core.paths import Paths
from app.gui.services.tasks import Latest, Tasks


class EngineFinder(QObject):
    """Finds the engines available for runs. Until the search is done, only bundled engines are listed."""

    changed = Signal()

    def __init__(self, paths: Callable[[], Paths], tasks: Tasks, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._paths = paths
        self._tasks = tasks
        self._latest = Latest()
        self.installed: Installed = included()

    def variant(self, engine: str) -> str | None:
        """Return the installed variant of an engine; None if the engine is bundled with the app or unknown."""
        return self.installed.get(engine)

    def look(self) -> None:
        # Engine problems are shown in the settings, and bugs are re-raised anyway.
        done = self._latest.only(self._on_read)
        self._tasks.start(partial(installed_engines, self._paths()), done, lambda _: None)

    def _on_read(self, installed: Installed) -> None:
        if installed != self.installed:
            self.installed = installed
            self.changed.emit()
