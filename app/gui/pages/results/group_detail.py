"""The detail view of a group of runs: its result, its pairs or runs, and its commands."""

from PySide6.QtCore import QModelIndex, Qt, Signal
from PySide6.QtGui import QContextMenuEvent, QFont, QKeySequence, QShortcut
from PySide6.QtWidgets import QHeaderView, QTableWidget, QWidget

from app.core.clock import local_time
from app.core.messages import sentence
from app.core.plans.report import Report, workloads_title
from app.core.records import Group
from app.gui.pages.results.cells import cell_text
from app.gui.pages.results.columns import COLUMNS
from app.gui.pages.results.commands import Handlers, RunCommands
from app.gui.services.bundle import Services
from app.gui.style.theme import tabular_font
from app.gui.style.tokens import GAP_PX, HEADLINE_PX, TITLE_PX
from app.gui.widgets.basics import Button, Card, ClampedLabel, ElidedLabel, column, label, row
from app.gui.widgets.tables import TextTable, fill_items, set_up_items

_COMMANDS = ("again", "compare", "copy", "share", "picture", "copy_picture", "export", "delete")
_COLUMNS = ("id", "workload", "engine", "value", "spread_pct", "verdict", "device", "status", "comment")
_HEADINGS = {key: column.heading for key, column in COLUMNS.items()} | {
    "id": "heading.run",
    "engine": "setting.engine",
    "spread_pct": "metric.spread_pct",
    "status": "results_page.status",
}


class GroupDetail(QWidget):
    """Displays a stored group."""

    left = Signal()
    run_chosen = Signal(int)

    def __init__(self, services: Services, handlers: Handlers) -> None:
        super().__init__()
        self.group: Group | None = None
        self.commands = RunCommands(
            services.theme, self, {code: handlers[code] for code in _COMMANDS}, with_keys=()
        )
        self.back_button = Button(
            services.theme, sentence("results_page.all_results"), "arrow-left", kind="flat", gives_way=True
        )
        self.back_button.clicked.connect(self.left)
        self.place = ElidedLabel("", weight=QFont.Weight.DemiBold)
        self.value = label("", HEADLINE_PX, QFont.Weight.Bold)
        self.note = ElidedLabel("", TITLE_PX, muted=True)
        self.sentence = ClampedLabel(lines=3, size_px=TITLE_PX - 2, muted=False)
        self.remarks = ClampedLabel(lines=4)
        self.table = TextTable(sentence("engine_page.table"))
        self.runs = QTableWidget(0, len(_COLUMNS))
        self.runs.activated.connect(self._on_activated)
        self._lay_out()
        keys = QKeySequence(QKeySequence.StandardKey.Cancel)
        QShortcut(keys, self, self.left.emit, context=Qt.ShortcutContext.WidgetWithChildrenShortcut)

    def show_report(self, report: Report) -> None:
        group, answer = report.group, report.answer
        self.group = group
        self.place.show_text(report.name)
        self._card.note.show_text(local_time(group.created_at))
        self._card.heading.setText(workloads_title(group))
        self._card.setAccessibleName(workloads_title(group))
        self.value.setText(answer.headline)
        self.note.show_text(answer.note if answer.note != answer.sentence else "")
        self.sentence.show_text(answer.sentence)
        remarks = " ".join(report.notes())
        self.remarks.show_text(remarks)
        self.remarks.setVisible(bool(remarks))
        can_share = report.example is not None
        self.commands.allow(dict.fromkeys(("share", "picture", "copy_picture"), can_share))
        self._show_result(report)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        self.commands.open_menu(event.globalPos())

    def _show_result(self, report: Report) -> None:
        """Show the runs and, above them, the table of the answer if it is another one."""
        table, runs = report.table(), report.group.runs
        self.table.setVisible(table != report.run_table())
        self.table.show_table(table)
        fill_items(self.runs, [[cell_text(run, key) for key in _COLUMNS] for run in runs])
        is_one_engine = len({(run.workload, run.engine) for run in runs}) <= 1
        for key in ("workload", "engine"):
            self.runs.setColumnHidden(_COLUMNS.index(key), is_one_engine)

    def _on_activated(self, index: QModelIndex) -> None:
        if self.group is not None and index.isValid():
            self.run_chosen.emit(self.group.runs[index.row()].id)

    def _lay_out(self) -> None:
        self.value.setFont(tabular_font(HEADLINE_PX, QFont.Weight.Bold))
        self._set_up_runs()
        button = self.commands.button
        self.again_button, self.compare_button = button("again"), button("compare")
        self.copy_button, self.export_button = button("copy"), button("export")
        self.picture_button, self.delete_button = button("picture"), button("delete", brief=True)
        head = row(self.back_button, self.place, self.again_button, self.compare_button, self.copy_button)
        for each in (self.picture_button, self.export_button, self.delete_button):
            head.addWidget(each)
        head.setStretch(1, 1)
        below = column(None, self.note)
        below.setContentsMargins(0, 0, 0, 8)
        number = row(self.value, below, spacing_px=2 * GAP_PX, stretch=1)
        card = self._card = Card(" ")
        card.body.addLayout(number)
        for part in (self.sentence, self.remarks, self.table):
            card.body.addWidget(part)
        card.body.addWidget(self.runs, stretch=1)
        self.setLayout(column(head, card, spacing_px=GAP_PX + 4, stretch=1))

    def _set_up_runs(self) -> None:
        table = self.runs
        headings = [_HEADINGS[key] for key in _COLUMNS]
        set_up_items(table, sentence("results_page.runs_of_group"), headings)
        table.horizontalHeader().setDefaultAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
        table.horizontalHeader().setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
        table.horizontalHeader().setStretchLastSection(True)
