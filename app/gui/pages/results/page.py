"""The history: all runs in a table, and one of them in full."""

import contextlib
from collections.abc import Sequence
from functools import partial

from PySide6.QtCore import QModelIndex, Qt, QTimer, Signal
from PySide6.QtGui import QGuiApplication, QKeySequence, QResizeEvent, QShortcut, QShowEvent
from PySide6.QtWidgets import (
    QApplication,
    QComboBox,
    QLineEdit,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from app.core.errors import AppError
from app.core.messages import sentence
from app.core.records import Run
from app.core.storage.database import Database
from app.core.storage.queries import purge_trash, restore_runs, trash_runs
from app.core.storage.runs import list_runs, load_run
from app.gui.pages.results.cells import cell_text
from app.gui.pages.results.run_detail import RunDetail
from app.gui.pages.results.table import COLUMNS, RunsModel, RunsTable
from app.gui.run.actions import ResultActions
from app.gui.services.bundle import Services
from app.gui.style.tokens import GAP_PX
from app.gui.widgets.basics import Button, Card, column, label, row, title
from workloads import CATALOGUE

TYPING_MS = 150
STATUSES = ("completed", "cancelled", "failed", "interrupted", "running")
# Hidden if there is little room; the full view has them.
_WIDE_ONLY = ("spread_pct", "epochs_done", "batch_size", "data_source")
WIDE_PX = 1_180


class ResultsPage(QWidget):
    """Shows, filters, names, exports and deletes stored runs.

    Signals:
        state_changed: What can be done now is something else: copy, save, undo.
        run_requested: The user has no result yet and wants one.
    """

    state_changed = Signal()
    run_requested = Signal()

    def __init__(self, services: Services) -> None:
        super().__init__()
        self._services = services
        self._deleted: list[list[int]] = []
        self.result_actions = ResultActions(services, self)
        self.model = RunsModel(services)
        self.table = RunsTable(self.model)
        self.search = QLineEdit(placeholderText=sentence("results_page.filter_hint"), clearButtonEnabled=True)
        self.search.setAccessibleName(sentence("results_page.filter"))
        self.workload, self.status = QComboBox(), QComboBox()
        self.count = label(muted=True)
        self._typing = QTimer(self, singleShot=True, interval=TYPING_MS)
        self.detail: RunDetail | None = None
        self._wanted = 0
        self._make_buttons()
        self._fill_filters()
        self._lay_out()
        self._connect()

    @property
    def run(self) -> Run | None:
        """The run shown in full."""
        return self.detail.run if self.detail is not None and self._stack.currentIndex() == 1 else None

    @property
    def can_copy(self) -> bool:
        """Whether a run is shown or selected."""
        return self.run is not None or bool(self.selected_ids())

    @property
    def can_share(self) -> bool:
        """Whether a run with a headline is shown."""
        return self.run is not None and self.run.summary.value is not None

    @property
    def can_undo(self) -> bool:
        """Whether there are deleted runs to restore."""
        return bool(self._deleted)

    def showEvent(self, event: QShowEvent) -> None:
        """Check for new runs, of this window or another."""
        super().showEvent(event)
        # Later, because Qt first focuses the first button.
        QTimer.singleShot(0, self._take_focus)
        self.refresh()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Hide columns without room."""
        super().resizeEvent(event)
        for number, key in enumerate(COLUMNS):
            self.table.setColumnHidden(number, key in _WIDE_ONLY and self.width() < WIDE_PX)

    def refresh(self) -> None:
        """Reload the runs."""
        self.model.ask(self.model.query)

    def selected_ids(self) -> list[int]:
        """Return the numbers of the selected runs, in the table's order."""
        return self.table.selected_ids()

    def open_run(self, run_id: int) -> None:
        """Show a run in full."""
        self._wanted += 1
        path = self._services.paths.database

        def load() -> Run:
            with Database(path) as database:
                return load_run(database, run_id)

        self._services.tasks.start(load, partial(self._on_loaded, self._wanted), self._services.complain)

    def export(self) -> None:
        """Export the run shown, the selected ones, or all."""
        run = self.run
        ids = [run.summary.id] if run else self.selected_ids()
        self.result_actions.export(ids if self.isVisible() else [])

    def copy_text(self) -> None:
        """Copy the run shown as text, or the selected rows as a table."""
        if self.run is not None:
            self.result_actions.copy_text(self.run)
        elif ids := self.selected_ids():
            self._copy_rows(ids)

    def copy_picture(self) -> None:
        """Copy the share picture of the run shown."""
        if self.run is not None:
            self.result_actions.copy_picture(self.run)

    def save_picture(self) -> None:
        """Save the share picture of the run shown."""
        if self.run is not None:
            self.result_actions.save_picture(self.run)

    def delete(self) -> None:
        """Delete the selected runs; they can be restored until the window closes."""
        if ids := self.selected_ids():
            self._delete(ids)

    def undo(self) -> None:
        """Restore the runs deleted last."""
        if not self._deleted:
            return
        ids, path = self._deleted.pop(), self._services.paths.database

        def restore() -> int:
            with Database(path) as database:
                return restore_runs(database, ids)

        self._services.tasks.start(restore, self._on_restored, self._services.complain)

    def forget_deleted(self) -> None:
        """Delete the trash for good; called when the window closes."""
        self.model.close()
        ids = [run_id for part in self._deleted for run_id in part]
        if ids:
            # If it fails now, a later start does it.
            with contextlib.suppress(AppError), Database(self._services.paths.database) as database:
                purge_trash(database, ids)

    def _delete(self, ids: list[int]) -> None:
        path = self._services.paths.database

        def remove() -> list[int]:
            with Database(path) as database:
                trash_runs(database, ids)
            return ids

        self.model.when_named(
            lambda: self._services.tasks.start(remove, self._on_deleted, self._services.complain)
        )

    def _take_focus(self) -> None:
        # Keyboard users moving through the side bar stay in it.
        focus = QApplication.focusWidget()
        if self._stack.currentIndex() == 0 and focus is not None and self.isAncestorOf(focus):
            (self.table if self.table.isVisible() else self.search).setFocus()

    def _connect(self) -> None:
        self._typing.timeout.connect(self._on_filter)
        self.search.textChanged.connect(lambda _: self._typing.start())
        for combo in (self.workload, self.status):
            combo.currentIndexChanged.connect(self._on_filter)
        self.model.found.connect(self._on_found)
        self.model.failed.connect(self._services.complain)
        self.table.activated.connect(self._on_activated)
        self.table.selectionModel().selectionChanged.connect(self._on_selected)
        self._services.bridge.ended.connect(self._on_ended)
        QShortcut(QKeySequence(QKeySequence.StandardKey.Find), self, self.search.setFocus)
        QShortcut(
            QKeySequence(QKeySequence.StandardKey.Delete),
            self.table,
            self.delete,
            context=Qt.ShortcutContext.WidgetShortcut,
        )

    def _make_buttons(self) -> None:
        theme = self._services.theme
        self.open_button = Button(theme, sentence("button.open"), "chart-bar")
        self.open_button.clicked.connect(lambda: self._on_activated(self.table.currentIndex()))
        self.copy_button = Button(theme, sentence("button.copy"), "copy")
        self.copy_button.clicked.connect(self.copy_text)
        self.export_button = Button(theme, sentence("results_page.export_all"), "file-down")
        self.export_button.clicked.connect(self.export)
        self.delete_button = Button(theme, sentence("button.delete"), "trash-2")
        self.delete_button.clicked.connect(self.delete)
        self.first_button = Button(theme, sentence("menu.run"), "play", kind="primary")
        self.first_button.clicked.connect(self.run_requested)

    def _fill_filters(self) -> None:
        self.workload.addItem(sentence("results_page.all_workloads"), None)
        for workload in CATALOGUE.values():
            self.workload.addItem(workload.title, workload.id)
        self.workload.setAccessibleName(sentence("label.workload"))
        self.status.addItem(sentence("results_page.any_status"), None)
        for status in STATUSES:
            self.status.addItem(sentence(f"status.{status}"), status)
        self.status.setAccessibleName(sentence("results_page.status"))

    def _lay_out(self) -> None:
        self._table_page = Card(margin_px=GAP_PX)
        self._table_page.body.addWidget(self.table)
        empty = Card()
        self._empty_text = label("", muted=True, wrap=True)
        self._empty_text.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self._empty_title = title("")
        self._empty_title.setAlignment(Qt.AlignmentFlag.AlignCenter)
        middle = row(None, self.first_button, None)
        empty.body.addLayout(
            column(None, self._empty_title, self._empty_text, middle, None, spacing_px=2 * GAP_PX)
        )
        self._rows_or_none = QStackedWidget()
        self._rows_or_none.addWidget(self._table_page)
        self._rows_or_none.addWidget(empty)
        head = row(
            title(sentence("page.results")),
            self.count,
            None,
            self.open_button,
            self.copy_button,
            self.export_button,
        )
        head.addWidget(self.delete_button)
        filters = row(self.search, self.workload, self.status)
        filters.setStretch(0, 1)
        overview = QWidget()
        whole = column(head, filters, self._rows_or_none, spacing_px=GAP_PX + 4)
        whole.setStretch(2, 1)
        overview.setLayout(whole)
        self._stack = QStackedWidget()
        self._stack.addWidget(overview)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(3 * GAP_PX, 2 * GAP_PX, 3 * GAP_PX, 2 * GAP_PX)
        layout.addWidget(self._stack)

    def _on_ended(self, _: int) -> None:
        if self.isVisible():
            self.refresh()

    def _on_filter(self) -> None:
        self.model.filter(
            text=self.search.text(), workload=self.workload.currentData(), status=self.status.currentData()
        )

    def _on_found(self, count: int) -> None:
        filtered = bool(self.search.text() or self.workload.currentData() or self.status.currentData())
        self.count.setText(sentence("results_page.runs", count=count))
        self._rows_or_none.setCurrentIndex(0 if count else 1)
        self._empty_title.setText(sentence("results_page.no_match" if filtered else "results_page.no_results"))
        self._empty_text.setText(
            sentence("results_page.no_match_note" if filtered else "results_page.no_results_note")
        )
        self.first_button.setVisible(not filtered)
        self.export_button.setEnabled(count > 0)
        self._on_selected()

    def _on_selected(self, *_: object) -> None:
        count = len(self.selected_ids())
        self.open_button.setEnabled(count == 1)
        self.copy_button.setEnabled(count > 0)
        self.delete_button.setEnabled(count > 0)
        text = sentence("results_page.export_some", count=count) if count else sentence("results_page.export_all")
        self.export_button.setText(text)
        self.export_button.setAccessibleName(text)
        self.state_changed.emit()

    def _on_activated(self, index: QModelIndex) -> None:
        if index.isValid():
            self.open_run(self.model.ids[index.row()])

    def _on_loaded(self, number: int, run: Run) -> None:
        if number != self._wanted:
            return  # the user has left, or opened another run
        if self.detail is None:
            self.detail = RunDetail(self._services, self.result_actions)
            self.detail.left.connect(self._on_left)
            self.detail.commented.connect(self._on_commented)
            self.detail.delete_requested.connect(self._on_delete_requested)
            self._stack.addWidget(self.detail)
        self.detail.show_run(run)
        self._stack.setCurrentIndex(1)
        self.state_changed.emit()

    def _on_left(self) -> None:
        self._wanted += 1
        self._stack.setCurrentIndex(0)
        self.table.setFocus()
        self.state_changed.emit()

    def _on_commented(self, text: str) -> None:
        # Not `run`: saving the name may come after leaving the view.
        detail = self.detail
        if detail is not None and detail.run is not None:
            run_id = detail.run.summary.id
            self.model.comment(run_id, text, partial(detail.rename, run_id, text))

    def _on_delete_requested(self) -> None:
        run = self.run
        if run is not None:
            self._on_left()
            self._delete([run.summary.id])

    def _on_deleted(self, ids: list[int]) -> None:
        self._deleted.append(ids)
        self.refresh()
        text = sentence("results_page.deleted", count=len(ids))
        self._services.tell(text, "", sentence("button.undo"), self.undo)
        self.state_changed.emit()

    def _on_restored(self, count: int) -> None:
        self.refresh()
        text = sentence("results_page.restored", count=count)
        self._services.tell(text, "", "", None)
        self.state_changed.emit()

    def _copy_rows(self, ids: Sequence[int]) -> None:
        path = self._services.paths.database

        def read() -> str:
            with Database(path) as database:
                runs = list(list_runs(database, ids=ids))
            lines = ["\t".join(sentence(column.heading) for column in COLUMNS.values())]
            lines += ["\t".join(cell_text(run, key) for key in COLUMNS) for run in runs]
            return "\n".join(lines)

        def done(text: str) -> None:
            QGuiApplication.clipboard().setText(text)
            self._services.tell(sentence("results_page.copied", count=len(ids)), "", "", None)

        self._services.tasks.start(read, done, self._services.complain)
