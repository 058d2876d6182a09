"""The table of stored runs, with keyboard, mouse and selection handling."""

from itertools import groupby

from PySide6.QtCore import (
    QItemSelection,
    QItemSelectionModel,
    QItemSelectionRange,
    QModelIndex,
    QPoint,
    Qt,
    Signal,
)
from PySide6.QtGui import QContextMenuEvent, QKeyEvent, QPainter, QResizeEvent
from PySide6.QtWidgets import QAbstractItemView, QStyledItemDelegate, QStyleOptionViewItem, QTableView

from app.core.messages import sentence
from app.gui.pages.results.columns import COMMENT, STARTED, ColumnFitter
from app.gui.pages.results.model import RunsModel
from app.gui.widgets.tables import Index, set_up_table

ROW_PX = 34


class _Cells(QStyledItemDelegate):
    """Paints the background of runs below a group, because the style sheet can't."""

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        background = index.data(Qt.ItemDataRole.BackgroundRole)
        if background is not None:
            painter.fillRect(option.rect, background)
        super().paint(painter, option, index)


class RunsTable(QTableView):
    """A table of runs and groups. The selection is preserved when the rows or their order change.

    `menu_wanted` asks for the context menu of the selected rows at a position on the screen.
    """

    menu_wanted = Signal(QPoint)

    def __init__(self, model: RunsModel) -> None:
        super().__init__()
        self._model = model
        self._chosen: set[int] = set()
        self._current = (0, 0)
        set_up_table(self, model, sentence("results_page.table"), ROW_PX)
        self._columns = ColumnFitter(self)
        header = self.horizontalHeader()
        self.setItemDelegate(_Cells(self))
        self.setEditTriggers(QAbstractItemView.EditTrigger.EditKeyPressed)
        header.setSortIndicator(STARTED, Qt.SortOrder.DescendingOrder)  # as in the model's first query
        self.setSortingEnabled(True)
        model.is_typed_in = lambda: self.state() == QAbstractItemView.State.EditingState
        self.itemDelegate().closeEditor.connect(model.catch_up)
        # Connected after the view's own slots, which clear the selection.
        model.modelAboutToBeReset.connect(self._keep)
        model.modelReset.connect(self._restore)
        model.found.connect(self._on_found)
        self.clicked.connect(self._on_clicked)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._columns.fit()

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        """Request the context menu for the row under the mouse or, if opened by keyboard, for the current row."""
        by_mouse = event.reason() == QContextMenuEvent.Reason.Mouse
        index = self.indexAt(event.pos()) if by_mouse else self.currentIndex()
        if not index.isValid():
            return
        if not self.selectionModel().isRowSelected(index.row()):
            self.setCurrentIndex(index)
        below = self.visualRect(index).bottomLeft()
        self.menu_wanted.emit(event.globalPos() if by_mouse else self.viewport().mapToGlobal(below))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Expand and collapse groups with Right and Left. In a run's first cell, Left moves to its group."""
        index, model = self.currentIndex(), self._model
        row = index.row()
        if not index.isValid() or event.modifiers() != Qt.KeyboardModifier.NoModifier:
            super().keyPressEvent(event)
        elif event.key() in (Qt.Key.Key_Left, Qt.Key.Key_Right) and model.is_group(row):
            if model.is_opened(row) == (event.key() == Qt.Key.Key_Left):
                model.toggle(row)
        elif (
            event.key() == Qt.Key.Key_Left
            and index.column() == 0
            and (above := model.group_row_of(row)) is not None
        ):
            self.setCurrentIndex(model.index(above, index.column()))
        else:
            super().keyPressEvent(event)

    def edit_name(self) -> None:
        if len(rows := self._selected_rows()) == 1:
            index = self._model.index(rows[0], COMMENT)
            self.scrollTo(index)
            self.edit(index)

    def selected_rows(self) -> list[int]:
        return [self._model.rows[row] for row in self._selected_rows()]

    def selected_ids(self) -> list[int]:
        return self._model.ids_of(self.selected_rows())

    def _selected_rows(self) -> list[int]:
        # Use ranges, because a hundred thousand selected rows form a single range.
        selection = self.selectionModel().selection()
        parts = [selection.at(number) for number in range(selection.count())]
        return sorted({row for part in parts for row in range(part.top(), part.bottom() + 1)})

    def _on_found(self, _: int) -> None:
        history = self._model.shown
        self._columns.show_contents(history.workloads, has_groups=bool(history.groups))

    def _on_clicked(self, index: QModelIndex) -> None:
        if index.column() == STARTED and self._model.is_group(index.row()):
            self._model.toggle(index.row())

    def _keep(self) -> None:
        index = self.currentIndex()
        self._chosen = set(self.selected_rows())
        self._current = (self._model.rows[index.row()] if index.isValid() else 0, index.column())

    def _restore(self) -> None:
        model, flags = self._model, QItemSelectionModel.SelectionFlag
        rows = [row for row, entry in enumerate(model.rows) if entry in self._chosen]
        selection = QItemSelection()
        for _, pairs in groupby(enumerate(rows), lambda pair: pair[1] - pair[0]):
            part = [row for _, row in pairs]
            selection.append(QItemSelectionRange(model.index(part[0], 0), model.index(part[-1], COMMENT)))
        self.selectionModel().select(selection, flags.ClearAndSelect)
        entry, place = self._current
        if entry in model.rows:
            current = model.index(model.rows.index(entry), place)
            # Don't scroll away from the visible rows.
            self.setAutoScroll(False)
            self.selectionModel().setCurrentIndex(current, flags.NoUpdate)
            self.setAutoScroll(True)
