"""Computes the uncertainty of a suite's score. Pure functions.

The independent errors of the tests partly cancel out: on a logarithmic scale, half-widths add in quadrature
(propagation of uncertainty; JCGM 100:2008, 5.1.2). A slowdown of all tests doesn't cancel out. Such a slowdown is
estimated from the difference of two rounds, as a standard deviation with one degree of freedom, pooled with the
usual variation between runs on such computers (JCGM 100:2008, 4.2.4).
"""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

from app.core.analysis.shared_host import BETWEEN_RUNS_HALF_PCT, BETWEEN_RUNS_PCT
from app.core.analysis.student_t import CONFIDENCE, student_t

# Degrees of freedom of app.core.analysis.shared_host.BETWEEN_RUNS_PCT, one less than its number of series.
_HOSTS_FREEDOM = 7
# The usual standard deviation between runs on a computer of one's own, which counts as much as one difference. If
# the rounds differ by more than this allows, with a confidence of 95 %, it doesn't apply.
_OWN_PCT, _OWN_FREEDOM = 0.7, 1
_TWO_ROUNDS = 2


@dataclass(frozen=True, slots=True)
class Score:
    """Points with their 95 % interval; None if unknown."""

    points: float
    low: float | None = None
    high: float | None = None

    @property
    def half_pct(self) -> float | None:
        """Distance to the interval's farther end, as a percentage of the duration; None without an interval."""
        if self.low is None or self.high is None or self.points <= 0:
            return None
        return 100 * max(self.points / self.low - 1, 1 - self.points / self.high)


def hull(scores: Sequence[Score]) -> Score:
    """Return the geometric mean of a test's scores, with the range covered by their intervals.

    A score without an interval contributes only its points. If no score has an interval, neither does the mean.
    """
    middle = statistics.geometric_mean([each.points for each in scores])
    if all(each.low is None or each.high is None for each in scores):
        return Score(middle)
    lows = [each.points if each.low is None else each.low for each in scores]
    highs = [each.points if each.high is None else each.high for each in scores]
    return Score(middle, min(lows), max(highs))


def mean_of_rounds(scores: Sequence[Score], rounds: Sequence[Sequence[float]], shared: float) -> Score:
    """Return the geometric mean of several tests, with a 95 % interval if it is known.

    The interval is unknown if a test has no interval, or after a single round, which can't reveal the error common
    to all tests. For shared hosts, that error has been measured.

    Args:
        scores: Score of each test over all rounds; positive.
        rounds: Values of each test by round, in any unit.
        shared: Share of the tests that ran on shared resources, 0 to 1.
    """
    mean = geometric_mean(scores)
    together = _together(rounds, shared)
    if together is None or mean.low is None or mean.high is None:
        return Score(mean.points)
    below = math.hypot(math.log(mean.points / mean.low), together)
    above = math.hypot(math.log(mean.high / mean.points), together)
    return Score(mean.points, mean.points * math.exp(-below), mean.points * math.exp(above))


def geometric_mean(scores: Sequence[Score]) -> Score:
    """Return the geometric mean of positive scores, assuming independent errors."""
    middle = math.fsum(math.log(score.points) for score in scores) / len(scores)
    below = _half_width(scores, [score.low for score in scores])
    above = _half_width(scores, [score.high for score in scores])
    if below is None or above is None:
        return Score(math.exp(middle))
    return Score(math.exp(middle), math.exp(middle - below), math.exp(middle + above))


def _together(rounds: Sequence[Sequence[float]], shared: float) -> float | None:
    """Return half the width of the 95 % interval of the error common to all tests, on a log scale, or None."""
    if any(len(each) < _TWO_ROUNDS for each in rounds):
        return shared * BETWEEN_RUNS_HALF_PCT / 100 if shared else None
    difference = math.fsum(math.log(each[-1] / each[0]) for each in rounds) / len(rounds)
    usual, freedom = shared * BETWEEN_RUNS_PCT / 100, _HOSTS_FREEDOM
    if not shared:
        usual, freedom = _OWN_PCT / 100, _OWN_FREEDOM
        if abs(difference) > NormalDist().inv_cdf((1 + CONFIDENCE) / 2) * math.sqrt(2) * usual:
            freedom = 0
    variance = (freedom * usual**2 + difference**2 / 2) / (freedom + 1)
    return student_t(freedom + 1) * math.sqrt(variance / _TWO_ROUNDS)


def _half_width(scores: Sequence[Score], ends: Sequence[float | None]) -> float | None:
    """Return the uncertainty of the logarithm of the mean in one direction; None if an interval is unknown."""
    squares = []
    for score, end in zip(scores, ends, strict=True):
        if end is None or end <= 0:
            return None
        squares.append(math.log(end / score.points) ** 2)
    return math.sqrt(math.fsum(squares)) / len(scores)
