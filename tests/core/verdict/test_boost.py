"""Quick uses its full minute where a boost or heat may be under way."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from app.core.verdict.boost import is_burstable_instance, may_slow_down
from app.core.verdict.context import TelemetryWindow
from tests.telemetry import telemetry_of
from workloads.protocol.machine import Machine

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
        (BASE, None, rising("cpu_clock_mhz", 4_200, 4_200), True),
        (BASE, None, rising("cpu_clock_mhz", 2_600, 2_610), False),
        ({}, None, rising("cpu_clock_mhz", 2_600, 2_600), True),  # above its base or not: unknown
        (BASE, None, [{}] * 30, True),
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
        ("t3.micro", True),
        ("t2.large", True),
        ("t4g.small", True),
        ("m5.large", False),
        ("Z790 AORUS", False),
        ("", False),
    ],
)
def test_instances_that_compute_on_credit(
    machine: Machine, tmp_path: Path, product: str, is_burstable: bool
) -> None:
    name = tmp_path / "sys/class/dmi/id/product_name"
    name.parent.mkdir(parents=True)
    name.write_text(f"{product}\n")
    assert is_burstable_instance(tmp_path) is is_burstable
    guest = replace(machine, **GUEST)
    assert may_slow_down(guest, window(None), is_burstable=is_burstable) is is_burstable
