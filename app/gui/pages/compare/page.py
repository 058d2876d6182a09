"""The Compare page: ranks the user's runs among published and imported results, as bars or as a table."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TypeAlias

from PySide6.QtCore import QPoint, Qt, Signal
from PySide6.QtGui import QAction, QContextMenuEvent, QFont, QShowEvent
from PySide6.QtWidgets import QComboBox, QFrame, QGridLayout, QMenu, QStackedWidget, QVBoxLayout, QWidget

from app.core.analysis.bars import Bar, bars, by_work, find_baseline, one_each, shared_remarks
from app.core.analysis.comparability import left_out, left_out_imports, run_refusal
from app.core.analysis.own_runs import best_and_latest, best_first, own_name
from app.core.analysis.position import chart_note, friend_answer, position
from app.core.analysis.published import ranks_float32
from app.core.engines.choices import device_choices
from app.core.external_results import ImportedResult
from app.core.messages import sentence
from app.core.plain_text import joined
from app.core.records import RunSummary
from app.core.report.formats.table_text import TABLE_FORMS
from app.core.storage.database import Database
from app.core.storage.imported_results import SHOWN_LIMIT, list_results
from app.core.storage.queries import own_runs
from app.core.storage.runs import list_runs
from app.core.titles import workload_title
from app.gui.charts.bar_list import BarList
from app.gui.charts.bars import bar_key
from app.gui.pages.compare.table import CompareTable, bar_year
from app.gui.run.workload_box import WorkloadBox
from app.gui.services.bundle import Services
from app.gui.services.removal import remove_imported
from app.gui.services.tasks import Latest
from app.gui.style.tokens import GAP_PX, LABEL_PX, TITLE_PX
from app.gui.widgets.basics import (
    Button,
    Card,
    ClampedLabel,
    ElidedLabel,
    column,
    give_way,
    label,
    row,
    scrolled,
    title,
)
from app.gui.widgets.choice_box import ChoiceBox
from workloads import CATALOGUE
from workloads.engines.registry import ENGINES

OWN_LIMIT = 100
SELECTED_LIMIT = 1_000  # number of runs to load, enough for all that can be shown
ROW_PX, COMBO_MAX_PX = 64, 300
_Answer: TypeAlias = "tuple[list[RunSummary], list[ImportedResult]]"
LINES_LIMIT, NAMES_LIMIT = 4, 10


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


class ComparePage(QWidget):
    """Displays the user's runs and published results, fastest first, and says in words who is faster."""

    run_chosen = Signal(int)
    import_wanted = Signal()
    run_wanted = Signal(str)

    def __init__(self, services: Services) -> None:
        super().__init__()
        self._services = services
        self._latest = Latest()
        self._runs: list[RunSummary] = []
        self._imported: list[ImportedResult] = []
        self.all_bars: list[Bar] = []
        self._chosen_baseline = ""
        self._selected: tuple[int, ...] = ()
        self._opened: set[str] = set()  # short names of the devices whose results are all shown
        self._pointed: Bar | None = None
        self._make_controls()
        self.bar_list = BarList(services.theme, row_max_px=ROW_PX, detailed=True)
        self.table = CompareTable()
        self.nothing = label(sentence("compare_page.nothing"), muted=True)
        self.nothing.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.answer = ElidedLabel("", TITLE_PX, QFont.Weight.DemiBold)
        self.note = ClampedLabel(2, LABEL_PX)
        self.reasons = label(muted=True, wrap=True)
        self._lay_out()
        self._connect()
        self._show_runs([])

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self.refresh()

    def refresh(self) -> None:
        workload, selected = self.workload.currentData(), self._selected

        def look(database: Database) -> _Answer:
            if selected:
                runs = [run for run in list_runs(database, ids=selected) if run.value is not None]
            else:
                runs = best_first(best_and_latest(own_runs(database, workload, OWN_LIMIT)))
            return runs, list_results(database, workload, SHOWN_LIMIT)

        self._services.query(look, self._latest.only(self._on_found))

    def show_runs(self, ids: Sequence[int]) -> None:
        """Compare the newest of these runs with published results. The very newest is labelled as the user's."""

        def look(database: Database) -> list[RunSummary]:
            runs = list_runs(database, ids=ids, limit=SELECTED_LIMIT)
            return [run for run in runs if run.value is not None]

        self._services.query(look, self._on_selected)

    def show_workload(self, workload: str) -> None:
        if (place := self.workload.findData(workload)) >= 0:
            self.workload.setCurrentIndex(place)

    def show_drag(self, *, is_dragging: bool) -> None:
        self.drop_line.setProperty("lit", is_dragging)
        self.drop_line.style().unpolish(self.drop_line)
        self.drop_line.style().polish(self.drop_line)

    def _on_selected(self, runs: list[RunSummary]) -> None:
        place = self.workload.findData(runs[0].workload) if runs else -1
        if place < 0:
            code = "compare_page.not_here" if runs else "compare_page.none_has_result"
            text = sentence(code, workload=workload_title(runs[0].workload)) if runs else sentence(code)
            self._services.notify(text, "caution", "", None)
            return
        self.workload.setCurrentIndex(place)
        self._selected = tuple(run.id for run in runs[:OWN_LIMIT])
        self._chosen_baseline = ""
        self.refresh()

    def _make_controls(self) -> None:
        theme = self._services.theme
        self.workload = WorkloadBox(self._services, lambda workload: not workload.is_demo)
        self.baseline = combo(sentence("compare_page.baseline"), ())
        self.baseline.setPlaceholderText(sentence("compare_page.no_baseline"))
        self.import_button = Button(theme, sentence("button.import"), "folder-open", gives_way=True)
        self.filters = Filters(self)
        self.more_button = Button(theme, "", "ellipsis", name=sentence("results_page.more"))
        self.more = QMenu(self)
        self.as_table = self._entry("label.table", self.draw, checkable=True)
        self.by_work = self._entry("compare_page.by_work", self.draw, checkable=True)
        self._entry("compare_page.filter", partial(self.filters.open_below, self.more_button))
        copies = self.more.addMenu(sentence("compare_page.copy_table"))
        for form in TABLE_FORMS:
            copies.addAction(sentence(f"table_form.{form}"), partial(self.copy, form))
        self.more_button.clicked.connect(self._open_more)

    def _entry(self, code: str, do: object, *, checkable: bool = False) -> QAction:
        entry = self.more.addAction(sentence(code))
        entry.setCheckable(checkable)
        (entry.toggled if checkable else entry.triggered).connect(do)
        return entry

    def _lay_out(self) -> None:
        self.stack = QStackedWidget()
        for page in (scrolled(self.bar_list, None), self.table, self.nothing):
            self.stack.addWidget(page)
        self.card = Card()
        self.card.body.addWidget(self.answer)
        self.card.body.addWidget(self.stack, stretch=1)
        self.card.body.addWidget(self.note)
        self.card.body.addWidget(self.reasons)
        self.drop_line = label(sentence("compare_page.drop"), muted=True)
        self.drop_line.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.drop_line.setObjectName("dropLine")
        self.card.body.addWidget(self.drop_line)
        head = row(title(sentence("page.compare")), None, self.import_button, self.more_button)
        first = row(
            label(sentence("label.workload"), muted=True),
            self.workload,
            label(sentence("compare_page.baseline"), muted=True),
            self.baseline,
            None,
        )
        for number in (1, 3):
            first.setStretch(number, 1)
        for box in (self.workload, self.baseline):
            box.setMaximumWidth(COMBO_MAX_PX)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(3 * GAP_PX, 2 * GAP_PX, 3 * GAP_PX, 2 * GAP_PX)
        layout.addLayout(column(head, first, self.card, spacing_px=GAP_PX + 4, stretch=2))

    def _connect(self) -> None:
        self.workload.currentIndexChanged.connect(self._on_workload)
        self.baseline.activated.connect(self._on_baseline)
        self.filters.changed.connect(self.draw)
        self.bar_list.slot_chosen.connect(lambda: self.run_wanted.emit(self.workload.currentData()))
        self.bar_list.chosen.connect(self._on_bar)
        self.import_button.clicked.connect(self.import_wanted)
        self.bar_list.pointed.connect(self._on_pointed)
        bridge = self._services.bridge
        bridge.ended.connect(self._on_ended)
        for changed in (bridge.started, bridge.ended, bridge.refused, self._services.engines.changed):
            changed.connect(self.draw)

    def _open_more(self) -> None:
        self.more.popup(self.more_button.mapToGlobal(self.more_button.rect().bottomLeft()))

    def _on_bar(self, bar: Bar) -> None:
        if bar.run is not None:
            self.run_chosen.emit(bar.run.id)
        elif bar.row is not None:
            self._opened ^= {bar.row.short_name}
            self.draw()

    def _on_workload(self) -> None:
        self._chosen_baseline, self._selected, self._imported = "", (), []
        self._opened = set()
        self._show_runs([])
        self.refresh()

    def _on_baseline(self) -> None:
        self._chosen_baseline = self.baseline.currentData()
        self.draw()

    def _on_ended(self, _: int) -> None:
        if self.isVisible():
            self.refresh()

    def _on_found(self, answer: _Answer) -> None:
        runs, self._imported = answer
        self._show_runs(runs)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        bar = self._pointed
        if bar is None or (bar.run is None and bar.imported is None):
            return
        menu = QMenu(self)
        if bar.run is not None:
            menu.addAction(sentence("button.open"), partial(self.run_chosen.emit, bar.run.id))
        if bar.imported is not None:
            remove = partial(remove_imported, self._services, bar.imported, self.refresh)
            menu.addAction(sentence("compare_page.remove_result"), remove)
        menu.popup(event.globalPos())

    def _on_pointed(self, bar: Bar | None) -> None:
        self._pointed = bar

    def copy(self, form: str) -> None:
        count = self.table.copy(form)
        self._services.notify(sentence("compare_page.rows_copied", count=count), "", "", None)

    def _run_problem(self) -> str:
        """Return the message code of the reason why a run now has no place; "" if there is none."""
        if self._services.bridge.is_running:
            return "compare_page.slot_busy"
        workload = self.workload.currentData()
        engines = set(CATALOGUE[workload].engines or tuple(ENGINES)) & set(self._services.engines.installed)
        if not engines:
            return "compare_page.slot_no_engine"
        machine = self._services.finder.machine
        if machine is None or ranks_float32(workload):
            return ""
        has_gpu = any(
            choice.gpu is not None
            for choice in device_choices(self._services.engines.installed, machine, sorted(engines))
        )
        return "" if has_gpu else "compare_page.slot_only_16_bits"

    def _show_runs(self, runs: list[RunSummary]) -> None:
        self._runs = runs
        newest = runs[0] if runs else None
        workload = self.workload.currentData()
        self.all_bars = bars(workload, newest, runs[1:], self._imported)
        self.by_work.setVisible(bool(by_work(self.all_bars)))
        if not self.by_work.isVisible():
            self.by_work.setChecked(False)
        self._fill_baselines()
        self.filters.show_years(self.all_bars)
        reasons = _reasons(runs, left_out_imports(workload, newest, self._imported))
        self.reasons.setText("\n".join(reasons))
        self.reasons.setVisible(bool(reasons))
        default = find_baseline(self.all_bars, None, workload)
        named = default.title if default is not None and default.row is not None and default.is_like else None
        place = position(newest, named, self.all_bars) if newest is not None else None
        self.answer.show_text(friend_answer(self.all_bars) or place or "")
        self.answer.setVisible(bool(self.answer.text()))
        self.draw()

    def _fill_baselines(self) -> None:
        fill(self.baseline, [(bar.title, bar_key(bar)) for bar in self.all_bars if bar.verdict != "invalid"])
        default = find_baseline(self.all_bars, None, self.workload.currentData())
        wanted = self._chosen_baseline or (bar_key(default) if default else "")
        at = self.baseline.findData(wanted)
        if at < 0 and default is not None:
            at = self.baseline.findData(bar_key(default))
        self.baseline.setCurrentIndex(at)
        self.baseline.setEnabled(self.baseline.count() > 0)

    def draw(self, *_: object) -> None:
        """Show the bars that match the filters, and always the user's newest run."""
        all_bars = by_work(self.all_bars) if self.by_work.isChecked() else self.all_bars
        chart = [bar for bar in all_bars if self.filters.fits(bar)]
        is_folded = not self.filters.conditions.currentData() and len(one_each(chart)) < len(chart)
        if is_folded:
            chart = one_each(chart, self._opened)
        wanted = self.baseline.currentData()
        baseline = next((bar for bar in all_bars if bar_key(bar) == wanted), None)
        problem = self._run_problem()
        slot = sentence("compare.you"), sentence(problem or "compare_page.run_to_see_place")
        # A remark that all published bars have in common is stated once, below the chart.
        common = shared_remarks(chart)
        brief = [
            replace(bar, remarks=tuple(r for r in bar.remarks if r not in common), apart=0)
            if bar.row is not None and common
            else bar
            for bar in chart
        ]
        self.bar_list.show_bars(brief, baseline, slot=None if self._runs else slot, slot_opens=not problem)
        self.table.rows.show_bars(chart, baseline)
        self.stack.setCurrentIndex(2 if not chart else 1 if self.as_table.isChecked() else 0)
        kernels = {bar.row.kernels for bar in chart if bar.row is not None}
        # The note states the years and kernels itself.
        more = [remark for remark in common if not remark.isdecimal() and remark not in kernels]
        more += [sentence("compare_page.click_for_more")] if is_folded else []
        self.note.show_text(joined((chart_note(chart, baseline), *more)) if chart else "")


def _reasons(runs: Sequence[RunSummary], imported: Sequence[tuple[str, str]]) -> list[str]:
    refused = [*(left_out(runs[0]) if runs else []), *imported]
    for other in runs[1:]:
        reason = run_refusal(runs[0], other)
        if reason is not None:
            refused.append((own_name(other, runs[0]), reason))
    names: dict[str, list[str]] = {}
    for name, reason in refused:
        names.setdefault(reason, []).append(name)
    lines = [f"{reason}: {_listed(group)}" for reason, group in names.items()]
    more = len(lines) - LINES_LIMIT
    lines = lines[:LINES_LIMIT] + ([sentence("compare_page.other_reasons", count=more)] if more > 0 else [])
    return [sentence("compare_page.not_shown"), *lines] if lines else []


def _listed(names: Sequence[str]) -> str:
    more = len(names) - NAMES_LIMIT
    some = names[:NAMES_LIMIT]
    return sentence("dataset.names_and_more", names=some, more=more) if more > 0 else ", ".join(some)
