"""What charts show, from events that come and from runs that are stored."""

from dataclasses import fields, replace
from typing import Any

import pytest

from app.core.analysis.series import POINTS_LIMIT, Curve, RunSeries, live_summary, series_of
from app.core.records import RunSummary
from app.core.storage.database import Database
from app.core.storage.runs import load_run
from tests.build import telemetry_of
from tests.recording import as_preset, recorded_events, store_recording
from tests.sure import sure
from workloads.protocol import events
from workloads.protocol.machine import Machine
from workloads.protocol.spec import RunSpec
from workloads.protocol.telemetry import GpuTelemetry, Telemetry


def steps(first_index: int, *durations_s: float, t_s: float = 0.0) -> events.Steps:
    return events.Steps(
        phase="measure", epoch=0, first_index=first_index, durations_s=durations_s, loss=1.5, t_s=t_s
    )


def epoch(index: int, duration_s: float) -> events.Epoch:
    return events.Epoch(index=index, duration_s=duration_s, train_s=duration_s)


# They are in the JSON that people share as well, so they must tell nothing private.
NOT_DRAWN = {"on_battery", "power_plan", "gpus", "core_pct", "index", "throttle_reasons"}


def test_every_number_of_telemetry_is_drawn_and_nothing_else() -> None:
    names = [field.name for field in fields(Telemetry)], [field.name for field in fields(GpuTelemetry)]
    own, of_gpu = ({name: 1.0 for name in each if name not in NOT_DRAWN} for each in names)
    series = RunSeries(1)
    gpu = GpuTelemetry(index=0, throttle_reasons=("thermal",), **of_gpu)
    told = Telemetry(power_plan="balanced", on_battery=True, core_pct=(1.0,), gpus=(gpu,), **own)
    series.follow(events.TelemetryEvent(t_s=0.0, telemetry=told))
    assert set(series.telemetry) == {*own, *(f"gpu0_{name}" for name in of_gpu)}


def test_throughput_is_counted_over_whole_seconds() -> None:
    series = RunSeries(10)
    for number in range(8):
        series.follow(steps(number, 0.25, t_s=number * 0.25 + 0.25))
    assert series.steps_per_s == Curve([1.0, 2.0], [4.0, 4.0])
    series.follow(steps(8, 3.0, t_s=5.5))
    assert series.steps_per_s.x[-2:] == [2.5, 5.5]
    assert series.steps_per_s.y[-2:] == pytest.approx([1 / 3, 1 / 3])
    assert series.loss.x == [0.4, 0.8, 0.9]


@pytest.mark.parametrize(
    "unshown",
    [{"cpu_temperature_c": None}, {"power_plan": "balanced", "on_battery": True}],
    ids=lambda each: next(iter(each)),
)
def test_telemetry_that_is_missing_or_not_a_number_has_no_curve(unshown: dict[str, Any]) -> None:
    series = RunSeries(1)

    def look(t_s: float, cpu_pct: object, power_w: object) -> None:
        gpu = {"index": 1, "power_w": power_w, "clock_mhz": None, "throttle_reasons": ["thermal"]}
        told = telemetry_of({"cpu_pct": cpu_pct, "gpus": [gpu], **unshown})
        series.follow(events.TelemetryEvent(t_s=t_s, telemetry=told))

    look(0.0, 50.0, 88)
    look(1.0, 51.0, 88)
    assert series.telemetry == {
        "cpu_pct": Curve([0.0, 1.0], [50.0, 51.0]),
        "gpu1_power_w": Curve([0.0, 1.0], [88.0, 88.0]),
    }
    # One look that another version wrote in words is a gap, as is what the driver did not tell.
    for cpu_pct in ("idle", None):
        look(2.0, cpu_pct, None)
        assert (series.telemetry["cpu_pct"].last, series.telemetry["gpu1_power_w"].last) == (None, None)


def test_curves_stay_short_and_keep_both_ends() -> None:
    curve = Curve()
    for number in range(3 * POINTS_LIMIT):
        curve.add(float(number), float(number))
    assert len(curve.x) <= POINTS_LIMIT
    assert curve.x[0] == 0.0
    assert curve.x == sorted(curve.x)
    assert curve.x[-1] >= 3 * POINTS_LIMIT - 2
    assert curve.y == curve.x


def test_the_headline_so_far(summary: RunSummary) -> None:
    begun = replace(summary, value=None, seconds_per_epoch_s=None, basis=None, epochs_done=0, steps_per_epoch=20)
    series = RunSeries(20)
    assert live_summary(begun, series).value is None
    series.follow(events.Estimate(t_s=3.0, value=2.0, low=1.9, high=2.1, steps=12, interruptions=1))
    estimate = live_summary(begun, series)
    assert (estimate.basis, estimate.value, estimate.interruptions) == ("estimate", 2.0, 1)
    assert (estimate.value_low, estimate.value_high, estimate.confidence_pct) == (1.9, 2.1, 95)
    assert (series.low.y, series.estimate.y, series.high.y) == ([1.9], [2.0], [2.1])
    series.follow(epoch(0, 9.0))
    assert (live_summary(begun, series).basis, live_summary(begun, series).value) == ("first_epoch", 9.0)
    for index, duration_s in enumerate((4.0, 6.0, 5.0), 1):
        series.follow(epoch(index, duration_s))
    later = live_summary(begun, series)
    assert (later.basis, later.value, later.epochs_done) == ("later_epochs", 5.0, 4)
    assert (later.minimum_s, later.maximum_s, later.first_epoch_s) == (4.0, 6.0, 9.0)
    # A cut epoch is never an epoch's time.
    assert live_summary(replace(begun, steps=5), series).value is None


@pytest.mark.parametrize("is_guest", [False, True])
def test_the_interval_so_far_has_what_others_may_change(
    summary: RunSummary, machine: Machine, is_guest: bool
) -> None:
    series = RunSeries(steps_per_epoch=10)
    spec = RunSpec(workload=summary.workload)
    series.follow(events.Run(run_id=1, spec=spec, machine=replace(machine, virtual_machine=is_guest)))
    series.follow(events.Environment(engine="tensorflow", device="cpu", precision="float32", jit=False))
    for index in range(8):
        series.follow(events.Epoch(index=index, duration_s=20.0 + index / 100, train_s=19.0))
    live = live_summary(summary, series)
    assert (live.value_high or 0.0) - (live.value or 0.0) == pytest.approx(1.77 if is_guest else 0.03, abs=0.01)


def test_the_estimates_of_a_stored_run_end_with_its_headline(database: Database) -> None:
    run = load_run(database, store_recording(database, as_preset(recorded_events(), "quick")))
    series = series_of(run)
    assert series.estimate.y[-1] == pytest.approx(run.summary.value)
    low, high = sure(series.low.y[-1]), sure(series.high.y[-1])
    assert (low, high) == pytest.approx((run.summary.value_low, run.summary.value_high), rel=0.02)
