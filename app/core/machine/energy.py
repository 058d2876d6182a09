"""Energy that the processors used, by their own counters (RAPL), where Linux lets everybody read them."""

from dataclasses import dataclass
from pathlib import Path

# Linux, Documentation/power/powercap: one zone for each package, in microjoules; zones inside are parts of it.
_ZONES = "sys/class/powercap/intel-rapl*"
_MAX_JUMP_W = 10_000.0
UDEV_RULE = 'SUBSYSTEM=="powercap", ACTION=="add", KERNEL=="intel-rapl:*", RUN+="/bin/chmod a+r /sys%p/energy_uj"'


@dataclass(frozen=True, slots=True)
class Zone:
    """A processor package and its counter, which begins anew after `range_uj`."""

    path: Path
    range_uj: int


class PackageEnergy:
    """Add up what the packages' counters grew by, from one thread.

    Args:
        root: Where Linux's sys folder is found.
    """

    def __init__(self, root: Path = Path("/")) -> None:
        self._zones = find_zones(root)
        self._counts_uj: tuple[int, ...] | None = None
        self._total_j = 0.0

    def read_j(self, elapsed_s: float) -> float | None:
        """Return the energy of all packages since the first look; None while a counter cannot be read.

        Args:
            elapsed_s: Since the look before; growth that no processor could need in it is left out.
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
    """Find the packages that have a counter, readable or not."""
    found = []
    for zone in sorted(root.glob(_ZONES)):
        if not _read_text(zone / "name").startswith("package-"):
            continue
        text = _read_text(zone / "max_energy_range_uj")
        if (zone / "energy_uj").exists():
            found.append(Zone(zone / "energy_uj", int(text) if _is_number(text) else 0))
    return tuple(found)


def is_forbidden(root: Path = Path("/")) -> bool:
    """Say whether there are counters that only the administrator may read, as is usual since Linux 5.10."""
    zones = find_zones(root)
    return bool(zones) and read_counts(zones) is None


def read_counts(zones: tuple[Zone, ...]) -> tuple[int, ...] | None:
    """Read all counters in microjoules; None without any, or where one cannot be read."""
    texts = [_read_text(zone.path) for zone in zones]
    return tuple(map(int, texts)) if texts and all(map(_is_number, texts)) else None


def grown_uj(before_uj: int, after_uj: int, range_uj: int) -> int:
    """Compute what a counter grew by that begins anew at its range; 0 where that cannot be told."""
    if after_uj >= before_uj:
        return after_uj - before_uj
    return max(0, range_uj - before_uj) + after_uj if range_uj >= before_uj else 0


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 20


def _read_text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return file.read(100).decode("ascii", errors="replace").strip()
    except OSError:
        return ""
