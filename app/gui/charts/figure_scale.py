"""Scales of the studies' charts: positions of values, and the choice of labels. Doesn't use Qt."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from app.core.report.card import Figure, Spot

TICKS_LIMIT, LABELS_APART_PX = 6, 4
_MARGIN = 0.04


@dataclass(frozen=True, slots=True)
class Axis:
    """Maps values to a position on the axis, 0 to 1."""

    low: float  # both ends are above 0 if the axis is logarithmic
    high: float
    is_log: bool

    def share(self, value: float) -> float:
        if self.is_log:
            value = max(value, self.low)
            at = math.log(value / self.low) / math.log(self.high / self.low)
        else:
            at = (value - self.low) / (self.high - self.low)
        return min(1.0, max(0.0, at))

    def ticks(self) -> list[float]:
        if not self.is_log:
            size = 10.0 ** math.floor(math.log10((self.high - self.low) or 1.0))
            steps = (part * size for part in (0.1, 0.2, 0.25, 0.5, 1.0))
            step = next(step for step in steps if (self.high - self.low) / step <= TICKS_LIMIT or step == size)
            first, last = math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9)
            return [number * step for number in range(first, last + 1)]
        powers = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
        for parts in ((1, 2, 5), (1, 3), (1,)):
            values = [part * 10.0**power for power in powers for part in parts]
            inside = [value for value in values if self.low <= value <= self.high]
            if len(inside) <= TICKS_LIMIT + 1:
                return inside
        return inside[:: -(-len(inside) // TICKS_LIMIT)]


def value_axis(figure: Figure) -> Axis:
    """Return the value axis, which starts at 0 unless it is logarithmic or shows losses or accuracies."""
    spots = [spot for spot in _spots(figure) if math.isfinite(spot.value)]
    values = [spot.value for spot in spots] or [1.0]
    # Ignore intervals so wide that nothing else would be visible.
    ends = [end for spot in spots for end in (spot.low, spot.high) if end is not None and end <= 2 * max(values)]
    if figure.baseline is not None:
        values.append(figure.baseline[0])
    if figure.is_log_value:
        real = [value for value in values if value > 0] or [1.0]
        return Axis(min(real) / 1.4, max(real) * 1.4, is_log=True)
    high = max([*values, *ends]) or 1.0
    low = min(values)
    if not figure.begins_at_zero and low > 0.5 * high:
        room = (high - low) or high
        return Axis(max(0.0, low - 0.3 * room), high + 0.1 * room, is_log=False)
    return Axis(0.0, high * (1 + _MARGIN), is_log=False)


def x_axis(figure: Figure) -> Axis:
    values = [spot.x for spot in _spots(figure)] + [x for x, _ in figure.marks] or [1.0]
    low, high = min(values), max(values)
    if figure.is_log_x and low > 0:
        return Axis(low / 1.15, high * 1.15, is_log=True)
    room = (high - low) or high or 1.0
    low = 0.0 if not figure.ticks else low - _MARGIN * room
    return Axis(low, high + _MARGIN * room, is_log=False)


def _spots(figure: Figure) -> Iterable[Spot]:
    return (spot for series in figure.series for spot in series.spots if spot is not None)


def label_step(places: Sequence[tuple[float, float]]) -> int:
    """Return the smallest n for which labels don't touch if only every nth label is drawn."""
    for step in range(1, len(places)):
        kept = places[::step]
        if all(after[0] - before[1] > LABELS_APART_PX for before, after in pairwise(kept)):
            return step
    return max(1, len(places))
