"""Shared by all tables: headings with their widths, alignment, and rows of one height."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QPersistentModelIndex, Qt
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QTableView, QTableWidget

from app.core.messages import sentence

Index = QModelIndex | QPersistentModelIndex


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a table.

    Attributes:
        heading: Message code of the heading.
        width_px: Initial width; None to take the remaining room.
        is_number: Whether it is right-aligned.
    """

    heading: str
    width_px: int | None = None
    is_number: bool = False

    @property
    def alignment(self) -> Qt.AlignmentFlag:
        """Alignment of its texts."""
        side = Qt.AlignmentFlag.AlignRight if self.is_number else Qt.AlignmentFlag.AlignLeft
        return side | Qt.AlignmentFlag.AlignVCenter


class TableModel(QAbstractTableModel):
    """A table with fixed columns; subclasses provide the number of rows and the cells' content."""

    columns: Sequence[Column] = ()

    def count(self) -> int:
        """Return the number of rows."""
        raise NotImplementedError

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008 - Qt's own default
        """Return the number of rows."""
        return 0 if parent.isValid() else self.count()

    def columnCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008 - Qt's own default
        """Return the number of columns."""
        return 0 if parent.isValid() else len(self.columns)

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> Any:
        """Return a column's heading."""
        if orientation != Qt.Orientation.Horizontal:
            return None
        if role == Qt.ItemDataRole.DisplayRole:
            return sentence(self.columns[section].heading)
        return self.columns[section].alignment if role == Qt.ItemDataRole.TextAlignmentRole else None


def set_up_items(table: QTableWidget, name: str) -> None:
    """Give a small table, which is only read, the look of all tables and a name for screen readers."""
    table.setAccessibleName(name)
    table.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
    table.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
    table.setTabKeyNavigation(False)  # Tab moves on to the next widget; the arrow keys move inside
    table.setShowGrid(False)
    table.setWordWrap(False)
    table.verticalHeader().hide()


def fit_columns(table: QTableWidget, row_px: int) -> None:
    """Give a small table columns as wide as their texts, left-aligned headings, and rows of one height."""
    header = table.horizontalHeader()
    header.setHighlightSections(False)
    header.setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
    header.setStretchLastSection(True)
    header.setDefaultAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
    table.verticalHeader().setDefaultSectionSize(row_px)


def set_up_table(table: QTableView, model: TableModel, name: str, row_px: int) -> None:
    """Give a view its model and the look of all tables.

    Args:
        table: The view.
        model: Its model.
        name: Its name for screen readers.
        row_px: Height of its rows: the same for all, so that Qt need not ask for each of a hundred thousand.
    """
    table.setModel(model)
    table.setAccessibleName(name)
    table.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
    table.setShowGrid(False)
    table.setWordWrap(False)
    table.setTabKeyNavigation(False)  # Tab moves on to the next widget; the arrow keys move inside
    rows, header = table.verticalHeader(), table.horizontalHeader()
    rows.hide()
    rows.setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
    rows.setDefaultSectionSize(row_px)
    header.setHighlightSections(False)
    header.setStretchLastSection(True)
    for number, column in enumerate(model.columns):
        if column.width_px is not None:
            header.resizeSection(number, column.width_px)
