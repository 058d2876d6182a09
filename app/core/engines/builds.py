"""Determines which build variants of an engine work on a computer, and which one is recommended."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from app.core.engines.variants import VARIANTS, Variant
from app.core.hardware.gpu.usable import usable_gpus
from app.core.messages import Message, message
from workloads.engines.registry import ENGINES, engine_title, is_included
from workloads.protocol.machine import Gpu, Machine

_VENDORS = frozenset({"nvidia", "amd", "intel", "apple"})  # of cards that compute; servers have others for display

_APU = re.compile(r"\bRadeon (?:\d{3}M|\d{4}S)\b")  # integrated graphics for which AMD has kernels


@dataclass(frozen=True, slots=True)
class BuildFit:
    """A variant, and how well it suits a computer."""

    variant: Variant  # the variant
    gpus: tuple[Gpu, ...]  # graphics cards that the variant would use; empty if it would use only the processor
    # Reason why it can't use a card that it is built for; None if it can use one, or if there is no such card.
    obstacle: Message | None = None
    is_recommended: bool = False  # whether it is the best variant for this computer


def builds_for(engine: str, machine: Machine) -> tuple[BuildFit, ...]:
    """Return the variants of an engine for a computer, the recommended one first; () if there are none.

    Variants that use a card come first, then variants for the processor, then variants whose card is missing or
    unusable.
    """
    by_use = sorted((_offer(variant, machine) for variant in _variants(engine, machine)), key=_rank)
    return tuple(
        BuildFit(offer.variant, offer.gpus, offer.obstacle, is_recommended=place == 0 and _rank(offer) < 2)
        for place, offer in enumerate(by_use)
    )


def cards_for(engine: str, machine: Machine) -> tuple[Gpu, ...]:
    """Return the graphics cards that an engine supports on this system, even if they can't be used now.

    Cards that no variant uses aren't included; see `idle_cards`.
    """
    if engine not in ENGINES:
        return ()
    cards = [gpu for gpu in machine.gpus if ENGINES[engine].may_use(gpu.vendor, machine.os_name)]
    if is_included(engine):
        return tuple(cards)
    variants = _variants(engine, machine)
    return tuple(gpu for gpu in cards if not variants or any(variant.supports(gpu) for variant in variants))


def idle_cards(engine: str, machine: Machine) -> tuple[Gpu, ...]:
    """Return the graphics cards that no known build of an engine uses on this system.

    Integrated graphics that only drive displays are excluded if no engine can use them.
    """
    supported = cards_for(engine, machine)
    by_any = {gpu for name in ENGINES for gpu in cards_for(name, machine)}
    cards = [gpu for gpu in machine.gpus if gpu.vendor in _VENDORS and gpu not in supported]
    return tuple(gpu for gpu in cards if gpu in by_any or not gpu.shares_memory or _APU.search(gpu.name))


def no_build(engine: str, gpu: Gpu, machine: Machine, engines: Sequence[str] | None = None) -> Message:
    """Return a message stating that no known build of an engine uses a graphics card, and naming alternatives.

    `gpu` is one of `idle_cards`. `engines` contains the engines that can run the workload; None for all.
    """
    others = [name for name in ENGINES if name != engine and (engines is None or name in engines)]
    able = [engine_title(name) for name in others if _would_use(name, gpu, machine)]
    title = engine_title(engine)
    if able:
        return message("engines.no_build_but_others", engine=title, gpu=gpu.name, others=able)
    return message("engines.no_build", engine=title, gpu=gpu.name)


def _would_use(engine: str, gpu: Gpu, machine: Machine) -> bool:
    """Return whether an engine can use a card on this computer once the right build is installed."""
    if is_included(engine):
        return gpu in usable_gpus(machine, engine)
    return any(gpu in offer.gpus for offer in builds_for(engine, machine))


def _variants(engine: str, machine: Machine) -> list[Variant]:
    return [
        variant
        for variant in VARIANTS
        if variant.engine == engine
        and machine.os_name.startswith(variant.system)
        and machine.architecture in variant.architectures
        and variant.has_build_for(machine.python_version)
    ]


def _rank(offer: BuildFit) -> int:
    if offer.gpus:
        return 0
    return 1 if offer.variant.vendor is None else 2


def _offer(variant: Variant, machine: Machine) -> BuildFit:
    cards = [gpu for gpu in machine.gpus if variant.supports(gpu)]
    obstacles = [_obstacle(variant, gpu) for gpu in cards]
    usable = tuple(gpu for gpu, obstacle in zip(cards, obstacles, strict=True) if obstacle is None)
    return BuildFit(variant.made_for(usable), usable, None if usable else next(iter(obstacles), None))


def _obstacle(variant: Variant, gpu: Gpu) -> Message | None:
    """Return the reason why a variant can't use a card from its vendor. Unknown properties aren't obstacles."""
    if gpu.vendor == "nvidia" and gpu.source == "sysfs":  # found without its driver
        return message("engines.no_driver", gpu=gpu.name)
    capability = _number(gpu.compute_capability)
    if variant.capabilities is not None and capability is not None:
        first, end = variant.capabilities
        if not first <= capability < end:
            return message("engines.not_for_this_card", gpu=gpu.name, variant=variant.name)
    driver = _number(gpu.driver)
    if variant.oldest_driver is not None and driver is not None and driver < variant.oldest_driver:
        return message(
            "engines.driver_too_old", gpu=gpu.name, driver=str(gpu.driver), oldest=variant.oldest_driver
        )
    return None


def _number(version: str | None) -> float | None:
    """Return the first two parts of a version as a number, such as 580.95 for "580.95.05"."""
    match = re.match(r"\d{1,4}(\.\d{1,3})?", version or "")
    return float(match[0]) if match else None
