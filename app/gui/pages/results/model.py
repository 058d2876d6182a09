"""The rows of the results table: runs and groups of runs. Only visible rows are loaded."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from PySide6.QtCore import QModelIndex, Qt, Signal
from PySide6.QtGui import QColor, QIcon

from app.core.errors import AppError
from app.core.messages import sentence
from app.core.plans.experiments import readable_report
from app.core.records import RunSummary
from app.core.report.run_table import cautions_text
from app.core.storage.database import Database
from app.core.storage.groups import load_groups
from app.core.storage.imported_results import has_results
from app.core.storage.queries import History, Query, find_history, set_comment
from app.core.storage.runs import list_runs
from app.gui.pages.results.cells import GroupRow, cell_text, group_row
from app.gui.pages.results.columns import COLUMNS, COMMENT, KEYS, STARTED
from app.gui.services.bundle import Services
from app.gui.services.tasks import Latest
from app.gui.style.icons import icon
from app.gui.style.theme import tabular_font
from app.gui.style.tokens import TEXT_PX
from app.gui.widgets.basics import plain_tip
from app.gui.widgets.tables import Index, TableModel
from app.gui.widgets.timers import timer

# Small, because loading a group's row loads all its runs.
PAGE_ROWS = 40
PAGES_KEPT = 50
READ_PATIENCE_S = 0.2
READ_AGAIN_MS = 2_000
_TONES = ("valid", "caution", "invalid")


class RunsModel(TableModel):
    """The runs and groups that match a query, by default newest first. Groups are initially collapsed.

    Attributes:
        rows: The number of a run, or the negated number of a group. An expanded group is followed by its runs.
        has_imported: Whether there are imported results. Imported results never have rows in this model.
        is_typed_in: Returns whether a comment is being edited. Changing the rows would discard the comment.
    """

    columns = tuple(COLUMNS.values())
    found = Signal(int)  # the latest query has this number of rows
    failed = Signal(object)  # the database couldn't be read or written: an AppError

    def __init__(self, services: Services) -> None:
        super().__init__()
        self._services = services
        self._database: Database | None = None
        self._pages: dict[int, list[RunSummary | GroupRow | None]] = {}
        self._opened: set[int] = set()
        self._icons: dict[tuple[str, str], QIcon] = {}
        self._latest = Latest()
        self._storing = 0
        self._put_off: list[Callable[[], None]] = []
        self._complained = False
        self._again = timer(self, READ_AGAIN_MS, once=True)
        self._again.timeout.connect(self.forget)
        self.is_typed_in: Callable[[], bool] = lambda: False
        self.rows: list[int] = []
        self.has_imported = False
        self.query = Query(sort=KEYS[STARTED])
        self.shown = History()  # result of the latest query
        services.theme.changed.connect(self.layoutChanged)

    def close(self) -> None:
        if self._database is not None:
            self._database.close()
            self._database = None

    def ask(self, query: Query) -> None:
        self.query = query
        self._complained = False
        show = self._latest.only(self._show)  # also if it is put off

        def look(database: Database) -> tuple[History, bool]:
            return find_history(database, query), has_results(database)

        self._services.query(look, lambda answer: self.when_named(partial(show, answer)), self.failed.emit)

    def item(self, row: int) -> RunSummary | GroupRow | None:
        """Return the content of a row; None if it no longer exists or can't be read."""
        page, place = divmod(row, PAGE_ROWS)
        if page not in self._pages:
            while len(self._pages) >= PAGES_KEPT:
                del self._pages[next(iter(self._pages))]
            # Even failures are cached briefly. Otherwise each cell would retry.
            self._pages[page] = self._read(self.rows[page * PAGE_ROWS : (page + 1) * PAGE_ROWS])
        return self._pages[page][place]

    def count(self) -> int:
        return len(self.rows)

    def is_group(self, row: int) -> bool:
        return self.rows[row] < 0

    def is_opened(self, row: int) -> bool:
        return -self.rows[row] in self._opened

    def group_row_of(self, row: int) -> int | None:
        """Return the row of the expanded group that contains a run's row; None if there is none."""
        if self.is_group(row):
            return None
        above = next((each for each in range(row - 1, -1, -1) if self.is_group(each)), None)
        group_runs = () if above is None else self.shown.groups[-self.rows[above]]
        is_below = above is not None and self.is_opened(above) and row - above <= len(group_runs)
        return above if is_below else None

    def toggle(self, row: int) -> None:
        group_id, first = -self.rows[row], row + 1
        run_ids = self.shown.groups[group_id]
        last = row + len(run_ids)
        if group_id in self._opened:
            self.beginRemoveRows(QModelIndex(), first, last)
            del self.rows[first : last + 1]
            self._opened.discard(group_id)
        else:
            self.beginInsertRows(QModelIndex(), first, last)
            self.rows[first:first] = run_ids
            self._opened.add(group_id)
        self._pages.clear()
        (self.endInsertRows if group_id in self._opened else self.endRemoveRows)()
        self.dataChanged.emit(self.index(row, 0), self.index(row, 0))

    def ids_of(self, rows: Sequence[int]) -> list[int]:
        """Return the distinct numbers of the runs in these entries of `rows`, including those in groups."""
        ids: dict[int, None] = {}
        for row in rows:
            ids.update(dict.fromkeys((row,) if row > 0 else self.shown.groups[-row]))
        return list(ids)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return self.columns[index.column()].alignment
        if role == Qt.ItemDataRole.FontRole:
            return tabular_font(TEXT_PX) if self.columns[index.column()].is_number else None
        if role not in _ROLES:
            return None
        item = self.item(index.row())
        if isinstance(item, GroupRow):
            return self._group_cell(item, index, role)
        return None if item is None else self._cell(item, index.column(), role)

    def flags(self, index: Index) -> Qt.ItemFlag:
        flags = super().flags(index)
        is_name = index.column() == COMMENT and not self.is_group(index.row())
        return flags | Qt.ItemFlag.ItemIsEditable if is_name else flags

    def setData(self, index: Index, value: Any, role: int = Qt.ItemDataRole.EditRole) -> bool:
        run = self.item(index.row())
        if (
            role != Qt.ItemDataRole.EditRole
            or not isinstance(run, RunSummary)
            or str(value).strip() == (run.comment or "")
        ):
            return False
        self.comment(run.id, str(value))
        return True

    def comment(self, run_id: int, text: str, done: Callable[[], None] = lambda: None) -> None:
        self._storing += 1

        def written(_: None) -> None:
            self._storing -= 1
            self.forget()
            done()
            self.catch_up()

        def refused(error: AppError) -> None:
            self._storing -= 1
            self.failed.emit(error)
            self.catch_up()

        self._services.query(lambda database: set_comment(database, run_id, text or None), written, refused)

    def when_named(self, do: Callable[[], None]) -> None:
        """Call a function now or, if a comment is being edited or stored, afterwards."""
        if self._storing or self.is_typed_in():
            self._put_off.append(do)
        else:
            do()

    def catch_up(self) -> None:
        put_off, self._put_off = self._put_off, []
        for do in put_off:
            self.when_named(do)

    def sort(self, column: int, order: Qt.SortOrder = Qt.SortOrder.AscendingOrder) -> None:
        descending = order == Qt.SortOrder.DescendingOrder
        key = KEYS[column]
        if (key, descending) != (self.query.sort, self.query.descending):
            self.ask(replace(self.query, sort=key, descending=descending))

    def filter(self, text: str) -> None:
        query = replace(self.query, text=text)
        if query != self.query:
            self.ask(query)

    def forget(self) -> None:
        self.when_named(self._show_anew)

    def _show_anew(self) -> None:
        self._pages.clear()
        if self.rows:
            self.dataChanged.emit(self.index(0, 0), self.index(len(self.rows) - 1, COMMENT))

    def _show(self, answer: tuple[History, bool]) -> None:
        history, self.has_imported = answer
        self.close()  # the file may have been replaced
        self._opened &= history.groups.keys()
        rows = list(history.rows)
        if self._opened:
            rows = [
                each for row in rows for each in (row, *(history.groups[-row] if -row in self._opened else ()))
            ]
        if rows == self.rows:
            self.shown = history
            self._show_anew()
        else:
            self.beginResetModel()
            self.shown, self.rows = history, rows
            self._pages.clear()
            self.endResetModel()
        self.found.emit(len(history.ids))

    def _read(self, rows: Sequence[int]) -> list[RunSummary | GroupRow | None]:
        items: dict[int, RunSummary | GroupRow] = {}
        try:
            if self._database is None:
                self._database = Database(self._services.paths.database, busy_timeout_s=READ_PATIENCE_S)
            items |= {run.id: run for run in list_runs(self._database, ids=[row for row in rows if row > 0])}
            if group_ids := [-row for row in rows if row < 0]:
                for group in load_groups(self._database, group_ids):
                    answer = readable_report(self._database, group).answer
                    items[-group.id] = group_row(group, answer, len(self.shown.groups.get(group.id, ())))
        except AppError as error:
            self._again.start()
            if not self._complained:
                self._complained = True
                self.failed.emit(error)
        return [items.get(row) for row in rows]

    def _cell(self, run: RunSummary, column: int, role: int) -> Any:
        key = KEYS[column]
        if role == Qt.ItemDataRole.ForegroundRole:
            return self._tone(key, run.verdict)
        if role == Qt.ItemDataRole.EditRole and key == "comment":
            return run.comment or ""
        if role == Qt.ItemDataRole.BackgroundRole:
            is_below_group = run.group_id in self._opened
            return QColor(self._services.theme.tokens.window) if is_below_group else None
        if role in (Qt.ItemDataRole.DecorationRole, Qt.ItemDataRole.AccessibleTextRole):
            return None
        text = cell_text(run, key)
        if role == Qt.ItemDataRole.ToolTipRole:
            behind = (cautions_text(run) or run.error_message) if key == "verdict" else None
            return plain_tip(behind or text)
        return text

    def _group_cell(self, group: GroupRow, index: Index, role: int) -> Any:
        key = KEYS[index.column()]
        match role:
            case Qt.ItemDataRole.DecorationRole if key == "started_at":
                return self._icon("chevron-down" if self.is_opened(index.row()) else "chevron-right")
            case Qt.ItemDataRole.AccessibleTextRole if key == "started_at":
                code = "results_page.group_opened" if self.is_opened(index.row()) else "results_page.group_closed"
                return sentence(code, at=group.texts[key], kind=group.texts["status"], runs=group.texts["id"])
            case Qt.ItemDataRole.ForegroundRole:
                return self._tone(key, group.verdict)
            case Qt.ItemDataRole.ToolTipRole:
                return plain_tip(group.tip(key))
            case Qt.ItemDataRole.DisplayRole:
                return group.texts[key]
        return None

    def _tone(self, key: str, verdict: str | None) -> QColor | None:
        is_toned = key == "verdict" and verdict in _TONES
        return QColor(getattr(self._services.theme.tokens, str(verdict))) if is_toned else None

    def _icon(self, name: str) -> QIcon:
        colour = self._services.theme.tokens.muted
        if (name, colour) not in self._icons:
            self._icons[name, colour] = icon(name, colour)
        return self._icons[name, colour]


_ROLES = {
    Qt.ItemDataRole.DisplayRole,
    Qt.ItemDataRole.EditRole,
    Qt.ItemDataRole.ToolTipRole,
    Qt.ItemDataRole.ForegroundRole,
    Qt.ItemDataRole.BackgroundRole,
    Qt.ItemDataRole.DecorationRole,
    Qt.ItemDataRole.AccessibleTextRole,
}
