"""Lists all engines: their installations, and the variants available for this computer."""

from dataclasses import dataclass
from importlib import metadata

from app.core.engines.builds import BuildFit, builds_for
from app.core.engines.folder import State
from app.core.engines.locations import engine_folder, put_back
from app.core.engines.package_files import plain, read_lock
from app.core.engines.stamp import Stamp
from app.core.engines.variants import LOCKS, Variant
from app.core.hardware.gpu.usable import usable_gpus
from app.core.messages import Message
from app.core.paths import Paths
from workloads.engines.registry import ENGINES, engine_title, is_included
from workloads.protocol.machine import Gpu, Machine


@dataclass(frozen=True, slots=True)
class EngineRow:
    """An engine on this computer.

    Attributes:
        is_included: Whether it is included in Epochmark and so can't be installed or removed.
        version: Installed version; None if unknown or not installed.
        stamp: Stamp of the installation; None if there is none.
        problem: Reason why an installed engine can't be used; None if there is none.
        offers: Variants for this computer, the recommended one first.
        gpus: Graphics cards that it uses, or would use with the recommended variant.
        is_outdated: Whether reinstalling it would change the versions of its packages.
    """

    engine: str
    title: str
    is_included: bool
    state: State
    version: str | None
    stamp: Stamp | None
    problem: Message | None
    offers: tuple[BuildFit, ...]
    gpus: tuple[Gpu, ...]
    is_outdated: bool = False


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
        stamp=None,
        problem=None,
        offers=(),
        gpus=usable_gpus(machine, name),
    )


def _row(name: str, paths: Paths, machine: Machine) -> EngineRow:
    put_back(paths, name)
    seen = engine_folder(paths, name).look()
    on_offer = builds_for(name, machine)
    variant = seen.stamp.variant if seen.stamp is not None else None
    chosen = next((offer for offer in on_offer if offer.variant.name == variant), None) or next(
        iter(on_offer), None
    )
    return EngineRow(
        engine=name,
        title=engine_title(name),
        is_included=False,
        state=seen.state,
        version=seen.stamp.version if seen.stamp is not None else None,
        stamp=seen.stamp,
        problem=seen.problem,
        offers=on_offer,
        gpus=chosen.gpus if chosen is not None else (),
        is_outdated=seen.stamp is not None and chosen is not None and _is_outdated(seen.stamp, chosen.variant),
    )


def _is_outdated(stamp: Stamp, variant: Variant) -> bool:
    """Return whether the version of an installed package differs from a variant's lock and pins."""
    versions: dict[str, set[str]] = {}
    pairs = [(pin.name, pin.version) for pin in read_lock(LOCKS / variant.lock)]
    for name, version in [*pairs, *(_name_and_version(pin) for pin in variant.pins)]:
        versions.setdefault(plain(name), set()).add(version)
    return any(package.version not in versions.get(package.name, {package.version}) for package in stamp.packages)


def _name_and_version(pin: str) -> tuple[str, str]:
    """Return the package (without extras) and the version in a pin such as "torch[device-gfx1201]==2.13.0"."""
    name, _, version = pin.partition("==")
    return name.partition("[")[0], version
