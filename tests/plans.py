"""What tests of plans share: plans of ready-made studies, and reports on results that are already there."""

from collections.abc import Mapping, Sequence
from typing import Any

from app.core.plans.experiments import EXPERIMENTS, STUDIES, load_report
from app.core.plans.report import PlanOptions
from app.core.plans.study.details import NO_DETAILS, Details
from app.core.plans.study.planning import plan_study
from app.core.plans.study.points import StudyResult
from app.core.plans.study.report import StudyReport
from app.core.plans.suite.report import SuiteReport
from app.core.plans.suite.score import SuiteResult
from app.core.records import Plan
from app.core.runs.runner import Runner
from app.core.storage.database import Database
from tests.sure import only
from workloads.protocol.spec import Preset


def plan_preset(
    key: str,
    runner: Runner,
    *,
    workloads: Sequence[str] = (),
    preset: Preset | None = None,
    rounds: int | None = None,
    choice: Mapping[str, Any] | None = None,
    folders: Sequence[str] = (),
) -> Plan:
    options = PlanOptions(
        workloads=workloads, preset=preset, rounds=rounds, choice=choice or {}, folders=list(folders)
    )
    return plan_study(STUDIES[key], runner, options)


def load_study(database: Database, group_id: int) -> StudyResult:
    return only(StudyReport, load_report(database, group_id)).result


def load_suite(database: Database, group_id: int) -> SuiteResult:
    return only(SuiteReport, load_report(database, group_id)).result


def study_report(
    result: StudyResult, details: Details = NO_DETAILS, usd_per_hour: float | None = None
) -> StudyReport:
    report = StudyReport(result.experiment, result.group, details=details, usd_per_hour=usd_per_hour)
    report.__dict__["result"] = result
    return report


def suite_report(result: SuiteResult, **more: Any) -> SuiteReport:
    report = SuiteReport(EXPERIMENTS["suite"], result.group, **more)
    report.__dict__["result"] = result
    return report
