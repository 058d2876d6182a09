"""Stored runs with one broken cell, and what must hold then: every other run is listed, shown and exported."""

import csv
import dataclasses
import io
import json
import random
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from app.core.analysis.bars import bars
from app.core.analysis.series import series_of
from app.core.analysis.trend import trend_of
from app.core.errors import AppError
from app.core.records import Plan, PlanPlace, RunSummary
from app.core.redaction.private_texts import table_private_texts
from app.core.report.formats.csv_table import csv_lines
from app.core.report.formats.json_document import json_lines
from app.core.report.run_texts import result_text
from app.core.report.share import share_card
from app.core.storage.database import Database
from app.core.storage.groups import begin_group, group_places, list_groups
from app.core.storage.imported_results import add_results, list_results
from app.core.storage.outcomes import recover_runs
from app.core.storage.past_runs import past_runs
from app.core.storage.queries import SORT_KEYS, Query, expected_duration_s, find_history, find_ids, own_runs
from app.core.storage.recording import RunWriter, begin_run
from app.core.storage.runs import all_ids, delete_runs, list_runs, load_run, load_runs, rows_for_export
from app.core.verdict.judged_run import JudgedRun
from app.core.verdict.rules import judge
from tests.build import PARTS, golden, golden_of, set_fields, telemetry_of
from workloads import CATALOGUE
from workloads.protocol import events
from workloads.protocol.machine import Machine

WORKLOAD = CATALOGUE["cifar10_keras_cnn"]
SPEC = WORKLOAD.default_spec(epochs=3)
BROKEN = 2
TABLES = ("epochs", "step_blocks", "samples", "metrics", "warnings", "plans", "imported")
# Where nothing is broken: keys, and a mark that hides a run on purpose.
_LEFT_ALONE = {"run_id", "id", "uid", "idx", "seq", "key", "workload"}
NASTY: tuple[object, ...] = (
    *(-1, 0, 1, 2**31, 2**63 - 1, -(2**63)),
    *(0.0, -1.5, 1e-320, 1e308, float("inf"), float("-inf")),
    *("", "text", "=1+1", "\x1b]52;c;eA==\x07", "\u202eabc", "x" * 100_000),
    *("NaN", "1e999", "null", "[]", "{}", "[1,", '{"a": NaN}', "[1e308, 1e308]", "[0, 0, 0]"),
    *('["a"]', "[-1]", '{"gpus": [1], "parameters": []}', "[" * 5_000),
    *(b"", b"\xff\xfe\x00", b"{}"),
)


def make_results(database: Database, machine: Machine) -> list[int]:
    """Store five runs: three alike, of which the second and the third are a group, and two of other kinds."""
    group_id = begin_group(database, Plan(kind="repeat", specs=(SPEC,), rounds=2))
    other = replace(machine, cpu_name="Other CPU")
    ids = [
        _store(database, machine, None),
        _store(database, other, PlanPlace(group_id, 1)),
        _store(database, machine, PlanPlace(group_id, 2)),
        _store(database, machine, None, workload="demo"),
        _store(database, machine, None, workload="matmul"),
    ]
    add_results(database, golden(), "others.json")
    for name, epoch_s in (("One", 3.0), ("Two", 3.5)):
        add_results(database, [golden_of(name, epoch_s)], "other.json")
    return ids


def _store(database: Database, machine: Machine, place: PlanPlace | None, workload: str = "") -> int:
    chosen = CATALOGUE[workload] if workload else WORKLOAD
    spec = chosen.default_spec() if workload else SPEC
    run_id = begin_run(database, spec, chosen, machine, place=place)
    writer = RunWriter(database, run_id)
    for event in _events(machine, run_id):
        writer.add(event)
    writer.finish("completed", None)
    return run_id


def _events(machine: Machine, seed: int) -> Iterator[events.Event]:
    chance, now_s, seq = random.Random(seed), 1.0, 0
    yield events.Environment(
        engine="tensorflow", engine_version="2.21.0", device="cpu", precision="float32", jit=False
    )
    yield events.Dataset(name="cifar10", source="synthetic", samples=50_000)
    yield events.Model(parameters_count=1_337_002, flops_per_example=77)
    yield events.Warn(seq=1, code="silent_worker", message="It said nothing for a while.")
    for epoch in range(3):
        for first in range(0, 20, 5):
            seq += 1
            durations_s = tuple(chance.gauss(0.04, 0.0004) for _ in range(5))
            now_s += sum(durations_s)
            yield events.Steps(
                seq=seq,
                t_s=now_s,
                phase="measure",
                epoch=epoch,
                first_index=first,
                durations_s=durations_s,
                loss=2.0,
            )
            telemetry = {"cpu_pct": 90.0, "power_plan": "performance", "gpus": [{"index": 0, "power_w": 60.0}]}
            yield events.TelemetryEvent(t_s=now_s, telemetry=telemetry_of(telemetry))
        yield events.Epoch(index=epoch, t_s=now_s, duration_s=1.0, train_s=0.8, validation_s=0.2, loss=1.5)
    yield events.Metric(key="updates_done", value=60.0)
    yield events.Metric(key="updates_asked", value=60.0)
    yield events.Metric(key="flop_per_s", value=1e12)


def cells(database: Database) -> list[tuple[str, str]]:
    fields = [("runs", field.name) for field in dataclasses.fields(RunSummary) if field.name not in ("id", "uid")]
    fields += [("runs", name) for name in (*PARTS, "plan_id", "plan_number", "owner", "machine_key", "record")]
    return fields + [
        (table, row["name"])
        for table in TABLES
        for row in database.connection.execute(f"PRAGMA table_info({table})")
        if row["name"] not in _LEFT_ALONE
    ]


def break_cell(database: Database, table: str, column: str, value: object) -> bool:
    """Write a value into what belongs to one run; False if the table's own rules refuse it."""
    where = {"runs": f"id = {BROKEN}", "plans": "id = 1", "imported": "id = 1"}.get(table, f"run_id = {BROKEN}")
    connection = database.connection
    connection.execute("PRAGMA foreign_keys = OFF")
    if isinstance(value, bytes) and value == b"\xff\xfe\x00":
        sql = f"UPDATE {table} SET {column} = CAST(? AS TEXT) WHERE {where}"  # a text that is no UTF-8
    else:
        sql = f"UPDATE {table} SET {column} = ? WHERE {where}"
    try:
        if table == "runs":
            set_fields(connection, where, **{column: value})
        else:
            connection.execute(sql, (value,))
    except Exception:  # noqa: BLE001 - NOT NULL, UNIQUE: it cannot be broken so
        return False
    finally:
        connection.execute("PRAGMA foreign_keys = ON")
    return True


def view(database: Database) -> dict[int, dict[str, Any]]:
    recover_runs(database)
    told: dict[int, dict[str, Any]] = {}
    summaries = {run.id: run for run in list_runs(database)}
    places = group_places(database, summaries.values())
    exported = {
        run["id"]: run
        for run in json.loads("".join(json_lines(load_runs(database, all_ids(database)), {})))["runs"]
    }
    text = "".join(csv_lines(rows_for_export(database), table_private_texts(database)))
    rows = {int(row["id"]): row for row in csv.DictReader(io.StringIO(text))}
    for run_id, summary in summaries.items():
        run = load_run(database, run_id)
        series_of(run)
        told[run_id] = {
            "summary": summary.as_dict(),
            "verdict": judge(run).level,
            "text": result_text(JudgedRun(run)),
            "json": exported[run_id],
            "csv": rows[run_id],
            "place": places.get(run_id),
        }
        try:
            told[run_id]["card"] = share_card(JudgedRun(run))
        except AppError as error:
            told[run_id]["card"] = str(error)
    return told


def look_around(database: Database, machine: Machine) -> None:
    for key in SORT_KEYS:
        find_ids(database, Query(sort=key))
    find_history(database, Query())
    for word in ("cifar", "2026-", "valid", "test", "3"):
        find_ids(database, Query(text=word))
    for group in list_groups(database):
        assert group.labels
        assert group.planned
    imported = list_results(database)
    expected_duration_s(database, SPEC, machine)
    past = past_runs(database, WORKLOAD.id)
    for each in past:
        trend_of(each.run, past).sentence()
    runs = own_runs(database, WORKLOAD.id, 10)
    bars(WORKLOAD.id, runs[0] if runs else None, runs, imported)


def faults(
    database: Database, machine: Machine, before: dict[int, dict[str, Any]], *, is_plan: bool = False
) -> list[str]:
    """Return what does not hold with one run broken. Of a broken plan, the number of runs is unknown."""
    after = view(database)
    look_around(database, machine)
    found = []
    if sorted(after) != sorted(before):
        found.append(f"runs {sorted(after)} instead of {sorted(before)}")
    for run_id, told in after.items():
        if run_id == BROKEN or run_id not in before:
            continue
        parts = [part for part in told if part != "place" or not is_plan]
        found += [f"{part} of run {run_id} changed" for part in parts if told[part] != before[run_id][part]]
    delete_runs(database, [BROKEN])
    if BROKEN in {run.id for run in list_runs(database)}:
        found.append("the broken run cannot be deleted")
    return found
