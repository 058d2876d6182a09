"""The search field above the results, and the choice of whose results to show."""

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QLineEdit, QWidget

from app.core.messages import sentence
from app.gui.widgets.basics import give_way, row, set_tip
from app.gui.widgets.choice_box import ChoiceBox
from app.gui.widgets.timers import timer

TYPING_MS = 150
OWN, IMPORTED, ALL = "own", "imported", "all"


class Filters(QWidget):
    """A search field and, if there are imported results, a box for their owner."""

    changed = Signal()  # The search text has changed. While the user types, this is delayed.
    source_chosen = Signal(str)  # the user chose to show their own, imported or all results

    def __init__(self) -> None:
        super().__init__()
        self.search = QLineEdit(placeholderText=sentence("results_page.filter_hint"), clearButtonEnabled=True)
        self.search.setAccessibleName(sentence("shortcuts.filter"))
        set_tip(self.search, sentence("results_page.filter_tip"))
        self._typing = timer(self, TYPING_MS, once=True)
        self._typing.timeout.connect(self.changed)
        self.search.textChanged.connect(lambda _: self._typing.start())
        self.source = ChoiceBox(sentence("heading.source"))
        for source in (OWN, IMPORTED, ALL):
            self.source.addItem(sentence(f"results_page.source_{source}"), source)
        give_way(self.source)
        self.source.currentIndexChanged.connect(lambda _: self.source_chosen.emit(self.source.currentData()))
        self.source.hide()
        self.setLayout(row(self.search, self.source, stretch=0))

    def offer_source(self, *, offered: bool) -> None:
        self.source.setVisible(offered or self.source.currentData() != OWN)
