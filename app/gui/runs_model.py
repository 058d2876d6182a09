"""The table of stored runs: holds their numbers only, and reads the rows that are looked at."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QPersistentModelIndex, Qt, Signal
from PySide6.QtGui import QColor

from app.core.compare import run_name
from app.core.database import Database
from app.core.errors import AppError
from app.core.history import Query, find_ids, set_comment
from app.core.metrics import format_seconds
from app.core.model import RunSummary
from app.core.runs import list_runs
from app.gui.services import Services
from app.gui.theme import figures
from app.gui.tokens import TEXT_PX
from app.gui.widgets import plain_tip
from workloads import CATALOGUE

PAGE_ROWS = 100
PAGES_KEPT = 20
READ_PATIENCE_S = 0.2
Index = QModelIndex | QPersistentModelIndex
# The key to sort by, and the heading.
COLUMNS = (
    ("id", "Run"),
    ("started_at", "Started"),
    ("workload", "Workload"),
    ("seconds_per_epoch_s", "s / epoch"),
    ("spread_pct", "Spread"),
    ("epochs_done", "Epochs"),
    ("batch_size", "Batch"),
    ("device", "Device"),
    ("data_source", "Data"),
    ("status", "Status"),
    ("comment", "Name"),
)
COMMENT = len(COLUMNS) - 1
_RIGHT = {"id", "seconds_per_epoch_s", "spread_pct", "epochs_done", "batch_size"}
_TONES = {"failed": "invalid", "interrupted": "caution", "cancelled": "caution", "running": "accent"}


class RunsModel(QAbstractTableModel):
    """Rows of the runs that fit a query, newest first unless sorted otherwise.

    Signals:
        found: The rows are those of the latest query; with their number.
        failed: Something could not be read or written; with the AppError.
    """

    found = Signal(int)
    failed = Signal(object)

    def __init__(self, services: Services) -> None:
        super().__init__()
        self._services = services
        self._database: Database | None = None
        self._pages: dict[int, list[RunSummary | None]] = {}
        self._asked = 0
        self.ids: list[int] = []
        self.query = Query()
        services.theme.changed.connect(self.layoutChanged)

    def close(self) -> None:
        """Let go of the database."""
        if self._database is not None:
            self._database.close()
            self._database = None

    def ask(self, query: Query) -> None:
        """Look for the runs that fit, in the background."""
        self.query = query
        self._asked += 1
        number, path = self._asked, self._services.paths.database

        def look() -> tuple[int, list[int]]:
            with Database(path) as database:
                return number, find_ids(database, query)

        self._services.tasks.start(look, self._on_found, self.failed.emit)

    def summary(self, row: int) -> RunSummary | None:
        """Return the run of a row; None if it is gone or cannot be read."""
        page, place = divmod(row, PAGE_ROWS)
        if page not in self._pages:
            while len(self._pages) >= PAGES_KEPT:
                del self._pages[next(iter(self._pages))]
            self._pages[page] = self._read(self.ids[page * PAGE_ROWS : (page + 1) * PAGE_ROWS])
        return self._pages[page][place]

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008 - Qt's own default
        """Return how many runs fit."""
        return 0 if parent.isValid() else len(self.ids)

    def columnCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008 - Qt's own default
        """Return how many columns there are."""
        return 0 if parent.isValid() else len(COLUMNS)

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> Any:
        """Return a column's heading."""
        if orientation != Qt.Orientation.Horizontal:
            return None
        if role == Qt.ItemDataRole.DisplayRole:
            return COLUMNS[section][1]
        return _alignment(section) if role == Qt.ItemDataRole.TextAlignmentRole else None

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Return what a cell shows."""
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return _alignment(index.column())
        if role == Qt.ItemDataRole.FontRole:
            return figures(TEXT_PX) if COLUMNS[index.column()][0] in _RIGHT else None
        if role not in _ROLES:
            return None
        run = self.summary(index.row())
        return None if run is None else self._cell(run, index.column(), role)

    def flags(self, index: Index) -> Qt.ItemFlag:
        """Let the comment be edited."""
        flags = super().flags(index)
        return flags | Qt.ItemFlag.ItemIsEditable if index.column() == COMMENT else flags

    def setData(self, index: Index, value: Any, role: int = Qt.ItemDataRole.EditRole) -> bool:
        """Store another comment."""
        run = self.summary(index.row())
        if role != Qt.ItemDataRole.EditRole or run is None or str(value).strip() == (run.comment or ""):
            return False
        self.comment(run.id, str(value))
        return True

    def comment(self, run_id: int, text: str, done: Callable[[], None] = lambda: None) -> None:
        """Store a run's comment in the background."""
        path = self._services.paths.database

        def write() -> None:
            with Database(path) as database:
                set_comment(database, run_id, text or None)

        def written(_: None) -> None:
            self.forget()
            done()

        self._services.tasks.start(write, written, self.failed.emit)

    def sort(self, column: int, order: Qt.SortOrder = Qt.SortOrder.AscendingOrder) -> None:
        """Order by a column."""
        descending = order == Qt.SortOrder.DescendingOrder
        key = COLUMNS[column][0]
        if (key, descending) != (self.query.sort, self.query.descending):
            self.ask(replace(self.query, sort=key, descending=descending))

    def filter(self, **changes: Any) -> None:
        """Show only some of the runs: text, workload, status."""
        query = replace(self.query, **changes)
        if query != self.query:
            self.ask(query)

    def forget(self) -> None:
        """Read anew the rows that are looked at."""
        self._pages.clear()
        if self.ids:
            self.dataChanged.emit(self.index(0, 0), self.index(len(self.ids) - 1, COMMENT))

    def _on_found(self, answer: tuple[int, list[int]]) -> None:
        number, ids = answer
        if number != self._asked:
            return  # a later question is on its way
        self.beginResetModel()
        self.ids = ids
        self._pages.clear()
        self.endResetModel()
        self.found.emit(len(ids))

    def _read(self, ids: Sequence[int]) -> list[RunSummary | None]:
        try:
            if self._database is None:
                self._database = Database(self._services.paths.database, busy_timeout_s=READ_PATIENCE_S)
            found = {run.id: run for run in list_runs(self._database, ids=ids)}
        except AppError as error:
            self.failed.emit(error)
            found = {}
        return [found.get(run_id) for run_id in ids]

    def _cell(self, run: RunSummary, column: int, role: int) -> Any:
        key = COLUMNS[column][0]
        if role == Qt.ItemDataRole.ForegroundRole:
            tone = _TONES.get(run.status) if key == "status" else None
            return QColor(getattr(self._services.theme.tokens, tone)) if tone else None
        if role == Qt.ItemDataRole.EditRole and key == "comment":
            return run.comment or ""
        text = cell_text(run, key)
        if role == Qt.ItemDataRole.ToolTipRole:
            return plain_tip(run.error_message if key == "status" and run.error_message else text)
        return text


_ROLES = {
    Qt.ItemDataRole.DisplayRole,
    Qt.ItemDataRole.EditRole,
    Qt.ItemDataRole.ToolTipRole,
    Qt.ItemDataRole.ForegroundRole,
}


def cell_text(run: RunSummary, key: str) -> str:
    """Return what a column shows of a run."""
    writer = _WRITERS.get(key)
    if writer is not None:
        return writer(run)
    value = getattr(run, key)
    return "n/a" if value is None else str(value)


def _title(run: RunSummary) -> str:
    workload = CATALOGUE.get(run.workload)
    return workload.title if workload else run.workload


def _seconds(run: RunSummary) -> str:
    marks = {"estimate": "≈ ", "first_epoch": "1st: "}
    return marks.get(run.basis or "", "") + format_seconds(run.seconds_per_epoch_s)


def local_time(text: str) -> str:
    """Return a stored moment in the user's time zone, to the minute."""
    try:
        return datetime.fromisoformat(text).astimezone().strftime("%Y-%m-%d %H:%M")
    except ValueError:
        return text


def _alignment(column: int) -> Qt.AlignmentFlag:
    side = Qt.AlignmentFlag.AlignRight if COLUMNS[column][0] in _RIGHT else Qt.AlignmentFlag.AlignLeft
    return side | Qt.AlignmentFlag.AlignVCenter


_WRITERS: dict[str, Callable[[RunSummary], str]] = {
    "started_at": lambda run: local_time(run.started_at),
    "workload": _title,
    "seconds_per_epoch_s": _seconds,
    "spread_pct": lambda run: "n/a" if run.spread_pct is None else f"{run.spread_pct:.1f} %",
    "epochs_done": lambda run: "quick" if run.preset == "quick" else f"{run.epochs_done} of {run.epochs}",
    "device": run_name,
    "comment": lambda run: run.comment or "",
}
