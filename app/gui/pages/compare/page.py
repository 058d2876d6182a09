"""The Compare page: ranks the user's runs among published results, as bars or as a table."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeAlias

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QContextMenuEvent, QShowEvent
from PySide6.QtWidgets import (
    QMenu,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from app.core.analysis.comparability import run_refusal
from app.core.analysis.compare import (
    Bar,
    bars,
    baseline_name,
    by_work,
    chart_metric,
    find_baseline,
    left_out,
    left_out_imports,
    one_each,
    unlike_note,
)
from app.core.analysis.own_runs import best_and_latest, best_first, own_name
from app.core.analysis.power import work_metric
from app.core.external_results import ImportedResult
from app.core.messages import sentence, text
from app.core.metrics import headline_kind
from app.core.records import RunSummary
from app.core.storage.database import Database
from app.core.storage.imported_results import SHOWN_LIMIT, list_results
from app.core.storage.queries import own_runs
from app.core.storage.runs import list_runs
from app.core.titles import workload_title
from app.gui.charts.bar_list import BarList
from app.gui.charts.bars import bar_key
from app.gui.pages.compare.filters import Filters, combo, fill
from app.gui.pages.compare.table import CompareTable
from app.gui.run.workload_box import WorkloadBox
from app.gui.services.bundle import Services
from app.gui.services.removal import remove_imported
from app.gui.services.tasks import Latest
from app.gui.style.tokens import GAP_PX
from app.gui.widgets.basics import Button, Card, column, label, row, scrolled, title
from app.gui.widgets.segments import Segments
from workloads import CATALOGUE
from workloads.engines.registry import ENGINES

OWN_LIMITS = (5, 20, 100)
SELECTED_LIMIT = 1_000  # number of runs to load, enough for all that can be shown
# Special values: the best and the latest run, or the runs selected on another page.
BEST_AND_LATEST, SELECTED = 0, -1
ROW_PX, COMBO_MAX_PX = 96, 300
_Answer: TypeAlias = "tuple[list[RunSummary], list[ImportedResult]]"
LINES_LIMIT, NAMES_LIMIT = 4, 10


class ComparePage(QWidget):
    """Displays the user's runs and published results, fastest first."""

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
        self._pointed: Bar | None = None
        self._make_controls()
        self.bar_list = BarList(services.theme, row_max_px=ROW_PX, detailed=True)
        self.table = CompareTable()
        self.nothing = label(sentence("compare_page.nothing"), muted=True)
        self.nothing.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.reasons = label(muted=True, wrap=True)
        self._lay_out()
        self._connect()
        self._show_runs([])

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self.refresh()

    def refresh(self) -> None:
        workload = self.workload.currentData()
        read = self._own_runs(workload, self.limit.currentData())

        def look(database: Database) -> _Answer:
            return read(database), list_results(database, workload, SHOWN_LIMIT)

        self._services.query(look, self._latest.only(self._on_found))

    def show_runs(self, ids: Sequence[int]) -> None:
        """Compare the given runs with published results. The newest run is labelled as the user's.

        If there are too many runs, only the newest are shown.
        """

        def look(database: Database) -> list[RunSummary]:
            runs = list_runs(database, ids=ids, limit=SELECTED_LIMIT)
            return [run for run in runs if run.value is not None]

        self._services.query(look, self._on_selected)

    def show_workload(self, workload: str) -> None:
        """Show the bars of a workload, if it exists."""
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
        is_other = place != self.workload.currentIndex()
        self._selected = tuple(run.id for run in runs[: OWN_LIMITS[-1]])
        self._chosen_baseline = ""
        for box in (self.workload, self.limit):
            box.blockSignals(True)
        self.workload.setCurrentIndex(place)
        self._fill_limits()
        self.limit.setCurrentIndex(self.limit.count() - 1)
        for box in (self.workload, self.limit):
            box.blockSignals(False)
        if is_other:
            self._select_scale()
        self.refresh()

    def _fill_limits(self) -> None:
        """Offer choices for the number of runs to show, including the selected runs if there are any."""
        items: list[tuple[str, object]] = [(sentence("compare_page.best_and_latest"), BEST_AND_LATEST)]
        items += [(sentence("compare_page.number_of_own", count=number), number) for number in OWN_LIMITS]
        if self._selected:
            items.append((sentence("compare_page.selected", count=len(self._selected)), SELECTED))
        fill(self.limit, items)

    def _own_runs(self, workload: str, limit: int) -> Callable[[Database], list[RunSummary]]:
        selected = self._selected if limit == SELECTED else ()
        if selected:
            return lambda database: [run for run in list_runs(database, ids=selected) if run.value is not None]
        if limit == BEST_AND_LATEST:
            return lambda database: best_first(best_and_latest(own_runs(database, workload, OWN_LIMITS[-1])))
        return lambda database: best_first(own_runs(database, workload, limit))

    def _make_controls(self) -> None:
        theme = self._services.theme
        self.workload = WorkloadBox(self._services, lambda workload: not workload.is_demo)
        self.baseline = combo(sentence("compare_page.baseline"), ())
        self.baseline.setPlaceholderText(sentence("compare_page.no_baseline"))
        self.rank = combo(
            sentence("compare_page.rank_by"),
            ((sentence("compare_page.by_speed"), False), (sentence("compare_page.by_work"), True)),
        )
        self.filters = Filters(theme, self)
        self.limit = self.filters.limit
        self._fill_limits()
        self.limit.setCurrentIndex(0)
        self.view = Segments(
            theme,
            sentence("share_dialog.show"),
            (("bars", sentence("compare_page.bars")), ("table", sentence("label.table"))),
        )
        self.view.select("bars")
        self.copy_button = Button(theme, sentence("compare_page.copy_table"), "copy", gives_way=True)
        self.import_button = Button(theme, sentence("button.import"), "folder-open", gives_way=True)

    def _lay_out(self) -> None:
        self.stack = QStackedWidget()
        for page in (scrolled(self.bar_list, None), self.table, self.nothing):
            self.stack.addWidget(page)
        self.card = Card(sentence("headline.seconds_per_epoch_s"))
        self.card.body.addWidget(self.stack, stretch=1)
        self.card.body.addWidget(self.reasons)
        self.unlike = label(muted=True)
        self.card.body.addWidget(self.unlike)
        self.drop_line = label(sentence("compare_page.drop"), muted=True)
        self.drop_line.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.drop_line.setObjectName("dropLine")
        self.card.body.addWidget(self.drop_line)
        head = row(title(sentence("page.compare")), None, self.view, self.copy_button, self.import_button)
        first = row(
            label(sentence("label.workload"), muted=True),
            self.workload,
            label(sentence("compare_page.baseline"), muted=True),
            self.baseline,
            None,
            self.rank,
            self.filters.button,
        )
        for number in (1, 3):
            first.setStretch(number, 1)
        for box in (self.workload, self.baseline):
            box.setMaximumWidth(COMBO_MAX_PX)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(3 * GAP_PX, 2 * GAP_PX, 3 * GAP_PX, 2 * GAP_PX)
        whole = column(head, first, self.card, spacing_px=GAP_PX + 4)
        whole.setStretch(2, 1)
        layout.addLayout(whole)

    def _connect(self) -> None:
        self.workload.currentIndexChanged.connect(self._on_workload)
        self.limit.currentIndexChanged.connect(self.refresh)
        self.baseline.activated.connect(self._on_baseline)
        self.rank.currentIndexChanged.connect(self.draw)
        self.filters.changed.connect(self.draw)
        self.bar_list.slot_chosen.connect(lambda: self.run_wanted.emit(self.workload.currentData()))
        self.view.chosen.connect(self.draw)
        self.bar_list.chosen.connect(self._on_bar)
        self.copy_button.clicked.connect(self._on_copy)
        self.import_button.clicked.connect(self.import_wanted)
        self.bar_list.pointed.connect(self._on_pointed)
        bridge = self._services.bridge
        bridge.ended.connect(self._on_ended)
        for changed in (bridge.started, bridge.ended, bridge.refused, self._services.engines.changed):
            changed.connect(self.draw)

    def _on_bar(self, bar: Bar) -> None:
        if bar.run is not None:
            self.run_chosen.emit(bar.run.id)

    def _on_workload(self) -> None:
        self._chosen_baseline = ""
        if self._selected:
            self._selected = ()
            was_chosen = self.limit.currentData() == SELECTED
            self._fill_limits()
            self.limit.setCurrentIndex(0 if was_chosen else self.limit.currentIndex())
        self._imported = []
        self._select_scale()
        self._show_runs([])
        self.refresh()

    def _select_scale(self) -> None:
        is_rate = headline_kind(chart_metric(self.workload.currentData())).is_rate
        self.filters.scale.select("linear" if is_rate else "log")

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

    def _on_copy(self) -> None:
        count = self.table.copy()
        self._services.notify(sentence("compare_page.rows_copied", count=count), "", "", None)

    def _run_problem(self) -> str:
        """Return the message code of the reason why the workload can't be run now; "" if there is none."""
        if self._services.bridge.is_running:
            return "compare_page.slot_busy"
        engines = CATALOGUE[self.workload.currentData()].engines or tuple(ENGINES)
        return "" if set(engines) & set(self._services.engines.installed) else "compare_page.slot_no_engine"

    def _show_runs(self, runs: list[RunSummary]) -> None:
        self._runs = runs
        newest = runs[0] if runs else None
        others, workload = (runs[1:], self._imported), self.workload.currentData()
        self.all_bars = bars(workload, newest, *others, with_several=True)
        self.rank.setVisible(bool(by_work(self.all_bars)))
        if self.rank.isHidden():
            self.rank.setCurrentIndex(0)
        self.filters.several.setEnabled(any(bar.row is not None and bar.row.has_several for bar in self.all_bars))
        self._fill_baselines()
        self.filters.show_years(self.all_bars)
        reasons = _reasons(runs, left_out_imports(workload, newest, self._imported))
        self.reasons.setText("\n".join(reasons))
        self.reasons.setVisible(bool(reasons))
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
        by_joule = bool(self.rank.currentData())
        all_bars = by_work(self.all_bars) if by_joule else self.all_bars
        shown = [bar for bar in all_bars if self.filters.fits(bar)]
        if not self.filters.conditions.currentData():
            shown = one_each(shown)
        wanted = self.baseline.currentData()
        baseline = next((bar for bar in all_bars if bar_key(bar) == wanted), None)
        metric = chart_metric(self.workload.currentData(), self._runs[0] if self._runs else None)
        self.card.heading.setText(headline_kind(work_metric(metric) if by_joule else metric).label)
        problem = self._run_problem()
        slot = sentence("compare.you"), sentence(problem or "compare_page.run_to_see_rank")
        as_table, log = self.view.value == "table", self.filters.scale.value == "log"
        self.bar_list.show_bars(
            shown, baseline, log=log, slot=None if self._runs else slot, slot_opens=not problem
        )
        self.table.rows.show_bars(shown, baseline)
        self.stack.setCurrentIndex(2 if not shown else 1 if as_table else 0)
        parts = [] if as_table else [sentence("compare_page.log_scale" if log else "compare_page.linear_scale")]
        is_rate = by_joule or headline_kind(metric).is_rate
        parts.insert(0, sentence("compare.higher_is_better" if is_rate else "compare.lower_is_better"))
        if baseline is not None:
            if baseline.kind == "you":
                code = "compare_page.times_work_of_this" if by_joule else "compare_page.times_as_this"
                parts.append(sentence(code))
            else:
                code = "compare_page.times_the_work" if by_joule else "compare_page.times_as_fast"
                parts.append(sentence(code, baseline=baseline_name(baseline)))
        self.card.note.show_text(" · ".join(parts))
        unlike = unlike_note(shown)
        self.unlike.setText("" if unlike is None or as_table else text(unlike))
        self.unlike.setVisible(bool(self.unlike.text()))
        self.filters.scale.setEnabled(not as_table)
        self.copy_button.setEnabled(bool(shown))


def _reasons(runs: Sequence[RunSummary], imported: Sequence[tuple[str, str]]) -> list[str]:
    refused = [*(left_out(runs[0], with_several=True) if runs else []), *imported]
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
    heading = sentence("compare_page.not_shown" if runs else "compare_page.not_shown_published")
    return [heading, *lines] if lines else []


def _listed(names: Sequence[str]) -> str:
    more = len(names) - NAMES_LIMIT
    some = names[:NAMES_LIMIT]
    return sentence("dataset.names_and_more", names=some, more=more) if more > 0 else ", ".join(some)
