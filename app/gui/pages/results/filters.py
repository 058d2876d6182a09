"""The filters above the results: search words, workload, status and owner."""

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QLineEdit, QWidget

from app.core.messages import sentence
from app.core.titles import workload_title
from app.gui.widgets.basics import give_way, row, set_tip
from app.gui.widgets.choice_box import ChoiceBox
from app.gui.widgets.timers import timer
from workloads import CATALOGUE

TYPING_MS = 150
OWN, IMPORTED, ALL = "own", "imported", "all"
STATUSES = ("completed", "cancelled", "failed", "interrupted", "running")


class Filters(QWidget):
    """Four filter controls in a row.

    Signals:
        changed: The filters have changed. While the user types, this is delayed.
        source_chosen: The user chose to show their own, imported or all results.
    """

    changed = Signal()
    source_chosen = Signal(str)

    def __init__(self) -> None:
        super().__init__()
        self.search = QLineEdit(placeholderText=sentence("results_page.filter_hint"), clearButtonEnabled=True)
        self.search.setAccessibleName(sentence("compare_page.filter"))
        set_tip(self.search, sentence("results_page.filter_tip"))
        self.workload, self.status, self.source = ChoiceBox(), ChoiceBox(), ChoiceBox()
        self._typing = timer(self, TYPING_MS, once=True)
        self._fill()
        self._typing.timeout.connect(self.changed)
        self.search.textChanged.connect(lambda _: self._typing.start())
        for combo in (self.workload, self.status):
            give_way(combo)
            combo.currentIndexChanged.connect(self.changed)
        give_way(self.source)
        self.source.currentIndexChanged.connect(lambda _: self.source_chosen.emit(self.source.currentData()))
        layout = row(self.search, self.workload, self.status, self.source)
        layout.setStretch(0, 1)
        self.source.hide()
        self.setLayout(layout)

    def values(self) -> dict[str, str | None]:
        """Return the filters for the user's own runs, by the names of the query's fields."""
        return {
            "text": self.search.text(),
            "workload": self.workload.currentData(),
            "status": self.status.currentData(),
        }

    def offer_source(self, *, offered: bool) -> None:
        """Show the owner filter if there are imported results or it is in use."""
        self.source.setVisible(offered or self.source.currentData() != OWN)

    def _fill(self) -> None:
        self.workload.addItem(sentence("results_page.all_workloads"), None)
        for workload in CATALOGUE.values():
            self.workload.addItem(workload_title(workload.id), workload.id)
        self.workload.setAccessibleName(sentence("label.workload"))
        self.status.addItem(sentence("results_page.any_status"), None)
        for status in STATUSES:
            self.status.addItem(sentence(f"status.{status}"), status)
        self.status.setAccessibleName(sentence("results_page.status"))
        for source in (OWN, IMPORTED, ALL):
            self.source.addItem(sentence(f"results_page.source_{source}"), source)
        self.source.setAccessibleName(sentence("heading.source"))
