"""Imported results, separate from the user's own: a table and a detail view."""

from collections.abc import Sequence
from functools import partial
from typing import Any

from PySide6.QtCore import QModelIndex, QPoint, Qt, Signal
from PySide6.QtGui import QColor, QFont, QKeySequence, QShortcut
from PySide6.QtWidgets import QAbstractItemView, QLabel, QSizePolicy, QWidget

from app.core.analysis.comparability import engine_name
from app.core.clock import local_time
from app.core.exchange.preview import preview
from app.core.external_results import ImportedResult
from app.core.messages import sentence
from app.core.plain_text import safe_text
from app.core.report.card import Table
from app.core.result_file.record import Result
from app.core.storage.database import Database
from app.core.storage.imported_results import list_results, load_result
from app.core.titles import verdict_title
from app.gui.pages.results.cells import cell_text
from app.gui.pages.results.commands import RunCommands
from app.gui.pages.results.filters import OWN, Filters
from app.gui.pages.results.model import RunsModel
from app.gui.services.bundle import Services
from app.gui.services.removal import remove_imported
from app.gui.services.tasks import Latest
from app.gui.style.theme import font
from app.gui.style.tokens import GAP_PX
from app.gui.widgets.basics import Button, Card, Tone, column, label, plain_tip, row, scrolled
from app.gui.widgets.tables import Column, FittingTable, Index, TableModel, TextTable, set_up_table

# Maximum number of rows. Only the newest results are shown.
ROWS_LIMIT = 1_000
ROW_PX = 34
_COLUMNS = (
    Column("heading.computer", 132),
    Column("label.workload", 168),
    Column("heading.result", 160, is_number=True),
    Column("heading.verdict", 84),
    Column("heading.software", 144),
    Column("heading.uid", 124),
    Column("heading.imported", 144),
    Column("heading.file"),
)
PILL_PX = 24


class Pill(QLabel):
    """A short fact in a rounded frame."""

    def __init__(self, text: str = "", tone: Tone = "") -> None:
        super().__init__(safe_text(text))
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setFont(font(12, QFont.Weight.Medium))
        self.setFixedHeight(PILL_PX)
        self.setProperty("pill", True)
        self.setProperty("tone", tone)
        self.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Fixed)


class TextModel(TableModel):
    """Rows of text. The first cell of each row may have a coloured marker."""

    columns = _COLUMNS

    def __init__(self) -> None:
        super().__init__()
        self.texts: Sequence[Sequence[str]] = ()
        self.colour = ""

    def show_texts(self, texts: Sequence[Sequence[str]]) -> None:
        self.beginResetModel()
        self.texts = texts
        self.endResetModel()

    def count(self) -> int:
        return len(self.texts)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return self.columns[index.column()].alignment
        if role == Qt.ItemDataRole.DecorationRole and not index.column() and self.colour:
            return QColor(self.colour)
        text = self.texts[index.row()][index.column()]
        if role == Qt.ItemDataRole.ToolTipRole:
            return plain_tip(text)
        return text if role == Qt.ItemDataRole.DisplayRole else None


class ImportedCard(Card):
    """A card with the imported results that match the filters. `opened` passes on all details of a result."""

    opened = Signal(object, object)
    changed = Signal()  # a result was removed

    def __init__(self, services: Services, filters: Filters, model: RunsModel) -> None:
        super().__init__(sentence("imports_page.not_verified"))
        # The owner filter is hidden without imported results, and the search field gets its space.
        model.found.connect(lambda _: filters.offer_source(offered=model.has_imported))
        self._services, self._filters = services, filters
        self._latest = Latest()
        self._results: list[ImportedResult] = []
        self.table = FittingTable()
        self.rows = TextModel()
        set_up_table(self.table, self.rows, sentence("imports_page.table"), ROW_PX)
        self.table.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.table.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.nothing = label(sentence("imports_page.nothing"), muted=True, wrap=True)
        self.nothing.setAlignment(Qt.AlignmentFlag.AlignCenter)
        handlers = {"open": self._open, "delete": self._remove}
        self.commands = RunCommands(services.theme, self.table, handlers, with_keys=("delete",))
        for code in handlers:
            self.corner.addWidget(self.commands.button(code))
        self.body.addWidget(self.table, stretch=1)
        self.body.addWidget(self.nothing, stretch=1)
        self.table.activated.connect(self._open)
        self.table.customContextMenuRequested.connect(self._on_menu)
        self.table.selectionModel().selectionChanged.connect(self._on_selected)
        services.theme.changed.connect(self._colour)
        for signal in (filters.changed, filters.source_chosen, self.changed):
            signal.connect(lambda *_: self.refresh())
        self._colour()
        self._show([])
        self.refresh()

    @property
    def results(self) -> list[ImportedResult]:
        return self._results

    def refresh(self) -> None:
        """Reload the results that match the filters. Hide the card if only the user's own runs are wanted."""
        is_wanted = self._filters.source.currentData() != OWN
        self.setVisible(is_wanted)
        if not is_wanted:
            return
        words = self._filters.search.text().casefold().split()

        def look(database: Database) -> list[ImportedResult]:
            return [each for each in list_results(database, limit=ROWS_LIMIT) if _has(each, words)]

        self._services.query(look, self._latest.only(self._show))

    def remove(self, result: ImportedResult | None) -> None:
        if result is not None:
            remove_imported(self._services, result, self.changed.emit)

    def _show(self, results: list[ImportedResult]) -> None:
        self._results = results
        self.rows.show_texts([_texts(each) for each in results])
        count = len(results)
        self.note.show_text(sentence("imports_page.count", count=count) if count else "")
        self.table.setVisible(bool(results))
        self.nothing.setVisible(not results)
        self._on_selected()

    def _chosen(self) -> ImportedResult | None:
        indexes = self.table.selectionModel().selectedRows()
        return self._results[indexes[0].row()] if indexes else None

    def _open(self, index: QModelIndex | None = None) -> None:
        result = self._results[index.row()] if index is not None and index.isValid() else self._chosen()
        if result is None:
            return
        number = result.id
        self._services.query(lambda database: load_result(database, number), partial(self.opened.emit, result))

    def _remove(self) -> None:
        self.remove(self._chosen())

    def _on_selected(self, *_: object) -> None:
        self.commands.allow(dict.fromkeys(("open", "delete"), self._chosen() is not None))

    def _on_menu(self, at: QPoint) -> None:
        if self._chosen() is not None:
            self.commands.open_menu(self.table.viewport().mapToGlobal(at))

    def _colour(self) -> None:
        self.rows.colour = self._services.theme.tokens.pink  # the same colour as bars of imported results
        self.rows.layoutChanged.emit()


class ImportedDetail(QWidget):
    """Displays an imported result. The contents are created on first use."""

    left = Signal()

    def __init__(self, services: Services, card: ImportedCard) -> None:
        super().__init__()
        self._theme, self._card = services.theme, card
        card.opened.connect(self.show_result)
        card.changed.connect(self.left)
        self._result: ImportedResult | None = None

    def _make(self) -> None:
        theme = self._theme
        self.back_button = Button(
            theme, sentence("results_page.all_results"), "arrow-left", kind="flat", gives_way=True, do=self.left
        )
        self.place = label(weight=QFont.Weight.DemiBold)
        self.remove_button = Button(theme, sentence("button.delete"), "trash-2", gives_way=True)
        self.remove_button.clicked.connect(lambda: self._card.remove(self._result))
        self.words = TextTable(sentence("imports_page.in_words"))
        card = Card(sentence("imports_page.in_words"))
        card.body.addWidget(scrolled(self.words, None))
        pill = Pill(sentence("imports_page.not_verified"), "caution")
        head = row(self.back_button, self.place, pill, None, self.remove_button)
        self.setLayout(column(head, card, spacing_px=GAP_PX, stretch=1))
        keys = QKeySequence(QKeySequence.StandardKey.Cancel)
        QShortcut(keys, self, self.left.emit, context=Qt.ShortcutContext.WidgetWithChildrenShortcut)

    def show_result(self, result: ImportedResult, whole: Result) -> None:
        if self.layout() is None:
            self._make()
        self._result = result
        self.place.setText(sentence("imports_page.imported_as", number=result.id, name=result.label))
        origin = sentence("imports_page.origin", file=result.source, at=local_time(result.imported_at))
        rows = [(field.label, field.text) for field in preview(whole)]
        rows += [(sentence("heading.uid"), result.uid), (sentence("heading.source"), origin)]
        headings = [sentence(code) for code in ("heading.field", "heading.value")]
        self.words.show_table(Table(tuple(headings), tuple(map(tuple, rows)), left=len(headings)))


def _texts(result: ImportedResult) -> tuple[str, ...]:
    summary = result.summary
    return (
        result.label,
        cell_text(summary, "workload"),
        cell_text(summary, "value"),
        verdict_title(summary.verdict),
        engine_name(summary.engine, summary.engine_version),
        result.uid,
        local_time(result.imported_at),
        result.source,
    )


def _has(result: ImportedResult, words: Sequence[str]) -> bool:
    summary = result.summary
    text = " ".join((*_texts(result), summary.workload, summary.device or "", summary.comment or "")).casefold()
    return all(word in text for word in words)
