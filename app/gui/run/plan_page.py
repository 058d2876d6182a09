"""Base class of the pages that run experiments: they start, follow, show, resume and share plans."""

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QWidget

from app.core.errors import AppError
from app.core.messages import sentence
from app.core.plain_text import joined
from app.core.plans.experiments import list_reports, load_report, report_of
from app.core.plans.report import Report
from app.core.records import Plan
from app.core.report.card import Figure, ShareCard
from app.core.storage.database import Database
from app.gui.charts.figure import FigureView
from app.gui.charts.pair_plot import PairPlot
from app.gui.run.actions import ResultActions
from app.gui.run.headline_row import HeadlineRow
from app.gui.run.plan_progress import PlanProgress
from app.gui.services.bundle import Services
from app.gui.services.run_bridge import BusyError, Resumed
from app.gui.services.tasks import Latest
from app.gui.style.tokens import TITLE_PX
from app.gui.widgets.basics import Button, ClampedLabel, column, give_way, row, scrolled, set_tip
from app.gui.widgets.choice_box import ChoiceBox
from app.gui.widgets.dialogs import ask_to_run_concurrently
from app.gui.widgets.tables import TextTable
from workloads.protocol import events
from workloads.protocol.machine import Machine

TEXT_INTERVAL_S = 0.2
HISTORY_LIMIT = 50
MORE_LINES = 12


@dataclass(frozen=True, slots=True)
class Entry:
    """A stored plan in the list of earlier answers."""

    group_id: int
    text: str
    date: str


class PlanPage(QWidget):
    """Starts plans of some kinds, follows them, and displays stored ones. Subclasses lay out `answer`."""

    state_changed = Signal()  # whether there is anything to share may have changed
    code = ""  # name of the page's package in app/gui/pages
    kinds: Iterable[str] = ()  # stored kinds of its plans
    starts_with_newest = False  # whether the newest plan is displayed until the user chooses another one

    def __init__(self, services: Services) -> None:
        super().__init__()
        self._services = services
        self._request: tuple[Plan, Machine, Resumed | None] | None = None
        self._texts_s = 0.0
        self._latest = Latest()
        self._shown_id: int | None = None  # id of the stored plan that is displayed
        self._stored: Report | None = None
        self._live: Report | None = None
        self._figures: Sequence[Figure] = ()
        self.entries: Sequence[Entry] = ()
        self.actions_on_result = ResultActions(services, self)
        theme = services.theme
        self.headline = HeadlineRow(theme)
        self.sentence = ClampedLabel(lines=3, size_px=TITLE_PX - 2, muted=False, kept=2)
        self.more = ClampedLabel(lines=MORE_LINES, kept=2)  # the other sentences about the plan
        self.more.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.charts = ChoiceBox(sentence("plan_page.which_chart"))
        set_tip(self.charts, sentence("plan_page.which_chart"))
        give_way(self.charts)
        self.view, self.plot = FigureView(theme), PairPlot(theme)
        self.table = TextTable(sentence("studies_page.table"))
        self.foot = PlanProgress(theme)
        self.resume_button = Button(theme, sentence("plan_page.resume"), "play", gives_way=True, do=self.resume)
        self.export_button = Button(
            theme, sentence("plan_page.export"), "file-down", gives_way=True, do=self.export
        )
        self.share_button = Button(
            theme, sentence("menu.share"), "image", kind="primary", gives_way=True, do=self.share
        )
        self.answer = QWidget()
        commands = row(None, self.export_button, self.share_button)
        # In a narrow window, there is no room for the resume button beside the others.
        above = row(self.charts, None, self.resume_button)
        parts = scrolled(above, self.view, self.plot, self.table, None)
        self.answer.setLayout(
            column(self.headline, self.sentence, self.more, parts, commands, self.foot, stretch=3)
        )
        self.charts.activated.connect(self._show_figure)
        self.foot.cancel_button.clicked.connect(self.cancel)
        self.foot.go_button.clicked.connect(lambda: services.bridge.answer(True))
        self.foot.stop_button.clicked.connect(lambda: services.bridge.answer(False))
        bridge = services.bridge
        bridge.started.connect(self._on_started)
        bridge.moved_on.connect(self._on_moved_on)
        bridge.advanced.connect(self._on_advanced)
        bridge.ended.connect(self._on_ended)
        bridge.refused.connect(self._on_refused)

    @property
    def is_live(self) -> bool:
        bridge = self._services.bridge
        return bridge.is_running and bridge.page == self.code

    @property
    def report(self) -> Report | None:
        """The report that is displayed."""
        return self._live if self.is_live else self._stored

    @property
    def can_share(self) -> bool:
        return not self.is_live and self._stored is not None and self._stored.has_result

    @property
    def can_copy(self) -> bool:
        return self.can_share

    def showEvent(self, event: QShowEvent) -> None:
        """Reload the stored plans, or show the progress of a plan that ran while the page was hidden."""
        super().showEvent(event)
        if self.is_live:
            self._follow()
        else:
            self.refresh()

    def begin(
        self, plan: Plan, machine: Machine, resumed: Resumed | None = None, *, allow_concurrent: bool = False
    ) -> None:
        """Start a plan. For the arguments, see `RunBridge.start`."""
        self._request = (plan, machine, resumed)
        self._services.bridge.start(plan, machine, allow_concurrent=allow_concurrent, resumed=resumed)
        self.foot.cancel_button.setFocus()

    def run_again(self, plan: Plan, machine: Machine) -> None:
        self.begin(plan, machine)

    def cancel(self) -> None:
        if self.is_live:
            self._services.bridge.cancel()
            self.foot.cancel_button.setEnabled(False)
            self._show_progress()

    def resume(self) -> None:
        shown, machine = self._stored, self._services.finder.machine
        if shown is None or machine is None or self._services.bridge.is_running:
            return
        group_id = shown.group.id

        def done(report: Report) -> None:  # reload the plan, because a terminal may have resumed it
            self.resume_button.setEnabled(True)
            if report.left and not self._services.bridge.is_running:
                self.begin(report.group.plan, machine, (report.group, list(report.left)))
            else:
                self.refresh(choose=group_id)

        def failed(error: AppError) -> None:
            self.resume_button.setEnabled(True)
            self._services.complain(error)

        self.resume_button.setEnabled(False)
        self._services.query(lambda database: load_report(database, group_id), done, failed)

    def close_answer(self) -> None:
        if not self.is_live:
            self._shown_id = self._stored = None
            self._show_state()
            self.refresh()  # instead of a request that would show the answer again

    def refresh(self, choose: int | None = None) -> None:
        """Reload the stored plans, and show the one with the number `choose` if it is given."""
        wanted, paths = choose or self._shown_id, self._services.paths

        def look(database: Database) -> tuple[list[Entry], Report | None]:
            reports = list_reports(database, self.kinds, HISTORY_LIMIT)
            shown = next((report for report in reports if report.group.id == wanted), None)
            if shown is None and choose is not None:  # older than those listed
                chosen = load_report(database, choose)
                shown = chosen if chosen.group.runs or chosen.can_resume else None
                reports += [chosen] if shown is not None else []
            if shown is None and reports and self.starts_with_newest:
                shown = reports[0]
            entries = [Entry(report.group.id, report.entry, report.group.created_at[:10]) for report in reports]
            # Load the details of only one plan, because all of them could have thousands of runs.
            return entries, None if shown is None else shown.with_details(database, paths)

        def done(loaded: tuple[list[Entry], Report | None]) -> None:
            self.entries, self._stored = loaded
            self._shown_id = None if self._stored is None else self._stored.group.id
            self._show_entries(self.entries, self._shown_id)
            self._show_state()

        self._services.query(look, self._latest.only(done))

    def share(self) -> None:
        report = self._stored
        if report is not None and self.can_share:
            if report.run is not None:  # whose fields can be excluded
                self.actions_on_result.share(report.run, report.group)
            else:
                self.actions_on_result.share_report(report, self._file_name(report), self.charts.currentIndex())

    def save_picture(self) -> None:
        report = self._stored
        if report is not None and report.run is not None:
            self.actions_on_result.save_picture(report.run, report.group)
        elif report is not None and (card := self.card()) is not None:
            self.actions_on_result.save_card(card, self._file_name(report), report.shared_ids)

    def copy_picture(self) -> None:
        report = self._stored
        if report is not None and report.run is not None:
            self.actions_on_result.copy_picture(report.run, report.group)
        elif (card := self.card()) is not None:
            self.actions_on_result.copy_card(card)

    def copy_text(self) -> None:
        if self._stored is not None and self.can_share:
            self.actions_on_result.copy_plain(self._stored.text())

    def export(self) -> None:
        if (report := self._stored) is not None:
            self.actions_on_result.export_plan(self._file_name(report), report.export)

    def card(self) -> ShareCard | None:
        """Return the picture of the displayed plan, with the selected chart; None if there is no result."""
        return (
            self._stored.card(self.charts.currentIndex()) if self._stored is not None and self.can_share else None
        )

    def _file_name(self, report: Report) -> str:
        return f"epochmark-{report.experiment.key}-{report.group.id}"

    def _follow(self) -> None:
        """Show the plan in progress with its results so far."""
        running = self._services.bridge.whole_group()
        self._live = None if running is None else self._of_running(report_of(*running))
        self._show_state()

    def _of_running(self, report: Report) -> Report:
        return report

    def _left_s(self) -> float | None:
        return self._services.bridge.left_s()

    def _show_entries(self, entries: Sequence[Entry], shown_id: int | None) -> None:
        raise NotImplementedError

    def _show_state(self) -> None:
        bridge, live, report = self._services.bridge, self.is_live, self.report
        self.foot.setVisible(live)
        if report is not None:
            self.resume_button.setVisible(not bridge.is_running and report.can_resume)
            self._show_report(report)
            self.share_button.setEnabled(self.can_share)
            self.share_button.setVisible(not live)
            has_values = any(run.value is not None for run in report.group.runs)
            self.export_button.setVisible(not live and has_values)
        self.state_changed.emit()
        if live:
            self._show_progress()

    def _show_report(self, report: Report) -> None:
        hero, lines = report.hero, report.lines()
        self.headline.setVisible(bool(hero.value))
        self.headline.pill.show_verdict(hero.verdict, hero.level)
        self.headline.show_number(hero.value, hero.unit, muted=not hero.is_final)
        if self.is_live and report.is_preliminary:
            lines = [lines[0], sentence("ab_page.so_far")]
        self.sentence.setVisible(not hero.says_all)
        self.sentence.show_text(lines[0])
        more = report.notes() if hero.says_all else lines[1:]
        self.more.show_text(joined((report.legend, " ".join(more))))
        self._show_charts(report.figures())
        has_pairs = report.experiment.has_sides
        self.plot.setVisible(has_pairs)
        if has_pairs:
            self.plot.show_group(report.group, self._services.bridge.planned if self.is_live else None)
        table = report.table()
        self.table.setVisible(not has_pairs and not hero.says_all)
        self.table.show_table(table)
        self.table.setAccessibleDescription(" ".join(report.lines(with_advice=False)))

    def _show_charts(self, figures: Sequence[Figure]) -> None:
        """Offer the given charts, and show the one with the same name as before; if there is none, the first."""
        self._figures, shown = figures, self.charts.currentText()
        self.charts.clear()
        self.charts.addItems([figure.name for figure in figures])
        self.charts.setCurrentIndex(max(0, self.charts.findText(shown)))
        self.charts.setVisible(len(figures) > 1)
        self._show_figure()

    def _show_figure(self) -> None:
        place = self.charts.currentIndex()
        self.view.setVisible(bool(self._figures))
        self.view.show_figure(self._figures[place] if 0 <= place < len(self._figures) else None)

    def _show_progress(self) -> None:
        bridge, current = self._services.bridge, ""
        if bridge.asks is not None and self._live is not None:
            current = self._live.set_up(bridge.asks)
        elif bridge.planned is not None and self._live is not None:
            count = bridge.planned_runs
            current = self._live.current(bridge.planned, min(count, len(bridge.done) + 1), count)
        if bridge.waiting is not None and bridge.waiting.command is not None:  # too long for the foot
            self.sentence.show_text(bridge.waiting.text)
            self.more.show_text(bridge.waiting.command)
        self.foot.show_plan(bridge, current, self._left_s())

    def _on_started(self) -> None:
        self.foot.cancel_button.setEnabled(True)
        if self.is_live:
            self._follow()
        else:
            self._show_state()

    def _on_moved_on(self) -> None:
        if self.is_live and self.isVisible():
            self._follow()
            if self._services.bridge.asks is not None:
                self.foot.go_button.setFocus()

    def _on_advanced(self, _: set[type[events.Event]]) -> None:
        """Update texts at most every TEXT_INTERVAL_S. Faster updates would slow down the measurement."""
        now_s = time.monotonic()
        if self.is_live and self.isVisible() and now_s - self._texts_s >= TEXT_INTERVAL_S:
            self._texts_s = now_s
            self._show_progress()

    def _on_ended(self, _: int) -> None:
        bridge = self._services.bridge
        if bridge.page != self.code:
            self._show_state()
            return
        # Keep the current content until the stored plan is loaded. Otherwise an older one would flash up.
        self._stored = self._live
        self.foot.cancel_button.setEnabled(False)
        if bridge.trouble is not None:
            self._services.complain(bridge.trouble)
        self.refresh(choose=bridge.group_id)

    def _on_refused(self, error: AppError) -> None:
        bridge = self._services.bridge
        self._show_state()
        if bridge.page != self.code or bridge.is_cancelled:
            return
        if not isinstance(error, BusyError):
            self._services.complain(error)
        elif self._request is not None and ask_to_run_concurrently(self, error):
            self.begin(*self._request, allow_concurrent=True)
