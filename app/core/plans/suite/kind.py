"""The kind of plan for suites."""

from collections.abc import Mapping

from app.core.errors import UsageError
from app.core.messages import sentence
from app.core.plans.kind import Answer, PlanKind
from app.core.plans.report import PlanReport
from app.core.records import Group, Plan, PlannedRun, Suite
from app.core.storage.database import Database
from workloads import CATALOGUE
from workloads.protocol.spec import RunSpec

KIND = "suite"


class SuitePlan(PlanKind):
    """A plan of a suite's tests."""

    key = KIND
    page = "suite"
    has_own_page = True
    specs_at_least = 1

    def subject(self, plan: Plan) -> str:
        from app.core.plans.suite.definition import suite_name  # imported late, because other plans don't need it

        return suite_name((plan.suite or Suite()).number)

    def heading(self, plan: Plan, spec: RunSpec, count: int) -> str:
        """Return the name of the suite and the expected duration."""
        from app.core.plans.suite.definition import RUN_S

        name, is_demo = self.subject(plan), CATALOGUE[spec.workload].is_demo
        if is_demo:
            return sentence("cli.suite_title_demo", name=name, count=count)
        return sentence("cli.suite_title", name=name, count=count, minutes=RUN_S * count / 60)

    def place(self, plan: Plan, planned: PlannedRun) -> str:
        del plan
        return planned.spec.workload

    def sentence_so_far(self, group: Group, asked: Mapping[int, RunSpec]) -> str:
        """Return the score, or the progress of the suite."""
        from app.core.plans.suite.score import suite_result
        from app.core.plans.suite.texts import suite_lines

        return suite_lines(suite_result(group, asked))[0]

    def load(self, database: Database, group_id: int) -> PlanReport:
        """Return a stored suite. Raises UsageError if it doesn't exist or can't be read."""
        from app.core.plans.suite.report import SuiteReport
        from app.core.plans.suite.stored import load_suite

        return SuiteReport(load_suite(database, group_id))

    def stored(self, database: Database, limit: int | None = None) -> list[PlanReport]:
        """Return the readable stored suites, newest first."""
        from app.core.plans.suite.report import SuiteReport
        from app.core.plans.suite.stored import list_suites

        return [SuiteReport(each) for each in list_suites(database, limit)]

    def running(self, group: Group, asked: Mapping[int, RunSpec], like: PlanReport | None = None) -> PlanReport:
        """Return a report on a suite that may still be running."""
        from app.core.plans.suite.report import SuiteReport
        from app.core.plans.suite.score import suite_result

        del like
        return SuiteReport(suite_result(group, asked))

    def answer(self, database: Database, group: Group) -> Answer:
        """Return the score, or the progress of the suite."""
        from app.core.plans.suite.stored import suite_of
        from app.core.plans.suite.texts import suite_headline, suite_lines, verdict_word

        try:
            result = suite_of(database, group)
        except UsageError:  # from another version
            return super().answer(database, group)
        headline = suite_headline(result) if result.total is not None else verdict_word(result)
        line = suite_lines(result)[0]
        return Answer(headline, line, line, result.verdict)
