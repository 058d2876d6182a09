"""The Results page: lists all runs and displays a run or a group in detail."""

import contextlib
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, partial

from PySide6.QtCore import QModelIndex, QObject, QPoint, Qt, QTimer, Signal
from PySide6.QtGui import QGuiApplication, QKeySequence, QShortcut, QShowEvent
from PySide6.QtWidgets import QApplication, QStackedWidget, QVBoxLayout, QWidget

from app.core.errors import AppError
from app.core.messages import sentence
from app.core.plans.experiments import readable_report, report_of
from app.core.plans.report import RUNS_PAGE, Report
from app.core.plans.rerun import check_again, plan_of_group, plan_of_run
from app.core.records import Group, Plan, Run
from app.core.report.formats.table_text import TABLE_FORMS
from app.core.report.run_table import text_of
from app.core.storage.database import Database
from app.core.storage.groups import load_group
from app.core.storage.queries import purge_trash, restore_runs, trash_runs
from app.core.storage.runs import list_runs, load_run
from app.core.verdict.judged_run import JudgedRun
from app.gui.pages.results.commands import RunCommands
from app.gui.pages.results.filters import IMPORTED, Filters
from app.gui.pages.results.group_detail import GroupDetail
from app.gui.pages.results.imported import ImportedCard, ImportedDetail
from app.gui.pages.results.model import RunsModel
from app.gui.pages.results.run_detail import RunDetail
from app.gui.pages.results.table import RunsTable
from app.gui.run.actions import ResultActions
from app.gui.run.view import RunView
from app.gui.services.bundle import Services
from app.gui.style.tokens import GAP_PX
from app.gui.widgets.basics import Button, Card, column, label, row, title
from app.gui.widgets.timers import in_turns


class Trash(QObject):
    """Deletes and restores runs in the background, and notifies the user."""

    changed = Signal()

    def __init__(self, services: Services, parent: QObject) -> None:
        super().__init__(parent)
        self._services = services
        self._deleted: list[Sequence[int]] = []

    @property
    def can_undo(self) -> bool:
        return bool(self._deleted)

    def delete(self, ids: Sequence[int]) -> None:

        def remove(database: Database) -> Sequence[int]:
            trash_runs(database, ids)
            return ids

        self._services.query(remove, self._on_deleted)

    def undo(self) -> None:
        if not self._deleted:
            return
        ids = self._deleted.pop()
        self._services.query(lambda database: restore_runs(database, ids), self._on_restored)

    def purge(self) -> None:
        ids = [run_id for part in self._deleted for run_id in part]
        if ids:
            # If this fails, it is repeated at a later start.
            with contextlib.suppress(AppError), Database(self._services.paths.database) as database:
                purge_trash(database, ids)

    def _on_deleted(self, ids: Sequence[int]) -> None:
        self._deleted.append(ids)
        text = sentence("results_page.deleted", count=len(ids))
        self._services.notify(text, "", sentence("button.undo"), self.undo)
        self.changed.emit()

    def _on_restored(self, count: int) -> None:
        self._services.notify(sentence("results_page.restored", count=count), "", "", None)
        self.changed.emit()


class EmptyCard(Card):
    """Explains why there are no rows. If there are no runs at all, it offers to start one."""

    def __init__(self, first_button: Button) -> None:
        super().__init__()
        self._first_button = first_button
        self._text = label("", muted=True, wrap=True)
        self._title = title("")
        for each in (self._text, self._title):
            each.setAlignment(Qt.AlignmentFlag.AlignCenter)
        middle = row(None, first_button, None)
        self.body.addLayout(column(None, self._title, self._text, middle, None, spacing_px=2 * GAP_PX))

    def show_reason(self, *, is_filtered: bool) -> None:
        self._title.setText(sentence("results_page.no_match" if is_filtered else "results_page.no_results"))
        note = "results_page.no_match_note" if is_filtered else "results_page.no_results_note"
        self._text.setText(sentence(note))
        self._first_button.setVisible(not is_filtered)


class ResultsPage(QWidget):
    """Displays, filters, renames, exports and deletes stored runs."""

    state_changed = Signal()
    run_requested = Signal()  # the user has no results yet and wants to start a run
    again_requested = Signal(object)  # the user wants to repeat what is in a Plan that this computer can run
    compare_requested = Signal(object)  # the user wants to compare the runs with these numbers
    change_requested = Signal(object)  # the user wants to compare settings, starting from a RunSpec
    page_requested = Signal(str, int)  # the user wants to open this page of a study or suite, and this group

    def __init__(self, services: Services) -> None:
        super().__init__()
        self._services = services
        self.trash = Trash(services, self)
        self.result_actions = ResultActions(services, self)
        self.model = RunsModel(services)
        self.table = RunsTable(self.model)
        self.filters = Filters()
        self.count = label(muted=True)
        self._making = self._parts()
        self.detail: RunDetail | None = None
        self.group_detail: GroupDetail | None = None
        self.imported = ImportedCard(services, self.filters, self.model)
        self.imported_detail = ImportedDetail(services, self.imported)
        self._wanted = 0
        self._is_within_group = False
        self._make_buttons()
        self._lay_out()
        self._connect()

    @property
    def run(self) -> Run | None:
        shown = self._stack.currentWidget()
        return self.detail.run if self.detail is not None and shown is self.detail else None

    @property
    def group(self) -> Group | None:
        shown = self._stack.currentWidget()
        return self.group_detail.group if self.group_detail is not None and shown is self.group_detail else None

    @property
    def can_copy(self) -> bool:
        return self.run is not None or self.group is not None or bool(self.table.selected_rows())

    @property
    def can_share(self) -> bool:
        """Whether a run or group with a headline is open, or a single run is selected."""
        if self.run is not None:
            return self.run.summary.value is not None
        if self.group is not None:
            return report_of(self.group).example is not None
        return self._is_one_run_selected()

    @property
    def can_undo(self) -> bool:
        return self.trash.can_undo

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        # Deferred, because Qt first moves the focus to a button.
        QTimer.singleShot(0, self._take_focus)
        self.refresh()

    def refresh(self) -> None:
        self.model.ask(self.model.query)
        self.imported.refresh()

    def selected_ids(self) -> list[int]:
        return self.table.selected_ids()

    def open_run(self, run_id: int) -> None:
        self._wanted += 1
        self._is_within_group = self.group is not None
        QTimer.singleShot(0, self, partial(in_turns, self, self._making))  # while the run is loaded
        number = self._wanted
        self._load(run_id, lambda run: in_turns(self, self._showing(number, run)))

    def open_group(self, group_id: int) -> None:
        """Open a group. A study or suite is opened on its own page, unless it is from another version."""
        self._wanted += 1

        def load(database: Database) -> Report:
            return readable_report(database, load_group(database, group_id))

        self._services.query(load, partial(self._on_group_loaded, self._wanted))

    def run_again(self) -> None:
        """Request to repeat the open or selected item, or explain why this computer can't run it."""
        machine, paths = self._services.finder.machine, self._services.paths
        entry = self._targeted()[0]
        if self._services.bridge.is_running or machine is None:
            code = "benchmark.running" if machine is not None else "setup.looking"
            self._services.notify(sentence(code), "caution", "", None)
            return

        def prepare(database: Database) -> Plan:
            plan = plan_of_group(database, -entry) if entry < 0 else plan_of_run(database, entry)
            check_again(plan, paths, machine)
            return plan

        self._services.query(prepare, self.again_requested.emit)

    def compare(self) -> None:
        if ids := self._target_ids():
            self.compare_requested.emit(ids)

    def change(self) -> None:
        """Request to compare settings, starting from those of the open or selected run."""
        run_id = self._targeted()[0]
        self._services.query(lambda database: plan_of_run(database, run_id).specs[0], self.change_requested.emit)

    def export(self) -> None:
        """Export the open or selected items, or all that match the filters. From other pages, export all runs."""
        shown, is_here = self.model.shown, self.isVisible()
        ids = (self._target_ids() or (list(shown.ids) if shown.query.is_filter else [])) if is_here else []
        if is_here and not ids and shown.query.is_filter:
            self._services.notify(sentence("results_page.no_match"), "", "", None)
        else:
            self.result_actions.export(ids)

    def copy_text(self) -> None:
        """Copy the open run or group as text, or the selected rows as a table."""
        if self.run is not None:
            self._with_run(self.result_actions.copy_text)
        elif self.group is not None:
            self.result_actions.copy_group(self.group)
        else:
            self.copy_rows("spreadsheet")

    def copy_rows(self, form: str) -> None:
        ids = self.selected_ids()

        def done(text: str) -> None:
            QGuiApplication.clipboard().setText(text)
            self._services.notify(sentence("compare_page.rows_copied", count=len(ids)), "", "", None)

        if ids:
            self._services.query(lambda database: text_of(list_runs(database, ids=ids), form), done)

    def copy_picture(self) -> None:
        self._with_run(self.result_actions.copy_picture)

    def save_picture(self) -> None:
        self._with_run(partial(self.result_actions.save_picture, again=self.run_again))

    def share(self) -> None:
        self._with_run(partial(self.result_actions.share, again=self.run_again))

    def delete(self) -> None:
        """Delete the open or selected items, which can be restored until the window is closed."""
        if ids := self._target_ids():
            if self._stack.currentIndex() != 0:
                self._show_table()
            self.model.when_named(lambda: self.trash.delete(ids))

    def show_list(self) -> None:
        """Close an open run or group, and show the list without moving the focus."""
        self._wanted += 1
        self._stack.setCurrentIndex(0)
        self.state_changed.emit()

    def undo(self) -> None:
        self.trash.undo()

    def forget_deleted(self) -> None:
        self.model.close()
        self.trash.purge()

    def _targeted(self) -> list[int]:
        """Return the keys of the rows that a command applies to: the open run or group, or else the selection."""
        if self.run is not None:
            return [self.run.summary.id]
        return [-self.group.id] if self.group is not None else self.table.selected_rows()

    def _target_ids(self) -> list[int]:
        if self.group is not None:
            return [run.id for run in self.group.runs]
        return [self.run.summary.id] if self.run is not None else self.selected_ids()

    def _load(self, run_id: int, done: Callable[[JudgedRun], None]) -> None:
        self._services.query(lambda database: JudgedRun(load_run(database, run_id)).prepared(), done)

    def _with_run(self, do: Callable[[JudgedRun, Group | None], None]) -> None:
        rows, group = self._targeted(), self.group
        if self.detail is not None and self.detail.judged is not None and self.run is not None:
            do(self.detail.judged, None)
        elif group is not None and (example := report_of(group).example) is not None:
            self._load(example.id, lambda run: do(run, group))
        elif len(rows) == 1 and rows[0] > 0:
            self._load(rows[0], lambda run: do(run, None))

    def _take_focus(self) -> None:
        # Don't take the focus from keyboard users in the sidebar.
        focus = QApplication.focusWidget()
        if self._stack.currentIndex() == 0 and focus is not None and self.isAncestorOf(focus):
            (self.table if self.table.isVisible() else self.filters.search).setFocus()

    def _make_buttons(self) -> None:
        theme = self._services.theme
        self._handlers: dict[str, Callable[[], object]] = {
            "open": self._open_selected,
            "again": self.run_again,
            "compare": self.compare,
            "change": self.change,
            "copy": self.copy_text,
            "share": self.share,
            "picture": self.save_picture,
            "copy_picture": self.copy_picture,
            "export": self.export,
            "rename": self.table.edit_name,
            "delete": self.delete,
        }
        self.commands = RunCommands(theme, self.table, self._handlers, with_keys=("copy", "rename", "delete"))
        copies = self.commands.menu.addMenu(sentence("compare_page.copy_table"))
        for form in TABLE_FORMS:
            copies.addAction(sentence(f"table_form.{form}"), partial(self.copy_rows, form))
        button = self.commands.button
        self.share_button, self.delete_button = button("share"), button("delete")
        self.export_button = Button(theme, sentence("results_page.export_all"), "file-down", gives_way=True)
        self.export_button.clicked.connect(self.export)
        self.first_button = Button(theme, sentence("menu.run"), "play", kind="primary", do=self.run_requested)

    def _lay_out(self) -> None:
        self._table_page = Card(margin_px=GAP_PX)
        self._table_page.body.addWidget(self.table)
        self._empty = EmptyCard(self.first_button)
        self._rows_or_none = QStackedWidget()
        self._rows_or_none.addWidget(self._table_page)
        self._rows_or_none.addWidget(self._empty)
        buttons = (self.share_button, self.export_button, self.delete_button)
        head = row(title(sentence("page.results")), self.count, None, *buttons)
        self._of_own = (*buttons, self.count, self._rows_or_none)
        overview = QWidget()
        whole = column(head, self.filters, self._rows_or_none, self.imported, spacing_px=GAP_PX + 4)
        whole.setStretch(2, 1)
        whole.setStretch(3, 1)
        overview.setLayout(whole)
        self._stack = QStackedWidget()
        self._stack.addWidget(overview)
        self._stack.addWidget(self.imported_detail)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(3 * GAP_PX, 2 * GAP_PX, 3 * GAP_PX, 2 * GAP_PX)
        layout.addWidget(self._stack)

    def _connect(self) -> None:
        self.filters.changed.connect(lambda: self.model.filter(self.filters.search.text()))
        self.filters.source_chosen.connect(self._on_source)
        self.imported.opened.connect(self._on_imported)
        self.imported_detail.left.connect(self._show_table)
        self.trash.changed.connect(self.refresh)
        self.trash.changed.connect(self.state_changed)
        self.model.found.connect(self._on_found)
        self.model.failed.connect(self._services.complain)
        self.table.activated.connect(self._on_activated)
        self.table.menu_wanted.connect(self._on_menu)
        self.table.selectionModel().selectionChanged.connect(self._on_selected)
        self._services.bridge.ended.connect(self._on_ended)
        QShortcut(QKeySequence(QKeySequence.StandardKey.Find), self, self.filters.search.setFocus)

    def _on_ended(self, _: int) -> None:
        if self.isVisible():
            self.refresh()

    def _on_source(self, source: str) -> None:
        self.table.clearSelection()
        for widget in self._of_own:
            widget.setVisible(source != IMPORTED)

    def _on_imported(self) -> None:
        self.table.clearSelection()  # commands must not apply to hidden rows
        self._show(self.imported_detail, self.imported_detail.back_button)

    def _on_found(self, count: int) -> None:
        filtered, total = self.model.shown.query.is_filter, self.model.shown.total
        of_all = sentence("results_page.runs_of_all", shown=count, count=total)
        self.count.setText(of_all if filtered else sentence("results_page.runs", count=count))
        self._rows_or_none.setCurrentIndex(0 if count else 1)
        self._empty.show_reason(is_filtered=filtered)
        self.export_button.setEnabled(count > 0)
        self._on_selected()

    def _on_selected(self, *_: object) -> None:
        rows = self.table.selected_rows()
        count, is_one = len(self.model.ids_of(rows)), len(rows) == 1
        self.commands.allow(dict.fromkeys(("open", "again"), is_one))
        of_run = self._is_one_run_selected()
        self.commands.allow(dict.fromkeys(("share", "picture", "copy_picture", "change", "rename"), of_run))
        self.commands.allow(dict.fromkeys(("compare", "copy", "export", "delete"), count > 0))
        if not count and self.model.shown.query.is_filter:
            count = len(self.model.shown.ids)
        text = sentence("results_page.export_some", count=count) if count else sentence("results_page.export_all")
        self.export_button.setText(text)
        self.state_changed.emit()

    def _is_one_run_selected(self) -> bool:
        rows = self.table.selected_rows()
        return len(rows) == 1 and rows[0] > 0

    def _on_menu(self, at: QPoint) -> None:
        if self.table.selected_rows():
            self.commands.open_menu(at)

    def _open_selected(self) -> None:
        if rows := self.table.selected_rows():
            self._open(rows[0])

    def _on_activated(self, index: QModelIndex) -> None:
        if index.isValid():
            self._open(self.model.rows[index.row()])

    def _open(self, entry: int) -> None:
        if entry > 0:
            self.open_run(entry)
        else:
            self.open_group(-entry)

    def _showing(self, number: int, run: JudgedRun) -> Iterator[object]:
        """Show a run, one part at each step, unless the user leaves or opens another run."""
        if number != self._wanted:
            return
        detail = self._made_detail()
        for _ in detail.show_in_parts(run):
            yield None
            if number != self._wanted:
                return
        yield None  # a turn for content, a turn for layout
        if number == self._wanted:
            self._show(detail, detail.back_button)

    def _parts(self) -> Iterator[object]:
        """Create the view of a run, one part at a time, because creating all at once would block the window."""
        yield self._view
        yield self._view.charts.epochs
        yield self._view.charts.loss
        yield self._made_detail()

    @cached_property
    def _view(self) -> RunView:
        return RunView(self._services.theme)

    def _made_detail(self) -> RunDetail:
        if self.detail is None:
            self.detail = RunDetail(self._services, self._handlers, self._view)
            self.detail.left.connect(self._on_left)
            self.detail.commented.connect(self._on_commented)
            self._stack.addWidget(self.detail)
        return self.detail

    def _on_group_loaded(self, number: int, report: Report) -> None:
        if number != self._wanted:
            return
        if report.experiment.page != RUNS_PAGE and report.group.runs:
            self.page_requested.emit(report.experiment.page, report.group.id)
            return
        if self.group_detail is None:
            self.group_detail = GroupDetail(self._services, self._handlers)
            self.group_detail.left.connect(self._show_table)
            self.group_detail.run_chosen.connect(self.open_run)
            self._stack.addWidget(self.group_detail)
        self.group_detail.show_report(report)
        self._show(self.group_detail, self.group_detail.back_button)

    def _show(self, view: QWidget, focused: QWidget) -> None:
        self._stack.setCurrentWidget(view)
        focused.setFocus()
        self.state_changed.emit()

    def _on_left(self) -> None:
        """Close the open run, and return to the group it was opened from or to the table."""
        if self._is_within_group and self.group_detail is not None:
            self._wanted += 1
            self._show(self.group_detail, self.group_detail.back_button)
        else:
            self._show_table()

    def _show_table(self) -> None:
        self.show_list()
        self.table.setFocus()

    def _on_commented(self, text: str) -> None:
        # Don't use `run`, because the name may be saved after the view was closed.
        if (detail := self.detail) is not None and detail.run is not None:
            run_id = detail.run.summary.id
            self.model.comment(run_id, text, partial(detail.rename, run_id, text))
