"""Detects the computer's components in the background, so that the GUI doesn't wait for drivers."""

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QObject, Signal

from app.core.hardware.telemetry.sensors import Power
from app.gui.services.tasks import Tasks
from workloads.protocol.machine import Machine


class MachineFinder(QObject):
    """Detects the computer, the disks of data sets, the power source and readable sensors in the background."""

    found = Signal()

    def __init__(self, tasks: Tasks, data_folder: Callable[[], Path], parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._tasks = tasks
        self._data_folder = data_folder
        self.machine: Machine | None = None
        self.power = Power()

    def look(self) -> None:
        """Detect the computer, even if it has been detected before."""
        folder = self._data_folder()
        # Detection raises no AppError, and bugs are re-raised anyway.
        self._tasks.start(lambda: _detect(folder), self._on_found, lambda _: None)

    def _on_found(self, detected: tuple[Machine, Power]) -> None:
        self.machine, self.power = detected
        self.found.emit()


def _detect(data_folder: Path) -> tuple[Machine, Power]:
    """Detect the computer. This function imports the modules needed, so that the GUI doesn't wait for them."""
    from app.core.hardware.machine import detect_machine
    from app.core.hardware.telemetry.sensors import read_power

    return detect_machine(data_folder=data_folder), read_power()
