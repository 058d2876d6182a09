"""The Suite page: one click runs a fixed list of workloads, and shows their score."""

from app.core.messages import sentence
from app.core.plain_text import safe_text
from app.core.plans.study.figures import Figure
from app.core.plans.suite.imported import ImportedScore, imported_scores
from app.core.plans.suite.score import SuiteResult, suite_result
from app.core.plans.suite.share import SuiteCard, suite_card, suite_text
from app.core.plans.suite.stored import list_suites, load_suite
from app.core.plans.suite.texts import (
    certainty_text,
    points_text,
    scores_figure,
    suite_figure,
    suite_headline,
    suite_notes,
    verdict_texts,
    verdict_word,
)
from app.core.storage.database import Database
from app.gui.pages.suite.foot import Foot
from app.gui.pages.suite.setup import SuiteSetup
from app.gui.pages.suite.table import PartTable
from app.gui.run.headline_row import HeadlineRow
from app.gui.run.plan_page import PageTexts, PlanPage
from app.gui.services.bundle import Services
from workloads.engines.registry import engine_title

HISTORY_LIMIT = 50
_TEXTS = PageTexts(
    title="page.suite",
    purpose="suite_page.what",
    earlier="suite_page.earlier",
    nothing="suite_page.nothing",
    steps=(("1", "suite_page.step_1"), ("2", "suite_page.step_2"), ("3", "suite_page.step_3")),
)
_Loaded = tuple[int, int | None, list[SuiteResult], list[ImportedScore]]


class SuitePage(PlanPage):
    """Runs, resumes and shows suites."""

    code, running = "suite", "suite_page.running"

    def __init__(self, services: Services) -> None:
        self.setup = SuiteSetup(services)
        super().__init__(services, self.setup, Foot(services.theme))
        self._number = 0
        self._suites: dict[int, SuiteResult] = {}
        self._imported: list[ImportedScore] = []
        self.headline = HeadlineRow(services.theme)
        self.table = PartTable()
        self._lay_out(_TEXTS, self.headline, self.table)
        self._show_state()

    @property
    def result(self) -> SuiteResult | None:
        """The suite being shown."""
        if self.is_live and (running := self._services.bridge.whole_group()) is not None:
            return suite_result(*running)
        return self._suites.get(self.history.currentData() or 0)

    def refresh(self, choose: int | None = None) -> None:
        """Reload the suites, and show the one with this number, or the newest."""
        self._number += 1
        number, paths, wanted = self._number, self._services.paths, choose or self.history.currentData()

        def look() -> _Loaded:
            with Database(paths.database) as database:
                suites = list_suites(database, HISTORY_LIMIT)
                if choose is not None and all(each.group.id != choose for each in suites):
                    suites.append(load_suite(database, choose))  # an older one
                return number, wanted, suites, imported_scores(database)

        self._services.tasks.start(look, self._on_loaded, self._services.complain)

    @property
    def can_share(self) -> bool:
        """Whether there is a score to share."""
        result = self.result
        return not self.is_live and result is not None and result.total is not None and result.verdict is not None

    def save_picture(self) -> None:
        """Save the picture of the suite being shown."""
        if (card := self.card()) is not None and self.result is not None:
            name, ids = f"epochmark-suite-{self.result.group.id}", [run.id for run in self.result.runs]
            self.actions_on_result.save_card(card, name, ids)

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

    def _load(self, database: Database, group_id: int) -> SuiteResult:
        return load_suite(database, group_id)

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
        self.table.show_suite(result)

    def _scores(self, result: SuiteResult) -> Figure | None:
        """Return the chart of all scores, with that of the shown suite first."""
        others = [
            each
            for each in self._suites.values()
            if each.definition == result.definition and each.group.id != result.group.id
        ]
        imported = [each for each in self._imported if each.suite == result.definition.number]
        return scores_figure(result, others, imported)


def _entry(result: SuiteResult) -> str:
    run = result.example
    return sentence(
        "suite_page.entry",
        group_id=result.group.id,
        points=", ".join((suite_headline(result), verdict_word(result))) if result.total else verdict_word(result),
        engine=engine_title(run.engine) if run is not None else "–",
        date=result.group.created_at[:10],
    )
