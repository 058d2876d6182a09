"""The Suite page: runs a fixed list of tests and shows the score."""

from app.core.messages import sentence
from app.core.plain_text import safe_text
from app.core.plans.report import PlanReport
from app.core.plans.suite.kind import SuitePlan
from app.core.plans.suite.report import SuiteReport
from app.core.plans.suite.texts import certainty_text, points_text, verdict_texts
from app.core.storage.database import Database
from app.gui.pages.suite.setup import SuiteSetup
from app.gui.run.headline_row import HeadlineRow
from app.gui.run.kind_page import KindPage, PageTexts
from app.gui.services.bundle import Services
from app.gui.services.community_table import community_rows

_TEXTS = PageTexts(
    title="page.suite",
    purpose="suite_page.what",
    running="suite_page.running",
    earlier="suite_page.earlier",
    table="suite_page.parts_table",
    nothing="suite_page.nothing",
    steps=(("1", "suite_page.step_1"), ("2", "suite_page.step_2"), ("3", "suite_page.step_3")),
    export="suite_page.export",
    exported="suite_page.exported",
)


class SuitePage(KindPage):
    """Runs, resumes and displays suites."""

    headline: HeadlineRow

    def __init__(self, services: Services) -> None:
        self.setup = SuiteSetup(services)
        super().__init__(services, SuitePlan(), self.setup, _TEXTS, HeadlineRow(services.theme))

    def _load_more(self, database: Database, shown: PlanReport | None) -> PlanReport | None:
        more = super()._load_more(database, shown)
        return more.with_community(community_rows(self._services.paths)) if isinstance(more, SuiteReport) else more

    def _show_headline(self, report: PlanReport) -> None:
        assert isinstance(report, SuiteReport)
        result, total = report.result, report.result.total
        unit = f"{sentence('suite.unit')} {certainty_text(total)}".strip() if total is not None else ""
        value = points_text(total.points) if total is not None else "–"
        self.headline.pill.show_verdict(verdict_texts(result), result.verdict or "" if total is not None else "")
        self.headline.show_number(value, unit, muted=total is None)
        self.more.setText(safe_text(" ".join(report.notes())))
