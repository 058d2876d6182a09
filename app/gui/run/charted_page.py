"""Pages of plans whose result is a headline, charts and a table: studies and suites."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from PySide6.QtWidgets import QWidget

from app.core.errors import AppError
from app.core.messages import sentence
from app.core.records import PlannedRun
from app.core.report.card import Figure, ShareCard
from app.core.report.formats.export_format import PlanTable
from app.gui.charts.figure import FigureView
from app.gui.run.plan_layout import ResultCard, lay_out_halves, name_box
from app.gui.run.plan_page import PlanPage, PlanSetup, Result
from app.gui.run.plan_progress import HEIGHT_PX, PlanProgress
from app.gui.services.bundle import Services
from app.gui.widgets.basics import Button, column, label, row, scrolled
from app.gui.widgets.choice_box import ChoiceBox
from app.gui.widgets.tables import TextTable


@dataclass(frozen=True, slots=True, kw_only=True)
class PageTexts:
    """Message codes of a page.

    Attributes:
        title, purpose: Its name, and what it is for.
        earlier: Name of the history.
        nothing, steps: The instructions: their heading, then sign and sentence of each.
    """

    title: str
    purpose: str
    earlier: str
    nothing: str
    steps: Sequence[tuple[str, str]]


class ChartedPage(PlanPage[Result]):
    """A page of plans whose result is a headline, charts and a table.

    Attributes:
        file_name: Of pictures and files, before the plan's number.
        export_codes: Message codes of the question for a file, and of what is said afterwards.
        foot: Shows the progress.
        table: A line for each point or part; columns without a value are hidden.
        more: What the plan says, below its headline.
        view: One of its charts, chosen with `charts`.
    """

    foot: PlanProgress
    file_name = ""
    export_codes = "", ""

    def __init__(self, services: Services, setup: PlanSetup, table_name: str) -> None:
        """Make the page; `table_name` is the message code of its table's name."""
        super().__init__(services, setup, PlanProgress(services.theme))
        self.foot.setFixedHeight(HEIGHT_PX)
        self.table = TextTable(sentence(table_name))
        self._figures: Sequence[Figure] = ()
        self.charts = ChoiceBox()
        self.more = label(muted=True, wrap=True)
        self.view = FigureView(services.theme)
        self._make_buttons()
        self.charts.activated.connect(self._show_figure)

    @property
    def can_share(self) -> bool:
        """Whether there is a result to share."""
        return not self.is_live and self.result is not None and self._has_result(self.result)

    def resume(self) -> None:
        """Run what is left of the plan being shown."""
        shown, machine = self.result, self._services.finder.machine
        if shown is None or machine is None or self._services.bridge.is_running:
            return
        group_id = shown.group.id

        def done(result: Result) -> None:  # as it is now: a terminal may have gone on with it
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

    def save_picture(self) -> None:
        """Save the picture of what is shown."""
        if (card := self.card()) is not None and self.result is not None:
            name = f"{self.file_name}-{self.result.group.id}"
            self.actions_on_result.save_card(card, name, self._shared_ids(self.result))

    def copy_picture(self) -> None:
        """Put that picture on the clipboard."""
        if (card := self.card()) is not None:
            self.actions_on_result.copy_card(card)

    def copy_text(self) -> None:
        """Put what is shown on the clipboard as text."""
        if self.result is not None and self.can_share:
            self.actions_on_result.copy_plain(self._text(self.result))

    def export(self) -> None:
        """Write what is shown to a file."""
        if self.result is not None:
            name, table = f"{self.file_name}-{self.result.group.id}", partial(self._table, self.result)
            self.actions_on_result.export_plan(self.export_codes, name, table)

    def card(self) -> ShareCard | None:
        """Return the picture of what is shown; None without a result."""
        return self._card_of(self.result) if self.result is not None and self.can_share else None

    def _has_result(self, result: Result) -> bool:
        """Return whether a stored plan has something to share."""
        raise NotImplementedError

    def _shared_ids(self, result: Result) -> Sequence[int]:
        """Return the runs whose results are inside the picture."""
        return [run.id for run in result.group.runs]

    def _card_of(self, result: Result) -> ShareCard:
        """Return the picture of a stored plan."""
        raise NotImplementedError

    def _text(self, result: Result) -> str:
        """Return a stored plan as text."""
        raise NotImplementedError

    def _table(self, result: Result) -> PlanTable:
        """Return what is written of a stored plan."""
        raise NotImplementedError

    def _show_answer(self) -> None:
        """Show the headline, the charts and the table of `result`, which is there."""
        raise NotImplementedError

    def _show_state(self) -> None:
        """Show the running plan, the chosen one, or the instructions."""
        bridge, live, result = self._services.bridge, self.is_live, self.result
        busy = self.running if live else "ab_page.busy" if bridge.is_running else ""
        self._setup.set_busy(sentence(busy) if busy else "")
        self.history.setVisible(self.history.count() > 0)
        self.history.setEnabled(not live)
        self.foot.setVisible(live)
        self._card.show_result(is_there=result is not None)
        if result is not None:
            self.resume_button.setVisible(not bridge.is_running and not result.is_finished)
            self._show_answer()
            for button in (self.save_button, self.copy_button):
                button.setEnabled(self.can_share)
            for button in (self.save_button, self.copy_button, self.export_button):
                button.setVisible(not live)
            self.state_changed.emit()
        if live:
            self._show_progress()

    def _show_progress(self) -> None:
        bridge, current = self._services.bridge, ""
        if bridge.planned is not None:
            count = bridge.planned_runs
            current = self._current(bridge.planned, min(count, len(bridge.done) + 1), count)
        self.foot.show_plan(bridge, current, bridge.left_s())

    def _current(self, planned: PlannedRun, number: int, count: int) -> str:
        """Return what to say of the current run, the `number`th of `count`."""
        raise NotImplementedError

    def _show_charts(self, figures: Sequence[Figure]) -> None:
        """Offer other charts, and show the one of the same name as before, or the first."""
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

    def _make_buttons(self) -> None:
        theme = self._services.theme
        self.resume_button = Button(theme, sentence("plan_page.resume"), "play")
        self.resume_button.clicked.connect(self.resume)
        self.save_button = Button(theme, sentence("button.save_picture"), "image", kind="primary")
        self.save_button.clicked.connect(self.save_picture)
        self.copy_button = Button(theme, sentence("button.copy"), "copy")
        self.copy_button.clicked.connect(self.copy_text)
        self.export_button = Button(theme, sentence("plan_page.export"), "file-down")
        self.export_button.clicked.connect(self.export)

    def _lay_out(self, texts: PageTexts, headline: QWidget) -> None:
        """Lay the page out; called once, by the page."""
        name_box(self.history, texts.earlier)
        name_box(self.charts, "plan_page.which_chart")
        commands = row(None, self.export_button, self.copy_button, self.save_button)
        shown = QWidget()
        # What is left to run has no room beside the other buttons in a narrow window.
        above = row(self.charts, None, self.resume_button)
        whole = column(headline, scrolled(self.more, above, self.view, self.table, None), commands)
        whole.setStretch(1, 1)
        shown.setLayout(whole)
        self._card = ResultCard(texts.nothing, texts.steps, self.history, shown, self.foot)
        lay_out_halves(self, (texts.title, texts.purpose), self._setup, self._card)
