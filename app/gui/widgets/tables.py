"""Features shared by all tables: headings, column widths, alignment and row heights."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from PySide6.QtCore import QAbstractTableModel, QItemSelectionModel, QModelIndex, QPersistentModelIndex, Qt
from PySide6.QtGui import QFont, QResizeEvent
from PySide6.QtWidgets import QAbstractItemView, QFrame, QHeaderView, QTableView, QTableWidget, QTableWidgetItem

from app.core.messages import sentence
from app.core.plain_text import safe_text
from app.core.report.card import Table
from app.gui.style.theme import tabular_font
from app.gui.style.tokens import TEXT_PX
from app.gui.widgets.basics import plain_tip

Index = QModelIndex | QPersistentModelIndex
TEXT_ROW_PX = 28
LAST_PX = 96  # minimum width of a column that uses the remaining space


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table."""

    heading: str
    width_px: int | None = None  # initial width in pixels; None to use the remaining space
    is_number: bool = False  # whether the column is right-aligned

    @property
    def alignment(self) -> Qt.AlignmentFlag:
        side = Qt.AlignmentFlag.AlignRight if self.is_number else Qt.AlignmentFlag.AlignLeft
        return side | Qt.AlignmentFlag.AlignVCenter


class TableModel(QAbstractTableModel):
    """A table with fixed columns. Subclasses provide the number of rows and the contents of the cells."""

    columns: Sequence[Column] = ()

    def count(self) -> int:
        raise NotImplementedError

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008 - Qt's own default
        return 0 if parent.isValid() else self.count()

    def columnCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008 - Qt's own default
        return 0 if parent.isValid() else len(self.columns)

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> Any:
        if orientation != Qt.Orientation.Horizontal:
            return None
        if role == Qt.ItemDataRole.DisplayRole:
            return sentence(self.columns[section].heading)
        return self.columns[section].alignment if role == Qt.ItemDataRole.TextAlignmentRole else None


def set_up_items(table: QTableWidget, name: str, headings: Sequence[str] = ()) -> None:
    _set_up(table, name)
    table.setHorizontalHeaderLabels([sentence(code) for code in headings])
    table.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)


def _set_up(table: QTableView, name: str) -> None:
    table.setAccessibleName(name)
    table.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
    table.setTabKeyNavigation(False)  # Tab moves to the next widget, arrow keys within the table
    table.setShowGrid(False)
    table.setWordWrap(False)
    table.verticalHeader().hide()


def fill_items(table: QTableWidget, rows: Sequence[Sequence[str]]) -> None:
    table.setRowCount(len(rows))
    for number, texts in enumerate(rows):
        for place, text in enumerate(texts):
            table.setItem(number, place, QTableWidgetItem(text))


def fit_columns(table: QTableWidget, row_px: int) -> None:
    """Fit the columns of a small table to their texts, with left-aligned headings and uniform row heights."""
    header = table.horizontalHeader()
    header.setHighlightSections(False)
    header.setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
    header.setStretchLastSection(True)
    header.setDefaultAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
    table.verticalHeader().setDefaultSectionSize(row_px)


def set_up_table(table: QTableView, model: TableModel, name: str, row_px: int) -> None:
    table.setModel(model)
    _set_up(table, name)
    rows, header = table.verticalHeader(), table.horizontalHeader()
    rows.setSectionResizeMode(QHeaderView.ResizeMode.Fixed)  # Qt needn't query each of a hundred thousand rows
    rows.setDefaultSectionSize(row_px)
    header.setHighlightSections(False)
    # Use a selection model in which nothing is ever selected. Otherwise, painting the header would query the
    # selection of each cell, which takes seconds with a hundred thousand selected rows.
    header.setSelectionModel(QItemSelectionModel(model, table))
    header.setStretchLastSection(True)
    for number, column in enumerate(model.columns):
        if column.width_px is not None:
            header.resizeSection(number, column.width_px)


class FittingTable(QTableView):
    """A table that hides its last columns if they don't fit.

    Users can't resize its columns, because this would break the calculation.
    """

    def __init__(self) -> None:
        super().__init__()
        self.horizontalHeader().setSectionResizeMode(QHeaderView.ResizeMode.Fixed)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        model, used_px = self.model(), 0
        for number, column in enumerate(model.columns if isinstance(model, TableModel) else ()):
            used_px += column.width_px or LAST_PX
            self.setColumnHidden(number, number > 0 and used_px > self.viewport().width())


class TextTable(QTableWidget):
    """A table with a few rows of text, all of them visible. The surrounding area scrolls.

    In a narrow window, it hides columns of numbers, starting with the last one. The first one is always visible.
    """

    def __init__(self, name: str) -> None:
        super().__init__(0, 0)
        self._numbers = range(0)
        self._empty: set[int] = set()
        self._widths_px: list[int] = []
        set_up_items(self, name)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        fit_columns(self, TEXT_ROW_PX)

    def show_table(self, table: Table) -> None:
        """Show a plan's table. Columns of numbers are right-aligned, and hidden if empty.

        A row without a reason has its texts as tooltips.
        """
        headings, rows, tips = table.headings, table.rows, table.reasons
        numbers = range(table.left, len(headings) - 1)
        self.setColumnCount(len(headings))
        self.setHorizontalHeaderLabels(list(headings))
        self.setRowCount(len(rows))
        right = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        for number, texts in enumerate(rows):
            is_bold = bool(table.is_best) and table.is_best[number]
            for place, text in enumerate(texts):
                item = QTableWidgetItem(safe_text(text))
                item.setFont(tabular_font(TEXT_PX, QFont.Weight.DemiBold if is_bold else QFont.Weight.Normal))
                item.setToolTip(plain_tip((tips[number] if tips else "") or text))
                if place in numbers:
                    item.setTextAlignment(right)
                self.setItem(number, place, item)
        places = range(len(headings))
        for place in places:
            self.setColumnHidden(place, False)  # hidden headings would have no width
        header = self.horizontalHeader()
        self._widths_px = [max(self.sizeHintForColumn(place), header.sectionSizeHint(place)) for place in places]
        self._empty = {place for place in numbers if not any(texts[place] for texts in rows)}
        self._numbers = numbers
        self._fit()
        bar_px = self.horizontalScrollBar().sizeHint().height()
        self.setFixedHeight(TEXT_ROW_PX * len(rows) + self.horizontalHeader().sizeHint().height() + bar_px + 2)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def _fit(self) -> None:
        hidden = set(self._empty)
        for place in reversed(self._numbers[1:]):
            shown_px = sum(width_px for number, width_px in enumerate(self._widths_px) if number not in hidden)
            if shown_px <= self.viewport().width():
                break
            hidden.add(place)
        for place in range(len(self._widths_px)):
            self.setColumnHidden(place, place in hidden)
