"""The machine's parts, looked for in the background so that the window need not wait for a driver."""

from PySide6.QtCore import QObject, Signal

from app.core.machine.hardware import detect_machine
from app.core.model import Machine
from app.gui.tasks import Tasks


class MachineFinder(QObject):
    """Knows the machine once it was found.

    Signals:
        found: `machine` is known now, or was looked at again.
    """

    found = Signal()

    def __init__(self, tasks: Tasks, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._tasks = tasks
        self.machine: Machine | None = None

    def look(self) -> None:
        """Look at the machine, again if it was looked at before."""
        # Detection has no errors of the user's; a fault is raised all the same.
        self._tasks.start(detect_machine, self._on_found, lambda _: None)

    def _on_found(self, machine: Machine) -> None:
        self.machine = machine
        self.found.emit()
