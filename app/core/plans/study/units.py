"""Units of speed in studies, such as images per second."""

from collections.abc import Sequence
from dataclasses import dataclass

from app.core.formats import format_seconds
from app.core.messages import sentence
from app.core.metrics import headline_kind
from app.core.plans.study.points import Point, Rate
from workloads import CATALOGUE


@dataclass(frozen=True, slots=True)
class Unit:
    """A unit of speed."""

    text: str  # unit after a number, such as "images per second"
    title: str  # title of an axis
    scale: float = 1.0  # factor from the stored to the displayed number


def unit_of(points: Sequence[Point]) -> Unit:
    """Return the unit of the configurations' rates; the first configuration's unit if they differ."""
    if not points:
        return _examples()
    kind = headline_kind(points[0].metric)
    if kind.is_rate:
        return Unit(kind.unit, kind.quantity, kind.scale)
    counts_images = CATALOGUE[points[0].spec.workload].counts_images
    images = headline_kind("images_per_s")
    return Unit(images.unit, images.quantity) if counts_images else _examples()


def _examples() -> Unit:
    return Unit(sentence("studies.unit_examples"), sentence("studies.axis_examples"))


def rate_text(rate: Rate | None, unit: Unit) -> str:
    """Format a rate with its unit; "n/a" if there is none."""
    return "n/a" if rate is None else f"{count_text(rate.value * unit.scale)} {unit.text}"


def count_text(value: float) -> str:
    """Format a rate with thousands separators; below 100, with three significant digits."""
    return f"{value:,.0f}" if value >= 100 else format_seconds(value)
