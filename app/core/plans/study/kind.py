"""The kind of plan for studies."""

from collections.abc import Mapping

from app.core.errors import UsageError
from app.core.messages import sentence
from app.core.plans.kind import Answer, PlanKind
from app.core.plans.report import PlanReport
from app.core.records import Group, Plan, PlannedRun, Study
from app.core.storage.database import Database
from workloads import CATALOGUE
from workloads.protocol.spec import RunSpec

KIND = "study"
QUICK_RUN_S = 60.0  # as in the suite, including the start of the process


def plan_minutes(plan: Plan) -> float | None:
    """Return the approximate duration of a plan; None if it has other runs than Quick runs."""
    if any(spec.preset != "quick" for spec in plan.specs):
        return None
    fixed = (
        CATALOGUE[spec.workload].fixed_duration_s if spec.workload in CATALOGUE else None for spec in plan.specs
    )
    round_s = sum(QUICK_RUN_S if run_s is None else run_s for run_s in fixed)
    return max(1.0, plan.rounds * round_s / 60)


def runs_text(plan: Plan) -> str:
    """Return the number of runs of a plan and, if all of them are Quick runs, their approximate duration."""
    minutes = plan_minutes(plan)
    if minutes is None:
        return sentence("studies_page.runs", count=plan.count)
    return sentence("studies_page.quick_runs", count=plan.count, minutes=minutes)


class StudyPlan(PlanKind):
    """A plan of many specs that differ in their values on the axes."""

    key = KIND
    page = "studies"
    has_own_page = True
    specs_at_least = 1

    def subject(self, plan: Plan) -> str:
        from app.core.plans.study.points import study_title  # imported late, because other plans don't need it

        return study_title(plan.study or Study())

    def heading(self, plan: Plan, spec: RunSpec, count: int) -> str:
        del spec, count
        title, runs = self.subject(plan), runs_text(plan)
        return sentence("cli.study_title", title=title, count=len(plan.specs), runs=runs)

    def place(self, plan: Plan, planned: PlannedRun) -> str:
        """Return the name of a run's configuration."""
        from app.core.plans.study.points import point_name

        return point_name(plan, planned.spec)

    def load(self, database: Database, group_id: int) -> PlanReport:
        """Return a stored study. Raises UsageError if it doesn't exist or can't be read."""
        from app.core.plans.study.points import load_study
        from app.core.plans.study.report import StudyReport

        return StudyReport(load_study(database, group_id))

    def stored(self, database: Database, limit: int | None = None) -> list[PlanReport]:
        """Return the readable stored studies, newest first."""
        from app.core.plans.study.points import list_studies
        from app.core.plans.study.report import StudyReport

        return [StudyReport(each) for each in list_studies(database, limit)]

    def running(self, group: Group, asked: Mapping[int, RunSpec], like: PlanReport | None = None) -> PlanReport:
        """Return a report on a study that may still be running, with the prices of another report."""
        from app.core.plans.study.points import make_result
        from app.core.plans.study.report import StudyReport

        return StudyReport(make_result(group, asked), costs=getattr(like, "costs", None))

    def answer(self, database: Database, group: Group) -> Answer:
        """Return the main finding of the study."""
        from app.core.plans.study.findings import findings
        from app.core.plans.study.points import study_result

        try:
            line = findings(study_result(database, group))[0]
        except UsageError:  # from another version
            return super().answer(database, group)
        return Answer(self.headline(group), line, line, self.verdict(group))
