"""A table that shows the results of a comparison of engines, fastest first for each workload."""

from collections.abc import Sequence

from PySide6.QtGui import QFont
from PySide6.QtWidgets import QFrame, QTableWidget, QTableWidgetItem

from app.core.messages import sentence
from app.core.metrics import amount_text, format_value, headline_kind
from app.core.plans.engines import Cell, WorkloadRow
from app.core.titles import workload_title
from app.gui.style.theme import tabular_font
from app.gui.style.tokens import TEXT_PX
from app.gui.widgets.basics import plain_tip
from app.gui.widgets.tables import fit_columns, set_up_items
from workloads.engines.registry import engine_title

ROW_PX = 30
_HEADINGS = ("label.workload", "setting.engine", "heading.median", "engine_page.factor")


class EngineTable(QTableWidget):
    """Shows a row for each engine and workload, fastest first."""

    def __init__(self) -> None:
        super().__init__(0, len(_HEADINGS))
        set_up_items(self, sentence("engine_page.table"), _HEADINGS)
        self.setFrameShape(QFrame.Shape.NoFrame)
        fit_columns(self, ROW_PX)

    def show_rows(self, rows: Sequence[WorkloadRow]) -> None:
        self.setColumnHidden(0, len(rows) == 1)
        units = {headline_kind(row.metric).short_unit for row in rows}
        heading = self.horizontalHeaderItem(2)
        if heading is not None:
            heading.setText(next(iter(units)) if len(units) == 1 else sentence("heading.median"))
        lines = [(row, cell) for row in rows for cell in _fastest_first(row)]
        self.setRowCount(len(lines))
        for number, (row, cell) in enumerate(lines):
            is_first = number == 0 or lines[number - 1][0] is not row
            texts = (
                workload_title(row.workload) if is_first else "",
                engine_title(cell.engine),
                _value(row, cell, units),
                _factor(cell),
            )
            for place, text in enumerate(texts):
                item = QTableWidgetItem(text)
                item.setToolTip(plain_tip(_rounds(row, cell) if place == 2 else text))
                item.setFont(
                    tabular_font(TEXT_PX, QFont.Weight.DemiBold if cell in row.fastest else QFont.Weight.Normal)
                )
                self.setItem(number, place, item)
        self.setAccessibleDescription(" ".join(row.sentence() for row in rows))


def _fastest_first(row: WorkloadRow) -> list[Cell]:
    sign = -1 if headline_kind(row.metric).is_rate else 1
    return sorted(row.cells, key=lambda cell: (cell.median is None, sign * (cell.median or 0.0)))


def _value(row: WorkloadRow, cell: Cell, units: set[str]) -> str:
    """Format a median. The unit is included only if the heading doesn't contain it."""
    if cell.median is None:
        return sentence("cli.no_result")
    if len(units) == 1:
        return format_value(row.metric, cell.median)
    return amount_text(row.metric, cell.median, is_short=True)


def _rounds(row: WorkloadRow, cell: Cell) -> str:
    values = ["n/a" if value is None else format_value(row.metric, value) for value in cell.values]
    return sentence("engine_page.rounds", values=values)


def _factor(cell: Cell) -> str:
    """Describe an engine's time as a multiple of the fastest engine's, with the interval if there is one."""
    against = cell.against_fastest
    if cell.is_fastest:
        return sentence("engine_page.fastest")
    if cell.median is None or against.ratio is None:
        return ""
    arguments = {"times": 1 / against.ratio}
    if against.low is None or against.high is None:
        return sentence("studies.times", **arguments)
    arguments |= {"low": 1 / against.high, "high": 1 / against.low}
    return sentence("engine_page.level" if cell.is_level else "engine_page.times_within", **arguments)
