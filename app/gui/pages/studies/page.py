"""The Studies page: questions that one run can't answer, their charts and what they say."""

from app.core.errors import UsageError
from app.core.messages import sentence
from app.core.plain_text import safe_text
from app.core.plans.study.costs import Costs, load_costs
from app.core.plans.study.details import NO_DETAILS, Details, load_details
from app.core.plans.study.figures import figures as figures_of
from app.core.plans.study.points import (
    StudyResult,
    list_studies,
    load_study,
    make_result,
)
from app.core.plans.study.share import StudyCard, study_card, study_lines_to_read, study_text
from app.core.storage.database import Database
from app.gui.pages.studies.foot import Foot
from app.gui.pages.studies.prices import PricesDialog
from app.gui.pages.studies.setup import StudySetup
from app.gui.pages.studies.table import StudyTable
from app.gui.run.plan_page import PageTexts, PlanPage
from app.gui.services.bundle import Services
from app.gui.style.tokens import TITLE_PX
from app.gui.widgets.basics import (
    label,
)
from workloads import CATALOGUE

HISTORY_LIMIT = 50
_TEXTS = PageTexts(
    title="page.studies",
    purpose="studies_page.what",
    earlier="studies_page.earlier",
    nothing="studies_page.nothing",
    steps=(("1", "studies_page.step_1"), ("2", "studies_page.step_2"), ("3", "studies_page.step_3")),
)
_Loaded = tuple[int, int | None, list[tuple[StudyResult, Details]], Costs, UsageError | None]


class StudiesPage(PlanPage):
    """Sets up, runs, resumes and shows studies."""

    code, running = "studies", "studies_page.running"

    def __init__(self, services: Services) -> None:
        self.setup = StudySetup(services)
        super().__init__(services, self.setup, Foot(services.theme))
        self._number = 0
        self._studies: dict[int, tuple[StudyResult, Details]] = {}
        self._costs = Costs()
        self._details = NO_DETAILS
        self.headline = label("", TITLE_PX - 2, wrap=True)
        self.table = StudyTable()
        self.setup.prices_requested.connect(self._on_prices)
        self._lay_out(_TEXTS, self.headline, self.table)
        self._show_state()

    @property
    def result(self) -> StudyResult | None:
        """The study being shown."""
        if self.is_live and (running := self._services.bridge.whole_group()) is not None:
            return make_result(*running)
        shown = self._studies.get(self.history.currentData() or 0)
        return shown[0] if shown else None

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

    @property
    def can_share(self) -> bool:
        """Whether there is a result to share."""
        return bool(self._figures) and not self.is_live and self.result is not None

    def save_picture(self) -> None:
        """Save the picture of the chart being shown."""
        if (card := self.card()) is not None and self.result is not None:
            group = self.result.group
            self.actions_on_result.save_card(card, f"epochmark-study-{group.id}", [run.id for run in group.runs])

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

    def _load(self, database: Database, group_id: int) -> StudyResult:
        return load_study(database, group_id)

    def _show_answer(self) -> None:
        result = self.result
        assert result is not None
        stored = self._studies.get(result.group.id, (result, NO_DETAILS))
        self._details = NO_DETAILS if self.is_live else stored[1]
        lines = study_lines_to_read(result, self._details, self._costs)
        self.headline.setText(safe_text(lines[0]))
        self.more.setText(safe_text(" ".join(lines[1:])))
        self.more.setVisible(len(lines) > 1)
        self._show_charts(figures_of(result, self._details, self._costs))
        self.table.show_study(result)


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
