"""The box that selects the workload of a question."""

from PySide6.QtCore import Qt
from PySide6.QtGui import QStandardItemModel
from PySide6.QtWidgets import QListView

from app.core.engines.choices import offered_workloads
from app.core.messages import sentence
from app.core.titles import workload_title
from app.gui.widgets.basics import give_way, guard_wheel
from app.gui.widgets.choice_box import ChoiceBox


class WorkloadChoice(ChoiceBox):
    """Lists the workloads, except for those that need parameters. The demo can only be repeated."""

    def __init__(self) -> None:
        super().__init__(sentence("label.workload"))
        give_way(self)
        guard_wheel(self)
        for workload in offered_workloads(None):
            if not any(parameter.required for parameter in workload.parameters):
                self.addItem(workload_title(workload.id), workload.id)
        self._hide(self.findData("demo"))

    def _hide(self, place: int) -> None:
        model, view = self.model(), self.view()
        assert isinstance(model, QStandardItemModel)
        assert isinstance(view, QListView)
        view.setRowHidden(place, True)
        model.item(place).setFlags(Qt.ItemFlag.NoItemFlags)
