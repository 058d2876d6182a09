"""Confidence intervals for medians, without assumptions about the distribution."""

import math
import statistics
from collections.abc import Sequence

# The autocorrelation of fewer values can't be estimated.
RELATED_AT_LEAST = 6


def median_interval(values: Sequence[float]) -> tuple[float | None, float | None, float | None]:
    """Return a distribution-free confidence interval for the median, and its confidence level in percent.

    The interval is the narrowest pair of order statistics that covers the median with at least 95 % confidence,
    according to the binomial distribution (Conover, Practical nonparametric statistics, 3rd ed. (1999), section
    3.2). With fewer than six values, it is the full range, at a lower confidence level. With fewer than two
    values, all results are None.
    """
    return _interval(values, len(values))


def related_interval(values: Sequence[float]) -> tuple[float | None, float | None, float | None]:
    """Return the confidence interval for a time series' median, and its level; None with fewer than two values.

    Autocorrelated values contain as much information as fewer independent values (Bayley and Hammersley, The
    effective number of independent observations in an autocorrelated time series, J. R. Stat. Soc. Suppl. 8 (1946)
    184).
    """
    related = lag_correlation(values) if len(values) >= RELATED_AT_LEAST else 0.0
    independent = len(values)
    if related > 0:
        independent = max(2, math.floor(independent * (1 - related) / (1 + related)))
    return _interval(values, independent)


def lag_correlation(values: Sequence[float]) -> float:
    """Return the lag-1 autocorrelation, corrected for short series; 0.0 if all values are equal."""
    mean = statistics.fmean(values)
    deviations = [value - mean for value in values]
    squares = math.fsum(deviation * deviation for deviation in deviations)
    if squares == 0:
        return 0.0
    raw = math.fsum(a * b for a, b in zip(deviations[1:], deviations, strict=False)) / squares
    return raw + (1 + 3 * raw) / len(values)


def _interval(values: Sequence[float], independent: int) -> tuple[float | None, float | None, float | None]:
    """Return the interval and its level, given the effective sample size of autocorrelated values."""
    if len(values) < 2:
        return None, None, None
    rank, confidence_pct = _rank(independent)
    ordered, place = sorted(values), rank * len(values) // independent
    return ordered[place], ordered[-1 - place], confidence_pct


def _rank(count: int) -> tuple[int, float]:
    """Return the rank of the order statistics that enclose the median, and the confidence level in percent."""
    # Use logarithms, because with over a thousand values, the probability of a single rank underflows and the
    # number of combinations overflows.
    chance_log = -count * math.log(2)  # log of the probability that all values are on one side
    outside = math.exp(chance_log)
    rank = 0
    while rank + 1 < count // 2:
        chance_log += math.log((count - rank) / (rank + 1))
        more = outside + math.exp(chance_log)
        if 2 * more > 0.05:
            break
        outside, rank = more, rank + 1
    return rank, 100 * (1 - 2 * outside)
