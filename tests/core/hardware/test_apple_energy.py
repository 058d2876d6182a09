"""Energy counters of Apple's chips, with stand-ins for their package and for sysctl."""

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

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


NONE = None, None


@pytest.mark.parametrize(
    ("counts_mj", "readings"),
    [
        ((70_000, 75_000, 85_000, 85_500), [NONE, (0.0, None), (10.0, 10.0), (10.5, 0.5)]),
        # One that changes every two seconds has no gaps of zero.
        ((0, 0, 8_000, 8_000, 18_000, 18_000), [NONE, NONE, (0.0, None), NONE, (10.0, 5.0), NONE]),
        ((70_000, 70_000, 70_000), [NONE] * 3),  # it stands still
        # One that is reset goes on without a jump.
        ((50_000, 60_000, 70_000, 1_000, 3_000), [NONE, (0.0, None), (10.0, 10.0), NONE, (12.0, 2.0)]),
        ((1_000, 2_000, 10**12, 10**12 + 4_000), [NONE, (0.0, None), NONE, (4.0, 4.0)]),
        *(((count, count), [NONE] * 2) for count in (None, -1, 2**63, "70", 1.5)),
    ],
)
def test_energy_and_power_are_counted_from_the_first_change(
    chip: FakeChip, counts_mj: tuple[Any, ...], readings: list[tuple[float | None, float | None]]
) -> None:
    energy = AppleEnergy("gpu_mj", chip.clock)
    for count_mj, reading in zip(counts_mj, readings, strict=True):
        chip.gpu_mj = count_mj
        assert energy.read() == reading
    assert chip.opened == 1


def refuse() -> None:
    raise RuntimeError("Failed to create IOReport subscription.")


@pytest.mark.parametrize(
    ("system", "answer", "module"),
    [
        ("linux", b"0\n", ...),
        *(("darwin", answer, ...) for answer in (b"1\n", b"", None)),  # a virtual machine
        *(("darwin", b"0\n", module) for module in (None, object(), SimpleNamespace(AppleEnergyMonitor=refuse))),
    ],
)
def test_without_counters_nothing_fails(
    chip: FakeChip, monkeypatch: pytest.MonkeyPatch, system: str, answer: object, module: Any
) -> None:
    monkeypatch.setattr(sys, "platform", system)
    monkeypatch.setattr(apple_energy, "answer_of", lambda command, limit_s: answer)
    if module is not ...:
        monkeypatch.setitem(sys.modules, "zeus_apple_silicon", module)
    energy = AppleEnergy("cpu_total_mj")
    assert (energy.is_there, energy.read(), energy.read(), chip.opened) == (False, NONE, NONE, 0)


def test_the_sensor_is_listed_where_there_is_a_counter(
    chip: FakeChip, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert sensors.find_sensors().power
    assert not sensors.find_sensors(tmp_path).power
    chip.cpu_mj = None
    monkeypatch.setattr(sensors, "find_zones", lambda root: ())
    assert not sensors.find_sensors().power


def test_a_fault_ends_the_reading(chip: FakeChip) -> None:
    energy = AppleEnergy("gpu_mj", chip.clock)
    assert energy.is_there
    chip.fault = RuntimeError("Invalid unit")
    assert energy.read() == (None, None)
    chip.fault = None
    assert energy.read() == (None, None)
    assert chip.opened == 1


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
    found = []
    for count_mj in (6_000, 36_000, 36_000, 66_000):
        chip.cpu_mj = count_mj
        found.append(reader.read())
    values = [(each.cpu_energy_j, each.cpu_power_w) for each in found]
    assert values == [(0.0, None), (30.0, 30.0), NONE, (60.0, 15.0)]
