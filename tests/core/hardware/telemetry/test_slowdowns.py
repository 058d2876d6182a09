"""What slows a computer down, read from recorded files of many systems, and the limits that a worker is under."""

import ctypes
import os
import sys
import time
import tomllib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psutil
import pytest

from app.core.hardware.telemetry import slowdowns as conditions
from app.core.hardware.telemetry.slowdowns import (
    Clocks,
    ConditionsReader,
    clock_changes,
    clocks_of_this_system,
    macos_clocks,
    macos_plan,
    read_clocks,
    saves_power,
    windows_clocks,
    windows_plan,
)
from tests.core.hardware.made_up import fake_windows, write
from tests.sure import sure
from workloads import CATALOGUE
from workloads.engines.cpu_allowance import cpu_quota
from workloads.engines.setup import foreign_variables
from workloads.protocol.telemetry import Telemetry

linux_only = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads Linux's files")
SPEC = CATALOGUE["cifar10_keras_cnn"].default_spec
RECORDED = tomllib.loads((Path(__file__).parents[3] / "data/machines/conditions.toml").read_text(encoding="utf-8"))
CPUS = "sys/devices/system/cpu"
VMSTAT = "nr_free_pages 261\npswpin 10\npswpout 5\npgfault 9\n"


def supply(name: str, **files: str) -> dict[str, str]:
    return {f"sys/class/power_supply/{name}/{file}": text for file, text in files.items()}


MAINS, NO_MAINS = supply("AC", type="Mains", online="1"), supply("AC", type="Mains", online="0")
DISCHARGING = supply("BAT0", type="Battery", status="Discharging")


@pytest.mark.parametrize("computer", RECORDED.values(), ids=RECORDED)
def test_a_computer_with_linux(tmp_path: Path, computer: dict[str, Any]) -> None:
    root = write(tmp_path, computer["files"])
    plan = conditions.linux_plan(root)
    read = {"on_battery": conditions.battery_from(root), "cpu_quota": cpu_quota(root), "power_plan": plan}
    read["saves_power"] = saves_power(plan or "") or None
    assert {name: value for name, value in read.items() if value is not None} == computer["read"]


@pytest.mark.parametrize(
    ("plugged", "percent", "on_battery", "battery_pct"),
    [(None, 56.4, None, None), (True, 56.4, False, 56.4), (False, 0.0, True, 0.0), (False, 101.0, True, None)],
)
def test_batteries_elsewhere(
    monkeypatch: pytest.MonkeyPatch,
    plugged: bool | None,
    percent: float,
    on_battery: bool | None,
    battery_pct: float | None,
) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    battery = SimpleNamespace(power_plugged=plugged, percent=percent)
    monkeypatch.setattr(psutil, "sensors_battery", lambda: battery, raising=False)
    state = conditions.read_power_state()
    assert (state.on_battery, state.battery_pct) == (on_battery, battery_pct)
    monkeypatch.setattr(psutil, "sensors_battery", lambda: None)
    assert conditions.read_on_battery() is None
    monkeypatch.delattr(psutil, "sensors_battery")
    assert conditions.read_on_battery() is None


def policies(governor: str, driver: str) -> dict[str, str]:
    folder = f"{CPUS}/cpufreq/policy0"
    return {f"{folder}/scaling_governor": governor, f"{folder}/scaling_driver": driver}


SCHEMES: dict[str, str] = {  # of a real laptop
    "ActivePowerScheme": "381b4222-f694-41f0-9685-ff5bb260df2e",
    "ActiveOverlayAcPowerScheme": "ded574b5-45a0-4f42-8737-46345c09c238",
    "ActiveOverlayDcPowerScheme": "961cc777-2547-4f9d-8174-7d86181b8a7a",
}
BALANCED = "381b4222-f694-41f0-9685-ff5bb260df2e"
PMSET = "System-wide power settings:\nCurrently in use:\n standby              1\n powernap             1\n"


@pytest.mark.parametrize(
    ("read", "told", "plan", "saves"),
    [
        (windows_plan, (BALANCED,), "balanced", False),
        (windows_plan, (f"{{{BALANCED.upper()}}}", "00000000-0000-0000-0000-000000000000"), "balanced", False),
        (windows_plan, (BALANCED, SCHEMES["ActiveOverlayDcPowerScheme"]), "balanced, best power efficiency", True),
        (windows_plan, ("a1841308-3541-4fab-bc81-f71556f20b4a",), "power saver", True),
        (windows_plan, ("8c5e7fda-e8bf-4a96-9a85-a6e23a8c635c",), "high performance", False),
        (windows_plan, ("e9a42b02-d5df-448d-aa00-03f14749eb61",), "ultimate performance", False),
        (windows_plan, ("01234567-89ab-cdef-0123-456789abcdef",), "a plan of its own", False),
        (windows_plan, ("",), None, False),
        (macos_plan, (PMSET + " lowpowermode         0\n",), "automatic", False),
        (macos_plan, (PMSET + " lowpowermode         1\n womp 1\n",), "low power mode", True),
        (macos_plan, (PMSET + " lowpowermode         0\n highpowermode        1\n",), "high power mode", False),
        (macos_plan, (PMSET + " powermode            1\n",), "low power mode", True),
        (macos_plan, (PMSET + " powermode            2\n",), "high power mode", False),
        (macos_plan, (PMSET + " powermode            0\n",), "automatic", False),
        (macos_plan, (PMSET,), None, False),
    ],
)
def test_power_plans_elsewhere(
    read: Callable[..., str | None], told: tuple[str, ...], plan: str | None, saves: bool
) -> None:
    assert read(*told) == plan
    assert saves_power(plan or "") is saves


def throttled(*counts: tuple[int, int, int, int]) -> dict[str, str]:
    """Return the files of logical processors: each with its package, core, and how often both were throttled."""
    files = {}
    for number, (package, core, core_count, package_count) in enumerate(counts):
        folder = f"{CPUS}/cpu{number}"
        files[f"{folder}/topology/physical_package_id"] = str(package)
        files[f"{folder}/topology/core_id"] = str(core)
        files[f"{folder}/thermal_throttle/core_throttle_count"] = str(core_count)
        files[f"{folder}/thermal_throttle/package_throttle_count"] = str(package_count)
    return files


def test_each_core_and_package_is_counted_once(tmp_path: Path) -> None:
    # Two threads of a core tell the same, and so do all cores of a package.
    write(tmp_path, throttled((0, 0, 3, 7), (0, 0, 3, 7), (0, 1, 5, 7), (1, 0, 2, 1)) | policies("a", "b"))
    files = conditions.throttle_files(tmp_path)
    before = conditions.throttle_counts(files)
    assert sorted(before.values()) == [1, 2, 3, 5, 7]
    write(tmp_path, throttled((0, 0, 4, 7), (0, 0, 4, 7), (0, 1, 7, 9), (1, 0, 2, 0)))
    after = conditions.throttle_counts(files)
    assert conditions.count_increase(before, before) == 0
    assert conditions.count_increase(before, after) == 3  # of two cores; package 1 was reset
    write(tmp_path, throttled((0, 0, 4, 9)))
    before = conditions.throttle_counts(files)
    assert conditions.count_increase(after, before) == 2
    files[0].write_text("many\n")
    assert conditions.count_increase(before, conditions.throttle_counts(files)) == 0
    for path in files:
        path.unlink()
    assert conditions.count_increase(before, conditions.throttle_counts(files)) is None


@linux_only
def test_changes_count_from_the_previous_telemetry(tmp_path: Path) -> None:
    write(tmp_path, throttled((0, 0, 3, 7)) | NO_MAINS | DISCHARGING | policies("powersave", "acpi-cpufreq"))
    write(tmp_path, {"proc/vmstat": VMSTAT})
    now_s = [50.0]
    reader = ConditionsReader(tmp_path, lambda: Clocks(1000.0 + now_s[0], now_s[0], now_s[0]))
    now_s[0] += 0.5
    first = reader.read()
    assert (first.swap_bytes_per_s, first.throttle_count, first.on_battery) == (0, 0, True)
    assert (first.power_plan, first.clock_step_s, first.suspended_s) == ("powersave (acpi-cpufreq)", 0, 0)
    write(tmp_path, throttled((0, 0, 5, 8)) | MAINS | policies("performance", "acpi-cpufreq"))
    write(tmp_path, {"proc/vmstat": VMSTAT.replace("5", "2005")})
    now_s[0] += 0.5
    second = reader.read()
    assert (second.throttle_count, second.on_battery) == (3, False)
    assert second.swap_bytes_per_s == 2 * 2000 * os.sysconf("SC_PAGE_SIZE")
    assert second.power_plan == first.power_plan, "read again after ten seconds only"
    now_s[0] += conditions.PLAN_EVERY_S
    third = reader.read()
    assert (third.swap_bytes_per_s, third.throttle_count) == (0, 0)
    assert third.power_plan == "performance (acpi-cpufreq)"


@pytest.mark.parametrize(
    ("after", "expected"),
    [
        (Clocks(1001.0, 51.0, 91.0), (0.0, 0.0)),
        (Clocks(1001.4, 51.0, 91.4), (0.0, 0.0)),  # held up between two clocks
        (Clocks(1001.6, 51.0, 91.0), (pytest.approx(0.6), 0.0)),
        (Clocks(401.0, 51.0, 91.0), (-600.0, 0.0)),
        (Clocks(1301.0, 51.0, 391.0), (0.0, 300.0)),  # slept: the wall clock went on and was not set
        (Clocks(1001.0, 51.0, 391.0), (-300.0, 300.0)),
        (Clocks(1301.0, 51.0, None), (300.0, None)),
    ],
)
def test_sleep_is_distinguished_from_a_clock_change(after: Clocks, expected: tuple[float, float | None]) -> None:
    assert clock_changes(Clocks(1000.0, 50.0, 90.0), after) == expected


def test_clocks_are_read_again_when_something_came_in_between() -> None:
    times_s = iter([1.0, 4.0, 5.0, 5.01])
    assert conditions.read_clocks(lambda: next(times_s)).steady_s == 5.0


@pytest.mark.skipif(sys.platform == "win32", reason="the made-up pmset is a shell script")
def test_macos(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    swapped = iter(range(0, 10**9, 10**6))
    monkeypatch.setattr(sys, "platform", "darwin")
    monkeypatch.setattr(psutil, "swap_memory", lambda: SimpleNamespace(sin=0, sout=next(swapped)))
    monkeypatch.setattr(psutil, "sensors_battery", lambda: SimpleNamespace(power_plugged=False), raising=False)
    script = tmp_path / "pmset"
    script.write_text(f"#!/bin/sh\necho run >> '{tmp_path}/runs'\necho ' lowpowermode 1'\n")
    script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    reader = ConditionsReader(tmp_path)
    for _ in range(3):
        look = reader.read()
        assert sure(look.swap_bytes_per_s) > 0
        assert (look.on_battery, look.power_plan, look.suspended_s) == (True, "low power mode", None)
    assert (tmp_path / "runs").read_text().count("run") == 1, "it is asked now and then"
    script.unlink()
    assert conditions.read_power_plan() is None


def test_swapping_is_counted_from_linux_own_counters() -> None:
    assert conditions.swapped_bytes_from(VMSTAT, 4096) == 15 * 4096
    assert conditions.swapped_bytes_from("pswpin 10\n", 4096) is None
    assert conditions.rate_per_s(100, 300, 2.0) == 100.0
    for before, after, elapsed_s in ((None, 1, 1.0), (1, None, 1.0), (2, 1, 1.0), (1, 2, 0.0)):
        assert conditions.rate_per_s(before, after, elapsed_s) is None


@pytest.mark.parametrize(
    ("plugged", "plan"), [(True, "balanced, best performance"), (False, "balanced, best power efficiency")]
)
def test_windows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, plugged: bool, plan: str) -> None:
    fake_windows(monkeypatch, {r"SYSTEM\CurrentControlSet\Control\Power\User\PowerSchemes": SCHEMES})
    monkeypatch.setattr(psutil, "sensors_battery", lambda: SimpleNamespace(power_plugged=plugged), raising=False)
    look = ConditionsReader(tmp_path).read()
    # Real Windows counts its sleep, too.
    assert replace(look, suspended_s=None) == Telemetry(on_battery=not plugged, power_plan=plan, clock_step_s=0.0)
    fake_windows(monkeypatch, {})
    assert conditions.read_power_plan(tmp_path) is None


def test_variables_that_change_the_engine_are_named() -> None:
    foreign = {
        "TF_ENABLE_ONEDNN_OPTS": "0",
        "XLA_FLAGS": "--xla_dump_to=/home/anna",
        "OMP_NUM_THREADS": "1",
        "CUDA_VISIBLE_DEVICES": "1",
        "LD_PRELOAD": "/junk.so",
        "NVIDIA_TF32_OVERRIDE": "0",
    }
    harmless = {"PATH": "/bin", "LD_LIBRARY_PATH": "/cuda", "NVIDIA_VISIBLE_DEVICES": "all", "HOME": "/home/anna"}
    assert foreign_variables(harmless, SPEC()) == ()
    assert foreign_variables(foreign | harmless, SPEC()) == tuple(sorted(foreign))
    assert foreign_variables({"TF_\udcff": "1"}, SPEC()) == ("TF_?",)
    assert len(foreign_variables({f"TF_{number}": "1" for number in range(100)}, SPEC())) == 50


class Computer:
    """One that can sleep: its wall clock goes on, and one of its other two clocks."""

    awake_s, slept_s = 1_000.0, 20.0

    @property
    def always_s(self) -> float:
        return self.awake_s + self.slept_s


class Kernel32:
    """Windows' library, of a computer that sleeps."""

    def __init__(self, computer: Computer, answers: bool = True) -> None:
        self._computer, self._answers = computer, answers
        self.GetTickCount64 = Function(lambda: int(1000 * computer.always_s))

    def QueryUnbiasedInterruptTime(self, count: Any) -> int:  # noqa: N802 - its name there
        ctypes.cast(count, ctypes.POINTER(ctypes.c_ulonglong))[0] = int(1e7 * self._computer.awake_s)
        return int(self._answers)


class Function:
    """A function of a library, whose type can be declared."""

    restype: Any = None

    def __init__(self, call: Any) -> None:
        self._call = call

    def __call__(self) -> int:
        assert self.restype is ctypes.c_ulonglong, "else it is cut off after 25 days"
        return int(self._call())


def mac_clocks(computer: Computer) -> Any:
    return SimpleNamespace(
        CLOCK_UPTIME_RAW=8,
        CLOCK_MONOTONIC_RAW=4,
        clock_gettime=lambda clock: {8: computer.awake_s, 4: computer.always_s}[clock],
    )


@pytest.mark.parametrize(
    ("clocks_of", "system"), [(windows_clocks, Kernel32), (macos_clocks, mac_clocks)], ids=["Windows", "macOS"]
)
def test_sleep(clocks_of: Any, system: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    computer = Computer()
    monkeypatch.setattr(conditions, "time", SimpleNamespace(time=lambda: 1.7e9 + computer.always_s))
    reader = ConditionsReader(clocks=lambda: read_clocks(*sure(clocks_of(system(computer)))))
    for slept_s in (0.0, 300.0):
        computer.awake_s += 1
        computer.slept_s += slept_s
        look = reader.read()
        assert look.clock_step_s == 0.0
        assert look.suspended_s == pytest.approx(slept_s)


def test_without_such_clocks_sleep_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    assert windows_clocks(None) is None
    assert windows_clocks(Kernel32(Computer(), answers=False)) is None
    assert macos_clocks(SimpleNamespace(CLOCK_MONOTONIC_RAW=4)) is None  # type: ignore[arg-type] # as on Linux
    for platform in ("win32", "darwin", "freebsd14"):
        monkeypatch.setattr(sys, "platform", platform)
        monkeypatch.setattr(ctypes, "windll", None, raising=False)
        if not hasattr(time, "CLOCK_UPTIME_RAW"):
            assert clocks_of_this_system() == (time.monotonic, None)
