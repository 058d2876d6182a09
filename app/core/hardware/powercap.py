"""Reads CPU packages and their power limits from Linux's powercap zones.

https://docs.kernel.org/power/powercap/powercap.html. The files contain microwatts. Everyone can read the limits,
but only administrators can set them.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from app.core.hardware.system_files import read_count, read_word

# The preferred interface comes first, because many Intel laptops list the same packages again through another one
# (mmio).
_ZONES = ("sys/class/powercap/intel-rapl:*", "sys/class/powercap/intel-rapl-mmio:*")


@dataclass(frozen=True, slots=True)
class LimitFile:
    """The file that contains a package's long-term power limit. The file may not exist."""

    package: str
    path: Path

    def read_uw(self) -> int | None:
        """Return the limit in force, in microwatts; None if there is none or it can't be read."""
        is_on = read_word(self.path.with_name("enabled")) == "1"
        return (read_count(self.path) or None) if is_on else None


def package_folders(root: Path) -> tuple[tuple[str, Path], ...]:
    """Return the name and folder of each zone that is a whole package. A package may have several zones."""
    folders = [folder for pattern in _ZONES for folder in sorted(root.glob(pattern))]
    # "intel-rapl:0:0" is a component of "intel-rapl:0".
    named = [(read_word(folder / "name"), folder) for folder in folders if folder.name.count(":") == 1]
    return tuple((name, folder) for name, folder in named if name.startswith("package-"))


class CpuLimits:
    """Reads the long-term power limits of all packages."""

    def __init__(self, root: Path = Path("/")) -> None:
        self._files = tuple(LimitFile(name, _long_term(folder)) for name, folder in package_folders(root))

    def read_w(self) -> float | None:
        """Return the total of the limits in force; None unless each package has a known limit.

        If a package has several zones, the lowest limit is in force.
        """
        lowest_uw: dict[str, int] = {}
        for file, limit_uw in self.read_uw().items():
            lowest_uw[file.package] = min(limit_uw, lowest_uw.get(file.package, limit_uw))
        return sum(lowest_uw.values()) / 1e6 if self._packages and self._packages == lowest_uw.keys() else None

    def rated_w(self) -> float | None:
        """Return the total rated power (TDP) of the packages; None if it isn't known for all of them."""
        rated_uw = {
            file.package: most_uw
            for file in self._files
            if (most_uw := read_count(file.path.with_name(file.path.name.replace("power_limit", "max_power"))))
        }
        return sum(rated_uw.values()) / 1e6 if self._packages and self._packages == rated_uw.keys() else None

    def read_uw(self) -> dict[LimitFile, int]:
        return {file: limit_uw for file in self._files if (limit_uw := file.read_uw()) is not None}

    def command(self, limit_w: float | None) -> str | None:
        """Return the command that divides a total limit evenly among the packages; None if there is no limit.

        Without a total limit, the command sets the limits now in force.
        """
        now_uw = self.read_uw()
        if limit_w is None:
            return _command(now_uw)
        return _command(dict.fromkeys(now_uw, round(1e6 * limit_w / max(1, len(self._packages)))))

    @property
    def _packages(self) -> frozenset[str]:
        return frozenset(file.package for file in self._files)


def _long_term(folder: Path) -> Path:
    names = (path.name for path in sorted(folder.glob("constraint_*_name")) if read_word(path) == "long_term")
    return folder / next(names, "missing_name").replace("_name", "_power_limit_uw")


def _command(limits_uw: Mapping[LimitFile, int]) -> str | None:
    paths: dict[int, str] = {}
    for file, limit_uw in limits_uw.items():
        paths[limit_uw] = f"{paths.get(limit_uw, '')} {file.path}"
    return " && ".join(f"echo {limit_uw} | sudo tee{files}" for limit_uw, files in paths.items()) or None
