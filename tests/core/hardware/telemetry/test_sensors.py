"""What Linux's and Windows' sensors say: temperatures, clocks, and what makes programs wait."""

import math
from pathlib import Path

import pytest

from app.core.hardware.telemetry import sensors
from app.core.hardware.telemetry.monitor import Pressure, PressureReader, TelemetryReader
from app.core.hardware.telemetry.sensors import CpuClock, CpuTemperature, find_sensors, pick_cpu_temperature_c
from tests.core.hardware.gpu.gpu_trees import opened_files
from tests.core.hardware.made_up import write

HWMON = "sys/class/hwmon/hwmon"
ZONE = "sys/class/thermal/thermal_zone0"
# A laptop's: the card's chip comes first, and reading its temperature would wake it.
LAPTOP = {
    f"{HWMON}0/name": "amdgpu",
    f"{HWMON}0/temp1_input": "45000",
    f"{HWMON}1/name": "coretemp",
    f"{HWMON}1/temp1_input": "68000",
    f"{HWMON}1/temp1_label": "Package id 0",
    f"{HWMON}1/temp2_input": "71000",
    f"{HWMON}1/temp2_label": "Core 0",
}


@pytest.mark.parametrize(
    ("files", "expected_c"),
    [
        ({}, None),
        (LAPTOP, 68.0),
        ({f"{HWMON}0/name": "coretemp", f"{HWMON}0/device/temp2_input": "41000"}, 41.0),
        ({f"{HWMON}0/name": "nvme", f"{HWMON}0/temp1_input": "41000"}, None),
        ({f"{ZONE}/type": "cpu-thermal", f"{ZONE}/temp": "48300"}, 48.3),
        ({f"{ZONE}/type": "x86_pkg_temp", f"{ZONE}/temp": "41000", f"{HWMON}0/temp1_input": "1"}, 41.0),
        ({f"{ZONE}/type": "acpitz", f"{ZONE}/temp": "41000"}, None),
        *(
            ({f"{HWMON}0/name": "k10temp", f"{HWMON}0/temp1_input": text}, None)
            for text in ("", "garbage", "0", "-4000", "999999999")
        ),
    ],
)
def test_the_cpu_temperature(tmp_path: Path, files: dict[str, str], expected_c: float | None) -> None:
    write(tmp_path, files)
    with opened_files() as opened:
        assert CpuTemperature(tmp_path).read_c() == expected_c
        assert find_sensors(tmp_path).temperature is (expected_c is not None)
    if files == LAPTOP:
        assert not [path for path in opened if path.endswith("_input") and "hwmon1" not in path]
        reader = TelemetryReader(root=write(tmp_path, {f"{HWMON}1/temp1_input": "75500"}))
        assert reader.read().cpu_temperature_c == 75.5


@pytest.mark.parametrize(
    ("chips", "expected_c"),
    [
        ({"coretemp": [("Core 0", 71.0), ("Package id 0", 68.0), ("Package id 1", 70.0)]}, 70.0),
        ({"k10temp": [("Tctl", 95.0), ("Tdie", 68.0)]}, 68.0),
        ({"k10temp": [("Tctl", 61.5)], "nvme": [("Composite", 80.0)]}, 61.5),
        ({"cpu_thermal": [("", 48.3)]}, 48.3),
        ({"coretemp": [("Core 0", 50.0), ("Core 1", 55.0)]}, 55.0),
        ({"coretemp": [("Package id 0", 0.0)], "cpu_thermal": [("", 41.0)]}, 41.0),
        ({"coretemp": [("Package id 0", math.nan)]}, None),
        ({"coretemp": [("Core 0", 149.0), ("Core 1", 150.0)]}, 149.0),
        ({"nvme": [("Composite", 40.0)]}, None),
        ({}, None),
    ],
)
def test_a_package_precedes_its_cores(chips: dict[str, list[tuple[str, float]]], expected_c: float | None) -> None:
    assert pick_cpu_temperature_c(chips) == expected_c


class Performance:
    def __init__(self, *shares_pct: float) -> None:
        self.shares_pct = shares_pct

    def read(self) -> dict[str, list[tuple[str, float]]]:
        path = r"\Processor Information(_Total)\% Processor Performance"
        return {path: [("_Total", share_pct) for share_pct in self.shares_pct]}

    def close(self) -> None:
        self.shares_pct = ()


@pytest.mark.parametrize(
    ("base_mhz", "counters", "mhz"),
    [
        (3_000.0, Performance(143.0), 4_290.0),  # a boost
        (3_000.0, Performance(40.0), 1_200.0),
        (3_000.0, Performance(), None),
        (3_000.0, Performance(0.0), None),
        (None, Performance(100.0), None),
        (3_000.0, None, None),
    ],
)
def test_windows_base_clock_is_not_taken_for_the_clock(
    base_mhz: float | None, counters: Performance | None, mhz: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sensors, "windows_base_mhz", lambda: base_mhz)
    monkeypatch.setattr(sensors, "open_counters", lambda paths: counters)
    clock = CpuClock("win32")
    assert clock.read_mhz() == (None if mhz is None else pytest.approx(mhz))
    clock.close()
    assert clock.read_mhz() is None


SOME = "some avg10=0.85 avg60=0.96 avg300=7.53 total={some}\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=7\n"
STAT = "usage_usec 9\nnr_periods {periods}\nnr_throttled {held}\nthrottled_usec 81\n"


def test_shares_count_from_the_previous_read(tmp_path: Path) -> None:
    cpu, memory = "proc/pressure/cpu", "proc/pressure/memory"
    write(tmp_path, {cpu: SOME.format(some=1_000_000), memory: SOME.format(some=5)})
    reader = PressureReader(tmp_path)
    assert reader.read(1.0) == Pressure(0.0, 0.0, None)
    write(tmp_path, {cpu: SOME.format(some=1_500_000), memory: SOME.format(some=100_005)})
    assert reader.read(2.0) == Pressure(25.0, 5.0, None)
    write(tmp_path, {cpu: SOME.format(some=9_500_000), memory: "some avg10=0.00\n"})
    assert reader.read(1.0) == Pressure(100.0, None, None)
    assert reader.read(0.0) == PressureReader(tmp_path / "none").read(1.0) == Pressure(None, None, None)


@pytest.mark.parametrize(
    ("group", "folder"),
    [
        ("0::/", "sys/fs/cgroup"),
        ("0::/a/b", "sys/fs/cgroup/a"),  # the quota of a group above applies too
        ("2:cpu,cpuacct:/docker/1f", "sys/fs/cgroup/cpu,cpuacct/docker/1f"),
    ],
)
def test_a_quota_is_found_in_all_groups(tmp_path: Path, group: str, folder: str) -> None:
    stat = f"{folder}/cpu.stat"
    write(tmp_path, {"proc/self/cgroup": group, stat: STAT.format(periods=100, held=3)})
    reader = PressureReader(tmp_path)
    assert reader.read(1.0).held_pct is None, "no period has passed"
    write(tmp_path, {stat: STAT.format(periods=110, held=8)})
    assert reader.read(1.0).held_pct == 50.0
    write(tmp_path, {stat: STAT.format(periods=120, held=8)})
    assert reader.read(1.0).held_pct == 0.0
    write(tmp_path, {stat: STAT.format(periods=130, held=7)})
    assert reader.read(1.0).held_pct is None, "the counter was reset"
    (tmp_path / stat).unlink()
    assert reader.read(1.0).held_pct is None
