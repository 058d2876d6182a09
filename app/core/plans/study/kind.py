"""A study: a question that several runs answer, each of them a point."""

from app.core.errors import UsageError
from app.core.messages import sentence
from app.core.plans.kind import Answer, PlanKind
from app.core.records import Group, Plan, PlannedRun, Study
from app.core.storage.database import Database
from workloads.protocol.spec import RunSpec

KIND = "study"


class StudyPlan(PlanKind):
    """A plan of many specs, which differ along axes."""

    key = KIND
    page = "studies"
    has_own_page = True
    specs_at_least = 1

    def subject(self, plan: Plan) -> str:
        """Return the study's name."""
        from app.core.plans.study.points import study_title  # what has no studies doesn't wait for them

        return study_title(plan.study or Study())

    def heading(self, plan: Plan, spec: RunSpec, count: int) -> str:
        """Return the study's name, its points and runs."""
        del spec, count
        title, runs = self.subject(plan), sentence("studies_page.runs", count=plan.count)
        return sentence("cli.study_title", title=title, count=len(plan.specs), runs=runs)

    def place(self, plan: Plan, planned: PlannedRun) -> str:
        """Return the point's place on the axes."""
        from app.core.plans.study.points import point_name

        return point_name(plan, planned.spec)

    def answer(self, database: Database, group: Group) -> Answer:
        """Return the first thing that the study found."""
        from app.core.plans.study.findings import findings
        from app.core.plans.study.points import study_result

        try:
            line = findings(study_result(database, group))[0]
        except UsageError:  # of another version
            return super().answer(database, group)
        return Answer(self.headline(group), line, line, self.verdict(group))
