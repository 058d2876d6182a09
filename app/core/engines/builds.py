"""Determines the build variants of an engine that work on a computer, and the recommended one."""

import re
from dataclasses import dataclass

from app.core.engines.variants import VARIANTS, Variant
from app.core.messages import Message, message
from workloads.engines.registry import ENGINES, engine_named
from workloads.protocol.machine import Gpu, Machine


@dataclass(frozen=True, slots=True)
class BuildFit:
    """A variant, and how well it fits a computer.

    Attributes:
        variant: The variant.
        gpus: Graphics cards that the variant would use; empty if it would use the processor.
        obstacle: Reason why it can't use a card that it is built for; None if it can, or if there is none.
        is_recommended: Whether it is the best variant for this computer.
    """

    variant: Variant
    gpus: tuple[Gpu, ...]
    obstacle: Message | None = None
    is_recommended: bool = False


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

    Most integrated graphics from AMD and Intel are excluded, because no build of PyTorch supports them.
    """
    asked = engine_named(engine)
    cards = [gpu for gpu in machine.gpus if asked.may_use(gpu.vendor, machine.os_name)]
    if ENGINES[engine].packages_folder is None:
        return tuple(cards)
    variants = _variants(engine, machine)
    return tuple(gpu for gpu in cards if not variants or any(is_made_for(variant, gpu) for variant in variants))


def _variants(engine: str, machine: Machine) -> list[Variant]:
    return [
        variant
        for variant in VARIANTS
        if variant.engine == engine
        and machine.os_name.startswith(variant.system)
        and machine.architecture in variant.architectures
    ]


def _rank(offer: BuildFit) -> int:
    if offer.gpus:
        return 0
    return 1 if offer.variant.vendor is None else 2


def _offer(variant: Variant, machine: Machine) -> BuildFit:
    cards = [gpu for gpu in machine.gpus if is_made_for(variant, gpu)]
    obstacles = [_obstacle(variant, gpu) for gpu in cards]
    usable = tuple(gpu for gpu, obstacle in zip(cards, obstacles, strict=True) if obstacle is None)
    return BuildFit(variant, usable, None if usable else next(iter(obstacles), None))


def is_made_for(variant: Variant, gpu: Gpu) -> bool:
    """Return whether a variant supports a graphics card, by vendor and name."""
    return gpu.vendor == variant.vendor and (variant.cards is None or variant.cards.search(gpu.name) is not None)


def _obstacle(variant: Variant, gpu: Gpu) -> Message | None:
    """Return the reason why a variant can't use a card of its vendor. Unknown properties aren't an obstacle."""
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
    """Return the first two parts of a version as a number: 580.95 for "580.95.05"."""
    match = re.match(r"\d{1,4}(\.\d{1,3})?", version or "")
    return float(match[0]) if match else None
