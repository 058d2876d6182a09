"""The Studies page: questions that one run can't answer, their charts and what they say."""

from collections.abc import Mapping

from app.core.errors import UsageError
from app.core.messages import sentence
from app.core.plain_text import safe_text
from app.core.plans.study.costs import Costs, load_costs
from app.core.plans.study.details import NO_DETAILS, Details, load_details
from app.core.plans.study.figures import figures as figures_of
from app.core.plans.study.findings import findings
from app.core.plans.study.points import (
    StudyResult,
    list_studies,
    load_study,
    make_result,
    point_name,
)
from app.core.plans.study.share import study_card, study_lines_to_read, study_text
from app.core.plans.study.tables import study_export, study_table
from app.core.records import Group, PlannedRun
from app.core.report.card import ShareCard
from app.core.report.formats.export_format import PlanTable
from app.core.storage.database import Database
from app.gui.pages.studies.prices import PricesDialog
from app.gui.pages.studies.setup import StudySetup
from app.gui.run.charted_page import ChartedPage, PageTexts
from app.gui.run.plan_page import HISTORY_LIMIT
from app.gui.services.bundle import Services
from app.gui.style.tokens import TITLE_PX
from app.gui.widgets.basics import (
    label,
)
from workloads import CATALOGUE
from workloads.protocol.spec import RunSpec

_TEXTS = PageTexts(
    title="page.studies",
    purpose="studies_page.what",
    earlier="studies_page.earlier",
    nothing="studies_page.nothing",
    steps=(("1", "studies_page.step_1"), ("2", "studies_page.step_2"), ("3", "studies_page.step_3")),
)
_More = tuple[int, Details, Costs, UsageError | None]


class StudiesPage(ChartedPage[StudyResult]):
    """Sets up, runs, resumes and shows studies."""

    code, running, file_name = "studies", "studies_page.running", "epochmark-study"
    export_codes = "studies_page.export", "studies_page.exported"

    def __init__(self, services: Services) -> None:
        self.setup = StudySetup(services)
        super().__init__(services, self.setup, "studies_page.table")
        self._costs = Costs()
        self._loaded_of, self._loaded = 0, NO_DETAILS  # a study's number, and what was loaded for it
        self.headline = label("", TITLE_PX - 2, wrap=True)
        self.setup.prices_requested.connect(self._on_prices)
        self._lay_out(_TEXTS, self.headline)
        self._show_state()

    def _details(self, result: StudyResult) -> Details:
        is_loaded = result.group.id == self._loaded_of and not self.is_live
        return self._loaded if is_loaded else NO_DETAILS

    def _list(self, database: Database) -> list[StudyResult]:
        return list_studies(database, HISTORY_LIMIT)

    def _load(self, database: Database, group_id: int) -> StudyResult:
        return load_study(database, group_id)

    def _load_more(self, database: Database, shown: StudyResult | None) -> _More:
        # Of all studies it could be thousands of runs.
        details = NO_DETAILS if shown is None else load_details(database, shown)
        return shown.group.id if shown is not None else 0, details, *load_costs(self._services.paths)

    def _keep_more(self, more: _More) -> None:
        self._loaded_of, self._loaded, self._costs, problem = more
        if problem is not None and any(result.study.preset == "cost" for result in self._results.values()):
            self._services.complain(problem)

    def _of_running(self, group: Group, asked: Mapping[int, RunSpec]) -> StudyResult:
        return make_result(group, asked)

    def _current(self, planned: PlannedRun, number: int, count: int) -> str:
        plan = self._services.bridge.plan
        point = "" if plan is None else point_name(plan, planned.spec)
        return sentence("studies_page.run_of", number=number, planned=count, point=point)

    def _has_result(self, result: StudyResult) -> bool:
        return bool(self._figures) and bool(result.done)

    def _card_of(self, result: StudyResult) -> ShareCard:
        return study_card(result, self._details(result), self._costs, self.charts.currentIndex())

    def _text(self, result: StudyResult) -> str:
        return study_text(result, self._details(result), self._costs)

    def _table(self, result: StudyResult) -> PlanTable:
        return study_export(result, self._details(result), self._costs)

    def _on_prices(self) -> None:
        dialog = PricesDialog(self._services, self)
        dialog.accepted.connect(self.refresh)
        dialog.open()

    def _show_answer(self) -> None:
        result = self.result
        assert result is not None
        details = self._details(result)
        lines = study_lines_to_read(result, details, self._costs)
        self.headline.setText(safe_text(lines[0]))
        self.more.setText(safe_text(" ".join(lines[1:])))
        self.more.setVisible(len(lines) > 1)
        self._show_charts(figures_of(result, details, self._costs))
        table = study_table(result)
        self.table.show_texts(
            table.headings,
            table.rows,
            numbers=range(table.left, len(table.headings) - 1),
            bold=table.is_best,  # within 5 % of the fastest
            tips=[point.reason for point in result.points],
        )
        self.table.setAccessibleDescription(" ".join(findings(result)))

    def _entry(self, result: StudyResult) -> str:
        names = [CATALOGUE[name].title for name in result.workloads if name in CATALOGUE]
        what = names[0] if len(names) == 1 else sentence("group.workloads", count=len(names))
        return sentence(
            "studies_page.history_entry",
            group_id=result.group.id,
            title=result.title,
            workload=what,
            date=result.group.created_at[:10],
        )
