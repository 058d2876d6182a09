"""Which engines are installed, read in the background."""

from collections.abc import Callable

from PySide6.QtCore import QObject, Signal

from app.core.engines.choices import INCLUDED, Installed, installed_engines
from app.core.paths import Paths
from app.gui.services.tasks import Tasks


class EngineFinder(QObject):
    """Knows the engines that a run can have; until they are read, those that come with Epochmark.

    Args:
        paths: Returns the folders.
        tasks: Reads in the background.

    Signals:
        changed: `installed` is another one now.
    """

    changed = Signal()

    def __init__(self, paths: Callable[[], Paths], tasks: Tasks, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._paths = paths
        self._tasks = tasks
        self._asked = 0
        self.installed: Installed = INCLUDED

    def variant(self, engine: str) -> str | None:
        """Return which variant of an engine is installed; None if it comes with Epochmark, or isn't known."""
        return self.installed.get(engine)

    def look(self) -> None:
        """Read what is installed, again if it was read before."""
        self._asked += 1
        number, paths = self._asked, self._paths()

        def read() -> tuple[int, dict[str, str | None]]:
            return number, installed_engines(paths)

        # Whatever is wrong with an engine is shown in the settings; bugs are raised anyway.
        self._tasks.start(read, self._on_read, lambda _: None)

    def _on_read(self, answer: tuple[int, Installed]) -> None:
        number, installed = answer
        if number == self._asked and installed != self.installed:  # otherwise a later look is on its way
            self.installed = installed
            self.changed.emit()
