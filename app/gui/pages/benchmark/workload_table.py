"""The table of workloads in the chooser."""

from collections.abc import Mapping, Sequence
from typing import Any

from PySide6.QtCore import Qt
from PySide6.QtGui import QColor
from PySide6.QtWidgets import QAbstractItemView, QTableView

from app.core.messages import sentence, text
from app.core.metrics import format_memory, format_time_left
from app.core.runs.overview import Entry
from app.gui.services.bundle import Services
from app.gui.style.icons import icon
from app.gui.widgets.basics import plain_tip
from app.gui.widgets.tables import Column, Index, TableModel, set_up_table

COLUMNS = (
    Column("label.workload", 280),
    Column("heading.study", 146),
    Column("heading.whole_run", 162),
    Column("heading.memory", 96),
    Column("label.data", 100),
)
_MEMORY = 3
ROW_PX = 32


class WorkloadModel(TableModel):
    """The workloads of a kind whose texts contain all search words."""

    columns = COLUMNS

    def __init__(self, services: Services) -> None:
        super().__init__()
        self._theme, self._preferences = services.theme, services.preferences
        self._entries: Sequence[Entry] = ()
        self._probed_s: Mapping[tuple[str, str, str], float] = {}
        self._kind = ""
        self._words: tuple[str, ...] = ()
        self.rows: list[Entry] = []

    def show_entries(self, entries: Sequence[Entry], probed_s: Mapping[tuple[str, str, str], float]) -> None:
        """Show other entries; `probed_s` has durations from probes, by their keys."""
        self._entries, self._probed_s = entries, probed_s
        self._filter()

    def look_for(self, kind: str, words: str) -> None:
        """Filter by kind, "" for all, and search words."""
        self._kind, self._words = kind, tuple(words.casefold().split())
        self._filter()

    def duration_s(self, entry: Entry) -> float | None:
        """Return how long a whole run takes here; None if unknown."""
        return self._probed_s.get(entry.key, entry.duration_s)

    def count(self) -> int:
        """Return the number of matching workloads."""
        return len(self.rows)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Return a cell's content."""
        entry = self.rows[index.row()]
        if role == Qt.ItemDataRole.DisplayRole:
            return self._texts(entry)[index.column()]
        if role == Qt.ItemDataRole.ToolTipRole:
            return plain_tip(text(entry.problem) if entry.problem else entry.workload.summary)
        if role == Qt.ItemDataRole.DecorationRole and index.column() == 0 and self._is_favourite(entry):
            return icon("star-filled", self._theme.tokens.accent)
        if role == Qt.ItemDataRole.ForegroundRole and entry.problem and index.column() == _MEMORY:
            return QColor(self._theme.tokens.invalid)
        return None

    def _is_favourite(self, entry: Entry) -> bool:
        return entry.workload.id in self._preferences.settings.favourite_workloads

    def _texts(self, entry: Entry) -> tuple[str, ...]:
        duration_s = self.duration_s(entry)
        return (
            entry.workload.title,
            entry.workload.study_name or "–",
            format_time_left(duration_s) if duration_s is not None else sentence("workloads.duration_unknown"),
            format_memory(entry.memory_bytes) if entry.memory_bytes else "n/a",
            entry.data,
        )

    def _filter(self) -> None:
        self.beginResetModel()
        self.rows = [entry for entry in self._entries if self._fits(entry)]
        self.endResetModel()

    def _fits(self, entry: Entry) -> bool:
        workload = entry.workload
        study = f"study {workload.study} {workload.study_name}" if workload.study else ""
        all_text = " ".join((workload.id, workload.title, workload.summary, workload.source, study, workload.kind))
        return self._kind in ("", workload.kind) and all(word in all_text.casefold() for word in self._words)


class WorkloadTable(QTableView):
    """Shows the model, one workload per row."""

    def __init__(self, services: Services) -> None:
        super().__init__()
        self.entries = WorkloadModel(services)
        services.preferences.changed.connect(self.viewport().update)
        set_up_table(self, self.entries, sentence("workloads.table"), ROW_PX)
        self.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.setTabKeyNavigation(False)

    @property
    def chosen(self) -> Entry | None:
        """The selected entry; None without one."""
        row = self.currentIndex().row()
        return self.entries.rows[row] if 0 <= row < len(self.entries.rows) else None

    def choose(self, workload_id: str) -> None:
        """Select a workload's row, or the first one if it isn't shown."""
        ids = [entry.workload.id for entry in self.entries.rows]
        if ids:
            self.selectRow(ids.index(workload_id) if workload_id in ids else 0)
            self.scrollTo(self.currentIndex(), QAbstractItemView.ScrollHint.PositionAtCenter)
