"""Estimates the typical step, its confidence interval, the warm-up and interruptions from timed steps.

Pure functions; docs/measurement.md explains the method. Sources:
- end of the warm-up (MSER): White, An effective truncation heuristic for bias reduction in simulation output,
  Simulation 69 (1997) 323;
- interruptions (modified z-score above 3.5): Iglewicz and Hoaglin, How to detect and handle outliers (1993);
- batch means: Law, Simulation modeling and analysis, 5th ed. (2015), section 9.5;
- correction of the autocorrelation for short series: Marriott and Pope, Bias in the estimation of
  autocorrelations, Biometrika 41 (1954) 390.
"""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from app.core.analysis.student_t import student_t
from workloads.training.medians import lag_correlation

# Short steps are timed in blocks that hide jitter of microseconds but not interruptions of a tenth of a second.
BLOCK_S = 0.1
MODIFIED_Z = 3.5
# Minimum ratio to the median: very even steps have jitter that exceeds the z-score but isn't an interruption.
INTERRUPTION_RATIO = 1.5
# An estimate is precise enough if half its interval is at most this share of the typical step.
PRECISION = 0.03
# With fewer blocks, their autocorrelation can't be estimated well enough.
BLOCKS_AT_LEAST = 60
# Shorter measurements can't reveal slow changes, boost clocks or bursts of other activity. Quick requires two
# narrow intervals in a row, one second apart.
MEASURED_S_AT_LEAST = 29.0
INTERVAL_BLOCKS = 2
INTERVAL_STEPS = 5
# Interruptions beyond these limits count as the computer's normal behaviour and aren't excluded.
INTERRUPTIONS_AT_MOST = 3
INTERRUPTED_SHARE_AT_MOST = 0.1
# A longer slow beginning may be a change of speed rather than a warm-up. Fast beginnings are always counted, so
# slow ones must be counted as well; otherwise a computer with two speeds would look too fast. Only parts as slow
# as an interruption are excluded.
WARMUP_S_AT_MOST = 5.0
# Numbers of batches for batch means. The longest batches reveal changes that take half of the measurement.
_BATCHES = (20, 10, 6, 4, 3)
# The variance of few batches is itself uncertain. Unless it is much larger than the variance expected from shorter
# batches (in quiet series, by chance in one of seven), the two are pooled, and the expected variance counts as two
# more batches.
_MANY_BATCHES, _FEW_BATCHES = 10, 4
_UNEXPECTED_RATIO = 2.0
_EXPECTED_FREEDOM = 2
_WARMUP_BLOCKS = 8
# A warm-up is short and obvious; smaller changes are ordinary variation.
_WARMUP_SHARE = 1 / 3
_WARMUP_RATIO = 1.05
_ROUNDS = 5
_AUTOCORRELATION_LIMIT = 0.99


@dataclass(frozen=True, slots=True)
class Interruption:
    """Consecutive steps that took far longer than usual."""

    first: int  # index of the first of these steps
    steps: int  # number of steps
    excess_s: float  # total time in excess of the usual duration


@dataclass(frozen=True, slots=True)
class Estimation:
    """The estimate computed from timed steps."""

    step_s: float  # typical step duration: mean after the warm-up, excluding interruptions if they are rare
    # 95 % confidence interval of `step_s`, widened to include the mean of all steps, even excluded ones; None with
    # fewer than two blocks or five steps.
    low_s: float | None
    high_s: float | None
    warmup_steps: int  # number of steps excluded at the beginning
    steps: int  # number of steps used
    blocks: int  # number of blocks into which these steps are divided
    parts_s: tuple[float, ...]  # mean step durations of up to ten consecutive parts of the measurement
    # Interruptions after the warm-up, including those that weren't excluded.
    interruptions: tuple[Interruption, ...]
    # Whether the interval is within ±3 % and the measurement is long enough to reveal changes that take seconds.
    is_enough: bool

    @property
    def half_pct(self) -> float | None:
        """Distance from the typical step to the farther end of the interval, in percent; None if unknown."""
        if self.low_s is None or self.high_s is None or self.step_s <= 0:
            return None
        return 100 * max(self.step_s - self.low_s, self.high_s - self.step_s) / self.step_s


def estimate_steps(steps_s: Sequence[float], *, has_warmup: bool = True) -> Estimation | None:
    """Estimate the typical step from a series of step durations; None if the series is empty.

    Args:
        steps_s: Durations of steps that do the same work, without the first step of each epoch, which also sets up
            the input.
        has_warmup: Whether the first steps may be slower than the rest.
    """
    if not steps_s:
        return None
    size = block_size(steps_s)
    blocks_s = block_means(steps_s, size)
    warmup = warmup_end(blocks_s, WARMUP_S_AT_MOST / size) if has_warmup else 0
    counted_s = blocks_s[warmup:]
    flags = interrupted(counted_s)
    usual_s = statistics.fmean(block_s for block_s, flag in zip(counted_s, flags, strict=True) if not flag)
    held_up = _merged(counted_s, flags, usual_s, first=warmup * size, size=size)
    is_rare = len(held_up) <= INTERRUPTIONS_AT_MOST and sum(flags) <= INTERRUPTED_SHARE_AT_MOST * len(flags)
    kept_s = [block_s for block_s, flag in zip(counted_s, flags, strict=True) if not (flag and is_rare)]
    step_s = statistics.fmean(kept_s)
    half_s = half_width(kept_s) if size * len(kept_s) >= INTERVAL_STEPS else None
    # Excluded steps may be normal for this computer, so the interval also includes the mean of all steps.
    is_long = size * math.fsum(blocks_s[:warmup]) > WARMUP_S_AT_MOST
    high_s = max(step_s, statistics.fmean(counted_s), statistics.fmean(blocks_s) if is_long else 0.0)
    measured_s = size * math.fsum(kept_s)
    is_enough = (
        half_s is not None
        and half_s + (high_s - step_s) <= PRECISION * step_s
        and len(kept_s) >= BLOCKS_AT_LEAST
        and measured_s >= MEASURED_S_AT_LEAST
    )
    part = max(1, len(kept_s) // 10)
    return Estimation(
        step_s=step_s,
        low_s=None if half_s is None else max(0.0, step_s - half_s),
        high_s=None if half_s is None else high_s + half_s,
        warmup_steps=min(warmup * size, len(steps_s) - 1),
        steps=len(kept_s) * size,
        blocks=len(kept_s),
        parts_s=tuple(
            statistics.fmean(kept_s[start : start + part]) for start in range(0, len(kept_s) - part + 1, part)
        ),
        interruptions=held_up,
        is_enough=is_enough,
    )


def find_interruptions(steps_s: Sequence[float]) -> tuple[Interruption, ...]:
    """Find interruptions among steps that do the same work, excluding warm-up and first steps of epochs."""
    if not steps_s:
        return ()
    size = block_size(steps_s)
    blocks_s = block_means(steps_s, size)
    flags = interrupted(blocks_s)
    usual_s = statistics.median(block_s for block_s, flag in zip(blocks_s, flags, strict=True) if not flag)
    return _merged(blocks_s, flags, usual_s, first=0, size=size)


def block_size(steps_s: Sequence[float]) -> int:
    typical_s = statistics.median(steps_s)
    return max(1, min(len(steps_s), math.ceil(BLOCK_S / typical_s))) if typical_s > 0 else len(steps_s)


def block_means(steps_s: Sequence[float], size: int) -> list[float]:
    """Return the mean step duration of each whole block, ignoring an incomplete block at the end."""
    if size == 1:
        return list(steps_s)
    starts = range(0, len(steps_s) - size + 1, size)
    return [math.fsum(steps_s[start : start + size]) / size for start in starts]


def warmup_end(blocks_s: Sequence[float], at_most_s: float = math.inf) -> int:
    """Return the number of warm-up blocks according to MSER, which minimises the standard error of the mean.

    Interruptions are first clipped to the threshold because they aren't part of the warm-up. At most a third of
    the blocks are cut, and only if they are at least 5 % slower than the rest.

    Args:
        blocks_s: Mean step of each block in order, in seconds.
        at_most_s: Longest plausible warm-up, as a sum of `blocks_s`. If the warm-up seems longer, only blocks as
            slow as an interruption are cut.
    """
    count = len(blocks_s)
    if count < _WARMUP_BLOCKS:
        return min(1, count - 1)  # the first step always traces and compiles
    later = blocks_s[count // 2 :]
    middle_s, limit_s = _limits(later)
    calm_s = [min(block_s, limit_s) for block_s in blocks_s]
    total = squares = 0.0
    best, cut = math.inf, 0
    sums: dict[int, float] = {}
    for number in range(count - 1, -1, -1):
        shifted = calm_s[number] - middle_s  # centred values, so that squaring loses no digits
        total += shifted
        squares += shifted * shifted
        left = count - number
        if number > count * _WARMUP_SHARE:
            continue
        error = (squares - total * total / left) / (left * left)
        sums[number] = total
        if error <= best:
            best, cut = error, number
    if not cut:
        return 0
    warmup_s = middle_s + (sums[0] - sums[cut]) / cut
    rest_s = middle_s + sums[cut] / (count - cut)
    if warmup_s <= _WARMUP_RATIO * rest_s:
        return 0
    return cut if math.fsum(blocks_s[:cut]) <= at_most_s else _slow_beginning(blocks_s, cut)


def _slow_beginning(blocks_s: Sequence[float], at_most: int) -> int:
    """Return the length of the longest initial part that is slow enough to count as an interruption."""
    count, before_s, rest_s, longest = len(blocks_s), 0.0, math.fsum(blocks_s), 0
    for number, block_s in enumerate(blocks_s[:at_most], 1):
        before_s, rest_s = before_s + block_s, rest_s - block_s
        if before_s * (count - number) > INTERRUPTION_RATIO * rest_s * number:
            longest = number
    return longest


def interrupted(blocks_s: Sequence[float]) -> list[bool]:
    """Flag the blocks that took far longer than the others.

    The threshold is recomputed without the interruptions until nothing changes, because a burst of slow blocks
    raises it. A neighbouring block belongs to the interruption if it is more than halfway from the median to the
    threshold.
    """
    kept = list(blocks_s)
    middle_s = limit_s = math.inf
    for _ in range(_ROUNDS):
        middle_s, limit_s = _limits(kept)
        left = [block_s for block_s in kept if block_s <= limit_s]
        if len(left) == len(kept):
            break
        kept = left
    flags = [block_s > limit_s for block_s in blocks_s]
    if not any(flags):
        return flags
    beside_s = (middle_s + limit_s) / 2
    for order in (range(1, len(flags)), range(len(flags) - 2, -1, -1)):
        for number in order:
            before = number - 1 if order.step > 0 else number + 1
            flags[number] = flags[number] or (flags[before] and blocks_s[number] > beside_s)
    return flags


def half_width(values: Sequence[float]) -> float | None:
    """Return half the width of the 95 % confidence interval for the mean of an autocorrelated series.

    The result is the widest of six estimates: one from the effective sample size, based on autocorrelation, and
    five from batch means. None with fewer than two values.
    """
    count = len(values)
    if count < INTERVAL_BLOCKS:
        return None
    mean = statistics.fmean(values)
    squares = math.fsum((value - mean) ** 2 for value in values)
    if squares == 0:
        return 0.0
    related = min(max(lag_correlation(values), 0.0), _AUTOCORRELATION_LIMIT)
    independent = max(2.0, count * (1 - related) / (1 + related))
    expected = squares / (count - 1) / independent  # variance of the mean, as predicted from shorter batches
    half = student_t(independent - 1) * math.sqrt(expected)
    for batches in _BATCHES:
        if (size := count // batches) < 2:
            continue
        means = block_means(values[count - size * batches :], size)
        variance, freedom = statistics.variance(means) / batches, batches - 1
        if batches >= _MANY_BATCHES:
            expected = max(expected, variance)
        elif batches <= _FEW_BATCHES and variance <= _UNEXPECTED_RATIO * expected:
            variance = (freedom * variance + _EXPECTED_FREEDOM * expected) / (freedom + _EXPECTED_FREEDOM)
            freedom += _EXPECTED_FREEDOM
        half = max(half, student_t(freedom) * math.sqrt(variance))
    return half


def _limits(blocks_s: Sequence[float]) -> tuple[float, float]:
    middle_s = statistics.median(blocks_s)
    spread_s = statistics.median([abs(block_s - middle_s) for block_s in blocks_s])
    return middle_s, max(middle_s + MODIFIED_Z * spread_s / 0.6745, INTERRUPTION_RATIO * middle_s)


def _merged(
    blocks_s: Sequence[float], flags: Sequence[bool], usual_s: float, *, first: int, size: int
) -> tuple[Interruption, ...]:
    merged: list[Interruption] = []
    for number, (block_s, flag) in enumerate(zip(blocks_s, flags, strict=True)):
        if not flag:
            continue
        place, excess_s = first + number * size, size * (block_s - usual_s)
        if merged and merged[-1].first + merged[-1].steps == place:
            last = merged.pop()
            merged.append(Interruption(last.first, last.steps + size, last.excess_s + excess_s))
        else:
            merged.append(Interruption(place, size, excess_s))
    return tuple(merged)
