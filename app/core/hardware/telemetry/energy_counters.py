"""Reads the CPU's energy counters (RAPL) if Linux allows every user to read them."""

from dataclasses import dataclass
from pathlib import Path

from app.core.hardware.powercap import package_folders
from app.core.hardware.system_files import read_count

_MAX_JUMP_W = 10_000.0
UDEV_RULE = 'SUBSYSTEM=="powercap", ACTION=="add", KERNEL=="intel-rapl*:*", RUN+="/bin/chmod a+r /sys%p/energy_uj"'


@dataclass(frozen=True, slots=True)
class Zone:
    """A CPU package and its energy counter, which wraps around at `range_uj`."""

    path: Path
    range_uj: int


class PackageEnergy:
    """Accumulates the increases of all packages' counters, for use from one thread."""

    def __init__(self, root: Path = Path("/")) -> None:
        self._zones = find_zones(root)
        self._counts_uj: tuple[int, ...] | None = None
        self._total_j = 0.0

    def read_j(self, elapsed_s: float) -> float | None:
        """Return the energy of all packages in joules since the first read; None if a counter can't be read.

        Increases too large for any CPU are ignored.
        """
        before, self._counts_uj = self._counts_uj, read_counts(self._zones)
        if self._counts_uj is None:
            return None
        if before is not None:
            grown_j = sum(
                grown_uj(old, new, zone.range_uj) / 1e6
                for old, new, zone in zip(before, self._counts_uj, self._zones, strict=True)
            )
            if grown_j <= _MAX_JUMP_W * max(elapsed_s, 0.1):
                self._total_j += grown_j
        return self._total_j


def find_zones(root: Path) -> tuple[Zone, ...]:
    """Find the packages that have a counter, readable or not, without duplicates."""
    zones: dict[str, Zone] = {}
    for name, folder in package_folders(root):
        if name not in zones and (folder / "energy_uj").exists():
            zones[name] = Zone(folder / "energy_uj", read_count(folder / "max_energy_range_uj") or 0)
    return tuple(zones.values())


def read_counts(zones: tuple[Zone, ...]) -> tuple[int, ...] | None:
    """Read all counters, in microjoules; None if there are none or one can't be read."""
    counts = [read_count(zone.path) for zone in zones]
    readable = tuple(count for count in counts if count is not None)
    return readable if zones and len(readable) == len(zones) else None


def grown_uj(before_uj: int, after_uj: int, range_uj: int) -> int:
    """Return the increase of a counter that wraps around at its range; 0 if unknown."""
    if after_uj >= before_uj:
        return after_uj - before_uj
    return max(0, range_uj - before_uj) + after_uj if range_uj >= before_uj else 0
