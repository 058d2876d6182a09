"""The Suite page: one click runs a fixed list of workloads, and shows their score."""

from collections.abc import Mapping

from app.core.messages import sentence
from app.core.plain_text import safe_text
from app.core.plans.suite.export import suite_export
from app.core.plans.suite.imported import ImportedScore, imported_scores
from app.core.plans.suite.score import SuiteResult, suite_result
from app.core.plans.suite.share import suite_card, suite_text
from app.core.plans.suite.stored import list_suites, load_suite
from app.core.plans.suite.texts import (
    certainty_text,
    points_text,
    scores_figure,
    suite_figure,
    suite_headline,
    suite_lines,
    suite_notes,
    suite_table,
    verdict_texts,
    verdict_word,
)
from app.core.records import Group, PlannedRun
from app.core.report.card import Figure, ShareCard
from app.core.report.formats.export_format import PlanTable
from app.core.storage.database import Database
from app.gui.pages.suite.setup import SuiteSetup
from app.gui.run.charted_page import ChartedPage, PageTexts
from app.gui.run.headline_row import HeadlineRow
from app.gui.run.plan_page import HISTORY_LIMIT
from app.gui.services.bundle import Services
from workloads import CATALOGUE
from workloads.engines.registry import engine_title
from workloads.protocol.spec import RunSpec

_TEXTS = PageTexts(
    title="page.suite",
    purpose="suite_page.what",
    earlier="suite_page.earlier",
    nothing="suite_page.nothing",
    steps=(("1", "suite_page.step_1"), ("2", "suite_page.step_2"), ("3", "suite_page.step_3")),
)


class SuitePage(ChartedPage[SuiteResult]):
    """Runs, resumes and shows suites."""

    code, running, file_name = "suite", "suite_page.running", "epochmark-suite"
    export_codes = "suite_page.export", "suite_page.exported"

    def __init__(self, services: Services) -> None:
        self.setup = SuiteSetup(services)
        super().__init__(services, self.setup, "suite_page.parts_table")
        self._imported: list[ImportedScore] = []
        self.headline = HeadlineRow(services.theme)
        self._lay_out(_TEXTS, self.headline)
        self._show_state()

    def _list(self, database: Database) -> list[SuiteResult]:
        return list_suites(database, HISTORY_LIMIT)

    def _load(self, database: Database, group_id: int) -> SuiteResult:
        return load_suite(database, group_id)

    def _load_more(self, database: Database, shown: SuiteResult | None) -> list[ImportedScore]:
        del shown
        return imported_scores(database)

    def _keep_more(self, more: list[ImportedScore]) -> None:
        self._imported = more

    def _of_running(self, group: Group, asked: Mapping[int, RunSpec]) -> SuiteResult:
        return suite_result(group, asked)

    def _current(self, planned: PlannedRun, number: int, count: int) -> str:
        part = CATALOGUE[planned.spec.workload].title
        return sentence("suite_page.run_of", number=number, planned=count, part=part)

    def _has_result(self, result: SuiteResult) -> bool:
        return result.total is not None and result.verdict is not None

    def _shared_ids(self, result: SuiteResult) -> list[int]:
        return [run.id for run in result.runs]

    def _card_of(self, result: SuiteResult) -> ShareCard:
        return suite_card(result)

    def _text(self, result: SuiteResult) -> str:
        return suite_text(result)

    def _table(self, result: SuiteResult) -> PlanTable:
        return suite_export(result)

    def _show_answer(self) -> None:
        result = self.result
        assert result is not None
        total = result.total
        unit = f"{sentence('suite.unit')} {certainty_text(total)}".strip() if total is not None else ""
        value = points_text(total.points) if total is not None else "–"
        self.headline.pill.show_verdict(verdict_texts(result), result.verdict or "" if total is not None else "")
        self.headline.show_number(value, unit, muted=total is None)
        self.more.setText(safe_text(" ".join(suite_notes(result))))
        scores = None if self.is_live else self._scores(result)
        self._show_charts((suite_figure(result), *([scores] if scores is not None else [])))
        table, tips = suite_table(result), [each.reason for each in result.parts]
        numbers = range(1, len(table.headings) - 1)
        self.table.show_texts(table.headings, table.rows, numbers=numbers, tips=tips)
        self.table.setAccessibleDescription(" ".join(suite_lines(result)))

    def _scores(self, result: SuiteResult) -> Figure | None:
        """Return the chart of all scores, with that of the shown suite first."""
        others = [
            each
            for each in self._results.values()
            if each.definition == result.definition and each.group.id != result.group.id
        ]
        imported = [each for each in self._imported if each.suite == result.definition.number]
        return scores_figure(result, others, imported)

    def _entry(self, result: SuiteResult) -> str:
        run, points = result.example, verdict_word(result)
        if result.total is not None:
            points = ", ".join((suite_headline(result), points))
        engine = engine_title(run.engine) if run is not None else "–"
        date = result.group.created_at[:10]
        return sentence("suite_page.entry", group_id=result.group.id, points=points, engine=engine, date=date)
