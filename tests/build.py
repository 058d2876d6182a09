"""Runs, plans, machines and results made for tests: nothing is measured for them."""

import json
import math
import random
import sqlite3
import statistics
import string
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

import msgspec
from hypothesis import strategies as st

from app.core.plain_text import one_line
from app.core.plans.experiments import EXPERIMENTS, STUDIES, load_report, report_of
from app.core.plans.report import PlanOptions
from app.core.plans.study.details import NO_DETAILS, Details
from app.core.plans.study.planning import plan_study
from app.core.plans.study.points import StudyResult
from app.core.plans.study.report import StudyReport
from app.core.plans.suite.report import SuiteReport
from app.core.plans.suite.score import SuiteResult
from app.core.records import Group, Order, Plan, PlanPlace, Run
from app.core.result_file.canonical import decode, sealed, steps_hash
from app.core.result_file.identity import uid_of
from app.core.result_file.record import Epoch, Gpu, Range, Result, StepBlock, Steps
from app.core.runs.runner import Runner
from app.core.storage.database import Database
from app.core.storage.documents import change
from app.core.storage.groups import begin_group
from app.core.storage.recording import RunWriter, begin_run
from tests.conftest import ROOT
from tests.sure import only
from workloads import CATALOGUE
from workloads.protocol import events
from workloads.protocol.events import Environment
from workloads.protocol.machine import UNKNOWN_MACHINE, Machine
from workloads.protocol.spec import Preset, RunSpec
from workloads.protocol.stored import decode_leniently
from workloads.protocol.telemetry import Telemetry

# Telemetry, environments, machines


def telemetry_of(readings: Mapping[str, Any]) -> Telemetry:
    """Return telemetry without impossible values, as when a record is read."""
    return decode_leniently(dict(readings), Telemetry)


def environment_of(run: Run, **values: Any) -> Environment:
    """Return a run's environment with other values; what does not fit is left out, as where a record is read."""
    known = msgspec.to_builtins(run.environment) if run.environment is not None else {}
    usual = {"engine": "tensorflow", "device": "cpu", "precision": "float32", "jit": False}
    return decode_leniently(usual | known | values, Environment, **usual)


def machine_of(run: Run, **values: Any) -> Machine:
    return decode_leniently(asdict(run.machine) | values, Machine, **asdict(UNKNOWN_MACHINE))


# Records: what a quiet computer would have measured, and what disturbs it

EPOCHS, STEPS, STEP_S = 3, 500, 0.04
PLAN = "powersave (intel_pstate), preference balance_performance, profile balanced"


def quiet_run(run: Run, seed: int, **changes: Any) -> Run:
    chance = random.Random(seed)
    blocks, epochs, now_s = [], [], 12.0
    for epoch in range(EPOCHS):
        durations_s = tuple(
            STEP_S * chance.gauss(1, 0.01) + (0.8 if epoch + step == 0 else 0) for step in range(STEPS)
        )
        for first in range(0, STEPS, 5):
            part = durations_s[first : first + 5]
            now_s += sum(part)
            blocks.append(
                events.Steps(t_s=now_s, phase="measure", epoch=epoch, first_index=first, durations_s=part)
            )
        now_s += 0.9
        train_s, loss = sum(durations_s), 2 - epoch / 9
        epochs.append(events.Epoch(t_s=now_s, index=epoch, duration_s=train_s + 0.9, train_s=train_s, loss=loss))
    samples = tuple(
        events.TelemetryEvent(t_s=float(second), telemetry=telemetry_of(quiet_look(chance)))
        for second in range(1, int(now_s) + 2)
    )
    later_s = [epoch.duration_s for epoch in epochs[1:]]
    summary = {"minimum_s": min(later_s), "maximum_s": max(later_s), "first_epoch_s": epochs[0].duration_s}
    summary |= dict.fromkeys(("value", "seconds_per_epoch_s"), sum(later_s) / 2)
    summary |= {"epochs": EPOCHS, "epochs_done": EPOCHS, "interruptions": 0, "interruptions_s": 0.0}
    return replace(
        run,
        summary=replace(run.summary, **(summary | changes)),
        machine=replace(run.machine, virtual_machine=False),
        steps=tuple(blocks),
        epochs=tuple(epochs),
        telemetry=samples,
        metrics={"updates_done": 1500.0, "updates_asked": 1500.0, "weights_changed": 0.2},
    )


def quiet_look(chance: random.Random) -> dict[str, Any]:
    return {
        "cpu_pct": chance.uniform(90, 100),
        "cpu_clock_mhz": chance.gauss(3900, 40),
        "memory_used_bytes": 4_000_000_000,
        "swap_used_bytes": 10_000_000,
        "steal_pct": chance.uniform(0, 3),
        "other_cpu_pct": chance.uniform(0, 5),
        "swap_bytes_per_s": chance.choice([0.0, 0.0, 0.0, 40_000.0]),
        "throttle_count": 0,
        "on_battery": False,
        "power_plan": PLAN,
        "clock_step_s": 0.0,
        "suspended_s": 0.0,
        "gpus": (),
    }


def measured(run: Run) -> list[int]:
    begin_s = run.steps[0].t_s - sum(run.steps[0].durations_s)
    return [at for at, sample in enumerate(run.telemetry) if begin_s < sample.t_s <= run.steps[-1].t_s]


def with_telemetry(run: Run, numbers: list[int], **readings: Any) -> Run:
    samples = list(run.telemetry)
    for at in numbers:
        telemetry = msgspec.to_builtins(samples[at].telemetry) | readings
        samples[at] = events.TelemetryEvent(t_s=samples[at].t_s, telemetry=telemetry_of(telemetry))
    return replace(run, telemetry=tuple(samples))


def with_steps(run: Run, steps_s: tuple[float, ...]) -> Run:
    """Return the run with these steps, as one block, instead of its own."""
    at_s = run.steps[0].t_s + sum(steps_s)
    block = events.Steps(t_s=at_s, phase="measure", epoch=0, first_index=0, durations_s=steps_s)
    return replace(run, steps=(block,), epochs=())


def slower(run: Run, first_block: int, times: float) -> Run:
    blocks = list(run.steps)
    for at, block in enumerate(blocks[first_block:], first_block):
        slow_s = tuple(step_s * times for step_s in block.durations_s)
        blocks[at] = msgspec.structs.replace(block, durations_s=slow_s)
    return replace(run, steps=tuple(blocks))


# Result files of any content

GOLDEN = ROOT / "tests" / "data" / "results" / "format_1.epochmark.json"


def golden() -> tuple[Result, ...]:
    return decode(GOLDEN.read_bytes())


def named() -> tuple[Result, ...]:
    """Return the golden results as today's version would have written them: each with its uid."""
    return tuple(sealed(msgspec.structs.replace(each, uid=uid_of(each))) for each in golden())


def golden_of(name: str, seconds_s: float) -> Result:
    first = golden()[0]
    numbers = msgspec.structs.replace(first.statistics, value=seconds_s, low=None, high=None, confidence_pct=None)
    machine = msgspec.structs.replace(first.machine, cpu_name=name)
    return sealed(msgspec.structs.replace(first, machine=machine, statistics=numbers))


def finite(low: float, high: float) -> st.SearchStrategy[float]:
    return st.floats(low, high, allow_nan=False)


LINES = st.text(min_size=1, max_size=40).map(lambda text: one_line(text, 300).strip()).filter(bool)
WORDS = st.from_regex(r"[A-Za-z0-9][A-Za-z0-9_.:+-]{0,20}", fullmatch=True)
EPOCH_LISTS = st.lists(
    st.builds(
        Epoch,
        duration_s=finite(1e-3, 1e6),
        train_s=finite(0, 1e6),
        validation_s=st.none() | finite(0, 1e6),
        loss=st.none() | finite(-1e300, 1e300),
        accuracy=st.none() | finite(0, 1),
    ),
    min_size=1,
    max_size=5,
).map(tuple)
GPUS = st.lists(st.builds(Gpu, name=LINES, driver=st.none() | LINES), max_size=2).map(tuple)
RANGES = st.builds(Range, low=finite(-9, 9), median=finite(-9, 9), high=finite(-9, 9))
DURATIONS = st.lists(finite(0, 1e6), min_size=1, max_size=20).map(tuple)


def _steps(durations_s: tuple[float, ...], with_them: bool) -> Steps:
    block = StepBlock(phase="measure", epoch=0, first_index=3, count=len(durations_s))
    shown = {"blocks": (block,), "durations_s": durations_s} if with_them else {}
    return Steps(count=len(durations_s), sha256=steps_hash(durations_s), **shown)  # type: ignore[arg-type]


@st.composite
def results(draw: Any) -> Result:
    base: Result = draw(st.sampled_from(golden()))
    replace = msgspec.structs.replace
    epochs = draw(st.none() | EPOCH_LISTS)
    numbers = base.statistics
    if epochs is not None:
        durations_s = [epoch.duration_s for epoch in epochs]
        numbers = replace(
            numbers,
            metric="seconds_per_epoch_s",
            value=statistics.median(durations_s[1:] or durations_s),
            basis="later_epochs",
            low=None,
            high=None,
            epochs_done=len(epochs),
        )
    machine = replace(
        base.machine,
        cpu_name=draw(st.none() | LINES),
        memory_bytes=draw(st.none() | st.integers(0, 2**53 - 1)),
        gpus=draw(st.none() | GPUS),
        virtual_machine=draw(st.none() | st.booleans()),
    )
    values = st.booleans() | st.integers(-(2**53), 2**53) | finite(-1e300, 1e300) | LINES
    spec = replace(
        base.spec,
        variant=draw(st.none() | LINES),
        parameters=draw(st.none() | st.dictionaries(WORDS, values, max_size=3)),
    )
    telemetry = draw(st.none() | st.dictionaries(WORDS, RANGES, max_size=2))
    return sealed(
        replace(
            base,
            spec=spec,
            machine=machine,
            epochs=epochs,
            statistics=numbers,
            steps=draw(st.none() | st.builds(_steps, DURATIONS, st.booleans())),
            telemetry=telemetry,
            comment=draw(st.none() | LINES),
            uid=draw(st.none() | st.text(string.ascii_lowercase, min_size=10, max_size=10)),
        )
    )


# Stored runs: as a session stores them, but without running anything

# What is no field of a document.
COLUMNS = ("id", "uid", "plan_id", "plan_number", "deleted_at", "owner", "machine_key", "summary", "record")
PARTS = ("spec", "machine", "environment", "dataset", "model")
NEW_UID = " || ".join(["char(97 + abs(random() % 26))"] * 10)
Arguments = ParamSpec("Arguments")
Answer = TypeVar("Answer")


def in_database(
    path: Path,
    do: Callable[Concatenate[Database, Arguments], Answer],
    *arguments: Arguments.args,
    **named: Arguments.kwargs,
) -> Answer:
    with Database(path) as database:
        return do(database, *arguments, **named)


def begin(database: Database, machine: Machine, **changes: Any) -> int:
    workload = CATALOGUE[changes.pop("workload", "cifar10_keras_cnn")]
    return begin_run(database, workload.default_spec(**changes), workload, machine)


def add_epochs(writer: RunWriter, *durations_s: float) -> None:
    for index, duration_s in enumerate(durations_s):
        writer.add(
            events.Epoch(index=index, duration_s=duration_s, train_s=0.95 * duration_s, loss=1.5, seq=index)
        )


def block(*durations_s: float, phase: str = "measure", epoch: int = 0, seq: int = 0) -> events.Steps:
    return events.Steps(seq=seq, phase=phase, epoch=epoch, first_index=0, durations_s=durations_s)  # type: ignore[arg-type]


def record(
    database: Database, machine: Machine, *seen: events.Event, status: str = "completed", **changes: Any
) -> int:
    run_id = begin(database, machine, **changes)
    writer = RunWriter(database, run_id)
    for event in seen:
        writer.add(event)
    writer.finish(status, None)
    return run_id


def store(
    database: Database,
    /,
    machine: Machine,
    *durations_s: float,
    status: str = "completed",
    columns: dict[str, Any] | None = None,
    **changes: Any,
) -> int:
    """Store a run that is over; `columns` are then set to other values."""
    run_id = begin(database, machine, **changes)
    writer = RunWriter(database, run_id)
    add_epochs(writer, *durations_s)
    writer.finish(status, None)
    set_fields(database, f"id = {run_id}", **(columns or {}))
    return run_id


def set_fields(database: Database | sqlite3.Connection, where: str = "TRUE", /, **fields: Any) -> None:
    """Set fields of stored runs, in whichever document or column they are. A function gets the value before."""
    connection = database.connection if isinstance(database, Database) else database
    for run_id, summary in connection.execute(f"SELECT id, summary FROM runs WHERE {where}").fetchall():
        before = json.loads(summary)
        for name, value in sorted(fields.items(), key=lambda field: field[0] == "id"):
            new = value(before[name]) if callable(value) else value
            column = "plan_id" if name == "group_id" else name
            if column in COLUMNS:
                connection.execute(f"UPDATE runs SET {column} = ? WHERE id = ?", (new, run_id))
            else:
                connection.execute(*change("record" if name in PARTS else "summary", run_id, {name: new}))


def make_many(database: Database, run_id: int, count: int) -> list[int]:
    """Copy a run, without its epochs, until there are `count` runs; returns all numbers."""
    names = ", ".join(set(COLUMNS) - {"id", "uid"})
    numbers = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)"
    sql = f"{numbers} INSERT INTO runs (uid, {names}) SELECT {NEW_UID}, {names} FROM n, runs WHERE id = ?"
    database.connection.execute(sql, (count - 1, run_id))
    return [row[0] for row in database.connection.execute("SELECT id FROM runs ORDER BY id")]


# Plans and reports


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


# Stored studies with given results

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
        writer.finish("failed", events.Error(code=outcome, message="It ended."))  # type: ignore[arg-type]
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


ORDERS: dict[str, Order] = {"ab": "pairs", "engines": "there_and_back", "study": "shuffled"}


def ask(what: str, group: Group, *arguments: Any, **named: Any) -> Any:
    value = getattr(report_of(group), what)
    return value(*arguments, **named) if callable(value) else value
