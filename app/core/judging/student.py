"""Student's t: how far a mean may be off, by how many values it was found from.

Abramowitz and Stegun, Handbook of Mathematical Functions (1964), 26.7.3 (odd degrees of freedom) and 26.7.4.
"""

import math
from functools import cache

CONFIDENCE = 0.95


def student_t(freedom: float) -> float:
    """Return what |t| stays below with 95 %, for at least 1 degree of freedom and for parts of one."""
    whole = max(1, int(freedom))
    low = t_limit(whole)
    return low + (max(freedom, 1.0) - whole) * (t_limit(whole + 1) - low)


@cache
def t_limit(freedom: int) -> float:
    """Return what |t| of so many degrees of freedom stays below with 95 %."""
    low, high = 0.0, 1.0
    while _inside(high, freedom) < CONFIDENCE:
        high *= 2
    for _ in range(60):  # to the last digits of a float
        middle = (low + high) / 2
        low, high = (middle, high) if _inside(middle, freedom) < CONFIDENCE else (low, middle)
    return high


def _inside(t: float, freedom: int) -> float:
    """Return how probable |T| <= t is."""
    angle = math.atan(t / math.sqrt(freedom))
    cosine = math.cos(angle)
    odd = freedom % 2
    term = total = (0.0 if freedom == 1 else cosine) if odd else 1.0
    for number in range(3 if odd else 2, freedom - 1, 2):
        term *= (number - 1) / number * cosine * cosine
        total += term
    total *= math.sin(angle)
    return 2 / math.pi * (angle + total) if odd else total
