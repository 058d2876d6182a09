"""Chooses the order of a plan's runs so that a job at regular times doesn't affect one side more than another."""

import functools
import itertools
import math
import random
import statistics
from collections.abc import Sequence

from app.core.analysis.ab import compare_pairs
from app.core.records import there_and_back

_TRIES = 12
_PERIODS = range(2, 9)
_SLOW = 2.0


def fair_seed(sides: int, rounds: int) -> int:
    """Return a seed for one of the fairest of some random orders.

    Args:
        sides: Number of sides or engines that are compared.
        rounds: Number of runs of each.
    """
    seeds = [random.randrange(1, 2**31) for _ in range(_TRIES)]  # noqa: S311 - no secret
    return min(seeds, key=lambda seed: unfairness(tuple(there_and_back(range(sides), rounds, seed))))


@functools.lru_cache(256)
def unfairness(order: tuple[int, ...]) -> float:
    """Rate how likely a job that slows down every n-th run causes a difference between equal sides.

    Args:
        order: Side of each run; all sides have the same number of runs.
    """
    return max(statistics.fmean(_rating(order, period, first) for first in range(period)) for period in _PERIODS)


def _rating(order: Sequence[int], period: int, first: int) -> float:
    """Return 1 if a difference is shown, and less the farther it is from being shown."""
    values: dict[int, list[float | None]] = {}
    for place, side in enumerate(order):
        values.setdefault(side, []).append(_SLOW if place % period == first else 1.0)
    rating = 0.0
    for a, b in itertools.combinations(values.values(), 2):
        pairs = compare_pairs(a, b, is_rate=False)
        if pairs.ratio is not None and pairs.high is not None and pairs.ratio != 1:
            half = max(math.log(pairs.high / pairs.ratio), abs(math.log(pairs.ratio)))
            rating = max(rating, (math.log(pairs.ratio) / half) ** 8)
    return rating
