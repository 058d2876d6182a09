"""What is wrong right before a run, with the codes of the verdict and sentences of the moment."""

from dataclasses import replace
from typing import Any

import msgspec
import pytest

from app.core.messages import ENGLISH, message, needs, sentence
from app.core.verdict.conditions import CONDITIONS
from app.core.verdict.preflight import USUAL_NEED_BYTES, preflight
from app.core.verdict.rules import RULES
from tests import conftest
from workloads import CATALOGUE
from workloads.protocol.machine import Gpu, Machine
from workloads.protocol.telemetry import GpuTelemetry, Telemetry

WORKLOAD = CATALOGUE["cifar10_keras_cnn"]
SPEC = WORKLOAD.default_spec()
NEED_BYTES = WORKLOAD.memory_need_bytes(SPEC) or 0
MACHINE = replace(conftest.MACHINE, gpus=(Gpu("GPU 0", "nvidia"), Gpu("GPU 1", "nvidia")))
QUIET = Telemetry(
    cpu_pct=4.0,
    memory_used_bytes=4_000_000_000,
    swap_used_bytes=0,
    steal_pct=1.0,
    other_cpu_pct=3.0,
    swap_bytes_per_s=0.0,
    throttle_count=0,
    on_battery=False,
    power_plan="powersave (intel_pstate), preference balance_performance, profile balanced",
    clock_step_s=0.0,
    suspended_s=0.0,
    gpus=(GpuTelemetry(0, 2.0, 10**9, other_memory_bytes=10**9), GpuTelemetry(1, 0.0, 0, other_memory_bytes=0)),
)


TOO_HOT: dict[str, Any] = {"too_hot": {}}


def busy_gpu(index: int) -> tuple[GpuTelemetry, ...]:
    readings = list(QUIET.gpus)
    readings[index] = GpuTelemetry(index, 60.0, 6 * 10**9, other_memory_bytes=6 * 10**9)
    return tuple(readings)


def told(*looks: Telemetry, machine: Machine = MACHINE, **asked: Any) -> dict[str, str]:
    reasons = preflight(WORKLOAD.default_spec(**asked), machine, looks)
    assert {reason.level for reason in reasons} <= {"caution"}
    assert all(reason.advice.endswith(".") for reason in reasons)
    return {reason.code: reason.text for reason in reasons}


def test_there_is_no_warning_on_a_quiet_computer_or_without_telemetry() -> None:
    assert told(QUIET, QUIET, QUIET) == {}
    assert told(Telemetry(), Telemetry()) == {}
    assert told() == {}


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"on_battery": True}, {"on_battery": {"part": ""}}),
        ({"power_plan": "power saver"}, {"power_saving": {"plan": "power saver"}}),
        ({"other_cpu_pct": 10.0}, {}),
        ({"other_cpu_pct": 10.6}, {"other_load": {"share_pct": 11}}),
        ({"steal_pct": 30.0}, {"host_steal": {"share_pct": 30}}),
        ({"swap_bytes_per_s": 2.5e6}, {"swapping": {"rate_mb_per_s": 2.5}}),
        ({"memory_used_bytes": 16_000_000_000 - NEED_BYTES}, {}),
        (
            {"memory_used_bytes": 15_100_000_000},
            {"low_memory": {"free_bytes": 900_000_000, "need_bytes": NEED_BYTES}},
        ),
        ({"gpus": busy_gpu(0)}, {"gpu_memory_taken": {"memory_bytes": 6 * 10**9}, "gpu_busy": {"share_pct": 60}}),
        ({"gpus": busy_gpu(1)}, {}),
        ({"clock_step_s": 9.0, "suspended_s": 9.0}, {}),  # over before the run begins
        ({"throttle_count": 3}, TOO_HOT),
        ({"cpu_temperature_c": 89.0}, {}),
        ({"cpu_temperature_c": 90.0}, TOO_HOT),
        ({"gpus": (GpuTelemetry(0, throttle_reasons=("thermal",)),)}, TOO_HOT),
        ({"gpus": (GpuTelemetry(0, throttle_reasons=("power cap",)),)}, {}),
        ({"gpus": (GpuTelemetry(0), GpuTelemetry(1, throttle_reasons=("thermal",)))}, {}),
        ({"cpu_pressure_pct": 20.0, "memory_pressure_pct": 5.0, "cpu_held_pct": 5.0}, {}),
        ({"cpu_pressure_pct": 45.0}, {"cpu_pressure": {"share_pct": 45}}),
        (  # one sentence is enough
            {"cpu_pressure_pct": 45.0, "other_cpu_pct": 30.0},
            {"other_load": {"share_pct": 30}},
        ),
        ({"memory_pressure_pct": 12.0}, {"memory_pressure": {"share_pct": 12}}),
        ({"cpu_held_pct": 50.0}, {"cpu_quota": {"share_pct": 50}}),
    ],
)
def test_what_is_wrong_right_now(changes: dict[str, Any], expected: dict[str, dict[str, Any]]) -> None:
    sentences = {code: sentence(f"preflight.{code}", **figures) for code, figures in expected.items()}
    assert told(*[replace(QUIET, **changes)] * 2) == sentences


def test_battery_use_is_reported_with_its_share_of_the_time() -> None:
    half = message("verdict.part_of_time", share_pct=50)
    assert told(QUIET, replace(QUIET, on_battery=True))["on_battery"] == sentence(
        "preflight.on_battery", part=half
    )


RADEON = (Gpu("Radeon RX 7900", "amd"),)  # which the engine can't use


@pytest.mark.parametrize(
    ("gpus", "busy", "device", "codes"),
    [
        (MACHINE.gpus, 1, "gpu:1", 2),
        (MACHINE.gpus, 1, "gpu:0", 0),
        (MACHINE.gpus, 1, "cpu", 0),
        (MACHINE.gpus, 1, "auto", 0),
        ((), 0, "auto", 0),
        (RADEON, 0, "auto", 0),
    ],
)
def test_only_the_gpu_that_would_run_matters(gpus: tuple[Gpu, ...], busy: int, device: str, codes: int) -> None:
    look = replace(QUIET, gpus=busy_gpu(busy))
    assert len(told(look, machine=replace(MACHINE, gpus=gpus), device=device)) == codes


def test_the_latest_telemetry_shows_how_much_memory_is_free() -> None:
    full = replace(QUIET, memory_used_bytes=15_900_000_000)
    assert told(full, QUIET) == {}
    assert list(told(QUIET, full)) == ["low_memory"]


def test_memory_of_a_run_that_was_never_measured() -> None:
    spec = msgspec.structs.replace(SPEC, workload="of another version")
    for free_bytes, count in ((USUAL_NEED_BYTES, 0), (USUAL_NEED_BYTES - 1, 1)):
        full = replace(QUIET, memory_used_bytes=16_000_000_000 - free_bytes)
        assert len(preflight(spec, MACHINE, [full])) == count
    assert preflight(CATALOGUE["demo"].default_spec(), MACHINE, [full]) == ()


def test_the_codes_are_those_of_the_verdict() -> None:
    rules = {rule.code: rule.advice for rule in RULES}
    only_before = {condition.code for condition in CONDITIONS if not condition.in_records}
    assert only_before == {"cpu_pressure", "too_hot"} == {each.code for each in CONDITIONS} - rules.keys()
    assert all(rules[each.code] == each.advice for each in CONDITIONS if each.in_records)
    for condition in CONDITIONS:
        past = f"verdict.{condition.code}"
        assert past not in ENGLISH or needs(past) == needs(f"preflight.{condition.code}")
        assert (past in ENGLISH) == condition.in_records


@pytest.mark.parametrize(("variant", "codes"), [("cpu", []), ("cuda", ["gpu_memory_taken", "gpu_busy"])])
def test_a_busy_card_matters_if_the_installed_build_uses_it(variant: str, codes: list[str]) -> None:
    card = Gpu("NVIDIA GeForce RTX 4070", "nvidia", compute_capability="8.9", driver="580.10")
    machine = replace(MACHINE, os_name="Linux 6.1", gpus=(card,))
    spec = WORKLOAD.default_spec(engine="torch", device="auto")
    busy = replace(QUIET, gpus=busy_gpu(0))
    assert [reason.code for reason in preflight(spec, machine, [busy, busy], variant)] == codes
