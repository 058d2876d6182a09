"""A run's single numbers with labels, for workloads without epochs or losses."""

from collections.abc import Mapping

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QAbstractItemView, QFrame, QHeaderView, QTableWidget, QTableWidgetItem

from app.core.messages import sentence
from app.core.metrics import metric_lines
from app.gui.style.theme import tabular_font
from app.gui.style.tokens import TEXT_PX
from app.gui.widgets.tables import set_up_items

ROW_PX = 26


class MetricTable(QTableWidget):
    """Shows labels and values in two columns."""

    def __init__(self) -> None:
        super().__init__(0, 2)
        set_up_items(self, sentence("chart.figures"))
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setSelectionMode(QAbstractItemView.SelectionMode.NoSelection)
        self.horizontalHeader().hide()
        self.horizontalHeader().setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)
        self.horizontalHeader().setSectionResizeMode(1, QHeaderView.ResizeMode.ResizeToContents)
        self.verticalHeader().setMinimumSectionSize(ROW_PX)
        self.verticalHeader().setDefaultSectionSize(ROW_PX)
        self._shown: list[tuple[str, str]] = []

    def show_metrics(self, metrics: Mapping[str, float | None]) -> None:
        """Show the numbers; does nothing if they haven't changed."""
        lines = metric_lines(metrics)
        if lines == self._shown:
            return
        self._shown = lines
        self.setRowCount(len(lines))
        for number, (name, value) in enumerate(lines):
            self.setItem(number, 0, QTableWidgetItem(name))
            cell = QTableWidgetItem(value)
            cell.setFont(tabular_font(TEXT_PX))
            cell.setTextAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
            self.setItem(number, 1, cell)
