"""Checks whether stored runs can be repeated on this computer."""

from app.core.datasets.install import list_datasets
from app.core.engines.choices import device_choices, installed_engines
from app.core.errors import UsageError
from app.core.messages import message
from app.core.paths import Paths
from app.core.plans.experiments import experiment_of
from app.core.plans.repeat import repeat_plan
from app.core.records import Plan
from app.core.runs.runner import Runner
from app.core.storage.database import Database
from app.core.storage.groups import load_group
from app.core.storage.runs import load_run
from app.core.verdict.context import gpu_index
from workloads.engines.registry import engine_title
from workloads.protocol.machine import Machine


def plan_of_run(database: Database, run_id: int) -> Plan:
    """Return the plan that repeats a stored run once. Raises UsageError if its record is incomplete."""
    run = load_run(database, run_id, with_peak=False)
    if run.damage:
        raise UsageError(message("again.damaged", run_id=run_id))
    return repeat_plan(run.spec)


def plan_of_group(database: Database, group_id: int) -> Plan:
    """Return the plan of a stored group. Raises UsageError if this version can't run the plan."""
    plan = load_group(database, group_id).plan
    specs_at_least = experiment_of(plan).specs_at_least
    if specs_at_least is None or len(plan.specs) < specs_at_least:
        raise UsageError(message("again.no_plan"))
    return plan


def check_again(plan: Plan, paths: Paths, machine: Machine) -> None:
    """Raise UsageError if a run of the plan isn't possible because an engine, device or data set is missing."""
    runner = Runner(paths, machine)
    for spec in plan.specs:
        workload = runner.check(spec).workload
        choices = device_choices(installed_engines(paths), machine, workload.engines)
        there = {choice.device for choice in choices if choice.engine == spec.engine}
        first = gpu_index(spec.device)
        asked = [] if first is None else [f"gpu:{index}" for index in spec.gpus_from(first)]
        if missing := [device for device in asked if device not in there]:
            said = message("again.no_device", engine=engine_title(spec.engine), device=missing[0].upper())
            raise UsageError(said, message("again.choose_device"))
        if workload.dataset and spec.data == "real":
            dataset = next((each for each in list_datasets(paths) if each.id == workload.dataset), None)
            if dataset is not None and not dataset.installed:
                raise UsageError(message("again.no_data", title=dataset.title), message("advice.data_missing"))
