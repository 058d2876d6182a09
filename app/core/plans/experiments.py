"""The experiments. To add one, write its report and its plan, list it here, and add its sentences."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from app.core.errors import AppError, UsageError
from app.core.plans.ab import AbReport, ab_plan
from app.core.plans.engines import EnginesReport
from app.core.plans.repeat import RepeatReport
from app.core.plans.report import LAB_PAGE, RUNS_PAGE, SUITE_PAGE, Experiment, PlanOptions, Report
from app.core.plans.study.axes import CONFIGURATION, DEVICES, POWER_LIMIT, WORKLOAD
from app.core.plans.study.configurations import (
    FLOWERS,
    WOOLF,
    batches,
    convergence,
    costs,
    devices,
    fits,
    phases,
    power_limits,
    precisions,
    scaling,
    sizes,
    software,
    threads,
    weak_scaling,
)
from app.core.plans.study.findings import (
    batch_findings,
    cpu_findings,
    fits_findings,
    general_findings,
    phase_findings,
    power_findings,
    precision_findings,
    rank_configurations,
    scaling_findings,
    sizing_findings,
)
from app.core.plans.study.planning import plan_study
from app.core.plans.study.points import StudyExperiment
from app.core.plans.study.report import StudyReport
from app.core.plans.suite.report import SuiteReport
from app.core.records import Group, Plan
from app.core.runs.runner import Runner
from app.core.storage.database import Database
from app.core.storage.groups import list_groups, load_group
from workloads import CATALOGUE, STANDARD


def _plan_ab(experiment: Experiment, _: Runner, options: PlanOptions) -> Plan:
    workload = CATALOGUE[STANDARD]
    a, b = options.specs or (workload.default_spec("quick"), workload.default_spec("quick", jit=True))
    return ab_plan((a, b), options.rounds or experiment.rounds, options.labels, by_hand=options.by_hand)


_study = partial(StudyExperiment, report=StudyReport, plan=plan_study)
_OWN_STUDY = replace(_study(key="own", findings=general_findings, curves="if_any"), plan=None)
_UNKNOWN = Experiment(key="", report=Report, specs_at_least=None)

EXPERIMENTS: dict[str, Experiment] = {
    experiment.key: experiment
    for experiment in (
        Experiment(key="repeat", report=RepeatReport, is_same_work=True),
        Experiment(
            key="ab",
            report=AbReport,
            plan=_plan_ab,
            page=LAB_PAGE,
            specs_at_least=2,
            rounds=6,
            has_sides=True,
            is_same_work=True,
        ),
        Experiment(key="engines", report=EnginesReport, is_same_work=True),
        Experiment(key="suite", report=SuiteReport, page=SUITE_PAGE),
        _study(key="batch", axes=("batch_size",), configurations=batches, findings=batch_findings),
        _study(
            key="threads",
            axes=("threads",),
            axis_titles={"threads": "cpus"},  # it limits the CPUs as well, which is what people ask for
            configurations=threads,
            findings=cpu_findings,
            is_proportional=True,
        ),
        _study(
            key="software", axes=(CONFIGURATION,), configurations=software, findings=rank_configurations, rounds=3
        ),
        _study(
            key="precision", axes=("precision",), configurations=precisions, findings=precision_findings, rounds=2
        ),
        _study(
            key="devices",
            axes=(CONFIGURATION, WORKLOAD),
            configurations=devices,
            findings=rank_configurations,
            takes_several=True,
        ),
        _study(
            key="scaling",
            axes=(DEVICES,),
            configurations=scaling,
            findings=scaling_findings,
            on_several=True,
            curves="if_any",
            is_proportional=True,
            has_published_lines=False,  # published batches grow with the number of GPUs
        ),
        _study(
            key="weak_scaling",
            axes=(DEVICES,),
            configurations=weak_scaling,
            findings=scaling_findings,
            on_several=True,
            curves="if_any",
            is_proportional=True,
        ),
        _study(
            key="phases",
            axes=(CONFIGURATION, WORKLOAD),
            configurations=phases,
            findings=phase_findings,
            workloads=(FLOWERS[1],),
            takes_several=True,
        ),
        _study(
            key="sizing",
            axes=("cpus",),
            configurations=sizes,
            findings=sizing_findings,
            workloads=("cifar10_cnn",),
            reading="storage",
            explains_limits=True,
        ),
        _study(
            key="convergence",
            axes=("batch_size",),
            configurations=convergence,
            findings=general_findings,
            preset="standard",
            curves="only",
        ),
        _study(
            key="fits",
            axes=("sequence", "batch_size"),
            configurations=fits,
            findings=fits_findings,
            workloads=("lora_qwen3",),
            preset="standard",
            is_own=True,
            shows_memory=True,
        ),
        _study(key="power", axes=(POWER_LIMIT,), configurations=power_limits, findings=power_findings),
        _study(
            key="cost",
            axes=(WORKLOAD, CONFIGURATION),
            configurations=costs,
            findings=lambda *_: [],  # see costs.cost_findings
            workloads=WOOLF,
            takes_several=True,
            is_priced=True,
        ),
    )
}
STUDIES = {key: row for key, row in EXPERIMENTS.items() if isinstance(row, StudyExperiment)}


def experiment_of(plan: Plan) -> Experiment:
    """Return the experiment of a plan; for plans from other versions, one with an empty key."""
    if plan.kind == _OWN_STUDY.kind:
        return STUDIES.get(plan.study.preset if plan.study is not None else "", _OWN_STUDY)
    return EXPERIMENTS.get(plan.kind, _UNKNOWN)


def report_of(group: Group, specs: Mapping[int, Any] | None = None) -> Report:
    """Return the report on a plan, which may still be running.

    Args:
        group: The plan's runs so far.
        specs: Requested spec of each run, by run id; needed for the results of studies and suites.
    """
    experiment = experiment_of(group.plan)
    return experiment.report(experiment, group, specs or {})


def report_of_plan(plan: Plan) -> Report:
    """Return a report on a plan without runs."""
    return report_of(Group(id=0, created_at="", plan=plan, runs=()))


def load_report(database: Database, group_id: int) -> Report:
    """Return the report on a stored plan. Raises UsageError if it doesn't exist or can't be read."""
    return _readable(report_of(load_group(database, group_id)).with_stored(database))


def list_reports(database: Database, kinds: Iterable[str], limit: int | None = None) -> list[Report]:
    """Return the reports on the readable stored plans of these kinds, newest first."""
    groups = [group for kind in kinds for group in list_groups(database, kind, limit)]
    reports = []
    for group in sorted(groups, key=lambda group: -group.id)[:limit]:
        try:
            reports.append(_readable(report_of(group).with_stored(database)))
        except UsageError:  # from another version
            continue
    return reports


def readable_report(database: Database, group: Group) -> Report:
    """Return the report on a stored plan; one from another version is only listed with its runs."""
    try:
        return _readable(report_of(group).with_stored(database))
    except UsageError:
        return Report(replace(experiment_of(group.plan), page=RUNS_PAGE), group)


def plan_all(runner: Runner) -> dict[str, Plan | AppError]:
    """Return the plans of the Lab's experiments by key, or the reasons why this computer can't run them."""
    plans: dict[str, Plan | AppError] = {}
    for key, experiment in EXPERIMENTS.items():
        if experiment.plan is not None:
            try:
                plans[key] = experiment.plan(experiment, runner, PlanOptions())
            except AppError as error:
                plans[key] = error
    return plans


def _readable(report: Report) -> Report:
    """Return the report. Raises UsageError if its result can't be read."""
    _ = report.left
    return report
