"""What share of the machine's measured peak a run reached."""

from dataclasses import replace
from typing import Any

import pytest

from app.core.messages import text
from app.core.paths import Paths
from app.core.records import PeakShare, RunSummary
from app.core.storage.database import Database
from app.core.storage.recording import RunWriter
from app.core.storage.runs import list_runs, load_run
from app.core.verdict.notes import peak_share as said
from tests.core.storage.storing import begin
from workloads.protocol import events
from workloads.protocol.machine import Machine

FLOPS = 1_000_000


def store_run(database: Database, machine: Machine, **columns: Any) -> RunSummary:
    """Store a run of 100 examples a step and 0.1 s a step: 1 GFLOP/s."""
    run_id = begin(database, machine, epochs=2, steps=2)
    writer = RunWriter(database, run_id)
    writer.add(events.Environment(engine="tensorflow", device="cpu", precision="float32", jit=False))
    writer.add(events.Model(parameters_count=1, flops_per_example=FLOPS))
    for epoch in range(2):
        block = events.Steps(seq=epoch, phase="measure", epoch=epoch, first_index=0, durations_s=(0.1, 0.1))
        writer.add(block)
    writer.finish("completed", None)
    for name, value in columns.items():
        database.connection.execute(f"UPDATE runs SET {name} = ? WHERE id = ?", (value, run_id))
    return next(list_runs(database, ids=[run_id]))


def store_peak(database: Database, machine: Machine, flop_per_s: float, **columns: Any) -> None:
    run_id = begin(database, machine, workload="matmul")
    writer = RunWriter(database, run_id)
    writer.add(events.Environment(engine="tensorflow", device="cpu", precision="float32", jit=False))
    writer.add(events.Metric(key="flop_per_s", value=flop_per_s))
    writer.finish("completed", None)
    for name, value in columns.items():
        database.connection.execute(f"UPDATE runs SET {name} = ? WHERE id = ?", (value, run_id))


def test_a_run_is_a_share_of_the_best_recent_peak(paths: Paths, machine: Machine) -> None:
    with Database(paths.database) as database:
        run = store_run(database, machine)
        store_peak(database, machine, 2e9)
        store_peak(database, machine, 4e9)
        share = load_run(database, run.id).peak
    assert share is not None
    assert share.reached_flop_per_s == pytest.approx(1e9)
    assert share.share_pct == pytest.approx(25)
    told = said(share)
    assert told is not None
    assert text(told) == "It computed about 0.0010 TFLOP/s, 25 % of the 0.0040 that Matrix products reach here."


@pytest.mark.parametrize(
    "columns",
    [
        {"device": "gpu:0"},
        {"device_name": "Other GPU"},
        {"engine": "other"},
        {"precision": "mixed_float16"},
        {"threads": 1},
        {"status": "failed"},
        {"deleted_at": "2026-01-01T00:00:00Z"},
    ],
)
def test_a_peak_of_something_else_does_not_count(paths: Paths, machine: Machine, columns: dict[str, Any]) -> None:
    with Database(paths.database) as database:
        run = store_run(database, machine)
        store_peak(database, machine, 2e9, **columns)
        share = load_run(database, run.id).peak
    assert share is not None
    assert share.peak_flop_per_s is None
    told = said(share)
    assert told is not None
    assert told.code == "note.no_peak"


def test_another_machine_has_another_peak(paths: Paths, machine: Machine) -> None:
    with Database(paths.database) as database:
        run = store_run(database, machine)
        store_peak(database, replace(machine, cpu_name="Other CPU"), 2e9)
        share = load_run(database, run.id).peak
    assert share is not None
    assert share.share_pct is None


@pytest.mark.parametrize(
    "columns", [{"model": None}, {"step_median_s": None}, {"model": '{"flops_per_example": null}'}]
)
def test_what_was_not_counted_has_no_share(paths: Paths, machine: Machine, columns: dict[str, Any]) -> None:
    with Database(paths.database) as database:
        run = store_run(database, machine, **columns)
        assert load_run(database, run.id).peak is None
    assert said(None) is None


def test_a_busy_or_a_cut_measurement_does_not_lower_or_raise_the_peak(paths: Paths, machine: Machine) -> None:
    with Database(paths.database) as database:
        run = store_run(database, machine)
        store_peak(database, machine, 4e9)
        store_peak(database, machine, 0.5e9)
        store_peak(database, machine, 9e9, steps=3)
        share = load_run(database, run.id).peak
    assert share is not None
    assert share.peak_flop_per_s == 4e9


def test_only_the_ten_newest_measurements_count(paths: Paths, machine: Machine) -> None:
    with Database(paths.database) as database:
        run = store_run(database, machine)
        for flop_per_s in (9e9, 8e9, *[4e9] * 9):
            store_peak(database, machine, flop_per_s)
        share = load_run(database, run.id).peak
    assert share is not None
    assert share.peak_flop_per_s == 8e9


def test_more_than_the_peak_is_marked_as_doubtful() -> None:
    told = said(PeakShare(2e9, 1e9))
    assert told is not None
    assert told.code == "note.above_peak"
