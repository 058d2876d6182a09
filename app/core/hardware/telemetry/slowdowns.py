"""Detects conditions that slow a computer down (power saving, throttling, swapping, sleep), and clock changes.

Reading these conditions requires no special permissions. It doesn't start any programs, except to read the power
plan on macOS. Parsers are pure functions of text or of a root folder, so tests can run on any system. Values that
the system doesn't report are None.
"""

import ctypes
import math
import os
import re
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import psutil

from app.core.hardware import registry
from app.core.hardware.system_files import attempt, output_of, read_count, read_text, read_word
from app.core.records import PowerState
from workloads.protocol.telemetry import Telemetry

Clock = Callable[[], float]


def clocks_of_this_system() -> tuple[Clock, Clock | None]:
    """Return a clock that stops while the computer sleeps and one that continues, both in seconds.

    The second is None if the system has no such clock or doesn't document it.
    """
    if sys.platform.startswith("linux"):
        return time.monotonic, lambda: time.clock_gettime(time.CLOCK_BOOTTIME)
    kernel32 = getattr(getattr(ctypes, "windll", None), "kernel32", None)
    pair = windows_clocks(kernel32) if sys.platform == "win32" else macos_clocks(time)
    return pair if pair is not None else (time.monotonic, None)


def windows_clocks(kernel32: Any) -> tuple[Clock, Clock] | None:
    """Return Windows' clocks; None if the library doesn't provide them."""
    try:
        query, ticks = kernel32.QueryUnbiasedInterruptTime, kernel32.GetTickCount64
        ticks.restype = ctypes.c_ulonglong
    except AttributeError:
        return None
    count = ctypes.c_ulonglong()
    if not query(ctypes.byref(count)):
        return None

    def awake_s() -> float:
        query(ctypes.byref(count))
        return count.value / 1e7  # in units of 100 ns

    return awake_s, lambda: ticks() / 1000


def macos_clocks(clocks: ModuleType) -> tuple[Clock, Clock] | None:
    """Return macOS's clocks; None on other systems."""
    awake, always = (getattr(clocks, name, None) for name in ("CLOCK_UPTIME_RAW", "CLOCK_MONOTONIC_RAW"))
    if awake is None or always is None:
        return None
    return lambda: clocks.clock_gettime(awake), lambda: clocks.clock_gettime(always)


PLAN_EVERY_S = 10.0  # rarely changes, and reading it opens files of all CPUs
# The clocks are read one after another. Shorter differences aren't clock steps.
CLOCK_STEP_S = 0.5
_READ_TOGETHER_S = 0.1

# For these drivers, the governor "powersave" allows any clock speed; for others, it sets the lowest.
_DRIVERS_OF_THEIR_OWN = ("intel_pstate", "amd-pstate-epp")
_SAVING_PROFILES = ("low-power", "cool", "quiet")
_POWER_SAVER, _BEST_EFFICIENCY, _LOW_POWER = "power saver", "best power efficiency", "low power mode"
# Microsoft's GUIDs of Windows' built-in plans, and of the power modes that modify "balanced".
_WINDOWS_PLANS = {
    "381b4222-f694-41f0-9685-ff5bb260df2e": "balanced",
    "a1841308-3541-4fab-bc81-f71556f20b4a": _POWER_SAVER,
    "8c5e7fda-e8bf-4a96-9a85-a6e23a8c635c": "high performance",
    "e9a42b02-d5df-448d-aa00-03f14749eb61": "ultimate performance",
}
_WINDOWS_MODES = {
    "961cc777-2547-4f9d-8174-7d86181b8a7a": _BEST_EFFICIENCY,
    "ded574b5-45a0-4f42-8737-46345c09c238": "best performance",
}
# Modes by setting and value in `pmset -g`. Older systems have one setting for each mode, newer ones a number.
_MACOS_MODES = {
    ("lowpowermode", "1"): _LOW_POWER,
    ("highpowermode", "1"): "high power mode",
    ("powermode", "1"): _LOW_POWER,
    ("powermode", "2"): "high power mode",
}
_WINDOWS_KEY = r"SYSTEM\CurrentControlSet\Control\Power\User\PowerSchemes"


@dataclass(frozen=True, slots=True)
class Clocks:
    """Simultaneous values of three clocks: the wall clock, one that stops during sleep, and one that continues."""

    wall_s: float
    steady_s: float
    sleepless_s: float | None


class ConditionsReader:
    """Reads the conditions repeatedly from one thread, with changes since the previous read."""

    def __init__(self, root: Path = Path("/"), clocks: Callable[[], Clocks] | None = None) -> None:
        self._root = root
        self._read_clocks = clocks or read_clocks
        self._throttle_files = throttle_files(root)
        self._plan: str | None = None
        self._planned_s = -math.inf
        self.prime()

    def prime(self) -> None:
        self._clocks = self._read_clocks()
        self._swapped_bytes = self._swapped()
        self._throttles = throttle_counts(self._throttle_files)

    def read(self) -> Telemetry:
        """Return telemetry with the current conditions, and the changes since the previous read."""
        clocks, self._clocks = self._clocks, self._read_clocks()
        swapped_bytes, self._swapped_bytes = self._swapped_bytes, self._swapped()
        throttles, self._throttles = self._throttles, throttle_counts(self._throttle_files)
        clock_step_s, suspended_s = clock_changes(clocks, self._clocks)
        elapsed_s = self._clocks.steady_s - clocks.steady_s
        on_battery = read_on_battery(self._root)
        if self._clocks.steady_s - self._planned_s >= PLAN_EVERY_S:
            self._planned_s = self._clocks.steady_s
            self._plan = read_power_plan(self._root, on_battery)
        return Telemetry(
            swap_bytes_per_s=rate_per_s(swapped_bytes, self._swapped_bytes, elapsed_s),
            throttle_count=count_increase(throttles, self._throttles),
            on_battery=on_battery,
            power_plan=self._plan,
            clock_step_s=clock_step_s,
            suspended_s=suspended_s,
        )

    def _swapped(self) -> int | None:
        if sys.platform.startswith("linux"):
            return swapped_bytes_from(read_text(self._root / "proc/vmstat"), os.sysconf("SC_PAGE_SIZE"))
        if sys.platform == "win32":  # psutil's counters don't change on Windows
            return None
        return attempt(lambda: int(psutil.swap_memory().sout))  # here, "swapped in" includes all file reads


def read_clocks(clock: Clock | None = None, sleepless: Clock | None = None) -> Clocks:
    """Read a clock that stops during sleep and one that doesn't at the same moment; by default, this system's.

    Retry if there was a delay, which would look like a clock step.
    """
    if clock is None:
        clock, sleepless = clocks_of_this_system()
    for _ in range(3):
        steady_s = clock()
        clocks = Clocks(time.time(), steady_s, None if sleepless is None else sleepless())
        if clock() - steady_s < _READ_TOGETHER_S:
            break
    return clocks


def clock_changes(before: Clocks, after: Clocks) -> tuple[float, float | None]:
    """Return the adjustment of the wall clock between two reads and the duration of sleep, both in seconds.

    Without a clock that includes sleep, sleep looks like an adjustment of the wall clock.
    """
    steady_s = after.steady_s - before.steady_s
    slept_s = None
    if before.sleepless_s is not None and after.sleepless_s is not None:
        slept_s = after.sleepless_s - before.sleepless_s - steady_s
        slept_s = slept_s if slept_s > CLOCK_STEP_S else 0.0
    set_s = after.wall_s - before.wall_s - steady_s - (slept_s or 0.0)
    return set_s if abs(set_s) > CLOCK_STEP_S else 0.0, slept_s


def rate_per_s(before: int | None, after: int | None, elapsed_s: float) -> float | None:
    """Return a counter's increase per second; None if unknown or if the counter was reset."""
    if before is None or after is None or after < before or elapsed_s <= 0:
        return None
    return (after - before) / elapsed_s


def swapped_bytes_from(vmstat: str, page_bytes: int) -> int | None:
    """Parse the bytes read from and written to swap since startup from /proc/vmstat; None if missing."""
    pages = dict(line.split() for line in vmstat.splitlines() if len(line.split()) == 2)
    try:
        return page_bytes * (int(pages["pswpin"]) + int(pages["pswpout"]))
    except (KeyError, ValueError):
        return None


def throttle_files(root: Path) -> tuple[Path, ...]:
    """Return the files of Linux's throttle counters (Intel only), one for each core and each package."""
    files: dict[tuple[str, str], Path] = {}
    for cpu in sorted(root.glob("sys/devices/system/cpu/cpu[0-9]*")):
        package = read_word(cpu / "topology/physical_package_id") or cpu.name
        core = read_word(cpu / "topology/core_id") or cpu.name
        for key, name in (((package, ""), "package"), ((package, core), "core")):
            path = cpu / f"thermal_throttle/{name}_throttle_count"
            if key not in files and path.is_file():
                files[key] = path
    return tuple(files.values())


def throttle_counts(files: tuple[Path, ...]) -> dict[Path, int]:
    return {path: count for path in files if (count := read_count(path)) is not None}


def count_increase(before: Mapping[Path, int], after: Mapping[Path, int]) -> int | None:
    """Return the total increase of counters; None if no counter is in both reads."""
    grown = [max(0, count - before[path]) for path, count in after.items() if path in before]
    return sum(grown) if grown else None


def read_on_battery(root: Path = Path("/")) -> bool | None:
    """Return whether the computer is running on battery power; None if there is no battery or this is unknown."""
    if sys.platform.startswith("linux"):
        return battery_from(root)
    battery = attempt(lambda: psutil.sensors_battery())  # noqa: PLW0108 - not every psutil has it
    return None if battery is None or battery.power_plugged is None else not battery.power_plugged


def battery_from(root: Path) -> bool | None:
    """Return whether Linux's power supplies show that the computer runs on battery power; None if unknown.

    Batteries of mice and keyboards, and uninterruptible power supplies, are ignored.
    """
    chargers, states = [], []
    for supply in sorted(root.glob("sys/class/power_supply/*")):
        kind, scope = (read_word(supply / name) for name in ("type", "scope"))
        if scope == "Device":
            continue
        if kind in ("Mains", "USB", "Wireless"):
            chargers.append(read_word(supply / "online"))
        elif kind == "Battery":
            states.append(read_word(supply / "status"))
    if not states:
        return None
    if any(state not in ("", "0") for state in chargers):
        return False
    if "Discharging" in states:
        return True
    if any(state in ("Charging", "Full", "Not charging") for state in states):
        return False
    return True if "0" in chargers else None


def read_power_state(root: Path = Path("/")) -> PowerState:
    """Return the current power source, battery charge and power plan."""
    on_battery = read_on_battery(root)
    charge_pct = attempt(lambda: float(psutil.sensors_battery().percent))  # fails without a battery
    is_plausible = on_battery is not None and charge_pct is not None and 0 <= charge_pct <= 100
    return PowerState(on_battery, charge_pct if is_plausible else None, read_power_plan(root, on_battery))


def read_power_plan(root: Path = Path("/"), on_battery: bool | None = None) -> str | None:
    """Return the power plan's name; None if there is none or it isn't reported."""
    if sys.platform == "win32":
        mode = f"ActiveOverlay{'Dc' if on_battery else 'Ac'}PowerScheme"
        return windows_plan(
            registry.read_text(_WINDOWS_KEY, "ActivePowerScheme"), registry.read_text(_WINDOWS_KEY, mode)
        )
    if sys.platform == "darwin":
        return macos_plan(output_of(["pmset", "-g"]).decode("utf-8", errors="replace"))
    return linux_plan(root) if sys.platform.startswith("linux") else None


def macos_plan(settings: str) -> str | None:
    """Return the mode in the output of `pmset -g`; None for a Mac without modes."""
    modes = re.findall(r"^\s*((?:low|high)?powermode)\s+(\d+)", settings, re.MULTILINE | re.ASCII)
    return next((mode for pair in modes if (mode := _MACOS_MODES.get(pair))), "automatic" if modes else None)


def linux_plan(root: Path) -> str | None:
    """Read Linux's power plan, such as "powersave (intel_pstate), preference balance_power, profile balanced"."""
    policies = sorted(root.glob("sys/devices/system/cpu/cpufreq/policy*"))
    governor, driver, preference = (
        "/".join(sorted({_word(policy / name) for policy in policies} - {""}))
        for name in ("scaling_governor", "scaling_driver", "energy_performance_preference")
    )
    profile = _word(root / "sys/firmware/acpi/platform_profile")
    parts = (
        f"{governor} ({driver or 'unknown'})" if governor else "",
        f"preference {preference}" if preference else "",
        f"profile {profile}" if profile else "",
    )
    return ", ".join(part for part in parts if part) or None


def windows_plan(scheme: str, mode: str = "") -> str | None:
    """Return the name for a plan's GUID, with the power mode if it modifies the plan."""
    plan = _WINDOWS_PLANS.get(scheme.strip().strip("{}").lower(), "a plan of its own" if scheme.strip() else "")
    parts = (plan, _WINDOWS_MODES.get(mode.strip().strip("{}").lower(), ""))
    return ", ".join(part for part in parts if part) or None


def saves_power(plan: str) -> bool:
    """Return whether a power plan, as named by `read_power_plan`, limits the CPU's speed."""
    for part in plan.split(", "):
        first, _, rest = part.partition(" ")
        if part in (_POWER_SAVER, _BEST_EFFICIENCY, _LOW_POWER):
            return True
        if first == "profile" and rest in _SAVING_PROFILES:
            return True
        if first == "preference" and "power" in rest.split("/"):
            return True
        if "powersave" in first.split("/") and rest.strip("()") not in _DRIVERS_OF_THEIR_OWN:
            return True
    return False


def _word(path: Path) -> str:
    """Return a setting that is a single word; "" for anything else."""
    text = read_word(path)
    return text if len(text) <= 40 and text.replace("-", "").replace("_", "").isalnum() else ""
