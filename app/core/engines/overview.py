"""Lists all engines: their installations, and the variants available for this computer."""

from dataclasses import dataclass
from importlib import metadata

from app.core.engines.builds import BuildFit, builds_for
from app.core.engines.folder import State
from app.core.engines.locations import engine_folder, put_back
from app.core.engines.package_files import versions
from app.core.engines.stamp import Stamp
from app.core.hardware.gpu.usable import usable_gpus
from app.core.messages import Message
from app.core.paths import Paths
from workloads.engines.registry import ENGINES, engine_title, is_included
from workloads.protocol.machine import Gpu, Machine


@dataclass(frozen=True, slots=True)
class EngineRow:
    """An engine on this computer."""

    engine: str
    title: str
    is_included: bool  # whether it is included in Epochmark and so can't be installed or removed
    state: State
    version: str | None  # installed version; None if unknown or not installed
    gpus: tuple[Gpu, ...]  # graphics cards that it uses, or would use with the recommended variant
    stamp: Stamp | None = None  # stamp of the installation; None if there is none
    problem: Message | None = None  # reason why an installed engine can't be used; None if there is none
    offers: tuple[BuildFit, ...] = ()  # variants for this computer, the recommended one first
    is_outdated: bool = False  # whether reinstalling it would change the versions of its packages


def list_engines(paths: Paths, machine: Machine) -> list[EngineRow]:
    """Return all engines, those that use a graphics card of this computer first. Packages aren't read."""
    rows = [_included(name, machine) if is_included(name) else _row(name, paths, machine) for name in ENGINES]
    return sorted(rows, key=lambda row: not row.gpus)


def _included(name: str, machine: Machine) -> EngineRow:
    try:
        version = metadata.version(name)
    except metadata.PackageNotFoundError:
        version = None
    return EngineRow(
        engine=name,
        title=engine_title(name),
        is_included=True,
        state="ready" if version is not None else "absent",
        version=version,
        gpus=usable_gpus(machine, name),
    )


def _row(name: str, paths: Paths, machine: Machine) -> EngineRow:
    put_back(paths, name)
    seen, offers = engine_folder(paths, name).look(), builds_for(name, machine)
    variant = seen.stamp.variant if seen.stamp is not None else None
    chosen = min(offers, key=lambda offer: offer.variant.name != variant, default=None)
    return EngineRow(
        engine=name,
        title=engine_title(name),
        is_included=False,
        state=seen.state,
        version=seen.stamp.version if seen.stamp is not None else None,
        gpus=chosen.gpus if chosen is not None else (),
        stamp=seen.stamp,
        problem=seen.problem,
        offers=offers,
        is_outdated=seen.stamp is not None
        and chosen is not None
        and _is_outdated(seen.stamp, versions(chosen.variant, machine.python_version)),
    )


def _is_outdated(stamp: Stamp, wanted: set[tuple[str, str]]) -> bool:
    """Return whether the version of an installed package differs from the wanted one."""
    names = {name for name, _ in wanted}
    return any(
        package.name in names and (package.name, package.version) not in wanted for package in stamp.packages
    )
