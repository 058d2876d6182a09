"""The results as a table that can be sorted and copied, with all details."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from PySide6.QtCore import Qt
from PySide6.QtGui import QFont, QGuiApplication, QKeySequence, QShortcut
from PySide6.QtWidgets import QTableView

from app.core.analysis.bars import Bar
from app.core.analysis.comparability import engine_name
from app.core.analysis.published import disagreement
from app.core.formats import format_ratio
from app.core.messages import sentence
from app.core.plain_text import joined
from app.core.records import RunSummary
from app.core.report.formats.table_text import table_text
from app.core.titles import precision_title
from app.gui.charts.bars import bar_key
from app.gui.style.theme import font
from app.gui.style.tokens import TEXT_PX
from app.gui.widgets.basics import plain_tip
from app.gui.widgets.tables import Column, Index, TableModel, set_up_table

COLUMNS = (
    Column("heading.name", 200),
    Column("heading.result", 112, is_number=True),
    Column("heading.times_baseline", 104, is_number=True),
    Column("setting.device", 80),
    Column("heading.year", 72, is_number=True),
    Column("heading.software", 192),
    Column("heading.batch", 72, is_number=True),
    Column("setting.precision", 96),
    Column("heading.match", 88),
    Column("heading.source", 200),
    Column("heading.notes"),
)
COPIED = 8  # columns up to the precision
ROW_PX = 34


@dataclass(frozen=True, slots=True)
class TableRow:
    """A result as a row: the texts of its cells, and their sort keys."""

    texts: tuple[str, ...]
    keys: tuple[float | str, ...]
    mine: bool


class CompareModel(TableModel):
    """The rows of the table, fastest first unless sorted otherwise."""

    columns = COLUMNS

    def __init__(self) -> None:
        super().__init__()
        self.rows: list[TableRow] = []
        self._sorted_by = (1, Qt.SortOrder.AscendingOrder)

    def show_bars(self, bars: Sequence[Bar], baseline: Bar | None) -> None:
        """Replace the rows. The sort order is kept."""
        self.beginResetModel()
        self.rows = [_row(bar, baseline) for bar in bars]
        self._order()
        self.endResetModel()

    def count(self) -> int:
        return len(self.rows)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        row = self.rows[index.row()]
        if role == Qt.ItemDataRole.DisplayRole:
            return row.texts[index.column()]
        if role == Qt.ItemDataRole.ToolTipRole:
            return plain_tip(row.texts[index.column()])
        if role == Qt.ItemDataRole.FontRole and row.mine:
            return font(TEXT_PX, QFont.Weight.DemiBold)
        return COLUMNS[index.column()].alignment if role == Qt.ItemDataRole.TextAlignmentRole else None

    def sort(self, column: int, order: Qt.SortOrder = Qt.SortOrder.AscendingOrder) -> None:
        self.beginResetModel()
        self._sorted_by = (column, order)
        self._order()
        self.endResetModel()

    def _order(self) -> None:
        column, order = self._sorted_by
        self.rows.sort(key=lambda row: row.keys[column], reverse=order == Qt.SortOrder.DescendingOrder)


class CompareTable(QTableView):
    """A table of results. Ctrl+C copies the selected rows for use in a spreadsheet."""

    def __init__(self) -> None:
        super().__init__()
        self.rows = CompareModel()
        set_up_table(self, self.rows, sentence("compare_page.table"), ROW_PX)
        self.setSortingEnabled(True)
        self.sortByColumn(1, Qt.SortOrder.AscendingOrder)
        keys = QKeySequence(QKeySequence.StandardKey.Copy)
        QShortcut(keys, self, self.copy, context=Qt.ShortcutContext.WidgetShortcut)

    def copy(self, form: str = "spreadsheet") -> int:
        """Copy the selected rows, or all if none are selected, and return their number. Sources aren't copied."""
        chosen = sorted(index.row() for index in self.selectionModel().selectedRows())
        rows = [self.rows.rows[number] for number in chosen] or self.rows.rows
        heads = [sentence(column.heading) for column in COLUMNS[:COPIED]]
        QGuiApplication.clipboard().setText(table_text(heads, (row.texts[:COPIED] for row in rows), form))
        return len(rows)


def device_kind(bar: Bar) -> str:
    """Return the kind of device ("cpu", "gpu" or "tpu"); "" if unknown."""
    if bar.row is not None:
        return bar.row.hardware_kind
    run = _run_of(bar)
    device = run.device if run else None
    return (device or "").partition(":")[0]


def bar_year(bar: Bar) -> int | None:
    if bar.row is not None:
        return bar.row.year
    run = _run_of(bar)
    year = run.started_at[:4] if run else ""
    return int(year) if year.isascii() and year.isdigit() else None


def _row(bar: Bar, baseline: Bar | None) -> TableRow:
    year, run = bar_year(bar), _run_of(bar)
    ratio = bar.times_as_fast(baseline)
    same = baseline is not None and bar_key(bar) == bar_key(baseline)
    batch = bar.row.batch_size if bar.row else run.batch_size if run else None
    texts = (
        bar.name,
        bar.text,
        "baseline" if same else format_ratio(ratio),
        device_kind(bar).upper() or "n/a",
        str(year or "n/a"),
        _software(bar),
        str(batch or "n/a"),
        (bar.row.precision_words if bar.row else precision_title(run.precision) if run else "") or "n/a",
        *_origin(bar),
    )
    keys: list[float | str] = [text.casefold() for text in texts]
    # Unknown values get the lowest key, so that they are last when the best are first.
    keys[1], keys[2], keys[4], keys[6] = -bar.speed, ratio or 0.0, year or 0, batch or 0
    return TableRow(texts, tuple(keys), bar.kind == "you")


def _software(bar: Bar) -> str:
    if bar.row is not None:
        return bar.row.software or "n/a"
    run = _run_of(bar)
    return engine_name(run.engine, run.engine_version) if run else "n/a"


def _run_of(bar: Bar) -> RunSummary | None:
    return bar.imported.summary if bar.imported is not None else bar.run


def _origin(bar: Bar) -> tuple[str, str, str]:
    if bar.row is not None:
        source = joined(text for text in (bar.row.source, bar.row.source_ref) if text)
        notes = joined(text for text in (bar.row.notes, disagreement(bar.row)) if text)
        return bar.row.match, source, notes
    if bar.imported is not None:
        number, date = bar.imported.id, bar.imported.imported_at[:10]
        source = sentence("compare_page.from_imported", number=number, source=bar.imported.source, date=date)
        return sentence("compare_page.match_imported"), source, joined(bar.remarks)
    source = "n/a"
    if bar.run:
        source = sentence("trend.run", run_id=bar.run.id, date=bar.run.started_at[:10])
    return sentence("compare_page.match_own"), source, joined(bar.remarks)
