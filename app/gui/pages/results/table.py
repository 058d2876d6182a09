"""The table of stored runs, which reads only visible rows and keeps the selection."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from itertools import groupby
from typing import Any

from PySide6.QtCore import (
    QItemSelection,
    QItemSelectionModel,
    QItemSelectionRange,
    QPoint,
    Qt,
    QTimer,
    Signal,
)
from PySide6.QtGui import QColor, QContextMenuEvent, QResizeEvent
from PySide6.QtWidgets import QAbstractItemView, QTableView

from app.core.errors import AppError
from app.core.messages import sentence
from app.core.records import RunSummary
from app.core.storage.database import Database
from app.core.storage.queries import History, Query, find_history, set_comment
from app.core.storage.runs import list_runs
from app.gui.pages.results.cells import cell_text, reasons_text
from app.gui.pages.results.columns import COLUMNS, COMMENT, KEYS, ColumnFitter
from app.gui.services.bundle import Services
from app.gui.style.theme import figures
from app.gui.style.tokens import TEXT_PX
from app.gui.widgets.basics import plain_tip
from app.gui.widgets.tables import Index, TableModel, set_up_table

PAGE_ROWS = 100
PAGES_KEPT = 20
READ_PATIENCE_S = 0.2
READ_AGAIN_MS = 2_000
ROW_PX = 34
_TONES = {
    **{verdict: verdict for verdict in ("valid", "caution", "invalid")},
    **dict.fromkeys(("failed", "damaged"), "invalid"),
    **dict.fromkeys(("interrupted", "cancelled"), "caution"),
    "running": "accent",
}


class RunsModel(TableModel):
    """Rows of the runs that fit a query, newest first unless sorted otherwise.

    Signals:
        found: The rows are those of the latest query; with their number.
        failed: Something could not be read or written; with the AppError.

    Attributes:
        shown: What the rows are: the answer to the latest query.
        is_typed_in: Whether a comment is being typed, which another row under it would undo.
    """

    columns = tuple(COLUMNS.values())
    found = Signal(int)
    failed = Signal(object)

    def __init__(self, services: Services) -> None:
        super().__init__()
        self._services = services
        self._database: Database | None = None
        self._pages: dict[int, list[RunSummary | None]] = {}
        self._asked = 0
        self._storing = 0
        self._put_off: list[Callable[[], None]] = []
        self._complained = False
        self._again = QTimer(self, singleShot=True, interval=READ_AGAIN_MS)
        self._again.timeout.connect(self.forget)
        self.is_typed_in: Callable[[], bool] = lambda: False
        self.ids: Sequence[int] = []
        self.query = Query()
        self.shown = History()
        services.theme.changed.connect(self.layoutChanged)

    def close(self) -> None:
        """Close the database."""
        if self._database is not None:
            self._database.close()
            self._database = None

    def ask(self, query: Query) -> None:
        """Look up the matching runs in the background."""
        self.query = query
        self._asked += 1
        self._complained = False
        number, path = self._asked, self._services.paths.database

        def look() -> tuple[int, History]:
            with Database(path) as database:
                return number, find_history(database, query)

        self._services.tasks.start(look, self._on_found, self.failed.emit)

    def summary(self, row: int) -> RunSummary | None:
        """Return the run of a row; None if it is gone or can't be read."""
        page, place = divmod(row, PAGE_ROWS)
        if page not in self._pages:
            while len(self._pages) >= PAGES_KEPT:
                del self._pages[next(iter(self._pages))]
            # Even if it can't be read, but only briefly: each cell would try again.
            self._pages[page] = self._read(self.ids[page * PAGE_ROWS : (page + 1) * PAGE_ROWS])
        return self._pages[page][place]

    def count(self) -> int:
        """Return the number of matching runs."""
        return len(self.ids)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Return a cell's content."""
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return self.columns[index.column()].alignment
        if role == Qt.ItemDataRole.FontRole:
            return figures(TEXT_PX) if self.columns[index.column()].is_number else None
        if role not in _ROLES:
            return None
        run = self.summary(index.row())
        return None if run is None else self._cell(run, index.column(), role)

    def flags(self, index: Index) -> Qt.ItemFlag:
        """Make the comment editable."""
        flags = super().flags(index)
        return flags | Qt.ItemFlag.ItemIsEditable if index.column() == COMMENT else flags

    def setData(self, index: Index, value: Any, role: int = Qt.ItemDataRole.EditRole) -> bool:
        """Store a comment."""
        run = self.summary(index.row())
        if role != Qt.ItemDataRole.EditRole or run is None or str(value).strip() == (run.comment or ""):
            return False
        self.comment(run.id, str(value))
        return True

    def comment(self, run_id: int, text: str, done: Callable[[], None] = lambda: None) -> None:
        """Store a run's comment in the background."""
        path = self._services.paths.database
        self._storing += 1

        def write() -> None:
            with Database(path) as database:
                set_comment(database, run_id, text or None)

        def written(_: None) -> None:
            self._storing -= 1
            self.forget()
            done()
            self.catch_up()

        def refused(error: AppError) -> None:
            self._storing -= 1
            self.failed.emit(error)
            self.catch_up()

        self._services.tasks.start(write, written, refused)

    def when_named(self, do: Callable[[], None]) -> None:
        """Run something now, or once no comment is being typed or stored."""
        if self._storing or self.is_typed_in():
            self._put_off.append(do)
        else:
            do()

    def catch_up(self) -> None:
        """Do what was postponed while a comment was typed or stored."""
        put_off, self._put_off = self._put_off, []
        for do in put_off:
            self.when_named(do)

    def sort(self, column: int, order: Qt.SortOrder = Qt.SortOrder.AscendingOrder) -> None:
        """Sort by a column."""
        descending = order == Qt.SortOrder.DescendingOrder
        key = KEYS[column]
        if (key, descending) != (self.query.sort, self.query.descending):
            self.ask(replace(self.query, sort=key, descending=descending))

    def filter(self, **changes: Any) -> None:
        """Show only some of the runs: text, workload, status."""
        query = replace(self.query, **changes)
        if query != self.query:
            self.ask(query)

    def forget(self) -> None:
        """Reload the visible rows."""
        self.when_named(self._show_anew)

    def _show_anew(self) -> None:
        self._pages.clear()
        if self.ids:
            self.dataChanged.emit(self.index(0, 0), self.index(len(self.ids) - 1, COMMENT))

    def _on_found(self, answer: tuple[int, History]) -> None:
        self.when_named(partial(self._show, *answer))

    def _show(self, number: int, history: History) -> None:
        if number != self._asked:
            return  # a later request is on its way
        self.close()  # another file may be in its place by now
        self.shown = history
        if history.ids == self.ids:
            self._show_anew()
        else:
            self.beginResetModel()
            self.ids = history.ids
            self._pages.clear()
            self.endResetModel()
        self.found.emit(len(history.ids))

    def _read(self, ids: Sequence[int]) -> list[RunSummary | None]:
        try:
            if self._database is None:
                self._database = Database(self._services.paths.database, busy_timeout_s=READ_PATIENCE_S)
            runs = {run.id: run for run in list_runs(self._database, ids=ids)}
        except AppError as error:
            self._again.start()
            if not self._complained:
                self._complained = True
                self.failed.emit(error)
            runs = {}
        return [runs.get(run_id) for run_id in ids]

    def _cell(self, run: RunSummary, column: int, role: int) -> Any:
        key = KEYS[column]
        if role == Qt.ItemDataRole.ForegroundRole:
            tone = _TONES.get(getattr(run, key)) if key in ("status", "verdict") else None
            return QColor(getattr(self._services.theme.tokens, tone)) if tone else None
        if role == Qt.ItemDataRole.EditRole and key == "comment":
            return run.comment or ""
        text = cell_text(run, key)
        if role == Qt.ItemDataRole.ToolTipRole:
            behind = {"status": run.error_message, "verdict": reasons_text(run)}.get(key)
            return plain_tip(behind or text)
        return text


class RunsTable(QTableView):
    """Shows the rows. Selected runs stay selected when rows or their order change.

    Signals:
        menu_wanted: The context menu of the selected rows is to be opened; with its place on the screen.
    """

    menu_wanted = Signal(QPoint)

    def __init__(self, model: RunsModel) -> None:
        super().__init__()
        self._model = model
        self._chosen: set[int] = set()
        self._current = (0, 0)
        set_up_table(self, model, sentence("results_page.table"), ROW_PX)
        self._columns = ColumnFitter(self)
        self.setEditTriggers(QAbstractItemView.EditTrigger.EditKeyPressed)
        self.setSortingEnabled(True)
        self.sortByColumn(0, Qt.SortOrder.DescendingOrder)
        model.is_typed_in = lambda: self.state() == QAbstractItemView.State.EditingState
        self.itemDelegate().closeEditor.connect(model.catch_up)
        # After the view's own slots, which clear the selection.
        model.modelAboutToBeReset.connect(self._keep)
        model.modelReset.connect(self._restore)
        model.found.connect(lambda _: self._columns.fit(model.shown.workloads))

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Fit the columns into the new width."""
        super().resizeEvent(event)
        self._columns.fit()

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        """Ask for the menu of the row under the mouse, or, by the keyboard, of the current one."""
        by_mouse = event.reason() == QContextMenuEvent.Reason.Mouse
        index = self.indexAt(event.pos()) if by_mouse else self.currentIndex()
        if not index.isValid():
            return
        if not self.selectionModel().isRowSelected(index.row()):
            self.setCurrentIndex(index)
        below = self.visualRect(index).bottomLeft()
        self.menu_wanted.emit(event.globalPos() if by_mouse else self.viewport().mapToGlobal(below))

    def edit_name(self) -> None:
        """Let the user type the current run's name, whichever of its cells is current."""
        index = self.currentIndex()
        if index.isValid():
            self.scrollTo(index)
            self.edit(self._model.index(index.row(), COMMENT))

    def selected_ids(self) -> list[int]:
        """Return the numbers of the selected runs, in the table's order."""
        ids: list[int] = []
        # By ranges: a hundred thousand selected rows are one range.
        selection = self.selectionModel().selection()
        parts = [selection.at(number) for number in range(selection.count())]
        for part in sorted(parts, key=lambda part: part.top()):
            ids += self._model.ids[part.top() : part.bottom() + 1]
        return ids

    def _keep(self) -> None:
        index = self.currentIndex()
        self._chosen = set(self.selected_ids())
        self._current = (self._model.ids[index.row()] if index.isValid() else 0, index.column())

    def _restore(self) -> None:
        model, flags = self._model, QItemSelectionModel.SelectionFlag
        rows = [row for row, run_id in enumerate(model.ids) if run_id in self._chosen]
        selection = QItemSelection()
        for _, pairs in groupby(enumerate(rows), lambda pair: pair[1] - pair[0]):
            part = [row for _, row in pairs]
            selection.append(QItemSelectionRange(model.index(part[0], 0), model.index(part[-1], COMMENT)))
        self.selectionModel().select(selection, flags.ClearAndSelect)
        run_id, place = self._current
        if run_id in model.ids:
            current = model.index(model.ids.index(run_id), place)
            # Without scrolling away from the visible rows.
            self.setAutoScroll(False)
            self.selectionModel().setCurrentIndex(current, flags.NoUpdate)
            self.setAutoScroll(True)


_ROLES = {
    Qt.ItemDataRole.DisplayRole,
    Qt.ItemDataRole.EditRole,
    Qt.ItemDataRole.ToolTipRole,
    Qt.ItemDataRole.ForegroundRole,
}
