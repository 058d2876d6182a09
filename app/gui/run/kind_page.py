"""The page for one kind of plan, with a headline, charts and a table."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel, QWidget

from app.core.errors import AppError
from app.core.messages import sentence
from app.core.plain_text import safe_text
from app.core.plans.kind import PlanKind
from app.core.plans.report import PlanReport
from app.core.records import Group
from app.core.report.card import Figure, ShareCard
from app.core.storage.database import Database
from app.gui.charts.figure import FigureView
from app.gui.run.plan_layout import ResultCard, SetupOrResult, lay_out_halves, name_box
from app.gui.run.plan_page import HISTORY_LIMIT, PlanPage, PlanSetup
from app.gui.run.plan_progress import HEIGHT_PX, PlanProgress
from app.gui.services.bundle import Services
from app.gui.style.tokens import TITLE_PX
from app.gui.widgets.basics import Button, column, label, row, scrolled
from app.gui.widgets.choice_box import ChoiceBox
from app.gui.widgets.tables import TextTable
from workloads.protocol.spec import RunSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class PageTexts:
    """Message codes of the texts on a page."""

    running: str  # message stating that one of the page's plans is in progress
    earlier: str
    table: str
    export: str  # title of the file dialog
    exported: str  # notification
    title: str = ""
    purpose: str = ""
    nothing: str = ""  # heading of the instructions
    steps: Sequence[tuple[str, str]] = ()  # the icon and sentence for each step of the instructions


class KindPage(PlanPage[PlanReport]):
    """The page of one kind of plan. Its table has a row for each run or configuration, without empty columns."""

    foot: PlanProgress

    def __init__(
        self,
        services: Services,
        kind: PlanKind,
        setup: PlanSetup | None,
        texts: PageTexts,
        *,
        headline: QWidget | None = None,
        below: QWidget | None = None,
    ) -> None:
        self.code, self.running = kind.page, texts.running
        super().__init__(services, setup, PlanProgress(services.theme))
        self.kind, self._texts = kind, texts
        self.foot.setFixedHeight(HEIGHT_PX)
        self.headline = label("", TITLE_PX - 2, wrap=True) if headline is None else headline
        self.table = TextTable(sentence(texts.table) if texts.table else "")
        if not texts.table:
            self.table.hide()
        self._figures: Sequence[Figure] = ()
        self._like: PlanReport | None = None  # the report most recently loaded with all details
        self._shown: PlanReport | None = None
        self.charts = ChoiceBox()
        self.more = label(muted=True, wrap=True)  # the other sentences about the plan
        self.more.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.view = FigureView(services.theme)  # displays the chart selected with `charts`
        self.resume_button = Button(services.theme, sentence("plan_page.resume"), "play", gives_way=True)
        self.resume_button.clicked.connect(self.resume)
        self.export_button = Button(services.theme, sentence("plan_page.export"), "file-down", gives_way=True)
        self.export_button.clicked.connect(self.export)
        self.charts.activated.connect(self._show_figure)
        self._card = self._lay_out(self._result(), below)
        self._show_state()

    @property
    def can_share(self) -> bool:
        return not self.is_live and self.result is not None and self.result.has_result

    def resume(self) -> None:
        shown, machine = self.result, self._services.finder.machine
        if shown is None or machine is None or self._services.bridge.is_running:
            return
        group_id = shown.group.id

        def done(result: PlanReport) -> None:  # reload the plan, because a terminal may have resumed it
            self.resume_button.setEnabled(True)
            if result.left and not self._services.bridge.is_running:
                self.begin(result.group.plan, machine, (result.group, list(result.left)))
            else:
                self.refresh(choose=group_id)

        def failed(error: AppError) -> None:
            self.resume_button.setEnabled(True)
            self._services.complain(error)

        self.resume_button.setEnabled(False)
        self._services.query(lambda database: self._load(database, group_id), done, failed)

    def share(self) -> None:
        if self.result is not None and self.can_share:
            name = self._file_name(self.result)
            self.actions_on_result.share_report(self.result, name, self.charts.currentIndex())

    def save_picture(self) -> None:
        if (card := self.card()) is not None and self.result is not None:
            self.actions_on_result.save_card(card, self._file_name(self.result), self.result.shared_ids)

    def copy_picture(self) -> None:
        if (card := self.card()) is not None:
            self.actions_on_result.copy_card(card)

    def copy_text(self) -> None:
        if self.result is not None and self.can_share:
            self.actions_on_result.copy_plain(self.result.text())

    def export(self) -> None:
        if self.result is not None:
            codes = self._texts.export, self._texts.exported
            self.actions_on_result.export_plan(codes, self._file_name(self.result), self.result.export)

    def card(self) -> ShareCard | None:
        """Return the picture of the displayed plan, with the selected chart; None if there is no result."""
        shown = self.result
        return shown.card(self.charts.currentIndex()) if shown is not None and self.can_share else None

    def _file_name(self, report: PlanReport) -> str:
        return f"epochmark-{self.kind.key}-{report.group.id}"

    def _list(self, database: Database) -> list[PlanReport]:
        return self.kind.stored(database, HISTORY_LIMIT)

    def _load(self, database: Database, group_id: int) -> PlanReport:
        return self.kind.load(database, group_id)

    def _load_more(self, database: Database, shown: PlanReport | None) -> PlanReport | None:
        # Load only one plan, because all of them could have thousands of runs.
        return shown.with_details(database, self._services.paths) if shown is not None else None

    def _keep_more(self, more: PlanReport | None) -> None:
        self._like = more or self._like
        if more is not None:
            self._results[more.group.id] = more

    def _of_running(self, group: Group, asked: Mapping[int, RunSpec]) -> PlanReport:
        return self.kind.running(group, asked, self._like)

    def _entry(self, result: PlanReport) -> str:
        return result.entry

    def _show_headline(self, report: PlanReport) -> None:
        assert isinstance(self.headline, QLabel)
        lines = report.lines()
        self.headline.setText(safe_text(lines[0]))
        self.more.setText(safe_text(" ".join(lines[1:])))
        self.more.setVisible(len(lines) > 1)

    def _show_answer(self, report: PlanReport) -> None:
        self._show_headline(report)
        self._show_charts(report.figures())
        table = report.table()
        numbers = range(table.left, len(table.headings) - 1)
        self.table.show_texts(table.headings, table.rows, numbers=numbers, bold=table.is_best, tips=table.reasons)
        self.table.setAccessibleDescription(" ".join(report.lines(with_advice=False)))

    def _show_state(self) -> None:
        bridge, live, result = self._services.bridge, self.is_live, self.result
        if self._setup is not None:
            self._setup.set_busy(sentence(self.running) if live else bridge.busy_text)
        self.history.setVisible(self.history.count() > 0 and not live)
        self.foot.setVisible(live)
        self._card.show_result(is_there=self.shows_answer)
        self._shown = result
        if result is not None:
            self.resume_button.setVisible(not bridge.is_running and not result.is_finished)
            self._show_answer(result)
            self.share_button.setEnabled(self.can_share)
            self.share_button.setVisible(not live)
            has_values = any(run.value is not None for run in result.group.runs)
            self.export_button.setVisible(not live and has_values)
        self.state_changed.emit()
        if live:
            self._show_progress()

    def _show_progress(self) -> None:
        bridge, current = self._services.bridge, ""
        if bridge.planned is not None and self._shown is not None:  # update the report once per run, not per tick
            count = bridge.planned_runs
            current = self._shown.current(bridge.planned, min(count, len(bridge.done) + 1), count)
        if bridge.waiting is not None and bridge.waiting.command is not None:
            self._show_wait(bridge.waiting.text, bridge.waiting.command)
        self.foot.show_plan(bridge, current, self._left_s())

    def _left_s(self) -> float | None:
        return self._services.bridge.left_s()

    def _show_wait(self, text: str, command: str) -> None:
        """Replace the sentences about the plan with the user's next task, which doesn't fit in the foot."""
        if isinstance(self.headline, QLabel):
            self.headline.setText(safe_text(text))
            self.more.setText(safe_text(command))
            self.more.show()

    def _show_charts(self, figures: Sequence[Figure]) -> None:
        """Offer the given charts, and show the one with the same name as before; if there is none, the first."""
        self._figures = figures
        shown = self.charts.currentText()
        self.charts.clear()
        self.charts.addItems([figure.name for figure in figures])
        self.charts.setCurrentIndex(max(0, self.charts.findText(shown)))
        self.charts.setVisible(len(figures) > 1)
        self._show_figure()

    def _show_figure(self) -> None:
        place = self.charts.currentIndex()
        self.view.show_figure(self._figures[place] if 0 <= place < len(self._figures) else None)

    def _result(self) -> QWidget:
        name_box(self.history, self._texts.earlier)
        name_box(self.charts, "plan_page.which_chart")
        commands = row(None, self.export_button, self.share_button)
        shown = QWidget()
        # In a narrow window, this button doesn't fit next to the others.
        above = row(self.charts, None, self.resume_button)
        whole = column(self.headline, scrolled(self.more, above, self.view, self.table, None), commands, stretch=1)
        shown.setLayout(whole)
        return shown

    def _lay_out(self, shown: QWidget, below: QWidget | None) -> ResultCard | SetupOrResult:
        texts = self._texts
        card = ResultCard(texts.nothing, texts.steps, self.history, shown=shown, foot=self.foot, below=below)
        lay_out_halves(self, (texts.title, texts.purpose), self._setup, card)
        return card
