"""The Suite page: one click runs a fixed list of workloads, and shows their score."""

from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QWidget

from app.core.messages import sentence
from app.core.storage.database import Database
from app.core.studies.figures import Figure
from app.core.suite.definition import NEWEST, SUITES
from app.core.suite.imported import ImportedScore, imported_scores
from app.core.suite.score import SuiteResult, suite_result
from app.core.suite.share import SuiteCard, suite_card, suite_text
from app.core.suite.stored import list_suites, load_suite
from app.core.suite.texts import (
    certainty_text,
    points_text,
    scores_figure,
    suite_figure,
    suite_headline,
    suite_notes,
    verdict_texts,
    verdict_word,
)
from app.gui.charts.figure import FigureView
from app.gui.pages.suite.foot import Foot
from app.gui.pages.suite.setup import SuiteSetup
from app.gui.pages.suite.table import PartTable
from app.gui.run.headline_row import HeadlineRow
from app.gui.run.plan_layout import ResultCard, lay_out_halves, name_box
from app.gui.run.plan_page import PlanPage
from app.gui.services.bundle import Services
from app.gui.widgets.basics import (
    Button,
    column,
    label,
    row,
    scrolled,
)
from app.gui.widgets.choice_box import ChoiceBox
from workloads.engines.registry import engine_title

HISTORY_LIMIT = 50
_STEPS = (("1", "suite_page.step_1"), ("2", "suite_page.step_2"), ("3", "suite_page.step_3"))
_Loaded = tuple[int, int | None, list[SuiteResult], list[ImportedScore]]


class SuitePage(PlanPage):
    """Runs, resumes and shows suites."""

    code = "suite"
    foot: Foot

    def __init__(self, services: Services) -> None:
        super().__init__(services, Foot(services.theme))
        self._number = 0
        self._suites: dict[int, SuiteResult] = {}
        self._imported: list[ImportedScore] = []
        self._figures: tuple[Figure, ...] = ()
        self.setup = SuiteSetup(services)
        self.history = ChoiceBox(sentence("suite_page.earlier"))
        self.charts = ChoiceBox(sentence("studies_page.which_chart"))
        self.view = FigureView(services.theme)
        self.table = PartTable()
        self.more = label(muted=True, wrap=True)
        self._make_buttons()
        self.headline = HeadlineRow(services.theme)
        self._lay_out()
        self.setup.run_requested.connect(self.begin)
        self.history.activated.connect(lambda _: self.refresh())
        self.charts.activated.connect(self._show_figure)
        self._show_state()

    @property
    def result(self) -> SuiteResult | None:
        """The suite being shown."""
        if self.is_live and (running := self._services.bridge.whole_group()) is not None:
            return suite_result(*running)
        return self._suites.get(self.history.currentData() or 0)

    def showEvent(self, event: QShowEvent) -> None:
        """Refresh the history, and catch up on a suite that ran while the page was hidden."""
        super().showEvent(event)
        if self.is_live:
            self._show_state()
        else:
            self.refresh()

    def refresh(self, choose: int | None = None) -> None:
        """Reload the suites, and show the one with this number, or the newest."""
        self._number += 1
        number, paths, wanted = self._number, self._services.paths, choose or self.history.currentData()

        def look() -> _Loaded:
            with Database(paths.database) as database:
                suites = list_suites(database, HISTORY_LIMIT)
                if choose is not None and all(each.group.id != choose for each in suites):
                    suites.append(load_suite(database, choose))  # an older one
                return number, wanted, suites, imported_scores(database, SUITES[NEWEST])

        self._services.tasks.start(look, self._on_loaded, self._services.complain)

    def resume(self) -> None:
        """Run what is left of the suite being shown."""
        shown, machine, paths = self.result, self._services.finder.machine, self._services.paths
        if shown is None or machine is None or self._services.bridge.is_running:
            return

        def look() -> SuiteResult:
            with Database(paths.database) as database:
                return load_suite(database, shown.group.id)

        def done(result: SuiteResult) -> None:  # as it is now: a terminal may have gone on with it
            if result.left and not self._services.bridge.is_running:
                self.begin(result.group.plan, machine, (result.group, list(result.left)))
            else:
                self.refresh(choose=result.group.id)

        self._services.tasks.start(look, done, self._services.complain)

    @property
    def can_share(self) -> bool:
        """Whether there is a score to share."""
        result = self.result
        return not self.is_live and result is not None and result.total is not None and result.verdict is not None

    @property
    def can_copy(self) -> bool:
        """Whether there is a text to copy."""
        return self.can_share

    def share(self) -> None:
        """Save a picture: what is on it is all that leaves."""
        self.save_picture()

    def save_picture(self) -> None:
        """Save the picture of the suite being shown."""
        if (card := self.card()) is not None and self.result is not None:
            name, ids = f"epochmark-suite-{self.result.group.id}", [run.id for run in self.result.runs]
            self.actions_on_result.save_card(card, name, ids)

    def copy_picture(self) -> None:
        """Put that picture on the clipboard."""
        if (card := self.card()) is not None:
            self.actions_on_result.copy_card(card)

    def copy_text(self) -> None:
        """Put the suite on the clipboard as text."""
        if self.result is not None and self.can_share:
            self.actions_on_result.copy_plain(suite_text(self.result))

    def export(self) -> None:
        """Write the suite to a file."""
        if self.result is not None:
            self.actions_on_result.export_suite(self.result)

    def card(self) -> SuiteCard | None:
        """Return the suite's picture; None without a score."""
        return suite_card(self.result) if self.result is not None and self.can_share else None

    def _make_buttons(self) -> None:
        theme = self._services.theme
        self.resume_button = Button(theme, sentence("suite_page.resume"), "play")
        self.resume_button.clicked.connect(self.resume)
        self.save_button = Button(theme, sentence("button.save_picture"), "image", kind="primary")
        self.save_button.clicked.connect(self.save_picture)
        self.copy_button = Button(theme, sentence("button.copy"), "copy")
        self.copy_button.clicked.connect(self.copy_text)
        self.export_button = Button(theme, sentence("studies_page.export_button"), "file-down")
        self.export_button.clicked.connect(self.export)

    def _on_loaded(self, answer: _Loaded) -> None:
        number, wanted, suites, imported = answer
        if number != self._number:
            return  # a later request is on its way
        self._suites = {result.group.id: result for result in suites}
        self._imported = imported
        self.history.clear()
        for result in suites:
            self.history.addItem(_entry(result), result.group.id)
        self.history.setCurrentIndex(max(0, self.history.findData(wanted)) if suites else -1)
        self._show_state()

    def _show_state(self) -> None:
        bridge, live = self._services.bridge, self.is_live
        busy = "suite_page.running" if live else "ab_page.busy" if bridge.is_running else ""
        self.setup.set_busy(sentence(busy) if busy else "")
        self.history.setVisible(bool(self._suites))
        self.history.setEnabled(not live)
        self.foot.setVisible(live)
        result = self.result
        self._card.show_result(is_there=result is not None)
        if result is not None:
            self._show_result(result)
        if live:
            self._show_progress()

    def _show_progress(self) -> None:
        self.foot.show_progress(self._services.bridge)

    def _setup(self) -> SuiteSetup:
        return self.setup

    def _show_result(self, result: SuiteResult) -> None:
        total = result.total
        unit = f"{sentence('suite.unit')} {certainty_text(total)}".strip() if total is not None else ""
        value = points_text(total.points) if total is not None else "–"
        self.headline.pill.show_verdict(verdict_texts(result), result.verdict or "" if total is not None else "")
        self.resume_button.setVisible(not self._services.bridge.is_running and not result.is_finished)
        self.headline.show_number(value, unit, muted=total is None)
        self.more.setText(" ".join(suite_notes(result)))
        others = [each for each in self._suites.values() if each.definition == result.definition]
        imported = self._imported if result.definition.number == NEWEST else []
        scores = scores_figure(sorted(others, key=lambda each: each.group.id != result.group.id), imported)
        self._figures = (suite_figure(result), *([scores] if scores is not None and not self.is_live else []))
        shown = self.charts.currentText()
        self.charts.clear()
        self.charts.addItems([figure.name for figure in self._figures])
        self.charts.setCurrentIndex(max(0, self.charts.findText(shown)))
        self.charts.setVisible(len(self._figures) > 1)
        self._show_figure()
        self.table.show_suite(result)
        for button in (self.save_button, self.copy_button):
            button.setEnabled(self.can_share)
        for button in (self.save_button, self.copy_button, self.export_button):
            button.setVisible(not self.is_live)
        self.state_changed.emit()

    def _show_figure(self) -> None:
        place = self.charts.currentIndex()
        self.view.show_figure(self._figures[place] if 0 <= place < len(self._figures) else None)

    def _lay_out(self) -> None:
        name_box(self.history, "suite_page.earlier")
        name_box(self.charts, "studies_page.which_chart")
        self._card = ResultCard("suite_page.nothing", _STEPS, self.history, self._shown(), self.foot)
        lay_out_halves(self, ("page.suite", "suite_page.what"), self.setup, self._card)

    def _shown(self) -> QWidget:
        commands = row(None, self.resume_button, self.export_button, self.copy_button, self.save_button)
        page = QWidget()
        answer = scrolled(self.more, row(self.charts, None), self.view, self.table)
        whole = column(self.headline, answer, commands)
        whole.setStretch(1, 1)
        page.setLayout(whole)
        return page


def _entry(result: SuiteResult) -> str:
    run = result.example
    return sentence(
        "suite_page.entry",
        group_id=result.group.id,
        points=", ".join((suite_headline(result), verdict_word(result))) if result.total else verdict_word(result),
        engine=engine_title(run.engine) if run is not None else "–",
        date=result.group.created_at[:10],
    )
