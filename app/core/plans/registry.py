"""The kinds of plans. To add a kind, write a class, list it in this module, and add its sentences."""

from app.core.plans.ab import AbTest
from app.core.plans.engines import EngineComparison
from app.core.plans.kind import PlanKind
from app.core.plans.repeat import Repeat
from app.core.plans.study.kind import StudyPlan
from app.core.plans.suite.kind import SuitePlan
from app.core.records import Group, Plan

KINDS: dict[str, PlanKind] = {
    kind.key: kind for kind in (Repeat(), AbTest(), EngineComparison(), StudyPlan(), SuitePlan())
}
_UNKNOWN = PlanKind()


def kind_of(plan: Plan | Group) -> PlanKind:
    """Return the kind of a plan or group; the base class for kinds from other versions."""
    return KINDS.get(plan.kind, _UNKNOWN)
