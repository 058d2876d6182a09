"""Power limits, draw and work per joule of runs whose power is known."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.analysis.bars import bars
from app.core.analysis.comparability import differences
from app.core.analysis.power import changed_limit, limit_text, other_limit
from app.core.messages import message, sentence, text
from app.core.records import Run, RunSummary
from app.core.report.run_texts import run_engine_line
from app.core.report.share_texts import device_title
from app.core.verdict.bottleneck import explain
from app.core.verdict.energy import energy_columns, energy_used, power_columns
from app.core.verdict.rules import judge
from tests.build import environment_of, measured, quiet_run, with_telemetry
from tests.saying import said
from tests.sure import sure
from workloads.protocol.machine import Gpu

CARD = Gpu("NVIDIA GeForce RTX 3090", "nvidia", power_limit_w=115.0, power_default_w=370.0)


def on_card(run: Run, card: Gpu = CARD, *, idle: dict[str, Any] | None = None, **readings: Any) -> Run:
    """Return a quiet run on a card with these readings under load, and others before it."""
    device = {"device": "gpu:0", "device_name": card.name}
    base = quiet_run(run, 1, **device)
    everywhere = list(range(len(base.telemetry)))
    whole = with_telemetry(base, everywhere, gpus=[{"index": 0, **(idle or readings)}])
    loaded = with_telemetry(whole, measured(base), gpus=[{"index": 0, **readings}])
    return replace(
        loaded, machine=replace(run.machine, gpus=(card,)), environment=environment_of(run, device="gpu:0")
    )


def with_columns(run: Run) -> Run:
    columns: dict[str, Any] = energy_columns(run) | power_columns(run)
    return replace(run, summary=replace(run.summary, **columns))


def at_limit(
    run: RunSummary, limit_w: float | None, default_w: float | None = 370.0, **changes: Any
) -> RunSummary:
    card = {"device": "gpu:0", "device_name": CARD.name}
    return replace(run, power_limit_w=limit_w, power_default_w=default_w, **(card | changes))


def test_a_limit_counts_under_load(stored_run: Run) -> None:
    """A laptop raises its limit only then."""
    idle = {"power_w": 20.0, "power_limit_w": 115.0}
    run = with_columns(on_card(stored_run, idle=idle, power_w=228.0, power_limit_w=230.0)).summary
    assert (run.power_limit_w, run.power_default_w) == (230.0, 370.0)
    assert run.gpu_power_w == pytest.approx(228.0, rel=0.02)
    assert run.on_battery is False
    assert run.work_per_j == pytest.approx(run.samples_per_epoch / sure(run.value) / sure(run.gpu_power_w))


def on_cpu(run: Run, rated_w: float = 65.0, **readings: Any) -> Run:
    base = quiet_run(run, 1, device="cpu")
    machine = replace(run.machine, cpu_power_limit_w=65.0, cpu_power_rated_w=rated_w)
    return replace(
        with_telemetry(base, measured(base), **readings), machine=machine, environment=environment_of(run)
    )


def test_the_limit_of_a_cpu_belongs_to_its_result(stored_run: Run) -> None:
    run = with_columns(on_cpu(stored_run, cpu_power_limit_w=44.875))
    assert (run.summary.power_limit_w, run.summary.power_default_w) == (44.875, 65.0)
    (reason,) = [each for each in judge(run).reasons if each.code == "power_limit"]
    assert (reason.level, reason.said) == ("fact", message("note.power_limit", limit_w=44.875, default_w=65.0))
    usual = with_columns(on_cpu(stored_run))
    assert usual.summary.power_limit_w == 65.0
    assert other_limit(usual.summary, run.summary) == limit_text(run.summary) != ""
    above = with_columns(on_cpu(stored_run, rated_w=15.0)).summary
    assert limit_text(above) == "", "many computers allow more than the rated power"


def test_a_limit_that_changes_in_the_middle_is_that_of_most_of_the_time(stored_run: Run) -> None:
    run = on_card(stored_run, power_limit_w=370.0)
    last = measured(run)[-len(measured(run)) // 3 :]
    lowered = with_telemetry(run, last, gpus=[{"index": 0, "power_limit_w": 230.0}])
    assert power_columns(lowered)["power_limit_w"] == 370.0


@pytest.mark.parametrize("limit_w", [None, "250"])
def test_without_limits_in_the_telemetry_that_of_the_card_counts(stored_run: Run, limit_w: str | None) -> None:
    assert power_columns(on_card(stored_run, power_limit_w=limit_w))["power_limit_w"] == 115.0


def test_a_run_on_the_cpu_has_no_limit_and_counts_the_cpu(stored_run: Run) -> None:
    base = quiet_run(stored_run, 1, device="cpu")
    readings: dict[str, Any] = {
        "cpu_power_w": 50.0,
        "gpus": [{"index": 0, "power_w": 9.0, "power_limit_w": 230.0}],
    }
    run = with_columns(with_telemetry(base, list(range(len(base.telemetry))), **readings)).summary
    assert (run.power_limit_w, run.power_default_w, run.gpu_power_w) == (None, None, None)
    assert run.cpu_power_w == pytest.approx(50.0)
    assert run.work_per_j == pytest.approx(run.samples_per_epoch / sure(run.value) / 50)


@pytest.mark.parametrize(
    "changes", [{"value": None}, {"basis": "first_epoch"}, {"metric": "flop_per_s"}, {"workload": "matmul"}]
)
def test_work_without_a_speed_of_its_own_is_unknown(stored_run: Run, changes: dict[str, Any]) -> None:
    run = on_card(stored_run, power_w=200.0)
    summary = replace(run.summary, **changes)
    expected = None if changes != {"metric": "flop_per_s"} else sure(summary.value) / 200
    found = power_columns(replace(run, summary=summary))["work_per_j"]
    assert found == (None if expected is None else pytest.approx(expected))


@given(st.floats(1, 1_000), st.floats(0, 0.9), st.integers(3, 40))
def test_energy_times_rate_agrees_with_mean_power(
    stored_run: Run, power_w: float, part: float, period: int
) -> None:
    """However the draw changes: work per joule times joules per second is work per second."""
    run = on_card(stored_run, power_w=power_w)
    for at in range(0, len(run.telemetry), period):
        run = with_telemetry(run, [at], gpus=[{"index": 0, "power_w": power_w * (1 - part)}])
    summary = with_columns(run).summary
    per_s = sure(summary.work_per_j) * sure(summary.gpu_power_w)
    assert per_s == pytest.approx(summary.samples_per_epoch / sure(summary.value))
    span_s = run.steps[-1].t_s - run.steps[0].t_s
    assert sure(summary.gpu_power_w) * span_s <= sure(summary.gpu_energy_j) * (1 + 1e-9)
    assert power_w * (1 - part) * 0.999 <= sure(summary.gpu_power_w) <= power_w * 1.001


@pytest.mark.parametrize(
    ("limit_w", "default_w", "expected"),
    [
        (370.0, 370.0, None),
        (365.0, 370.0, None),  # as a driver rounds it
        (None, 370.0, None),
        (230.0, None, None),
        (230.0, 370.0, (230.0, 370.0)),
        (450.0, 370.0, (450.0, 370.0)),
    ],
)
def test_only_another_limit_than_the_default_is_named(
    summary: RunSummary, limit_w: float | None, default_w: float | None, expected: tuple[float, float] | None
) -> None:
    at = changed_limit(at_limit(summary, limit_w, default_w))
    assert (at and (at.arguments["limit_w"], at.arguments["default_w"])) == expected


def test_a_lowered_limit_is_a_fact_and_named_in_each_place(stored_run: Run) -> None:
    run = with_columns(on_card(stored_run, power_w=228.0, power_limit_w=230.0, utilization_pct=97.0))
    summary = run.summary
    verdict = judge(run)
    (reason,) = [each for each in verdict.reasons if each.code == "power_limit"]
    assert (reason.level, reason.said) == ("fact", message("note.power_limit", limit_w=230.0, default_w=370.0))
    assert said("power.at_limit_of", limit_w="230", default_w="370").is_in(device_title(summary))
    assert said("power.at_limit_of").is_in(run_engine_line(summary))
    assert limit_text(summary) in next(bar for bar in bars(summary.workload, summary) if bar.kind == "you").remarks
    assert said("power.work_per_joule", unit="examples per joule").is_in(text(energy_used(summary)))
    usual = at_limit(summary, 370.0)
    assert differences(usual, summary) == (limit_text(summary),)
    assert differences(summary, usual) == (sentence("power.at_limit", limit_w=370.0),)
    assert differences(summary, summary) == ()
    assert limit_text(usual) == ""
    assert device_title(usual) == CARD.name


@pytest.mark.parametrize(("limit_w", "expected"), [(370.0, "power_capped"), (230.0, "power_limited")])
def test_a_lowered_limit_is_told_from_the_ordinary_one(stored_run: Run, limit_w: float, expected: str) -> None:
    run = on_card(stored_run, utilization_pct=97.0, throttle_reasons=["power cap"], power_limit_w=limit_w)
    assert sure(explain(with_columns(run))).code == expected
