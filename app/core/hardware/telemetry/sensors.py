"""Reads the power source and the CPU's clock and temperature, and finds readable sensors."""

import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from app.core.hardware.apple_energy import AppleEnergy
from app.core.hardware.gpu.windows_pdh import open_counters
from app.core.hardware.parts.cpu import windows_base_mhz
from app.core.hardware.system_files import read_count, read_word
from app.core.hardware.telemetry.energy_counters import find_zones, read_counts
from app.core.hardware.telemetry.slowdowns import read_power_state
from app.core.records import PowerState

# Sensor chips inside CPUs, best first.
_PACKAGE_LABELS = ("Package id", "Tdie", "Tctl")  # whole packages
CPU_CHIPS = ("coretemp", "k10temp", "zenpower", "cpu_thermal", "cpu-thermal", "soc_thermal", "x86_pkg_temp")


_PERFORMANCE = r"\Processor Information(_Total)\% Processor Performance"


@dataclass(frozen=True, slots=True)
class Sensors:
    """The CPU's sensors that this program can read."""

    power: bool = False
    power_forbidden: bool = False  # only the administrator can read it, the default since Linux 5.10
    temperature: bool = False


@dataclass(frozen=True, slots=True)
class Power:
    """The current power source, and the readable sensors of the CPU."""

    state: PowerState = field(default_factory=PowerState)
    sensors: Sensors = field(default_factory=Sensors)


def read_power() -> Power:
    return Power(read_power_state(), find_sensors())


def find_sensors(root: Path = Path("/")) -> Sensors:
    """Find the CPU's sensors. GPU sensors are skipped, because reading them would wake the GPUs."""
    zones = find_zones(root)
    readable = read_counts(zones) is not None or (root == Path("/") and AppleEnergy("cpu_total_mj").is_there)
    return Sensors(readable, bool(zones) and not readable, CpuTemperature(root).read_c() is not None)


class CpuTemperature:
    """Reads the CPU temperature on Linux from one thread; other systems don't report it.

    psutil.sensors_temperatures isn't used because it reads all chips, which would wake a sleeping GPU.
    """

    def __init__(self, root: Path = Path("/")) -> None:
        self._inputs = _temperature_inputs(root)

    def read_c(self) -> float | None:
        """Return the temperature in degrees Celsius; None if no CPU sensor reports one."""
        chips: dict[str, list[tuple[str, float]]] = {}
        for chip, label, path in self._inputs:
            if (count := read_count(path)) is not None:
                chips.setdefault(chip, []).append((label, count / 1000))
        return pick_cpu_temperature_c(chips)


class CpuClock:
    """Reads the clock speed of the CPUs from one thread.

    On Windows, psutil reports only the base clock. It is multiplied by the processor performance counter, which
    exceeds 100 % while the CPU is boosting, as in Task Manager.
    """

    def __init__(self, system: str = sys.platform) -> None:
        self._is_windows = system == "win32"
        self._base_mhz = windows_base_mhz() if self._is_windows else None
        self._counters = open_counters([_PERFORMANCE]) if self._is_windows else None

    def read_mhz(self) -> float | None:
        """Return the mean clock in MHz; None if unknown.

        Raises:
            AttributeError, OSError: psutil can't read the clock on this system.
        """
        if not self._is_windows:
            current_mhz = float(psutil.cpu_freq().current)
            return current_mhz if current_mhz > 0 else None
        values = {} if self._counters is None else self._counters.read()
        shares_pct = [share_pct for _, share_pct in values.get(_PERFORMANCE, [])]
        if self._base_mhz is None or len(shares_pct) != 1 or shares_pct[0] <= 0:
            return None
        return self._base_mhz * shares_pct[0] / 100

    def close(self) -> None:
        if self._counters is not None:
            self._counters.close()


def pick_cpu_temperature_c(chips: Mapping[str, Iterable[tuple[str, float]]]) -> float | None:
    """Return the temperature of the hottest package or, failing that, the hottest core."""
    for chip in CPU_CHIPS:
        true = [(label, celsius) for label, celsius in chips.get(chip, ()) if 0 < celsius < 150]
        for wanted in (*_PACKAGE_LABELS, ""):
            labelled = [float(celsius) for label, celsius in true if label.startswith(wanted)]
            if labelled:
                return max(labelled)
    return None


def _temperature_inputs(root: Path) -> tuple[tuple[str, str, Path], ...]:
    """Return the chip, label and file of each CPU sensor, or of each thermal zone if there is no chip."""
    sensors = []
    for name in sorted(root.glob("sys/class/hwmon/hwmon*/name")):
        if (chip := read_word(name)) in CPU_CHIPS:
            inputs = (*name.parent.glob("temp*_input"), *name.parent.glob("device/temp*_input"))
            sensors += [
                (chip, read_word(path.with_name(path.name.replace("_input", "_label"))), path)
                for path in sorted(inputs)
            ]
    if not sensors:
        zones = sorted(root.glob("sys/class/thermal/thermal_zone*/type"))
        sensors = [(chip, "", zone.with_name("temp")) for zone in zones if (chip := read_word(zone)) in CPU_CHIPS]
    return tuple(sensors)
