"""Check boxes for the GPUs that share the batches of a run."""

from collections.abc import Container, Mapping

from PySide6.QtCore import QSignalBlocker, QSize, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QGridLayout, QWidget

from app.core.analysis.published import short_name
from app.core.messages import sentence
from app.gui.style.tokens import GAP_PX, LABEL_PX
from app.gui.widgets.basics import column, label, set_tip
from app.gui.widgets.editors import Switch
from workloads.protocol.machine import Gpu
from workloads.settings import Value, gpu_settings


class GpuBoxes(QWidget):
    """Lists GPUs that may train together, with a check box for each. Hidden if there is nothing to choose."""

    changed = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.boxes: dict[int, Switch] = {}
        self.listed: int | None = None  # number of the GPU that the device list should show; None for the CPU
        self._gpus: dict[int, Gpu] = {}
        self._least = self._columns = 1
        self._grid = QGridLayout()
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setHorizontalSpacing(2 * GAP_PX)
        self._grid.setVerticalSpacing(GAP_PX // 2)
        self.setLayout(
            column(label(sentence("setup.gpus"), LABEL_PX, muted=True), self._grid, spacing_px=GAP_PX // 2)
        )
        self.hide()

    @property
    def checked(self) -> tuple[int, ...]:
        """The numbers of the checked GPUs; () while hidden."""
        return tuple(number for number, box in self.boxes.items() if box.isChecked())

    @property
    def settings(self) -> dict[str, Value]:
        """The run settings for the checked GPUs; {} if there are none, or only the one in the device list."""
        return {} if self.checked in ((), (self.listed,)) else gpu_settings(self.checked)

    def offer(self, gpus: Mapping[int, Gpu], listed: int | None, least: int) -> None:
        """List GPUs that may train together, by number. At least `least` of them are checked.

        After a change, that is the GPU `listed` in the device list and, if necessary, the next ones.
        """
        offered = dict(gpus) if listed in gpus and len(gpus) >= max(2, least) else {}
        if (offered, listed, least) == (self._gpus, self.listed, self._least):
            return
        if offered != self._gpus:
            self._fill(offered)
        self._gpus, self.listed, self._least = offered, listed, least
        following = sorted(offered, key=lambda number: (number < (listed or 0), number))
        self._show(following[:least])

    def check(self, numbers: Container[int]) -> None:
        """Check only these GPUs, as if the user had done so. Does nothing if too few of them are listed."""
        chosen = [number for number in self.boxes if number in numbers]
        if len(chosen) >= max(1, self._least):
            self._show(chosen)
            self._on_toggled()

    def minimumSizeHint(self) -> QSize:
        return QSize(self._column_px(), super().minimumSizeHint().height())

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._arrange()

    def _fill(self, gpus: Mapping[int, Gpu]) -> None:
        for box in self.boxes.values():
            box.hide()
            box.deleteLater()
        self.boxes = {}
        for number, gpu in gpus.items():
            box = Switch()
            box.setText(sentence("setup.gpu_box", number=number, name=short_name(gpu.name)))
            set_tip(box, gpu.name)
            box.toggled.connect(self._on_toggled)
            self.boxes[number] = box
        self._arrange()
        self.setVisible(bool(gpus))

    def _show(self, chosen: Container[int]) -> None:
        for number, box in self.boxes.items():
            box.keep_on("")  # a locked box would restore its previous state
            with QSignalBlocker(box):
                box.setChecked(number in chosen)
        self._lock()

    def _lock(self) -> None:
        """Lock the checked boxes if no more of them may be cleared."""
        checked = self.checked
        reason = sentence("setup.least_gpus", count=self._least) if len(checked) <= self._least else ""
        for number, box in self.boxes.items():
            box.keep_on(reason if number in checked else "")

    def _on_toggled(self) -> None:
        self._lock()
        if self.listed not in self.checked:
            self.listed = min(self.checked)
        self.changed.emit()

    def _arrange(self) -> None:
        columns = max(1, (self.width() + 2 * GAP_PX) // max(1, self._column_px() + 2 * GAP_PX))
        for place, box in enumerate(self.boxes.values()):
            if self._grid.indexOf(box) < 0 or columns != self._columns:
                self._grid.addWidget(box, place // columns, place % columns)
        self._columns = columns

    def _column_px(self) -> int:
        return max((box.sizeHint().width() for box in self.boxes.values()), default=0)
