"""Energy counters of Apple's chips, with stand-ins for their package and for sysctl."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.hardware import apple_energy
from app.core.hardware.apple_energy import AppleEnergy
from app.core.hardware.gpu import apple as apple_gpu
from app.core.hardware.gpu.apple import AppleGpus
from app.core.hardware.telemetry import monitor, sensors
from app.core.hardware.telemetry.monitor import TelemetryReader
from tests.core.hardware.gpu.gpu_trees import DATA
from tests.sure import sure
from workloads.protocol.telemetry import GpuTelemetry


class FakeChip:
    """A chip whose counters a test sets, and a clock that passes one second with each read."""

    def __init__(self) -> None:
        self.cpu_mj: Any = 5_000
        self.gpu_mj: Any = 70_000
        self.opened = 0
        self.fault: Exception | None = None
        self.now_s = 0.0

    def clock(self) -> float:
        self.now_s += 1.0
        return self.now_s

    def get_cumulative_energy(self) -> SimpleNamespace:
        if self.fault is not None:
            raise self.fault
        return SimpleNamespace(cpu_total_mj=self.cpu_mj, gpu_mj=self.gpu_mj, ane_mj=None)

    def open(self) -> "FakeChip":
        self.opened += 1
        return self


@pytest.fixture
def chip(monkeypatch: pytest.MonkeyPatch) -> FakeChip:
    chip = FakeChip()
    monkeypatch.setattr(sys, "platform", "darwin")
    monkeypatch.setattr(apple_energy, "answer_of", lambda command, limit_s: b"0\n")
    monkeypatch.setitem(sys.modules, "zeus_apple_silicon", SimpleNamespace(AppleEnergyMonitor=chip.open))
    return chip


def readings(chip: FakeChip, *counts_mj: Any) -> Iterator[tuple[float | None, float | None]]:
    energy = AppleEnergy("gpu_mj", chip.clock)
    for count_mj in counts_mj:
        chip.gpu_mj = count_mj
        yield energy.read()


def test_energy_and_power_are_counted_from_the_first_change(chip: FakeChip) -> None:
    found = list(readings(chip, 70_000, 75_000, 85_000, 85_500))
    assert found == [(None, None), (0.0, None), (10.0, 10.0), (10.5, 0.5)]
    assert chip.opened == 1


def test_a_counter_that_changes_every_two_seconds_has_no_gaps_of_zero(chip: FakeChip) -> None:
    found = list(readings(chip, 0, 0, 8_000, 8_000, 18_000, 18_000, 38_000))
    nothing = (None, None)
    assert found == [nothing, nothing, (0.0, None), nothing, (10.0, 5.0), nothing, (30.0, 10.0)]


def test_a_counter_that_stands_still_is_unknown(chip: FakeChip) -> None:
    assert set(readings(chip, *[70_000] * 20)) == {(None, None)}


def test_a_reset_counter_goes_on_without_a_jump(chip: FakeChip) -> None:
    found = list(readings(chip, 50_000, 60_000, 70_000, 1_000, 3_000, 10**12, 10**12 + 4_000))
    energies_j = [energy_j for energy_j, _ in found]
    assert energies_j == [None, 0.0, 10.0, None, 12.0, None, 16.0]


@given(st.lists(st.integers(0, 10**7), min_size=3, max_size=30))
def test_energy_never_falls_and_is_never_more_than_was_counted(counts_mj: list[int]) -> None:
    chip = FakeChip()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "platform", "darwin")
        patch.setattr(apple_energy, "answer_of", lambda command, limit_s: b"0\n")
        patch.setitem(sys.modules, "zeus_apple_silicon", SimpleNamespace(AppleEnergyMonitor=chip.open))
        found = list(readings(chip, *sorted(counts_mj)))
    energies_j = [energy_j for energy_j, _ in found if energy_j is not None]
    assert energies_j == sorted(energies_j)
    assert max(energies_j, default=0.0) <= (max(counts_mj) - min(counts_mj)) / 1_000 + 1e-9
    assert all(power_w is None or power_w > 0 for _, power_w in found)


@pytest.mark.parametrize("count_mj", [None, -1, 2**63, "70", 1.5])
def test_what_is_no_count_is_unknown(chip: FakeChip, count_mj: Any) -> None:
    assert list(readings(chip, count_mj, count_mj)) == [(None, None)] * 2
    assert not AppleEnergy("gpu_mj").is_there


def fail(error: Exception) -> Callable[[], None]:
    def opened() -> None:
        raise error

    return opened


@pytest.mark.parametrize(
    "module",
    [
        None,  # not installed
        SimpleNamespace(),
        SimpleNamespace(AppleEnergyMonitor=fail(RuntimeError("Failed to create IOReport subscription."))),
        SimpleNamespace(AppleEnergyMonitor=fail(OSError("no such library"))),
    ],
)
def test_without_counters_nothing_fails(chip: FakeChip, monkeypatch: pytest.MonkeyPatch, module: Any) -> None:
    monkeypatch.setitem(sys.modules, "zeus_apple_silicon", module)
    assert list(readings(chip, 1, 2, 3)) == [(None, None)] * 3


def test_a_fault_ends_the_reading(chip: FakeChip) -> None:
    energy = AppleEnergy("gpu_mj", chip.clock)
    assert energy.is_there
    chip.fault = RuntimeError("Invalid unit")
    assert energy.read() == (None, None)
    chip.fault = None
    assert energy.read() == (None, None)
    assert chip.opened == 1


@pytest.mark.parametrize("answer", [b"1\n", b"", None])
def test_virtual_machines_are_not_asked(chip: FakeChip, monkeypatch: pytest.MonkeyPatch, answer: object) -> None:
    monkeypatch.setattr(apple_energy, "answer_of", lambda command, limit_s: answer)
    assert not AppleEnergy("cpu_total_mj").is_there
    assert chip.opened == 0


def test_other_systems_are_not_asked(chip: FakeChip, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "linux")
    assert not AppleEnergy("cpu_total_mj").is_there
    assert chip.opened == 0


def test_telemetry_of_the_gpu(chip: FakeChip, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(apple_gpu, "answer_of", lambda *_: (DATA / "ioreg_m1.plist").read_bytes())
    gpus = AppleGpus(chip.clock)
    found: list[GpuTelemetry] = []
    for count_mj in (1_000, 2_000, 4_000):
        chip.gpu_mj = count_mj
        found += gpus.telemetry([0])
    assert [gpu.energy_j for gpu in found] == [None, 0.0, 2.0]
    assert sure(found[-1].power_w) > 0
    assert found[-1].utilization_pct == 14.0


def test_other_gpus_keep_their_own_power(chip: FakeChip, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(apple_gpu, "answer_of", lambda *_: (DATA / "ioreg_intel_amd.plist").read_bytes())
    gpus = AppleGpus(chip.clock)
    assert "apple" not in gpus.vendors
    assert [gpu.energy_j for gpu in gpus.telemetry(range(len(gpus.vendors)))] == [None] * len(gpus.vendors)
    assert chip.opened == 0


def test_telemetry_of_the_cpu(chip: FakeChip, monkeypatch: pytest.MonkeyPatch) -> None:
    times = iter(range(1, 100))
    monkeypatch.setattr(monitor, "AppleEnergy", lambda channel: AppleEnergy(channel, lambda: float(next(times))))
    reader = TelemetryReader()
    assert (reader.read().cpu_energy_j, reader.read().cpu_power_w) == (None, None), "it stands still"
    found = []
    for count_mj in (6_000, 36_000, 36_000, 66_000):
        chip.cpu_mj = count_mj
        found.append(reader.read())
    assert [each.cpu_energy_j for each in found] == [0.0, 30.0, None, 60.0]
    assert [each.cpu_power_w for each in found] == [None, 30.0, None, 15.0]


def test_the_sensor_is_listed_where_there_is_a_counter(chip: FakeChip, tmp_path: Path) -> None:
    assert sensors.find_sensors().power
    assert not sensors.find_sensors(tmp_path).power


def test_without_counters_the_sensor_is_not_listed(chip: FakeChip, monkeypatch: pytest.MonkeyPatch) -> None:
    chip.cpu_mj = None
    monkeypatch.setattr(sensors, "find_zones", lambda root: ())
    assert not sensors.find_sensors().power
