"""A dialog for choosing a workload: recommended networks or all workloads, for training or prediction."""

from collections.abc import Callable, Sequence
from typing import Any

from PySide6.QtCore import Qt
from PySide6.QtGui import QColor, QFont
from PySide6.QtWidgets import QAbstractItemView, QDialog, QLineEdit, QTableView, QWidget

from app.core.analysis.published import comparable_rows
from app.core.messages import format_time_left, sentence, text
from app.core.runs.current_network import newest_card
from app.core.runs.workload_estimates import WorkloadEstimate, workload_estimates
from app.core.titles import workload_title
from app.gui.services.bundle import Services
from app.gui.style.tokens import GAP_PX, TITLE_PX
from app.gui.widgets.basics import Button, Card, ClampedLabel, ElidedLabel, column, plain_tip, row
from app.gui.widgets.segments import Segments
from app.gui.widgets.tables import Column, Index, TableModel, set_up_table
from workloads import RECOMMENDED
from workloads.engines.registry import DEFAULT_ENGINE
from workloads.protocol.machine import Machine
from workloads.workload import Workload

COLUMNS = (Column("label.workload", 270), Column("workloads.compares_with", 250), Column("heading.whole_run", 140))
ROW_PX = 32


class WorkloadModel(TableModel):
    """The workloads that fit the switches and whose texts contain all search words."""

    columns = COLUMNS

    def __init__(self, services: Services) -> None:
        super().__init__()
        self._theme, self._recent = services.theme, services.preferences.settings.recent_workloads
        self._entries: Sequence[WorkloadEstimate] = ()
        self._trains, self._with_all = True, False
        self._words: tuple[str, ...] = ()
        self.rows: list[WorkloadEstimate] = []

    def show_entries(self, entries: Sequence[WorkloadEstimate]) -> None:
        """Set the workloads to list, the most recently used ones first."""
        order = [*self._recent, *RECOMMENDED, *(entry.workload.id for entry in entries)]
        self._entries = sorted(entries, key=lambda entry: order.index(entry.workload.id))
        self._filter()

    def look_for(self, words: str, *, trains: bool, with_all: bool) -> None:
        """Filter by search words, which are looked for in all workloads, or by the switches."""
        self._words, self._trains, self._with_all = tuple(words.casefold().split()), trains, with_all
        self._filter()

    def count(self) -> int:
        return len(self.rows)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        entry = self.rows[index.row()]
        if role == Qt.ItemDataRole.DisplayRole:
            return _texts(entry)[index.column()]
        if role == Qt.ItemDataRole.ToolTipRole:
            return plain_tip(text(entry.problem or entry.workload.summary))
        if role == Qt.ItemDataRole.ForegroundRole and entry.problem and index.column() == 2:
            return QColor(self._theme.tokens.invalid)
        return None

    def _filter(self) -> None:
        self.beginResetModel()
        self.rows = [entry for entry in self._entries if self._fits(entry.workload)]
        self.endResetModel()

    def _fits(self, workload: Workload) -> bool:
        study = f"study {workload.study} {workload.study_name}" if workload.study else ""
        texts = (text(workload.title), text(workload.summary))
        all_text = " ".join((workload.id, *texts, workload.source, study, workload.kind)).casefold()
        if not all(word in all_text for word in self._words):
            return False
        if workload.trains != self._trains and (workload.trains or workload.parameters_count):
            return False
        return bool(self._with_all or self._words) or workload.id in (*RECOMMENDED, *self._recent)


def _texts(entry: WorkloadEstimate) -> tuple[str, ...]:
    workload_id = entry.workload.id
    devices, card = {published.short_name for published in comparable_rows(workload_id)}, newest_card(workload_id)
    code = "workloads.devices_and_card" if card else "workloads.devices"
    duration = "" if entry.duration_s is None else format_time_left(entry.duration_s)
    return (
        workload_title(workload_id),
        sentence(code, count=len(devices), card=card) if devices else "–",
        sentence("workloads.too_large") if entry.problem else duration or "–",
    )


class WorkloadTable(QTableView):
    """A table of workloads."""

    def __init__(self, services: Services) -> None:
        super().__init__()
        self.entries = WorkloadModel(services)
        set_up_table(self, self.entries, sentence("workloads.table"), ROW_PX)
        self.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.setTabKeyNavigation(False)

    @property
    def chosen(self) -> WorkloadEstimate | None:
        row = self.currentIndex().row()
        return self.entries.rows[row] if 0 <= row < len(self.entries.rows) else None

    def choose(self, workload_id: str) -> None:
        ids = [entry.workload.id for entry in self.entries.rows]
        if ids:
            self.selectRow(ids.index(workload_id) if workload_id in ids else 0)
            self.scrollTo(self.currentIndex(), QAbstractItemView.ScrollHint.PositionAtCenter)


class WorkloadChooser(QDialog):
    """Lets the user choose a workload that it `offers`. `chosen_id` is set when the dialog is accepted."""

    def __init__(
        self,
        services: Services,
        machine: Machine,
        workload_id: str,
        parent: QWidget | None = None,
        *,
        chosen: tuple[str, str] = (DEFAULT_ENGINE, "auto"),
        offers: Callable[[Workload], bool] = lambda _: True,
    ) -> None:
        super().__init__(parent)
        self.setWindowTitle(sentence("workloads.choose_one"))
        self.resize(740, 600)
        self._services, self._machine, self._chosen, self._offers = services, machine, chosen, offers
        self._entries: list[WorkloadEstimate] = []
        self.chosen_id = workload_id
        theme = services.theme
        self.purposes = Segments(
            theme,
            sentence("workloads.purpose"),
            (("training", sentence("workloads.training")), ("prediction", sentence("workloads.prediction"))),
        )
        self.extents = Segments(
            theme,
            sentence("workloads.table"),
            (("few", sentence("workloads.recommended")), ("all", sentence("results_page.source_all"))),
        )
        self.purposes.select("training")
        self.extents.select("few")
        self.search = QLineEdit(placeholderText=sentence("label.search"))
        self.search.setAccessibleName(sentence("label.search"))
        self.search.setClearButtonEnabled(True)
        self.table = WorkloadTable(services)
        self.title = ElidedLabel("", TITLE_PX - 2, QFont.Weight.DemiBold)
        self.summary = ClampedLabel(3)
        self.choose_button = Button(theme, sentence("workloads.choose"), "check", kind="primary")
        self.close_button = Button(theme, sentence("button.cancel"))
        self._lay_out()
        self._connect()
        self.refresh()

    def refresh(self) -> None:
        paths, machine, chosen = self._services.paths, self._machine, self._chosen
        self._services.tasks.start(
            lambda: workload_estimates(paths, machine, *chosen), self._on_entries, self._services.complain
        )

    def done(self, result: int) -> None:
        if result == QDialog.DialogCode.Accepted and self.table.chosen is not None:
            self.chosen_id = self.table.chosen.workload.id
        super().done(result)

    def _connect(self) -> None:
        self.purposes.chosen.connect(self._on_filter)
        self.extents.chosen.connect(self._on_filter)
        self.search.textChanged.connect(self._on_filter)
        self.search.returnPressed.connect(self.table.setFocus)
        self.table.selectionModel().selectionChanged.connect(self._show)
        self.table.activated.connect(self._on_activated)
        self.choose_button.clicked.connect(self.accept)
        self.close_button.clicked.connect(self.reject)

    def _on_entries(self, entries: Sequence[WorkloadEstimate]) -> None:
        self._entries = [entry for entry in entries if self._offers(entry.workload)]
        name, button = sentence("workloads.all_of", count=len(self._entries)), self.extents.buttons["all"]
        button.setText(name)
        button.setAccessibleName(f"{self.extents.accessibleName()}: {name}")
        self.table.entries.show_entries(self._entries)
        self.table.choose(self.chosen_id)
        self._show()

    def _on_filter(self) -> None:
        kept = self.table.chosen.workload.id if self.table.chosen else self.chosen_id
        trains, with_all = self.purposes.value == "training", self.extents.value == "all"
        self.table.entries.look_for(self.search.text(), trains=trains, with_all=with_all)
        self.table.choose(kept)
        self._show()

    def _on_activated(self) -> None:
        if self.choose_button.isEnabled():
            self.accept()

    def _show(self) -> None:
        entry = self.table.chosen
        self.choose_button.setEnabled(entry is not None)
        if entry is None:
            self.title.show_text(sentence("workloads.nothing_found" if self._entries else "label.checking"))
            self.summary.show_text("")
            return
        self.title.show_text(workload_title(entry.workload.id))
        self.summary.show_text(text(entry.problem or entry.workload.summary))

    def _lay_out(self) -> None:
        detail = Card()
        detail.body.addLayout(column(self.title, self.summary, None, spacing_px=4))
        detail.setMinimumHeight(112)  # enough for all lines, so that the layout doesn't jump
        head = row(self.purposes, self.extents, self.search, spacing_px=2 * GAP_PX, stretch=2)
        buttons = row(None, self.close_button, self.choose_button)
        whole = column(head, self.table, detail, buttons, spacing_px=GAP_PX + 4, stretch=1)
        whole.setContentsMargins(2 * GAP_PX, 2 * GAP_PX, 2 * GAP_PX, 2 * GAP_PX)
        self.setLayout(whole)
        self.choose_button.setDefault(True)
        self.search.setFocus()
