"""The Studies page: questions that one run can't answer, their charts and what they say."""

from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import (
    QWidget,
)

from app.core.errors import UsageError
from app.core.messages import sentence
from app.core.storage.database import Database
from app.core.studies.costs import Costs, load_costs
from app.core.studies.details import NO_DETAILS, Details, load_details
from app.core.studies.figures import Figure
from app.core.studies.figures import figures as figures_of
from app.core.studies.points import (
    StudyResult,
    list_studies,
    load_study,
    make_result,
)
from app.core.studies.share import StudyCard, study_card, study_lines_to_read, study_text
from app.gui.charts.figure import FigureView
from app.gui.pages.studies.foot import Foot
from app.gui.pages.studies.prices import PricesDialog
from app.gui.pages.studies.setup import StudySetup
from app.gui.pages.studies.table import StudyTable
from app.gui.run.plan_layout import ResultCard, lay_out_halves, name_box
from app.gui.run.plan_page import PlanPage
from app.gui.services.bundle import Services
from app.gui.style.tokens import TITLE_PX
from app.gui.widgets.basics import (
    Button,
    column,
    label,
    row,
    scrolled,
)
from app.gui.widgets.choice_box import ChoiceBox
from workloads import CATALOGUE

HISTORY_LIMIT = 50
_STEPS = (
    ("1", "studies_page.step_1"),
    ("2", "studies_page.step_2"),
    ("3", "studies_page.step_3"),
)
_Loaded = tuple[int, int | None, list[tuple[StudyResult, Details]], Costs, UsageError | None]


class StudiesPage(PlanPage):
    """Sets up, runs, resumes and shows studies."""

    code = "studies"
    foot: Foot

    def __init__(self, services: Services) -> None:
        super().__init__(services, Foot(services.theme))
        self._number = 0
        self._studies: dict[int, tuple[StudyResult, Details]] = {}
        self._costs = Costs()
        self._figures: tuple[Figure, ...] = ()
        self._details = NO_DETAILS
        self.setup = StudySetup(services)
        self.history = ChoiceBox()
        self.headline = label("", TITLE_PX - 2, wrap=True)
        self.more = label(muted=True, wrap=True)
        self.charts = ChoiceBox(sentence("studies_page.which_chart"))
        self.view = FigureView(services.theme)
        self.table = StudyTable()
        self._make_buttons()
        self._lay_out()
        self._connect()
        self._show_state()

    @property
    def result(self) -> StudyResult | None:
        """The study being shown."""
        if self.is_live and (running := self._services.bridge.whole_group()) is not None:
            return make_result(*running)
        shown = self._studies.get(self.history.currentData() or 0)
        return shown[0] if shown else None

    def showEvent(self, event: QShowEvent) -> None:
        """Refresh the history, and catch up on a study that ran while the page was hidden."""
        super().showEvent(event)
        if self.is_live:
            self._show_state()
        else:
            self.refresh()

    def refresh(self, choose: int | None = None) -> None:
        """Reload the studies, and show the one with this number, or the newest."""
        self._number += 1
        number, paths, wanted = self._number, self._services.paths, choose or self.history.currentData()

        def look() -> _Loaded:
            with Database(paths.database) as database:
                studies = list_studies(database, HISTORY_LIMIT)
                if choose is not None and all(each.group.id != choose for each in studies):
                    studies.append(load_study(database, choose))  # an older one
                shown = next(
                    (each for each in studies if each.group.id == wanted), studies[0] if studies else None
                )
                # All of them could be thousands of runs.
                details = NO_DETAILS if shown is None else load_details(database, shown)
            loaded = [(each, details if each is shown else NO_DETAILS) for each in studies]
            return number, wanted, loaded, *load_costs(paths)

        self._services.tasks.start(look, self._on_loaded, self._services.complain)

    def resume(self) -> None:
        """Run what is left of the study being shown."""
        result, machine = self.result, self._services.finder.machine
        if result is None or machine is None or self._services.bridge.is_running:
            return
        left = list(result.left)
        if left:
            self.begin(result.group.plan, machine, (result.group, left))

    @property
    def can_share(self) -> bool:
        """Whether there is a result to share."""
        return bool(self._figures) and not self.is_live and self.result is not None

    @property
    def can_copy(self) -> bool:
        """Whether there is a text to copy."""
        return self.can_share

    def share(self) -> None:
        """Save a picture: what is on it is all that leaves."""
        self.save_picture()

    def save_picture(self) -> None:
        """Save the picture of the chart being shown."""
        if (card := self.card()) is not None and self.result is not None:
            group = self.result.group
            self.actions_on_result.save_card(card, f"epochmark-study-{group.id}", [run.id for run in group.runs])

    def copy_picture(self) -> None:
        """Put that picture on the clipboard."""
        if (card := self.card()) is not None:
            self.actions_on_result.copy_card(card)

    def copy_text(self) -> None:
        """Put the study on the clipboard as text."""
        if self.result is not None and self.can_share:
            self.actions_on_result.copy_plain(study_text(self.result, self._details, self._costs))

    def export(self) -> None:
        """Write the study to a file."""
        if self.result is not None:
            self.actions_on_result.export_study(self.result, self._details, self._costs)

    def card(self) -> StudyCard | None:
        """Return the picture of the chart being shown; None without a result."""
        if self.result is None or not self.can_share:
            return None
        return study_card(self.result, self._details, self._costs, self.charts.currentIndex())

    def _make_buttons(self) -> None:
        theme = self._services.theme
        self.resume_button = Button(theme, sentence("studies_page.resume"), "play")
        self.resume_button.clicked.connect(self.resume)
        self.save_button = Button(theme, sentence("button.save_picture"), "image", kind="primary")
        self.save_button.clicked.connect(self.save_picture)
        self.copy_button = Button(theme, sentence("button.copy"), "copy")
        self.copy_button.clicked.connect(self.copy_text)
        self.export_button = Button(theme, sentence("studies_page.export_button"), "file-down")
        self.export_button.clicked.connect(self.export)

    def _connect(self) -> None:
        self.setup.run_requested.connect(self.begin)
        self.setup.prices_requested.connect(self._on_prices)
        self.history.activated.connect(lambda _: self.refresh())
        self.charts.activated.connect(self._show_figure)

    def _on_prices(self) -> None:
        dialog = PricesDialog(self._services, self)
        dialog.accepted.connect(self.refresh)
        dialog.open()

    def _on_loaded(self, answer: _Loaded) -> None:
        number, wanted, loaded, costs, problem = answer
        if number != self._number:
            return  # a later request is on its way
        self._costs = costs
        if problem is not None and any(result.study.preset == "cost" for result, _ in loaded):
            self._services.complain(problem)
        self._studies = {result.group.id: (result, details) for result, details in loaded}
        self.history.clear()
        for result, _ in loaded:
            self.history.addItem(_name(result), result.group.id)
        self.history.setCurrentIndex(max(0, self.history.findData(wanted)) if loaded else -1)
        self._show_state()

    def _show_state(self) -> None:
        """Show the running study, the chosen one, or the instructions."""
        bridge, live = self._services.bridge, self.is_live
        busy = "studies_page.running" if live else "ab_page.busy" if bridge.is_running else ""
        self.setup.set_busy(sentence(busy) if busy else "")
        self.history.setVisible(bool(self._studies))
        self.history.setEnabled(not live)
        self.foot.setVisible(live)
        result = self.result
        self._card.show_result(is_there=result is not None)
        if result is not None:
            details = self._studies.get(result.group.id, (result, NO_DETAILS))[1] if not live else NO_DETAILS
            self._show_result(result, details)
        if live:
            self._show_progress()

    def _show_progress(self) -> None:
        self.foot.show_progress(self._services.bridge)

    def _setup(self) -> StudySetup:
        return self.setup

    def _show_result(self, result: StudyResult, details: Details) -> None:
        self._details = details
        lines = study_lines_to_read(result, details, self._costs)
        self.headline.setText(lines[0])
        self.more.setText(" ".join(lines[1:]))
        self.more.setVisible(len(lines) > 1)
        self.resume_button.setVisible(not self._services.bridge.is_running and not result.is_finished)
        self._figures = figures_of(result, details, self._costs)
        shown = self.charts.currentText()
        self.charts.clear()
        self.charts.addItems([figure.name for figure in self._figures])
        self.charts.setCurrentIndex(max(0, self.charts.findText(shown)))
        self.charts.setVisible(len(self._figures) > 1)
        self._show_figure()
        self.table.show_study(result)
        for button in (self.save_button, self.copy_button):
            button.setEnabled(self.can_share)
        for button in (self.save_button, self.copy_button, self.export_button):
            button.setVisible(not self.is_live)
        self.state_changed.emit()

    def _show_figure(self) -> None:
        place = self.charts.currentIndex()
        self.view.show_figure(self._figures[place] if 0 <= place < len(self._figures) else None)

    def _lay_out(self) -> None:
        name_box(self.history, "studies_page.earlier")
        name_box(self.charts, "studies_page.which_chart")
        self._card = ResultCard("studies_page.nothing", _STEPS, self.history, self._shown(), self.foot)
        lay_out_halves(self, ("page.studies", "studies_page.what"), self.setup, self._card)

    def _shown(self) -> QWidget:
        commands = row(None, self.resume_button, self.export_button, self.copy_button, self.save_button)
        page = QWidget()
        answer = scrolled(self.more, row(self.charts, None), self.view, self.table)
        whole = column(self.headline, answer, commands)
        whole.setStretch(1, 1)
        page.setLayout(whole)
        return page


def _name(result: StudyResult) -> str:
    names = [CATALOGUE[name].title for name in result.workloads if name in CATALOGUE]
    what = names[0] if len(names) == 1 else sentence("group.workloads", count=len(names))
    return sentence(
        "studies_page.history_entry",
        group_id=result.group.id,
        title=result.title,
        workload=what,
        date=result.group.created_at[:10],
    )
