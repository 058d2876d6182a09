"""A box for selecting a workload: recent or recommended. Its last item opens the chooser with all of them."""

from collections.abc import Callable
from typing import Any

from PySide6.QtCore import QSignalBlocker

from app.core.messages import sentence
from app.core.titles import workload_title
from app.gui.services.bundle import Services
from app.gui.widgets.basics import give_way, guard_wheel
from app.gui.widgets.choice_box import ChoiceBox
from workloads import CATALOGUE, RECOMMENDED, STANDARD
from workloads.workload import Workload

RECENT_LIMIT = 6


def of_plans(workload: Workload) -> bool:
    """Return whether a plan can vary a workload: it needs one device, and no folder, which only the CLI takes."""
    return workload.least_devices == 1 and not any(parameter.required for parameter in workload.parameters)


class WorkloadBox(ChoiceBox):
    """Lists a few workloads. Any other one that it `offers` is added when it is selected."""

    def __init__(self, services: Services, offers: Callable[[Workload], bool]) -> None:
        super().__init__(sentence("label.workload"))
        self._services = services
        self._offers = offers
        self._current = STANDARD
        give_way(self)
        guard_wheel(self)
        # Until the chooser has been closed, the last item stands for the workload selected before.
        self.addItem(sentence("setup.browse"))
        for name in (*services.preferences.settings.recent_workloads, *RECOMMENDED):
            self.findData(name)
        self.setItemData(self.count() - 1, STANDARD)
        self.setCurrentIndex(self.findData(STANDARD))
        self.currentIndexChanged.connect(self._on_index)
        self.activated.connect(self._on_activated)

    def findData(self, data: Any, *others: Any) -> int:
        """Return the place of a workload, which is added if it is missing but offered; -1 for any other value."""
        place = super().findData(data, *others)
        if place >= 0 or data not in CATALOGUE or not self._offers(CATALOGUE[data]):
            return place
        place = max(0, self.count() - 1)
        with QSignalBlocker(self):
            self.insertItem(place, workload_title(data), data)
        return place

    def _on_index(self, place: int) -> None:
        if place < self.count() - 1:
            self._current = self.itemData(place)
            self.setItemData(self.count() - 1, self._current)

    def _on_activated(self, place: int) -> None:
        machine = self._services.finder.machine
        if place < self.count() - 1:
            return
        wanted = self._current
        if machine is not None:
            from app.gui.run.workload_chooser import WorkloadChooser  # opening the window doesn't need it

            chooser = WorkloadChooser(self._services, machine, wanted, self.window(), offers=self._offers)
            if chooser.exec():
                wanted = chooser.chosen_id
            chooser.deleteLater()
        self.setCurrentIndex(self.findData(wanted))
