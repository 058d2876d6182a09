"""What share of the machine's measured peak a run reached, and how long its devices exchange gradients."""

from dataclasses import replace
from typing import Any

import msgspec
import pytest

from app.core.messages import sentence, text
from app.core.records import PeakShare, Run
from app.core.report.run_texts import result_text
from app.core.report.share import share_card
from app.core.storage.database import Database
from app.core.storage.outcomes import store_verdict
from app.core.storage.runs import load_run
from app.core.verdict.judged_run import JudgedRun
from app.core.verdict.notes import peak_share as peak_text
from app.core.verdict.notes import share_of_peak
from app.core.verdict.rules import judge
from tests.build import block, record, set_fields
from tests.saying import said
from tests.sure import sure
from workloads.protocol import events
from workloads.protocol.machine import Machine

ENVIRONMENT = events.Environment(engine="tensorflow", device="cpu", precision="float32", jit=False)


def change(database: Database, run_id: int, columns: dict[str, Any]) -> None:
    set_fields(database, f"id = {run_id}", **columns)


def store_run(database: Database, machine: Machine, **columns: Any) -> int:
    """Store a run of 100 examples a step and 0.1 s a step: 1 GFLOP/s."""
    model = events.Model(parameters_count=1, flops_per_example=1_000_000)
    steps = [block(0.1, 0.1, epoch=epoch, seq=epoch) for epoch in range(2)]
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


def test_the_share_is_among_the_first_facts(database: Database, machine: Machine) -> None:
    run_id = store_run(database, machine, value=12.5, seconds_per_epoch_s=12.5)
    alone = JudgedRun(load_run(database, run_id))
    assert share_of_peak(alone.run) is None
    store_peak(database, machine, 4e9)
    judged = JudgedRun(load_run(database, run_id))
    told = text(sure(share_of_peak(judged.run)))
    assert said("note.share_of_peak", share_pct="25", device="CPU").is_all_of(told)
    assert next(each.code for each in judged.verdict.reasons if each.level == "fact") == "peak_share"
    assert share_card(judged).details[0] == told
    assert told in result_text(judged).splitlines()[:4]
    assert told not in result_text(alone)


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
        {"environment": msgspec.structs.replace(ENVIRONMENT, tf32=True)},
    ],
)
def test_a_peak_of_another_kind_is_none(database: Database, machine: Machine, columns: dict[str, Any]) -> None:
    run = store_run(database, machine)
    store_peak(database, machine, 2e9, **columns)
    share = share_of(database, run)
    assert (share.peak_flop_per_s, sure(peak_text(share)).code) == (None, "note.no_peak")


@pytest.mark.parametrize(
    ("settings", "cpu_name", "share_pct"),
    [("cool_down=off", "Test CPU", 25.0), ("", "Other CPU", None), ("devices=2", "Test CPU", None)],
)
def test_the_peak_is_of_one_device_of_this_computer_with_any_setting(
    database: Database, machine: Machine, settings: str, cpu_name: str, share_pct: float | None
) -> None:
    run = store_run(database, machine, settings=settings)
    store_peak(database, replace(machine, cpu_name=cpu_name), 4e9)
    peak = load_run(database, run).peak
    assert (peak is None) == (settings == "devices=2")
    assert (peak and peak.share_pct) == (share_pct and pytest.approx(share_pct))


def test_a_busy_or_cut_measurement_does_not_lower_or_raise_the_peak(database: Database, machine: Machine) -> None:
    run = store_run(database, machine)
    store_peak(database, machine, 4e9)
    store_peak(database, machine, 0.5e9)
    store_peak(database, machine, 9e9, steps=3)
    assert share_of(database, run).peak_flop_per_s == 4e9


@pytest.mark.parametrize(
    ("peak", "half_pct", "verdict"),
    [
        ({"value": 2e9}, None, ""),
        ({"value": 0.99e9}, None, "impossible"),
        ({"value": 0.96e9}, 5.0, "above_peak"),
        ({"value": 0.9e9}, 5.0, "impossible"),
        ({"value": 0.9e9, "value_high": 0.99e9}, 5.0, "above_peak"),
        ({"value": 0.5e9, "reasons": "shared_host"}, None, "impossible"),
        ({"value": 0.5e9, "reasons": "other_load shared_host"}, None, "above_peak"),  # the device may be faster
    ],
)
def test_above_the_peak_nothing_is_valid(
    database: Database, machine: Machine, peak: dict[str, Any], half_pct: float | None, verdict: str
) -> None:
    run_id = store_run(database, machine)
    store_peak(database, machine, 1.0, **peak)
    run = load_run(database, run_id)
    levels = codes_of(replace(run, peak=replace(sure(run.peak), half_pct=half_pct)))
    assert levels.get(verdict, "") == {"": "", "above_peak": "caution", "impossible": "invalid"}[verdict]
    assert ("peak_share" in levels) == (not verdict)


def codes_of(run: Run) -> dict[str, str]:
    codes = ("peak_share", "above_peak", "impossible")
    return {reason.code: reason.level for reason in judge(run).reasons if reason.code in codes}


@pytest.mark.parametrize(
    ("workload", "device", "reached_flop_per_s", "code"),
    [
        # Winograd's algorithm needs fewer multiplications for the convolutions of images, on GPUs.
        ("vgg16", "gpu:0", 1.7e9, "above_peak"),
        ("vgg16", "gpu:0", 2.3e9, "impossible"),
        ("vgg16", "cpu", 1.7e9, "impossible"),
        ("gpt_mini", "gpu:0", 1.7e9, "impossible"),
    ],
)
def test_only_convolutions_on_gpus_may_seem_to_exceed_the_peak(
    database: Database, machine: Machine, workload: str, device: str, reached_flop_per_s: float, code: str
) -> None:
    run = load_run(database, store_run(database, machine))
    summary = replace(run.summary, workload=workload, device=device)
    for share in (PeakShare(reached_flop_per_s, 1e9), PeakShare(reached_flop_per_s, None, None, 1e9)):
        assert code in codes_of(replace(run, summary=summary, peak=share))


@pytest.mark.parametrize(
    ("engine", "settings", "workload", "is_known"),
    [
        ("torch", {}, "cifar10_keras_cnn", False),  # convolutions use TensorFloat-32, and products don't
        ("torch", {"tf32": False}, "cifar10_keras_cnn", True),
        ("torch", {}, "gpt_mini", True),
        ("tensorflow", {}, "cifar10_keras_cnn", True),
    ],
)
def test_products_tell_nothing_about_convolutions_in_another_format(
    database: Database, machine: Machine, engine: str, settings: dict[str, Any], workload: str, is_known: bool
) -> None:
    run_id = store_run(database, machine, engine=engine, workload=workload)
    store_peak(database, machine, 4e9, engine=engine)
    environment = msgspec.structs.replace(ENVIRONMENT, engine=engine, tf32=False)
    for stored in ("runs", "peaks"):  # both without TensorFloat-32
        change(database, run_id if stored == "runs" else run_id + 1, {"environment": as_json(environment)})
    spec = load_run(database, run_id).spec
    change(database, run_id, {"spec": as_json(msgspec.structs.replace(spec, settings=settings))})
    assert (share_of(database, run_id).peak_flop_per_s is not None) == is_known


def as_json(value: Any) -> str:
    return msgspec.json.encode(value).decode()


def test_the_share_is_at_the_speed_of_the_headline(database: Database, machine: Machine) -> None:
    """Of 0.2 s, like the mean, although most steps take half as long."""
    model = events.Model(parameters_count=1, flops_per_example=1_000_000)
    steps = [block(0.1, 0.1, 0.4, epoch=epoch, seq=epoch) for epoch in range(2)]
    run = record(database, machine, ENVIRONMENT, model, *steps, epochs=2, steps=3)
    assert share_of(database, run).reached_flop_per_s == pytest.approx(0.5e9)


def test_a_later_peak_changes_the_verdict(database: Database, machine: Machine) -> None:
    run_id = store_run(database, machine)
    store_verdict(database, run_id)
    assert "impossible" not in str(load_run(database, run_id).summary.reasons)
    peak = events.Metric(key="flop_per_s", value=0.5e9)
    record(database, machine, ENVIRONMENT, peak, workload="matmul")
    assert "impossible" in str(load_run(database, run_id).summary.reasons)


@pytest.mark.parametrize(
    ("settings", "duration_s"), [("devices=4", 0.0075), ("devices=2", None), ("devices=4 machines=2", None)]
)
def test_the_gradients_take_as_long_as_the_same_devices_need(
    settings: str, duration_s: float | None, database: Database, machine: Machine
) -> None:
    model = events.Model(parameters_count=2_500_000)
    steps = [block(0.1, 0.1, epoch=epoch, seq=epoch) for epoch in range(2)]
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
