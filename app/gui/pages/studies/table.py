"""The table of a study's points."""

from PySide6.QtCore import Qt
from PySide6.QtGui import QFont
from PySide6.QtWidgets import QFrame, QTableWidget, QTableWidgetItem

from app.core.messages import sentence
from app.core.studies.findings import findings
from app.core.studies.points import StudyResult
from app.core.studies.tables import study_table
from app.gui.style.theme import figures
from app.gui.style.tokens import TEXT_PX
from app.gui.widgets.basics import plain_tip
from app.gui.widgets.tables import fit_columns, set_up_items

ROW_PX = 28


class StudyTable(QTableWidget):
    """Shows a line for each point; those within 5 % of the fastest are bold."""

    def __init__(self) -> None:
        super().__init__(0, 0)
        set_up_items(self, sentence("studies_page.table"))
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        fit_columns(self, ROW_PX)

    def show_study(self, result: StudyResult) -> None:
        """Show a study, finished or not; columns without a value are hidden."""
        table = study_table(result)
        self.setColumnCount(len(table.headings))
        self.setHorizontalHeaderLabels(table.headings)
        self.setRowCount(len(table.rows))
        right = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        for number, texts in enumerate(table.rows):
            point = result.points[number]
            for place, text in enumerate(texts):
                item = QTableWidgetItem(text)
                weight = QFont.Weight.DemiBold if table.is_best[number] else QFont.Weight.Normal
                item.setFont(figures(TEXT_PX, weight))
                item.setToolTip(plain_tip(point.reason or text))
                if table.left <= place < len(texts) - 1:
                    item.setTextAlignment(right)
                self.setItem(number, place, item)
        for place in range(table.left, len(table.headings)):
            self.setColumnHidden(place, not any(texts[place] for texts in table.rows))
        # All rows: what is around it scrolls.
        bar_px = self.horizontalScrollBar().sizeHint().height()
        self.setFixedHeight(ROW_PX * len(table.rows) + self.horizontalHeader().sizeHint().height() + bar_px + 2)
        self.setAccessibleDescription(" ".join(findings(result)))
