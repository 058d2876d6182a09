"""Verdicts: each rule on both sides of its threshold, their order, and records of other versions."""

import math
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import pytest

from app.core.messages import Message, message
from app.core.records import PeakShare, Run, RunSummary
from app.core.verdict.notes import derived_epoch
from app.core.verdict.rules import judge
from tests.build import machine_of, measured, quiet_run, slower, telemetry_of, with_telemetry
from tests.core.verdict.changes import (
    DISTURBED,
    QUICK,
    Change,
    at_clock,
    blocks,
    both,
    clock_from,
    codes,
    environment,
    epochs_of,
    gpu_clock_from,
    gpu_throttled,
    held_up,
    hot_before,
    loss,
    metrics,
    on_card,
    on_gpu,
    on_gpu_after,
    one_record,
    quick,
    same,
    share_of_telemetry,
    summarised,
    telemetry,
    warned,
    with_parts,
    without_block,
)
from tests.saying import said
from tests.sure import sure
from workloads import CATALOGUE, settings
from workloads.protocol import events
from workloads.protocol.machine import Gpu
from workloads.protocol.parameters import OnOff
from workloads.protocol.spec import RunSpec
from workloads.settings import Setting
from workloads.workload import Proof

BY_TIME, UNCOUNTED = summarised(preset="sustained"), metrics(updates_done=None, updates_asked=None)
SYNTHETIC = summarised(data_source="synthetic")
CUT: dict[str, Any] = {"steps": 400, "value": None, "basis": None, "spread_pct": None}


def real_asked(run: Run) -> Run:
    return replace(run, spec=RunSpec(workload="demo", data="real"))


INVALID = {"not_completed", "steps_missing", "updates_missing", "weights_unchanged", "suspended", "demo"}
INVALID |= {"loss_out_of_band", "loss_not_finite"}


def interval(low: float, high: float) -> Change:
    return summarised(**QUICK, value_low=low, value_high=high)


@pytest.mark.parametrize(
    ("code", "within", "beyond"),
    [
        ("not_completed", same, summarised(status="failed")),
        ("not_completed", summarised(status="cancelled"), summarised(status="interrupted")),
        ("not_completed", same, summarised(status="cancelled", value=None)),
        ("cancelled", same, summarised(status="cancelled")),
        ("running", same, summarised(status="running")),
        ("no_result", same, summarised(value=None)),
        ("steps_missing", same, blocks(-1)),
        ("steps_missing", same, summarised(epochs=2)),
        ("steps_missing", blocks(0), blocks(1)),
        # Others than Standard end by time: the worker's own count tells, or else a gap.
        ("steps_missing", both(UNCOUNTED, BY_TIME, blocks(-1)), both(BY_TIME, blocks(-1))),
        ("steps_missing", both(summarised(**QUICK), with_parts), both(summarised(**QUICK), blocks(-1))),
        ("steps_missing", both(UNCOUNTED, BY_TIME), both(UNCOUNTED, BY_TIME, without_block(7))),
        ("steps_missing", both(BY_TIME, summarised(status="cancelled"), blocks(-1)), blocks(-1)),
        ("steps_missing", both(blocks(-1), summarised(workload="matmul")), blocks(-1)),
        ("updates_missing", same, metrics(updates_done=1499.0)),
        ("updates_missing", metrics(updates_done=None), metrics(updates_asked=None)),
        ("weights_unchanged", metrics(weights_changed=1e-9), metrics(weights_changed=0.0)),
        ("loss_out_of_band", metrics(proof_loss=2.1), metrics(proof_loss=2.0999)),
        ("loss_out_of_band", metrics(proof_loss=2.3), metrics(proof_loss=2.3001)),
        ("loss_out_of_band", metrics(proof_loss=None), metrics(proof_loss=0.0)),
        ("loss_out_of_band", warned("other"), warned("loss_out_of_band")),
        ("loss_not_finite", loss(2.0, 1.0, 0.5), loss(2.0, None, 0.5)),
        ("loss_not_finite", loss(None, None), loss(2.0, math.nan)),
        ("loss_not_finite", loss(1e30), loss(math.inf)),
        ("loss_not_finite", same, summarised(status="failed", error_code="non_finite_loss")),
        ("suspended", one_record(suspended_s=1.0), one_record(suspended_s=1.01)),
        ("demo", same, summarised(workload="demo")),
        ("on_battery", telemetry(on_battery=None), one_record(on_battery=True)),
        ("power_saving", telemetry(power_plan="balanced"), one_record(power_plan="power saver")),
        ("power_saving", same, telemetry(power_plan="powersave (acpi-cpufreq)")),
        ("other_load", telemetry(other_cpu_pct=10.0), telemetry(other_cpu_pct=10.1)),
        ("host_steal", telemetry(steal_pct=5.0), telemetry(steal_pct=5.1)),
        ("swapping", telemetry(swap_bytes_per_s=1e6), telemetry(swap_bytes_per_s=1.1e6)),
        ("gpu_memory_taken", on_gpu(other_memory_bytes=1_500_000_000), on_gpu(other_memory_bytes=1_500_000_001)),
        (
            "gpu_busy",
            on_gpu(other_utilization_pct=10.0),
            on_gpu(other_utilization_pct=10.1, other_memory_bytes=10**8),
        ),
        ("gpu_busy_before", on_gpu_after(20.0), on_gpu_after(20.1)),
        ("gpu_busy_before", on_gpu_after(60.0, other_utilization_pct=0.0), on_gpu_after(60.0)),
        ("gpu_busy_before", on_gpu_after(60.0, 5.0, 60.0), on_gpu_after(60.0, 25.0, 60.0)),
        ("memory_pressure", telemetry(memory_pressure_pct=5.0), telemetry(memory_pressure_pct=5.1)),
        (
            "memory_full",
            telemetry(memory_available_bytes=200_000_000),
            telemetry(memory_available_bytes=199_999_999),
        ),
        (
            "memory_full",
            both(telemetry(memory_available_bytes=10**9), share_of_telemetry(1, 20, memory_available_bytes=0)),
            both(telemetry(memory_available_bytes=10**9), share_of_telemetry(2, 20, memory_available_bytes=0)),
        ),
        (
            "memory_spilled",
            on_card(8e9, own_shared_bytes=1_000_000_000, memory_used_bytes=7_900_000_000),
            on_card(8e9, own_shared_bytes=1_000_000_001, memory_used_bytes=7_900_000_000),
        ),
        (  # pinned memory is shared while the card isn't full
            "memory_spilled",
            on_card(8e9, own_shared_bytes=3_000_000_000, memory_used_bytes=7_199_000_000),
            on_card(8e9, own_shared_bytes=3_000_000_000, memory_used_bytes=7_200_000_000),
        ),
        ("memory_spilled", on_card(8e9, 8e9), on_card(8e9, 8e9 + 1)),
        (
            "memory_spilled",
            on_card(8e9, 6e9, other_memory_bytes=1_000_000_000),
            on_card(8e9, 6e9, other_memory_bytes=2_000_000_001),
        ),
        ("cpu_quota", telemetry(cpu_held_pct=5.0), telemetry(cpu_held_pct=5.1)),
        ("slow_clock", at_clock(1_680.0), at_clock(1_679.0)),
        ("slow_clock", both(at_clock(800.0), telemetry(cpu_pct=70.0)), at_clock(800.0)),
        ("slow_clock", at_clock(2_200.0), both(at_clock(2_200.0), hot_before)),
        ("slow_clock", both(at_clock(2_300.0), hot_before), both(at_clock(2_270.0), hot_before)),
        ("slow_clock", clock_from(0, 800.0), at_clock(800.0)),  # nothing tells the base clock
        ("synthetic_instead", summarised(data_source="synthetic"), both(real_asked, SYNTHETIC)),
        ("synthetic_instead", real_asked, both(real_asked, SYNTHETIC)),
        ("throttled", same, one_record(throttle_count=1)),
        ("throttled", gpu_throttled(1), gpu_throttled(2)),
        ("throttled", gpu_throttled(9, "power cap"), gpu_throttled(2, "power brake")),
        ("clock_falling", clock_from(30, 3750), clock_from(30, 3600)),
        ("clock_falling", clock_from(5, 3000), clock_from(22, 3000)),  # within 5 s it settles
        (
            "clock_falling",
            both(on_gpu(clock_mhz=2000.0), clock_from(30, 1000)),
            both(on_gpu(clock_mhz=2000.0), gpu_clock_from(30, 1800.0)),
        ),
        ("drift", lambda run: slower(run, 200, 1.04), lambda run: slower(run, 200, 1.06)),
        ("drift", lambda run: slower(run, 200, 0.96), lambda run: slower(run, 200, 0.94)),
        (
            "drift",
            summarised(preset="sustained", sustained_pct=97.0),
            summarised(preset="sustained", sustained_pct=96.9),
        ),
        ("spread", summarised(spread_pct=5.0), summarised(spread_pct=5.01)),
        ("interval_wide", interval(97.0, 103.0), interval(99.0, 103.1)),
        ("interval_wide", summarised(value_low=1.0, value_high=99.0), interval(1, 99)),
        ("no_interval", interval(98, 102), summarised(**QUICK)),
        ("interruptions", summarised(interruptions_s=1.25), summarised(interruptions_s=1.3)),
        ("interruptions", held_up(70), held_up(80)),
        ("first_epoch", same, summarised(basis="first_epoch")),
        ("short_run", epochs_of(5.0), epochs_of(4.99)),
        ("short_run", both(epochs_of(4.0), summarised(**QUICK, value_low=98, value_high=102)), epochs_of(4.0)),
        ("short_run", same, both(summarised(**CUT), blocks(240))),
        ("uneven_steps", summarised(metric="words_per_s"), summarised(metric="words_per_s", preset="quick")),
        ("engine_changed", environment(variables=[]), environment(variables=["TF_XLA_FLAGS"])),
        ("cpus_hidden", environment(visible_cpus=8, cpu_quota=8.0), environment(visible_cpus=7)),
        ("cpus_hidden", environment(cpu_quota=None), environment(visible_cpus=8, cpu_quota=1.5)),
        ("cpus_hidden", both(summarised(threads=2), environment(visible_cpus=2)), environment(visible_cpus=2)),
        ("host_device_differs", same, lambda run: replace(run, spec=RunSpec(workload="demo", device="gpu:0"))),
        ("gpu_not_used", same, warned("gpu_not_used")),
    ],
)
def test_each_rule_flips_at_its_threshold(
    stored_run: Run, monkeypatch: pytest.MonkeyPatch, code: str, within: Change, beyond: Change
) -> None:
    proof = Proof(steps=100, bands={"real": (2.1, 2.3)})
    monkeypatch.setattr(type(CATALOGUE["cifar10_keras_cnn"]), "proof", proof)
    run = quiet_run(stored_run, 0)
    assert code not in codes(within(run))
    reason = next(reason for reason in judge(beyond(run)).reasons if reason.code == code)
    assert reason.level == ("invalid" if code in INVALID else "caution")
    assert reason.text.endswith(".")
    assert reason.advice or code in ("running", "gpu_not_used")


@pytest.mark.parametrize("change", [summarised(spread_pct=5.01), interval(99.0, 104.0), held_up(80)])
def test_closing_other_programs_is_advised_only_if_they_were_busy_or_unknown(
    stored_run: Run, change: Change
) -> None:
    run = change(quiet_run(stored_run, 0))
    for other_pct, advice in ((4.9, "advice.varies"), (5.1, "advice.quiet"), (None, "advice.quiet")):
        reasons = judge(telemetry(other_cpu_pct=other_pct)(run)).reasons
        assert {reason.advised.code for reason in reasons if reason.advised} == {advice}


def test_a_gpu_without_its_own_memory_never_spills(stored_run: Run) -> None:
    spilled = on_card(8e9, 9e9, own_shared_bytes=3_000_000_000)(quiet_run(stored_run, 0))
    assert "memory_spilled" in codes(spilled)
    gpus = tuple(replace(gpu, shares_memory=True) for gpu in spilled.machine.gpus)
    assert "memory_spilled" not in codes(replace(spilled, machine=replace(spilled.machine, gpus=gpus)))
    assert "memory_spilled" not in codes(replace(spilled, machine=replace(spilled.machine, gpus=())))


@pytest.mark.parametrize(
    ("times", "code", "advice"),
    [(1.06, "verdict.slower", "advice.cool_down_and_close"), (0.94, "verdict.faster", "advice.wait_and_close")],
)
def test_drift_has_a_direction_and_only_a_slower_run_is_advised_to_cool(
    stored_run: Run, times: float, code: str, advice: str
) -> None:
    drift = next(
        reason for reason in judge(slower(quiet_run(stored_run, 0), 200, times)).reasons if reason.code == "drift"
    )
    assert (sure(drift.said).code, drift.advised) == (code, message(advice))
    assert next(iter(sure(drift.said).arguments.values())) == pytest.approx(6.0, abs=1.0)


@pytest.mark.parametrize(
    "changes",
    [
        {"workload": "matmul"},  # its steps are of many kinds
        {"workload": "ptb_lstm_mxnet", "metric": "words_per_s"},  # so are those of sentences
        {"preset": "sustained", "sustained_pct": 100.0},  # judged by time, not by steps
    ],
)
def test_thirds_of_steps_are_compared_where_they_tell_something(stored_run: Run, changes: dict[str, Any]) -> None:
    run = slower(quiet_run(stored_run, 0), 200, 1.1)
    assert "drift" in codes(run)
    assert "drift" not in codes(summarised(**changes)(run))


def test_a_clock_that_was_set_is_a_fact(stored_run: Run) -> None:
    """Because durations are measured with another clock."""
    for last_s, levels in ((-0.5, []), (-0.6, ["fact"])):
        run = one_record(0.5, last_s, clock_step_s=0)(quiet_run(stored_run, 0))
        assert [reason.level for reason in judge(run).reasons if reason.code == "clock_step"] == levels


def test_symptoms_follow_their_causes_and_leave_the_advice_to_them(stored_run: Run) -> None:
    run = summarised(spread_pct=20.9)(quiet_run(stored_run, 0))
    assert {reason.code: bool(reason.advice) for reason in cautions(run)} == {"spread": True}
    loaded = telemetry(other_cpu_pct=40.0)(run)
    assert [(reason.code, bool(reason.advice)) for reason in cautions(loaded)] == [
        ("other_load", True),
        ("spread", False),
    ]


def cautions(run: Run) -> list[events.Reason]:
    return [reason for reason in judge(run).reasons if reason.level == "caution"]


def test_a_drift_takes_three_dozen_steps(stored_run: Run) -> None:
    falling = (0.1,) * 18 + (0.2,) * 18
    for steps_s, is_told in ((falling, True), (falling[:-1], False)):
        block = events.Steps(t_s=90.0, phase="measure", epoch=0, first_index=0, durations_s=(1.0, *steps_s))
        assert ("drift" in codes(replace(stored_run, steps=(block,)))) == is_told


@pytest.mark.parametrize(
    ("changes", "said", "advised"),
    [
        ({"metric": "seconds_per_epoch_s"}, "verdict.no_epoch", "advice.finish_an_epoch"),
        # Quick needs no epoch, and who uses it needn't be told of it.
        ({"metric": "seconds_per_epoch_s", "preset": "quick"}, "verdict.no_headline", "advice.let_it_finish"),
        ({"metric": "images_per_s"}, "verdict.no_headline", "advice.let_it_finish"),
        ({"metric": "images_per_s", "step_median_s": None}, "verdict.nothing_measured", "advice.let_it_finish"),
    ],
)
def test_without_a_result_it_says_what_is_missing(
    changes: dict[str, str | None], said: str, advised: str, stored_run: Run
) -> None:
    reasons = judge(summarised(value=None, **changes)(quiet_run(stored_run, 0))).reasons
    assert codes_of("no_result", reasons) == (said, advised)


@pytest.mark.parametrize(
    ("status", "advised"),
    [
        ("failed", "advice.run_again"),  # which has a message
        ("cancelled", "advice.let_it_finish"),
        ("interrupted", "advice.let_it_finish"),
    ],
)
@pytest.mark.parametrize("preset", ["standard", "quick"])
def test_only_a_failed_run_has_a_message_to_follow(
    preset: str, status: str, advised: str, stored_run: Run
) -> None:
    reasons = judge(summarised(value=None, preset=preset, status=status)(quiet_run(stored_run, 0))).reasons
    assert codes_of("not_completed", reasons)[1] == advised


def codes_of(code: str, reasons: Iterable[events.Reason]) -> tuple[str, str]:
    """Return the codes of what a reason says and advises."""
    reason = next(reason for reason in reasons if reason.code == code)
    assert reason.said is not None
    return reason.said.code, sure(reason.advised).code


def test_telemetry_counts_from_the_first_measured_step_to_the_second_after_the_last(stored_run: Run) -> None:
    warmup = events.Steps(t_s=10.0, phase="warmup", epoch=0, first_index=0, durations_s=(5.0,))
    measured = events.Steps(t_s=30.0, phase="measure", epoch=0, first_index=0, durations_s=(1.0,) * 10)
    for t_s, is_told in ((8.0, False), (20.0, False), (20.5, True), (31.0, True), (31.5, False)):
        telemetry = (
            events.TelemetryEvent(t_s=25.0, telemetry=telemetry_of({"on_battery": False})),
            events.TelemetryEvent(t_s=t_s, telemetry=telemetry_of({"on_battery": True})),
        )
        run = replace(stored_run, steps=(warmup, measured), telemetry=telemetry)
        assert ("on_battery" in codes(run)) == is_told, t_s


@pytest.mark.parametrize(
    "changes",
    [
        {"batch_size": 50},
        {"variant": "lstm=fused"},
        {"data_source": "synthetic"},
        {"workload_version": 9},
        {"settings": "clipping=on"},
    ],
)
def test_a_loss_is_judged_only_where_its_band_was_found(
    stored_run: Run, monkeypatch: pytest.MonkeyPatch, changes: dict[str, Any]
) -> None:
    proof = Proof(steps=100, bands={"real": (2.1, 2.3)})
    monkeypatch.setattr(type(CATALOGUE["cifar10_keras_cnn"]), "proof", proof)
    clipping = Setting(name="clipping", kind=OnOff(), default=False, changes="learning")
    monkeypatch.setattr(settings, "SETTINGS", (*settings.SETTINGS, clipping))
    run = metrics(proof_loss=0.1)(quiet_run(stored_run, 0))
    assert judge(run).level == "invalid"
    assert "loss_out_of_band" not in codes(summarised(**changes)(run))


def test_a_live_run_is_judged_by_what_is_certain(stored_run: Run) -> None:
    run = summarised(status="running", value=None, epochs_done=1)(quiet_run(stored_run, 0))
    run = DISTURBED["clock_falling"](both(blocks(-100), summarised(spread_pct=9.0))(run))
    assert codes(run, is_over=False) == []
    assert judge(run, is_over=False).level == "valid"
    assert codes(DISTURBED["on_battery"](run), is_over=False) == ["on_battery"]
    assert "running" in codes(run)


def test_the_worst_reasons_come_first_and_make_the_level(stored_run: Run) -> None:
    run = both(telemetry(on_battery=True), one_record(suspended_s=5), warned("gpu_not_used"))(
        quiet_run(stored_run, 0)
    )
    judged = judge(run)
    assert judged.level == "invalid"
    levels = [reason.level for reason in judged.reasons]
    assert levels == sorted(levels, key=["invalid", "caution", "fact"].index)
    assert [reason.code for reason in judged.reasons][:3] == ["suspended", "on_battery", "gpu_not_used"]
    assert judge(telemetry(on_battery=True)(quiet_run(stored_run, 0))).level == "caution"


def test_a_warning_is_given_once(stored_run: Run) -> None:
    twice = tuple(events.Warn(code="damaged_event", message=text) for text in ("One.", "Two.", "One."))
    reasons = judge(replace(quiet_run(stored_run, 0), warnings=twice)).reasons
    assert [reason.text for reason in reasons if reason.level == "caution"] == ["One.", "Two."]


@pytest.mark.parametrize(
    ("machine", "expected"),
    [
        ({}, []),
        ({"virtual_machine": True, "virtualization": "kvm"}, ["virtual_machine"]),
        ({"virtual_machine": True, "virtualization": None}, ["virtual_machine"]),
        ({"virtual_machine": False, "virtualization": "docker"}, ["container"]),
        ({"virtual_machine": True, "virtualization": "podman in kvm"}, ["container", "virtual_machine"]),
        ({"virtual_machine": True, "virtualization": "docker in wsl"}, ["container", "wsl"]),
        ({"virtual_machine": True, "virtualization": "wsl"}, ["wsl"]),
    ],
)
def test_the_kind_of_computer_is_a_fact(stored_run: Run, machine: dict[str, Any], expected: list[str]) -> None:
    run = quiet_run(stored_run, 0)
    judged = judge(replace(run, machine=machine_of(run, **machine)))
    is_shared = "virtual_machine" in expected
    assert judged.level == ("caution" if is_shared else "valid")
    codes = [*(["shared_host"] if is_shared else []), "spread", "real_data", *expected]
    assert [reason.code for reason in judged.reasons] == codes


def test_other_facts(stored_run: Run) -> None:
    generated = events.Dataset(name="generated", source="synthetic", samples=1)
    run = replace(quick(quiet_run(stored_run, 0)), peak=PeakShare(1e12, 2e12), dataset=generated)
    run = summarised(metric="images_per_s", value=100.0, value_low=99.0, value_high=101.0)(run)
    assert [reason.code for reason in judge(run).reasons] == [
        *("peak_share", "estimate", "derived_epoch", "spread", "generated_data")
    ]
    synthetic = summarised(data_source="synthetic", spread_pct=None)(quiet_run(stored_run, 0))
    assert [reason.code for reason in judge(synthetic).reasons] == ["synthetic_data"]
    divided = summarised(device="cpu", settings="devices=2", spread_pct=None)(quiet_run(stored_run, 0))
    said = judge(divided).reasons[0]
    assert (said.said, said.level) == (message("verdict.divided_cpu", count=2), "invalid")
    together = summarised(device="cpu", settings="devices=2 machines=2", spread_pct=None)(quiet_run(stored_run, 0))
    assert judge(together).level == "valid"


@pytest.mark.parametrize(
    ("device", "settings", "names"),
    [
        ("gpu:0", "devices=2", ["RTX 4070", "RTX 3060"]),
        ("gpu:1", "devices=2", None),
        ("gpu:0", "devices=3", ["RTX 4070", "RTX 3060"]),
        ("gpu:0", "devices=2 gpus=0,3", ["RTX 4070", "RTX 4090"]),
        ("gpu:1", "devices=2 gpus=1,3", ["RTX 3060", "RTX 4090"]),
        ("gpu:0", "devices=2 machines=2", None),
        ("gpu:0", "", None),
        ("cpu", "devices=2", None),
    ],
)
def test_gpus_that_differ_are_named(stored_run: Run, device: str, settings: str, names: list[str] | None) -> None:
    run = on_cards(stored_run, device, settings)
    assert notes_on_gpus(run) == ([] if names is None else [message("note.unequal_gpus", names=names)])


SLOW, DIFFER = "note.slow_gpu", "note.unequal_gpus"
BOTH = {"names": ["RTX 4070", "RTX 3060"]}


@pytest.mark.parametrize(
    ("device", "speeds", "changes", "code", "arguments"),
    [
        ("gpu:1", (1e13, 2e13), {"settings": "devices=2 gpus=1,3"}, SLOW, {"index": 1, "share_pct": 50.0}),
        ("gpu:1", (2e13, 1e13), {"settings": "devices=2 gpus=1,3"}, SLOW, {"index": 3, "share_pct": 50.0}),
        ("gpu:0", (2e13, 1.24e13), {}, SLOW, {"index": 1, "share_pct": 62.0}),
        ("gpu:0", (1e13, 2e13), {}, SLOW, {"index": 0, "share_pct": 50.0}),
        ("gpu:1", (2e13, 1e13), {}, SLOW, {"index": 2, "share_pct": 50.0}),
        ("gpu:1", (8e12, 6e12), {}, SLOW, {"index": 2, "share_pct": 75.0}),
        ("gpu:1", (1e13, 0.9e13), {}, None, {}),
        ("gpu:0", (1e13, 1e13), {}, DIFFER, BOTH),
        ("gpu:0", (1e13, 1e12), {"workload": "matmul"}, DIFFER, BOTH),
        ("gpu:0", (1e13,), {}, DIFFER, BOTH),
        ("gpu:0", None, {}, DIFFER, BOTH),
        ("gpu:1", None, {}, None, {}),
        ("gpu:0", (1e13, 1e12), {"variables": ("CUDA_VISIBLE_DEVICES",)}, SLOW, {"index": 1, "share_pct": 10.0}),
        ("gpu:1", (1e13, 1e12), {"device_name": "unknown"}, SLOW, {"index": 2, "share_pct": 10.0}),
        ("cpu", (1e13, 1e12), {}, None, {}),
    ],
)
def test_a_slow_gpu_is_named(
    stored_run: Run,
    device: str,
    speeds: tuple[float, ...] | None,
    changes: dict[str, Any],
    code: str | None,
    arguments: dict[str, Any],
) -> None:
    run = on_cards(stored_run, device, **{"settings": "devices=2", "device_flop_per_s": speeds} | changes)
    assert notes_on_gpus(run) == ([] if code is None else [message(code, **arguments)])


@pytest.mark.parametrize(("slower", "advice"), [(0.8999e13, message("advice.slow_gpu")), (0.9001e13, None)])
def test_beyond_the_usual_differences_of_gpus_there_is_advice(
    stored_run: Run, slower: float, advice: Message | None
) -> None:
    run = on_cards(stored_run, "gpu:0", "devices=2", device_flop_per_s=(1e13, slower))
    (reason,) = (each for each in judge(run).reasons if each.code == "unequal_gpus")
    assert (reason.level, reason.advised) == ("fact", advice)


def on_cards(stored_run: Run, device: str, settings: str, workload: str = "mnist_mlp", **values: Any) -> Run:
    """Return a run on some of a computer's four cards, beside which it has another vendor's."""
    run = quiet_run(stored_run, 0)
    run = summarised(device=device, settings=settings, workload=workload, spread_pct=None)(run)
    cards = [Gpu(name, "nvidia") for name in ("RTX 4070", "RTX 3060", "RTX 3060", "RTX 4090")]
    machine = replace(run.machine, gpus=(Gpu("UHD 770", "intel"), *cards))
    name = "RTX 3060" if device == "gpu:1" else "RTX 4070"
    return replace(environment(**({"device": device, "device_name": name} | values))(run), machine=machine)


def notes_on_gpus(run: Run) -> list[Message | None]:
    return [reason.said for reason in judge(run).reasons if reason.code == "unequal_gpus"]


EPOCH = 50_000


@pytest.mark.parametrize(
    ("changes", "duration_s"),
    [
        ({"metric": "images_per_s", "value": 1_000.0, "seconds_per_epoch_s": None}, 50.0),
        ({"metric": "images_per_s", "value": 1_000.0, "seconds_per_epoch_s": 52.0}, 52.0),
        ({"metric": "seconds_per_batch_s", "value": 0.1, "seconds_per_epoch_s": 99.9}, 99.9),
        ({"metric": "seconds_per_batch_s", "value": 0.1, "seconds_per_epoch_s": 100.0}, 100.0),
    ],
)
def test_how_long_an_epoch_takes(summary: RunSummary, changes: dict[str, Any], duration_s: float) -> None:
    code = "note.epoch_takes_long" if duration_s >= 100 else "note.epoch_takes"
    expected = message(code, samples=EPOCH, duration_s=duration_s)
    assert derived_epoch(replace(summary, **changes)) == expected


@pytest.mark.parametrize(
    "changes",
    [
        {},  # it is the headline
        {"metric": "images_per_s", "value": 1_000.0, "samples_per_epoch": 0},
        {"metric": "images_per_s", "value": None, "seconds_per_epoch_s": None},
        {"metric": "words_per_s", "value": 1_000.0, "seconds_per_epoch_s": None},  # an example has many words
    ],
)
def test_without_an_epoch_there_is_no_note(summary: RunSummary, changes: dict[str, Any]) -> None:
    assert derived_epoch(replace(summary, **changes)) is None


def told(run: Run, *, preset: str = "quick", **curves: Callable[[int], float]) -> list[str]:
    """What is said of burst speed if the telemetry of the measurement follows these curves, second by second."""
    run = summarised(preset=preset)(quick(quiet_run(run, 0)))
    for second, at in enumerate(measured(run)):
        run = with_telemetry(run, [at], **{name: curve(second) for name, curve in curves.items()})
    return [reason.text for reason in judge(run).reasons if reason.code == "burst"]


def test_a_quick_run_on_a_machine_that_is_still_warming_up_is_burst_speed(stored_run: Run) -> None:
    (burst,) = told(stored_run, cpu_temperature_c=lambda second: 50.0 + 0.2 * second)
    assert said("note.still_warming", device="CPU").is_all_of(burst)
    assert not told(stored_run, cpu_temperature_c=lambda second: min(70.0, 50.0 + 2 * second))
    assert not told(stored_run, cpu_temperature_c=lambda second: 70.0 + second % 3)
    assert not told(stored_run, preset="standard", cpu_temperature_c=lambda second: 50.0 + 0.2 * second)


def test_a_quick_run_whose_clock_is_still_falling_is_burst_speed(stored_run: Run) -> None:
    (burst,) = told(stored_run, cpu_clock_mhz=lambda second: 4_500.0 - 5 * second)
    assert said("note.boost_ending", device="CPU").is_all_of(burst)
    assert not told(stored_run, cpu_clock_mhz=lambda second: 4_000.0 + 30 * (second % 2))
