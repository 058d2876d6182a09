"""What limited a run, from records whose limit is known."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from app.core.messages import message, sentence
from app.core.records import PeakShare, Run
from app.core.storage.database import Database
from app.core.storage.runs import load_run
from app.core.verdict.boost import is_burstable_instance, may_slow_down
from app.core.verdict.bottleneck import bottleneck_text, explain
from app.core.verdict.context import TelemetryWindow
from tests.build import environment_of, machine_of, measured, quiet_run, record, telemetry_of, with_telemetry
from tests.core.hardware.made_up import write
from tests.saying import said
from tests.sure import sure
from workloads.protocol import events
from workloads.protocol.machine import Machine


def on_gpu(run: Run, busy_pct: float | None, summary: dict[str, Any] | None = None, **readings: Any) -> Run:
    base = quiet_run(run, 1, **(summary or {}))
    gpu = {"index": 0, "utilization_pct": busy_pct, "clock_mhz": 1800.0, "throttle_reasons": [], **readings}
    changed = with_telemetry(base, list(range(len(base.telemetry))), gpus=[gpu], cpu_pct=30.0)
    return replace(changed, environment=environment_of(run, device="gpu:0"))


def on_cpu(run: Run, busy_pct: float, cores: tuple[int, int] = (8, 16), **summary: Any) -> Run:
    base = quiet_run(run, 1, **summary)
    looks = {"cpu_pct": busy_pct, "other_cpu_pct": 0.0, "steal_pct": 0.0}
    machine = machine_of(run, physical_cores=cores[0], logical_cores=cores[1])
    return replace(with_telemetry(base, list(range(len(base.telemetry))), **looks), machine=machine)


def code(run: Run) -> str | None:
    found = explain(run)
    return found.code if found is not None else None


def text(run: Run) -> str:
    return sure(explain(run)).text


def test_a_small_network_is_launch_bound(stored_run: Run) -> None:
    run = replace(on_gpu(stored_run, 35.0), model=events.Model(parameters_count=1_337_002))
    assert code(run) == "launch_bound"
    assert said("bottleneck.launch_bound", busy_pct="35").begins(text(run))
    # 100 × 100/35, and the next power of two
    assert said("bottleneck.try_batch", batch_size="512").is_in(text(run))
    large = replace(run, model=events.Model(parameters_count=60_000_000))
    assert said("bottleneck.launch_bound").is_in(text(large))


@pytest.mark.parametrize(
    ("busy_pct", "batch_size", "samples", "advised"),
    [
        (35.0, 32, 50_000, "128"),
        (35.0, 1024, 50_000, None),
        (35.0, 100, 300, None),
        (35.0, 16, 0, "64"),
        *((busy_pct, 33, 50_000, "512") for busy_pct in (0.0, 1.0, 5.0)),  # no more than sixteen times as large
    ],
)
def test_a_batch_is_advised_where_there_may_be_room(
    stored_run: Run, busy_pct: float, batch_size: int, samples: int, advised: str | None
) -> None:
    run = on_gpu(stored_run, busy_pct, {"batch_size": batch_size, "samples_per_epoch": samples})
    if advised is None:
        assert not said("bottleneck.try_batch").is_in(text(run))
    else:
        assert said("bottleneck.try_batch", batch_size=advised).is_in(text(run))


@pytest.mark.parametrize(
    ("busy_pct", "readings", "expected"),
    [
        (75.0, {}, "gpu_waits"),
        (97.0, {}, "gpu_bound"),
        (97.0, {"memory_utilization_pct": 40.0}, "gpu_bound"),
        (97.0, {"memory_utilization_pct": 85.0}, "memory_bound"),
        (97.0, {"throttle_reasons": ["power cap"]}, "power_capped"),
        (97.0, {"throttle_reasons": ["thermal"]}, "throttled"),
        (None, {}, "unknown"),
        (35.0, {"summary": {"workload": "cifar10_cnn"}}, "input_bound"),  # it generates its input during the run
    ],
)
def test_busy_gpus(stored_run: Run, busy_pct: float | None, readings: dict[str, Any], expected: str) -> None:
    assert code(on_gpu(stored_run, busy_pct, **readings)) == expected


def test_half_precision_is_advised_where_it_is_not_used(stored_run: Run) -> None:
    for precision, advised in (("float32", True), ("mixed_float16", False)):
        run = on_gpu(stored_run, 97.0, {"precision": precision}, memory_utilization_pct=85.0)
        assert (said("bottleneck.half_precision").is_in(text(run))) == advised


@pytest.mark.parametrize(
    ("busy_pct", "cores", "changes", "expected"),
    [
        (15.0, (8, 16), {}, "cores_idle"),
        (15.0, (8, 8), {}, "cores_idle"),
        (70.0, (8, 8), {}, "cpu_waits"),
        (98.0, (8, 8), {}, "cpu_bound"),
        (98.0, (8, 16), {}, "cpu_bound"),
        (98.0, (1, 1), {}, "cpu_bound"),
        (24.0, (8, 16), {"threads": 4}, "few_threads"),
        (10.0, (8, 16), {"threads": 4}, "cores_idle"),
        (50.0, (8, 16), {}, "physical_cores"),
    ],
)
def test_processors(
    stored_run: Run, busy_pct: float, cores: tuple[int, int], changes: dict[str, Any], expected: str
) -> None:
    run = on_cpu(stored_run, busy_pct, cores, **changes)
    assert code(run) == expected
    physical = said("bottleneck.physical_cores", there="16", busy="8")
    assert physical.is_all_of(text(run)) == (expected == "physical_cores")


@pytest.mark.parametrize(
    ("taken", "cores", "expected"),
    [
        ({"other_cpu_pct": 30.0}, (8, 8), "taken"),
        ({"steal_pct": 50.0}, (2, 2), "taken"),
        ({"other_cpu_pct": 50.0}, (8, 16), "taken"),
        ({"other_cpu_pct": 8.0}, (8, 8), "cpu_bound"),  # a little is not the limit
    ],
)
def test_cpu_time_taken_by_others_is_not_waiting(
    stored_run: Run, taken: dict[str, float], cores: tuple[int, int], expected: str
) -> None:
    run = on_cpu(stored_run, 100.0, cores)
    run = with_telemetry(run, list(range(len(run.telemetry))), **taken)
    assert code(run) == expected
    assert said("bottleneck.taken").is_in(text(run)) == (expected == "taken")


@pytest.mark.parametrize(
    ("environment", "changes", "busy_pct", "busy"),
    [
        ({"cpu_quota": 0.5}, {}, 3.2, (0.5, 0.5)),
        ({"cpu_quota": 2.0}, {"threads": 4}, 12.5, (2.0, 2)),
        ({"visible_cpus": 4}, {}, 25.0, (4.0, 4)),
    ],
)
def test_limits_of_a_container_are_reported(
    stored_run: Run,
    environment: dict[str, Any],
    changes: dict[str, Any],
    busy_pct: float,
    busy: tuple[float, float],
) -> None:
    run = on_cpu(stored_run, busy_pct, (16, 16), **changes)
    shown = sentence("bottleneck.busy_of_allowed", busy=busy[0], allowed=busy[1])
    assert shown in text(replace(run, environment=environment_of(run, **environment)))


@pytest.mark.parametrize(
    ("share", "expected"), [(0.7, "arithmetic_bound"), (0.4, "cpu_bound"), (0.1, "cpu_memory_bound")]
)
def test_the_share_of_peak_tells_arithmetic_from_memory(stored_run: Run, share: float, expected: str) -> None:
    run = replace(on_cpu(stored_run, 98.0, (8, 8)), peak=PeakShare(share * 1e12, 1e12))
    assert code(run) == expected


def test_throttling_comes_first_with_its_time(stored_run: Run) -> None:
    run = on_cpu(stored_run, 98.0, (8, 8))
    run = with_telemetry(run, measured(run)[30:], throttle_count=1)
    assert code(run) == "throttled"
    shown = {"when": sentence("bottleneck.after_seconds", count=31), "advice": said("bottleneck.better_cooling")}
    assert said("bottleneck.throttled", how=said("bottleneck.held_down", device="CPU"), **shown).is_all_of(
        text(run)
    )
    power = text(on_gpu(stored_run, 97.0, throttle_reasons=["power brake"]))
    assert not said("bottleneck.better_cooling").is_in(power), "no cooling cures a power supply"


def test_a_falling_clock_is_reported_with_its_time(stored_run: Run) -> None:
    run = on_cpu(stored_run, 98.0, (8, 8))
    run = with_telemetry(run, measured(run)[25:], cpu_clock_mhz=2600.0)
    # Not cooling: a limit of power does that, too.
    shown = {"when": sentence("bottleneck.after_seconds", count=26), "advice": said("bottleneck.heat_or_power")}
    assert said("bottleneck.throttled", how=said("bottleneck.clock_fell", device="CPU"), **shown).is_all_of(
        text(run)
    )


def test_telemetry_from_before_the_measurement_explains_nothing(stored_run: Run) -> None:
    run = on_gpu(stored_run, 0.0)
    before = [sample for at, sample in enumerate(run.telemetry) if at < measured(run)[0]]
    assert len(before) > 3
    assert code(replace(run, telemetry=tuple(before))) == "too_short"


def test_a_hidden_card_is_known_by_its_name_or_not_at_all(stored_run: Run) -> None:
    idle = {"index": 0, "utilization_pct": 0.0}
    run = on_gpu(stored_run, 97.0)
    run = with_telemetry(
        run, list(range(len(run.telemetry))), gpus=[idle, idle | {"index": 1, "utilization_pct": 97.0}]
    )
    environment = environment_of(run, device_name="Fast Card", variables=["CUDA_VISIBLE_DEVICES"])
    cards = [{"name": f"{speed} Card", "vendor": "nvidia"} for speed in ("Slow", "Fast")]
    assert code(replace(run, environment=environment, machine=machine_of(run, gpus=cards))) == "gpu_bound"
    assert code(replace(run, environment=environment, machine=machine_of(run, gpus=cards * 2))) == "unknown"
    assert code(replace(run, environment=environment)) == "unknown"


@pytest.mark.parametrize(
    "changes",
    [{"workload": "demo"}, {"workload": "matmul"}, {"workload": "no_such_workload"}, {"step_median_s": None}],
)
def test_where_it_is_no_question(stored_run: Run, changes: dict[str, Any]) -> None:
    assert explain(on_cpu(stored_run, 98.0, **changes)) is None


def test_a_run_is_read_with_its_explanation(database: Database, machine: Machine) -> None:
    load = telemetry_of({"cpu_pct": 99.0, "other_cpu_pct": 0.0, "steal_pct": 0.0})
    looks = [events.TelemetryEvent(seq=second, t_s=float(second), telemetry=load) for second in range(12)]
    steps = events.Steps(t_s=9.0, phase="measure", epoch=0, first_index=0, durations_s=(4.0, 4.0))
    run = load_run(database, record(database, machine, steps, *looks))
    busy = message("bottleneck.busy_of_all", busy=7.9, allowed=8)
    assert bottleneck_text(run) == sentence("bottleneck.cpu_bound", busy=busy)


GUEST: dict[str, Any] = {"virtual_machine": True}
BASE: dict[str, Any] = {"cpu_base_mhz": 2_600.0}


def window(gpu: int | None, *records: dict[str, Any]) -> TelemetryWindow:
    taken = tuple(telemetry_of(record) for record in records)
    return TelemetryWindow(taken, tuple(map(float, range(len(taken)))), gpu)


def rising(name: str, first: float, last: float) -> list[dict[str, Any]]:
    return [{name: first + (last - first) * second / 29} for second in range(30)]


def of_gpu(name: str, first: float, last: float) -> list[dict[str, Any]]:
    return [{"gpus": [{"index": 0} | record]} for record in rising(name, first, last)]


@pytest.mark.parametrize(
    ("described", "gpu", "records", "may"),
    [
        # A power limit may end a boost, or the base clock, after 56 s.
        (BASE, None, rising("cpu_clock_mhz", 4_200, 4_200), True),
        (BASE, None, rising("cpu_clock_mhz", 2_600, 2_610), True),
        ({"virtual_machine": True, "virtualization": "wsl"}, None, [{}] * 30, True),  # one's own computer
        ({"virtual_machine": True, "virtualization": "VirtualBox"}, None, [{}] * 30, True),
        (GUEST, None, [{}] * 30, False),
        (GUEST, None, rising("cpu_temperature_c", 50, 62), True),
        (GUEST, None, rising("cpu_temperature_c", 61, 62), False),
        (GUEST, None, [{"on_battery": True}] * 30, True),
        (GUEST, None, [{"on_battery": False}] * 30, True),  # a laptop, too
        ({}, 0, of_gpu("temperature_c", 40, 70), True),
        ({}, 0, of_gpu("temperature_c", 69, 70), False),
        ({}, 0, of_gpu("clock_mhz", 2_800, 2_600), True),
        ({}, 0, of_gpu("clock_mhz", 2_610, 2_600), False),
        ({}, 0, [], False),
    ],
)
def test_signs_of_a_boost(
    machine: Machine, described: dict[str, Any], gpu: int | None, records: list[dict[str, Any]], may: bool
) -> None:
    assert may_slow_down(replace(machine, **described), window(gpu, *records), is_burstable=False) is may


@pytest.mark.parametrize(
    ("product", "is_burstable"),
    [
        *(("t3.micro", True), ("t2.large", True), ("t4g.small", True)),
        *(("m5.large", False), ("Z790 AORUS", False), ("", False)),
    ],
)
def test_instances_that_compute_on_credit(
    machine: Machine, tmp_path: Path, product: str, is_burstable: bool
) -> None:
    write(tmp_path, {"sys/class/dmi/id/product_name": product})
    assert is_burstable_instance(tmp_path) is is_burstable
    assert may_slow_down(replace(machine, **GUEST), window(None), is_burstable=is_burstable) is is_burstable
