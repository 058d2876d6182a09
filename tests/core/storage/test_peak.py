"""What share of the machine's measured peak a run reached, and how long its devices exchange gradients."""

from dataclasses import replace
from typing import Any

import pytest

from app.core.messages import sentence, text
from app.core.records import PeakShare
from app.core.storage.database import Database
from app.core.storage.runs import load_run
from app.core.verdict.notes import peak_share as peak_text
from app.core.verdict.rules import judge
from tests.core.storage.storing import measured, record
from tests.sure import sure
from workloads.protocol import events
from workloads.protocol.machine import Machine

ENVIRONMENT = events.Environment(engine="tensorflow", device="cpu", precision="float32", jit=False)


def change(database: Database, run_id: int, columns: dict[str, Any]) -> None:
    for name, value in columns.items():
        database.connection.execute(f"UPDATE runs SET {name} = ? WHERE id = ?", (value, run_id))


def store_run(database: Database, machine: Machine, **columns: Any) -> int:
    """Store a run of 100 examples a step and 0.1 s a step: 1 GFLOP/s."""
    model = events.Model(parameters_count=1, flops_per_example=1_000_000)
    steps = [measured(0.1, 0.1, epoch=epoch, seq=epoch) for epoch in range(2)]
    run_id = record(database, machine, ENVIRONMENT, model, *steps, epochs=2, steps=2)
    change(database, run_id, columns)
    return run_id


def store_peak(database: Database, machine: Machine, flop_per_s: float, **columns: Any) -> None:
    peak = events.Metric(key="flop_per_s", value=flop_per_s)
    change(database, record(database, machine, ENVIRONMENT, peak, workload="matmul"), columns)


def share_of(database: Database, run_id: int) -> PeakShare:
    return sure(load_run(database, run_id).peak)


def test_a_run_is_a_share_of_the_best_recent_peak(database: Database, machine: Machine) -> None:
    run = store_run(database, machine)
    store_peak(database, machine, 2e9)
    store_peak(database, machine, 4e9)
    share = share_of(database, run)
    assert share.reached_flop_per_s == pytest.approx(1e9)
    assert share.share_pct == pytest.approx(25)
    told = text(sure(peak_text(share)))
    assert told == sentence("note.peak_share", reached="0.0010", share_pct=25, peak="0.0040")


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
def test_a_peak_of_another_kind_is_none(database: Database, machine: Machine, columns: dict[str, Any]) -> None:
    run = store_run(database, machine)
    store_peak(database, machine, 2e9, **columns)
    share = share_of(database, run)
    assert (share.peak_flop_per_s, sure(peak_text(share)).code) == (None, "note.no_peak")


def test_the_peak_of_several_devices_is_unknown(database: Database, machine: Machine) -> None:
    run = store_run(database, machine, settings="devices=2")
    store_peak(database, machine, 2e9)
    assert load_run(database, run).peak is None


def test_another_machine_has_another_peak(database: Database, machine: Machine) -> None:
    run = store_run(database, machine)
    store_peak(database, replace(machine, cpu_name="Other CPU"), 2e9)
    assert share_of(database, run).share_pct is None


@pytest.mark.parametrize(
    "columns", [{"model": None}, {"step_median_s": None}, {"model": '{"flops_per_example": null}'}]
)
def test_what_was_not_counted_has_no_share(database: Database, machine: Machine, columns: dict[str, Any]) -> None:
    assert load_run(database, store_run(database, machine, **columns)).peak is None
    assert peak_text(None) is None


def test_a_busy_or_cut_measurement_does_not_lower_or_raise_the_peak(database: Database, machine: Machine) -> None:
    run = store_run(database, machine)
    store_peak(database, machine, 4e9)
    store_peak(database, machine, 0.5e9)
    store_peak(database, machine, 9e9, steps=3)
    assert share_of(database, run).peak_flop_per_s == 4e9


def test_only_the_ten_newest_measurements_count(database: Database, machine: Machine) -> None:
    run = store_run(database, machine)
    for flop_per_s in (9e9, 8e9, *[4e9] * 9):
        store_peak(database, machine, flop_per_s)
    assert share_of(database, run).peak_flop_per_s == 8e9


def test_more_than_the_peak_is_marked_as_doubtful() -> None:
    assert sure(peak_text(PeakShare(2e9, 1e9))).code == "note.above_peak"


@pytest.mark.parametrize(
    ("settings", "duration_s"), [("devices=4", 0.0075), ("devices=2", None), ("devices=4 machines=2", None)]
)
def test_the_gradients_take_as_long_as_the_same_devices_need(
    settings: str, duration_s: float | None, database: Database, machine: Machine
) -> None:
    model = events.Model(parameters_count=2_500_000)
    steps = [measured(0.1, 0.1, epoch=epoch, seq=epoch) for epoch in range(2)]
    run_id = record(database, machine, ENVIRONMENT, model, *steps, epochs=2, steps=2)
    change(database, run_id, {"settings": "devices=4"})
    speed = events.Metric(key="bytes_per_s", value=2e9)
    sums = record(database, machine, ENVIRONMENT, speed, workload="all_reduce")
    change(database, sums, {"settings": settings, "steps": 30})
    # Each of four devices sends and receives 1.5 times the 10 MB.
    run = load_run(database, run_id)
    assert sure(run.exchange).duration_s == (None if duration_s is None else pytest.approx(duration_s))
    (reason,) = (each for each in judge(run).reasons if each.code == "exchange")
    assert sure(reason.said).code == ("note.no_exchange" if duration_s is None else "note.exchange")


def test_a_single_device_exchanges_nothing(database: Database, machine: Machine) -> None:
    assert load_run(database, store_run(database, machine)).exchange is None


def test_the_peak_counts_for_runs_with_other_settings(database: Database, machine: Machine) -> None:
    run_id = store_run(database, machine, settings="cool_down=off")
    store_peak(database, machine, 4e9)
    assert share_of(database, run_id).share_pct == pytest.approx(25)
