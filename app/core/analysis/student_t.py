"""Quantiles of Student's t distribution, for confidence intervals of the mean of a few values.

Source: Abramowitz and Stegun, Handbook of Mathematical Functions (1964), 26.7.3 (odd degrees of freedom), 26.7.4
(even) and 26.7.5 (many).
"""

import math
from functools import cache
from statistics import NormalDist

CONFIDENCE = 0.95
# Above this, summing the series would take seconds, and the asymptotic expansion is accurate to ten digits.
_SUMMED_FREEDOM = 1_000


def student_t(freedom: float) -> float:
    """Return the 95 % limit of |t|. The degrees of freedom must be at least 1 and may be fractional."""
    whole = max(1, int(freedom))
    low = t_limit(whole)
    return low + (max(freedom, 1.0) - whole) * (t_limit(whole + 1) - low)


@cache
def t_limit(freedom: int) -> float:
    """Return the 95 % limit of |t| for a whole number of degrees of freedom."""
    if freedom > _SUMMED_FREEDOM:
        return _expansion(freedom)
    low, high = 0.0, 1.0
    while _inside(high, freedom) < CONFIDENCE:
        high *= 2
    for _ in range(60):  # down to the last digits of a float
        middle = (low + high) / 2
        low, high = (middle, high) if _inside(middle, freedom) < CONFIDENCE else (low, middle)
    return high


def _expansion(freedom: int) -> float:
    normal = NormalDist().inv_cdf((1 + CONFIDENCE) / 2)
    first = (normal**3 + normal) / 4
    second = (5 * normal**5 + 16 * normal**3 + 3 * normal) / 96
    third = (3 * normal**7 + 19 * normal**5 + 17 * normal**3 - 15 * normal) / 384
    return normal + first / freedom + second / freedom**2 + third / freedom**3


def _inside(t: float, freedom: int) -> float:
    angle = math.atan(t / math.sqrt(freedom))
    cosine = math.cos(angle)
    odd = freedom % 2
    term = total = (0.0 if freedom == 1 else cosine) if odd else 1.0
    for number in range(3 if odd else 2, freedom - 1, 2):
        term *= (number - 1) / number * cosine * cosine
        total += term
    total *= math.sin(angle)
    return 2 / math.pi * (angle + total) if odd else total
