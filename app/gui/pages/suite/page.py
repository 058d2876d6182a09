"""The Suite page: runs a fixed list of tests and shows the score."""

from collections.abc import Mapping
from dataclasses import replace

from app.core.messages import sentence
from app.core.plain_text import safe_text
from app.core.plans.report import PlanReport
from app.core.plans.suite.definition import NEWEST, RUN_S, SUITES
from app.core.plans.suite.kind import SuitePlan
from app.core.plans.suite.known import imported_scores
from app.core.plans.suite.planning import plan_suite
from app.core.plans.suite.report import SuiteReport
from app.core.plans.suite.texts import certainty_text, others_figure, points_text, verdict_texts, verdict_word
from app.core.records import Group
from app.core.report.card import Figure
from app.core.runs.runner import Runner
from app.gui.charts.figure import FigureView
from app.gui.run.headline_row import HeadlineRow
from app.gui.run.kind_page import KindPage, PageTexts
from app.gui.services.bundle import Services
from app.gui.services.tasks import Latest
from workloads.protocol.spec import RunSpec

_TEXTS = PageTexts(
    title="setup.suite_title",
    purpose="suite_page.what",
    running="suite_page.running",
    earlier="suite_page.earlier",
    table="",
    nothing="suite_page.nothing",
    steps=(("1", "suite_page.step_1"), ("2", "suite_page.step_2")),
    export="suite_page.export",
    exported="suite_page.exported",
)


class SuitePage(KindPage):
    """Runs, resumes and displays suites. Without a score, it displays the `others` of other computers."""

    headline: HeadlineRow

    def __init__(self, services: Services) -> None:
        self.others = FigureView(services.theme)
        self.others.hide()
        self._latest_others = Latest()
        headline = HeadlineRow(services.theme)
        super().__init__(services, SuitePlan(), None, _TEXTS, headline=headline, below=self.others)

    def refresh(self, choose: int | None = None) -> None:
        """Reload the stored suites and the scores of other computers. `choose` is as in `PlanPage.refresh`."""
        super().refresh(choose)
        definition = SUITES[NEWEST]
        done = self._latest_others.only(self._show_others)
        self._services.query(lambda database: others_figure(imported_scores(database), definition), done)

    def start(self, engine: str, device: str) -> None:
        """Run the suite, unless this computer can't or something else is running."""
        machine = self._services.finder.machine
        if machine is None or self._services.bridge.is_running:
            return
        runner = Runner(self._services.paths, machine)
        self._services.tasks.start(
            lambda: plan_suite(runner, engine, device, NEWEST),
            lambda plan: self.begin(plan, machine),
            self._services.complain,
        )

    def show_known(self) -> None:
        """Show the chart of known computers, which is available if this computer has a score."""
        place = self.charts.findText(sentence("suite.known_computers"))
        if place >= 0:
            self.charts.setCurrentIndex(place)
            self._show_figure()

    def _show_others(self, figure: Figure | None) -> None:
        self.others.show_figure(figure)
        self.others.setVisible(figure is not None)

    def _of_running(self, group: Group, asked: Mapping[int, RunSpec]) -> PlanReport:
        report, planned = super()._of_running(group, asked), self._services.bridge.planned
        assert isinstance(report, SuiteReport)
        return replace(report, current_spec=None if planned is None else planned.spec)

    def _left_s(self) -> float | None:
        """Return the remaining time in seconds; before the first run has finished, as measured elsewhere."""
        bridge = self._services.bridge
        return bridge.left_s() or RUN_S * bridge.planned_runs

    def _show_headline(self, report: PlanReport) -> None:
        assert isinstance(report, SuiteReport)
        result, total = report.result, report.result.total
        if total is not None:
            unit = f"{sentence('suite.unit')} {certainty_text(total)}".strip()
            self.headline.pill.show_verdict(verdict_texts(result), result.verdict or "")
            self.headline.show_number(points_text(total.points), unit, muted=False)
        else:
            self.headline.pill.show_verdict((), "")
            self.headline.show_number(verdict_word(result), "", muted=True)
        self.more.setText(safe_text(" ".join(report.notes())))
