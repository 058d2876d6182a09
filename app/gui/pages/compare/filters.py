"""The filters of the Compare page, in a window that opens below their button."""

from collections.abc import Sequence

from PySide6.QtCore import QPoint, Qt, Signal
from PySide6.QtWidgets import QComboBox, QFrame, QGridLayout, QWidget

from app.core.analysis.compare import Bar
from app.core.messages import sentence
from app.gui.pages.compare.table import bar_year, device_kind
from app.gui.style.theme import Theme
from app.gui.style.tokens import GAP_PX
from app.gui.widgets.basics import Button, give_way, label
from app.gui.widgets.choice_box import ChoiceBox
from app.gui.widgets.segments import Segments


class Filters(QFrame):
    """Boxes that select the displayed bars, and the scale of the chart."""

    changed = Signal()

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent, Qt.WindowType.Popup)
        self.setObjectName("card")
        self.button = Button(theme, sentence("compare_page.filter"), "sliders-horizontal", gives_way=True)
        self.button.clicked.connect(self._open)
        self.device = combo(
            sentence("setting.device"),
            (
                (sentence("compare_page.all_devices"), ""),
                (sentence("compare_page.cpus"), "cpu"),
                (sentence("compare_page.gpus"), "gpu"),
                (sentence("compare_page.tpus"), "tpu"),
            ),
        )
        self.conditions = combo(
            sentence("compare_page.bars"),
            ((sentence("compare_page.one_each"), False), (sentence("compare_page.all_conditions"), True)),
        )
        self.several = combo(
            sentence("compare_page.several"),
            ((sentence("compare_page.single_gpus"), False), (sentence("compare_page.several_too"), True)),
        )
        self.match = combo(
            sentence("heading.match"),
            ((sentence("compare_page.all_matches"), ""), (sentence("compare_page.exact_only"), "exact")),
        )
        self.year = combo(sentence("heading.year"), ((sentence("compare_page.all_years"), None),))
        self.limit = combo(sentence("compare_page.own_runs"), ())
        self.scale = Segments(
            theme,
            sentence("compare_page.scale"),
            (("log", sentence("benchmark.log")), ("linear", sentence("compare_page.linear"))),
        )
        self.scale.select("log")
        grid = QGridLayout(self)
        grid.setContentsMargins(2 * GAP_PX, 2 * GAP_PX, 2 * GAP_PX, 2 * GAP_PX)
        grid.setSpacing(GAP_PX)
        boxes = (self.conditions, self.device, self.several, self.match, self.year, self.limit, self.scale)
        for number, box in enumerate(boxes):
            grid.addWidget(label(box.accessibleName(), muted=True), number, 0)
            grid.addWidget(box, number, 1)
        for each in (self.device, self.conditions, self.several, self.match, self.year):
            each.currentIndexChanged.connect(self._on_changed)
        self.scale.chosen.connect(self.changed)

    def fits(self, bar: Bar) -> bool:
        """Return whether a bar matches the filters. The user's own bar always does."""
        if bar.kind == "you":
            return True
        if bar.row is not None and bar.row.has_several and not self.several.currentData():
            return False
        kind, year = self.device.currentData(), self.year.currentData()
        exact = self.match.currentData() != "exact" or bar.row is None or bar.row.match == "exact"
        return exact and kind in ("", device_kind(bar)) and year in (None, bar_year(bar))

    def show_years(self, bars: Sequence[Bar]) -> None:
        years = sorted({year for bar in bars if (year := bar_year(bar))}, reverse=True)
        fill(self.year, [(sentence("compare_page.all_years"), None), *((str(year), year) for year in years)])

    def _on_changed(self) -> None:
        boxes = (self.device, self.conditions, self.several, self.match, self.year)
        count = sum(box.currentIndex() > 0 for box in boxes)
        code = "compare_page.filtered" if count else "compare_page.filter"
        self.button.setText(sentence(code, **({"count": count} if count else {})))
        self.changed.emit()

    def _open(self) -> None:
        self.adjustSize()
        below = self.button.mapToGlobal(QPoint(self.button.width() - self.width(), self.button.height() + 4))
        self.move(below)
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
