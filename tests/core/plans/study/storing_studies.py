"""What tests of studies share: storing one with given results, without running anything."""

import math
from collections.abc import Callable
from typing import Any

import msgspec

from app.core.plans.study.points import StudyResult
from app.core.records import Plan, PlanPlace
from app.core.storage.database import Database
from app.core.storage.groups import begin_group
from app.core.storage.recording import RunWriter, begin_run
from tests.core.storage.storing import set_fields
from tests.plans import load_study
from workloads import CATALOGUE
from workloads.protocol import events
from workloads.protocol.machine import Machine
from workloads.protocol.spec import RunSpec

# What a point gives: the headline's value, or the code of the error that ended it, or None for a run cut short.
Outcome = float | str | None
Store = Callable[..., StudyResult]


def store_study(
    database: Database,
    machine: Machine,
    plan: Plan,
    outcome: Callable[[RunSpec], Outcome],
    *,
    runs: int | None = None,
    **columns: Any,
) -> StudyResult:
    """Store a study of which so many runs began, all of them by default, with what each gave."""
    group_id = begin_group(database, plan)
    for planned in plan.runs()[:runs]:
        store_point(database, machine, planned.spec, group_id, outcome(planned.spec), planned.number, **columns)
    return load_study(database, group_id)


def store_point(
    database: Database,
    machine: Machine,
    spec: RunSpec,
    group_id: int,
    outcome: Outcome,
    number: int | None = None,
    **columns: Any,
) -> int:
    """Store one run of a study; None for a lost number. A column's value may be a function of the spec."""
    workload = CATALOGUE[spec.workload]
    run_id = begin_run(database, spec, workload, machine, place=PlanPlace(group_id, number or 0))
    writer = RunWriter(database, run_id)
    if isinstance(outcome, str):
        writer.finish(
            "failed", msgspec.convert({"type": "error", "code": outcome, "message": "It ended."}, events.Error)
        )
    else:
        writer.finish("completed" if outcome is not None else "cancelled", None)
    values: dict[str, Any] = {"metric": workload.metric, "verdict": "valid", "device": "cpu"} | columns
    if isinstance(outcome, float):
        values |= {"value": outcome, "value_low": 0.98 * outcome, "value_high": 1.02 * outcome}
        values |= {"confidence_pct": 95.0}
        values |= {"step_median_s": outcome / math.ceil((workload.samples_per_epoch or 1_000) / spec.batch_size)}
    fields = {name: value(spec) if callable(value) else value for name, value in values.items()}
    set_fields(database, f"id = {run_id}", **fields)
    return run_id
