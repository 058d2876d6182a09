"""The devices to choose from, which depend on the engine."""

from PySide6.QtCore import QSignalBlocker, Qt
from PySide6.QtWidgets import QComboBox

from app.core.hardware.gpu.usable import usable_gpus
from app.core.messages import sentence
from app.gui.widgets.basics import plain_tip
from workloads.protocol.machine import Machine


class DeviceList(QComboBox):
    """Lists the CPU and the GPUs that an engine can use; `brief` in narrow columns, with names only on hover."""

    def __init__(self, *, brief: bool = False) -> None:
        super().__init__()
        self._brief = brief
        self._listed: tuple[Machine, str] | None = None

    @property
    def device(self) -> str | None:
        """The chosen device as a spec names it; None before the machine is known."""
        device: str | None = self.currentData()
        return device

    def offer(self, machine: Machine | None, engine: str) -> None:
        """List the engine's devices, silently; keep the chosen one if it's still listed."""
        if machine is None or self._listed == (machine, engine):
            return
        self._listed = (machine, engine)
        chosen = self.device
        with QSignalBlocker(self):
            self._fill(machine, engine)
            self.setCurrentIndex(max(0, self.findData(chosen)))

    def _fill(self, machine: Machine, engine: str) -> None:
        gpus, cpu = usable_gpus(machine, engine), sentence("part.cpu")
        automatic = sentence("setup.automatic_device", device=gpus[0].name if gpus else cpu)
        self.clear()
        self.addItem(sentence("label.automatic") if self._brief else automatic, "auto")
        self.addItem(cpu, "cpu")
        for number, gpu in enumerate(gpus):
            number_only = sentence("part.gpu_of_several", number=number)
            name = sentence("setup.gpu", number=number, name=gpu.name)
            self.addItem(number_only if self._brief else name, f"gpu:{number}")
            if self._brief:
                self.setItemData(self.count() - 1, plain_tip(gpu.name), Qt.ItemDataRole.ToolTipRole)
