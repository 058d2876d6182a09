"""Lists the choices for a run on this computer: pairs of an installed engine and a usable device.

The parameter `engines` contains the engines that support the workload; None for all.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from app.core.engines.builds import BuildFit, builds_for, cards_for, idle_cards, no_build
from app.core.engines.locations import engine_folder, installable, put_back
from app.core.hardware.gpu.usable import usable_gpus
from app.core.messages import Message
from app.core.paths import Paths
from workloads import CATALOGUE
from workloads.engines.registry import DEFAULT_ENGINE, ENGINES, is_included
from workloads.protocol.machine import Gpu, Machine
from workloads.workload import Workload

# Installed engines with their variants; None for engines included in Epochmark.
Installed = Mapping[str, str | None]


@dataclass(frozen=True, slots=True)
class Choice:
    """An engine and a device."""

    engine: str
    device: str  # device as in a run's settings, such as "cpu" or "gpu:0"
    gpu: Gpu | None = None  # the graphics card; None for the processor


@dataclass(frozen=True, slots=True)
class GpuHelp:
    """An unused graphics card, and the engine that can use it."""

    gpu: Gpu
    engine: str  # the engine that can use it
    instead_of: str  # the engine that would be used otherwise, on the processor
    # The choice that uses the card; None if the engine or another variant of it must be installed first.
    choice: Choice | None
    is_systems_fault: bool  # whether `instead_of` can use such a card on another operating system


def included() -> Installed:
    return {name: None for name in ENGINES if is_included(name)}


def installed_engines(paths: Paths) -> dict[str, str | None]:
    """Return the engines available for runs, with their variants, as recorded in their stamps."""
    installed = dict(included())
    for name in installable():
        put_back(paths, name)
        seen = engine_folder(paths, name).look()
        if seen.state == "ready" and seen.stamp is not None:
            installed[name] = seen.stamp.variant
    return installed


def default_engine(paths: Paths, engines: Sequence[str] | None = None) -> str:
    """Return the engine to use if none is specified: the default one, unless only other engines are installed."""
    if is_included(DEFAULT_ENGINE):
        return DEFAULT_ENGINE
    able = [name for name in installed_engines(paths) if _is_able(name, engines)]
    return DEFAULT_ENGINE if DEFAULT_ENGINE in able else next(iter(able), DEFAULT_ENGINE)


def device_choices(
    installed: Installed, machine: Machine, engines: Sequence[str] | None = None
) -> tuple[Choice, ...]:
    """Return all choices: the processor with each engine, then the graphics cards."""
    able = [name for name in ENGINES if name in installed and _is_able(name, engines)]
    on_cards = [
        Choice(name, f"gpu:{number}", gpu)
        for name in able
        for number, gpu in numbered_gpus(name, installed[name], machine).items()
    ]
    return (*(Choice(name, "cpu") for name in able), *on_cards)


def most_gpus(machine: Machine) -> int:
    """Return the largest number of a computer's graphics cards from one vendor. These may train together."""
    return max(Counter(gpu.vendor for gpu in machine.gpus).values(), default=0)


def offered_workloads(machine: Machine | None) -> tuple[Workload, ...]:
    """Return the workloads to offer on a computer. If `machine` is None, only those that need a single device."""
    devices = 1 if machine is None else max(1, most_gpus(machine))
    return tuple(workload for workload in CATALOGUE.values() if workload.least_devices <= devices)


def automatic_choice(choices: Sequence[Choice], engine: str | None = None) -> Choice | None:
    """Return the choice that is likely to be fastest. Graphics cards and the default engine are preferred.

    If `engine`, such as a suite's, isn't None, it is preferred to everything else.
    """

    def rank(choice: Choice) -> tuple[bool, bool, bool, bool]:
        is_other = engine is not None and choice.engine != engine
        return is_other, choice.gpu is None, not _has_code(choice), choice.engine != DEFAULT_ENGINE

    return min(choices, key=rank, default=None)


def gpu_help(
    chosen: Choice, installed: Installed, machine: Machine, engines: Sequence[str] | None = None
) -> GpuHelp | None:
    """Return an idle graphics card and the engine that can use it; None if the chosen engine can use a card."""
    choices = [choice for choice in device_choices(installed, machine, engines) if choice.gpu is not None]
    if any(choice.engine == chosen.engine and _has_code(choice) for choice in choices):
        return None
    for choice in choices:
        if choice.gpu is not None and choice.engine != chosen.engine:
            return _help(choice.gpu, choice.engine, chosen.engine, machine, choice)
    for name in installable():  # a usable engine that is installed would be among the choices
        gpus = next((build.gpus for build in builds_for(name, machine)), ())
        if gpus and _is_able(name, engines):
            return _help(gpus[0], name, chosen.engine, machine)
    return None


def _help(gpu: Gpu, engine: str, instead_of: str, machine: Machine, choice: Choice | None = None) -> GpuHelp:
    other = ENGINES[instead_of]
    is_systems_fault = gpu.vendor in other.vendors and not other.may_use(gpu.vendor, machine.os_name)
    return GpuHelp(gpu, engine, instead_of, choice, is_systems_fault)


def unused_card(chosen: Choice, machine: Machine, engines: Sequence[str] | None = None) -> Message | None:
    """Explain why the chosen engine uses no graphics card, if none of its known builds supports the cards here."""
    if chosen.gpu is not None or cards_for(chosen.engine, machine):
        return None
    idle = idle_cards(chosen.engine, machine)
    return no_build(chosen.engine, idle[0], machine, engines) if idle else None


def engine_to_install(machine: Machine, engines: Sequence[str] | None = None) -> tuple[str, BuildFit] | None:
    """Return the engine that suits this computer best, with its build; None if none can be installed.

    The result is the first engine that uses a graphics card, or else the default engine.
    """
    able = [name for name in installable() if _is_able(name, engines)]
    best = [(name, offers[0]) for name in able if (offers := builds_for(name, machine))]
    return min(best, key=lambda each: not each[1].gpus or each[1].variant.is_untried, default=None)


def _is_able(engine: str, engines: Sequence[str] | None) -> bool:
    return engines is None or engine in engines


def _has_code(choice: Choice) -> bool:
    """Return whether an engine is known or assumed to support the graphics card; True for the processor."""
    capabilities = ENGINES[choice.engine].capabilities
    if choice.gpu is None or capabilities is None or choice.gpu.compute_capability is None:
        return True
    major, _, minor = choice.gpu.compute_capability.partition(".")
    number = float(f"{major}.{minor or 0}") if major.isdigit() and (minor or "0").isdigit() else capabilities[0]
    return capabilities[0] <= number < capabilities[1]


def installed_variant(paths: Paths, engine: str) -> str | None:
    """Return the installed variant of an engine; None if it is included in Epochmark or not installed."""
    if engine not in installable():
        return None
    stamp = engine_folder(paths, engine).look().stamp
    return stamp.variant if stamp is not None else None


def numbered_gpus(engine: str, variant: str | None, machine: Machine) -> dict[int, Gpu]:
    """Return the graphics cards that the installed variant can use, by the engine's device number.

    `variant` is None if the engine is included in Epochmark or unknown.
    """
    usable = usable_gpus(machine, engine)
    if variant is None:
        return dict(enumerate(usable))
    offer = next((each for each in builds_for(engine, machine) if each.variant.name == variant), None)
    if offer is None or not offer.gpus:
        return {}
    # An engine also counts cards that are too old for it.
    of_vendor = [gpu for gpu in usable if offer.variant.supports(gpu)]
    return {number: gpu for number, gpu in enumerate(of_vendor) if gpu in offer.gpus}
