"""How far off a suite's score may be. Pure functions.

Errors that each part has by itself cancel out in part: on a logarithmic scale, half-widths add as squares
(propagation of uncertainty; JCGM 100:2008, 5.1.2). What slows all parts alike doesn't cancel out. It shows in the
difference of two rounds, as a standard deviation with one degree of freedom; on a shared host it's pooled with
what was measured between runs there (JCGM 100:2008, 4.2.4).
"""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from app.core.analysis.shared_host import BETWEEN_RUNS_HALF_PCT, BETWEEN_RUNS_PCT
from app.core.analysis.student_t import student_t

# The series of runs that app.core.analysis.shared_host.BETWEEN_RUNS_PCT is the root mean square of.
_HOSTS_FREEDOM = 7
_TWO_ROUNDS = 2


@dataclass(frozen=True, slots=True)
class Score:
    """Points with their 95 % interval; None for a score without one."""

    points: float
    low: float | None = None
    high: float | None = None

    @property
    def half_pct(self) -> float | None:
        """How far off its farther end is, in percent of the time that the work takes; None without an interval."""
        if self.low is None or self.high is None or self.points <= 0:
            return None
        return 100 * max(self.points / self.low - 1, 1 - self.points / self.high)


def hull(scores: Sequence[Score]) -> Score:
    """Return the geometric mean of one part's scores, at least one, and from where to where all of them reach.

    A score without an interval reaches as far as its points, unless none has one.
    """
    middle = statistics.geometric_mean([each.points for each in scores])
    if all(each.low is None or each.high is None for each in scores):
        return Score(middle)
    lows = [each.points if each.low is None else each.low for each in scores]
    highs = [each.points if each.high is None else each.high for each in scores]
    return Score(middle, min(lows), max(highs))


def mean_of_rounds(scores: Sequence[Score], rounds: Sequence[Sequence[float]], shared: float) -> Score:
    """Return the geometric mean of parts, with a 95 % interval.

    There's none if a part has none, or if it isn't known how much all of them change together: after a single
    round, but on a host whose guests were measured.

    Args:
        scores: Of each part, over all rounds; positive.
        rounds: Of each part, its headlines, round by round, in any unit.
        shared: Which share of the parts ran on something that others use, too, 0 to 1.
    """
    mean = geometric_mean(scores)
    together = _together(rounds, shared)
    if together is None or mean.low is None or mean.high is None:
        return Score(mean.points)
    below = math.hypot(math.log(mean.points / mean.low), together)
    above = math.hypot(math.log(mean.high / mean.points), together)
    return Score(mean.points, mean.points * math.exp(-below), mean.points * math.exp(above))


def geometric_mean(scores: Sequence[Score]) -> Score:
    """Return the geometric mean of at least one positive score, as if each had errors of its own only."""
    middle = math.fsum(math.log(score.points) for score in scores) / len(scores)
    below = _half_width(scores, [score.low for score in scores])
    above = _half_width(scores, [score.high for score in scores])
    if below is None or above is None:
        return Score(math.exp(middle))
    return Score(math.exp(middle), math.exp(middle - below), math.exp(middle + above))


def _together(rounds: Sequence[Sequence[float]], shared: float) -> float | None:
    """Return half of the 95 % interval of what all parts have in common, as a logarithm; None if unknown."""
    host, freedom = shared * BETWEEN_RUNS_PCT / 100, _HOSTS_FREEDOM if shared else 0
    if any(len(each) < _TWO_ROUNDS for each in rounds):
        return shared * BETWEEN_RUNS_HALF_PCT / 100 if shared else None
    difference = math.fsum(math.log(each[-1] / each[0]) for each in rounds) / len(rounds)
    variance = (freedom * host**2 + difference**2 / 2) / (freedom + 1)
    return student_t(freedom + 1) * math.sqrt(variance / _TWO_ROUNDS)


def _half_width(scores: Sequence[Score], ends: Sequence[float | None]) -> float | None:
    """Return how far the mean's logarithm may be off to one side; None if a part's end is unknown."""
    squares = []
    for score, end in zip(scores, ends, strict=True):
        if end is None or end <= 0:
            return None
        squares.append(math.log(end / score.points) ** 2)
    return math.sqrt(math.fsum(squares)) / len(scores)
