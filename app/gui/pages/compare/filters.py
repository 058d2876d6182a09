"""The filters of the Compare page, in a window that opens below a button."""

from collections.abc import Sequence

from PySide6.QtCore import QPoint, Qt, Signal
from PySide6.QtWidgets import QComboBox, QFrame, QGridLayout, QWidget

from app.core.analysis.bars import Bar
from app.core.messages import sentence
from app.gui.pages.compare.table import bar_year
from app.gui.style.tokens import GAP_PX
from app.gui.widgets.basics import give_way, label
from app.gui.widgets.choice_box import ChoiceBox


class Filters(QFrame):
    """Boxes that select the displayed bars."""

    changed = Signal()

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent, Qt.WindowType.Popup)
        self.setObjectName("card")
        self.conditions = combo(
            sentence("compare_page.bars"),
            ((sentence("compare_page.one_each"), False), (sentence("compare_page.all_conditions"), True)),
        )
        self.match = combo(
            sentence("heading.match"),
            ((sentence("compare_page.all_matches"), ""), (sentence("compare_page.exact_only"), "exact")),
        )
        self.year = combo(sentence("heading.year"), ((sentence("compare_page.all_years"), None),))
        grid = QGridLayout(self)
        grid.setContentsMargins(2 * GAP_PX, 2 * GAP_PX, 2 * GAP_PX, 2 * GAP_PX)
        grid.setSpacing(GAP_PX)
        for number, box in enumerate((self.conditions, self.match, self.year)):
            grid.addWidget(label(box.accessibleName(), muted=True), number, 0)
            grid.addWidget(box, number, 1)
            box.currentIndexChanged.connect(self.changed)

    def fits(self, bar: Bar) -> bool:
        """Return whether a bar matches the filters. The user's own bar always does."""
        if bar.kind == "you":
            return True
        exact = self.match.currentData() != "exact" or bar.row is None or bar.row.match == "exact"
        return exact and self.year.currentData() in (None, bar_year(bar))

    def show_years(self, bars: Sequence[Bar]) -> None:
        years = sorted({year for bar in bars if (year := bar_year(bar))}, reverse=True)
        fill(self.year, [(sentence("compare_page.all_years"), None), *((str(year), year) for year in years)])

    def open_below(self, button: QWidget) -> None:
        self.adjustSize()
        self.move(button.mapToGlobal(QPoint(button.width() - self.width(), button.height() + 4)))
        self.show()


def combo(name: str, items: Sequence[tuple[str, object]]) -> QComboBox:
    result = ChoiceBox()
    result.setAccessibleName(name)
    result.setToolTip(name)
    give_way(result)
    fill(result, items)
    return result


def fill(box: QComboBox, items: Sequence[tuple[str, object]]) -> None:
    """Replace the items of a box. The selected item is kept if it is still available."""
    chosen = box.currentData()
    box.blockSignals(True)
    box.clear()
    for text, value in items:
        box.addItem(text, value)
    box.setCurrentIndex(max(0, box.findData(chosen)))
    box.blockSignals(False)
