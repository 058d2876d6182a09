"""Computes statistics of raw durations. Headlines are computed only in this module. Pure functions."""

import bisect
import itertools
import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from app.core.analysis.estimator import Estimation, estimate_steps, half_width
from app.core.analysis.student_t import CONFIDENCE, student_t
from app.core.analysis.timed_steps import StepTimes
from workloads.training.medians import related_interval

# The first step traces and compiles. A network with ten-second steps completes only three more.
ESTIMATE_STEPS_AT_LEAST = 4
SUSTAINED_STEPS_AT_LEAST = 30
DRIFT_PARTS = 12
# Medians of three steps aren't affected by a single interruption.
DRIFT_PART_STEPS_AT_LEAST = 3
Basis = Literal["later_epochs", "first_epoch", "estimate", "repetitions"]


@dataclass(frozen=True, slots=True)
class DurationStatistics:
    """Statistics of the durations (in seconds) of whole epochs or of steps."""

    # "later_epochs"; "first_epoch" if it is the only one, including tracing and warm-up; or "estimate".
    basis: Basis
    count: int
    median_s: float  # the headline: median of the epochs after the first, or the typical step (scaled to an epoch)
    minimum_s: float
    maximum_s: float
    # Sample standard deviation of the epochs after the first (or of the parts of the steps), as a percentage of
    # the headline; None with fewer than two values.
    spread_pct: float | None
    first_s: float | None  # duration of the first epoch
    # Confidence interval of the headline; None if there is none.
    low_s: float | None = None
    high_s: float | None = None
    # Confidence level of the interval: 95 or slightly more, or less if there are too few epochs.
    confidence_pct: float | None = None
    mean_s: float | None = None  # arithmetic mean including interruptions; None if it isn't meaningful
    warmup_steps: int | None = None  # number of steps excluded as warm-up; None if nothing was estimated


def epoch_statistics(durations_s: Sequence[float]) -> DurationStatistics | None:
    """Return statistics of whole epochs, given in order; None if there are none."""
    if not durations_s:
        return None
    counted = durations_s[1:] or durations_s
    median_s = statistics.median(counted)
    spread_pct = None
    if len(counted) > 1 and median_s > 0:
        spread_pct = 100 * statistics.stdev(counted) / median_s
    low_s, high_s, confidence_pct = related_interval(counted) if len(durations_s) > 1 else (None, None, None)
    return DurationStatistics(
        basis="later_epochs" if len(durations_s) > 1 else "first_epoch",
        count=len(counted),
        median_s=median_s,
        minimum_s=min(counted),
        maximum_s=max(counted),
        spread_pct=spread_pct,
        first_s=durations_s[0],
        low_s=low_s,
        high_s=high_s,
        confidence_pct=confidence_pct,
        mean_s=statistics.fmean(counted),
    )


def estimate_epoch(
    steps: StepTimes, steps_per_epoch: int, *, validation_batches: int = 0, rest_s: float = 0.0
) -> DurationStatistics | None:
    """Scale timed steps to a whole epoch; None without steps.

    An epoch consists of its steps, the extra time of its first step, the validation pass, and the gaps between
    them. The minimum and maximum are computed in the same way from consecutive parts, each with about a tenth of
    the steps.

    Args:
        steps_per_epoch: Number of steps of a whole epoch.
        validation_batches: Number of batches in a whole validation pass.
        rest_s: Time that an epoch spends outside its steps and validation.
    """
    estimation = steps.estimation()
    if estimation is None:
        return None
    fixed_s = steps.start_s(estimation.step_s) + steps.pass_s(validation_batches) + rest_s
    mean_s = statistics.fmean(steps.usual_s or steps.starts_s)
    return _of_estimation(estimation, "estimate", mean_s, steps_per_epoch, fixed_s)


def step_statistics(
    steps: StepTimes, *, is_estimate: bool = False, is_uneven: bool = False
) -> DurationStatistics | None:
    """Return statistics of steps, for headlines based on one step; None without usable steps.

    Args:
        steps: The timed steps. The first epoch is excluded as warm-up. If there is no other epoch, only the first
            step, which traces and compiles, is excluded.
        is_estimate: Whether the steps are from a Quick run, for which the end of the warm-up is estimated.
        is_uneven: Whether some steps do more work than others. If so, all steps are averaged.
    """
    counted = steps.usual_s or steps.starts_s if is_estimate else steps.later_s or steps.durations_s[1:]
    has_warmup = is_estimate and not is_uneven
    estimation = steps.estimation() if has_warmup else estimate_steps(counted, has_warmup=False)
    if estimation is None:
        return None
    basis: Basis = "estimate" if is_estimate else "later_epochs" if steps.later_s else "first_epoch"
    mean_s = statistics.fmean(counted)
    result = _of_estimation(estimation, basis, mean_s)
    if not is_uneven:
        return result
    half_s = half_width(counted)
    low_s, high_s = (None, None) if half_s is None else (mean_s - half_s, mean_s + half_s)
    minimum_s, maximum_s = min(mean_s, result.minimum_s), max(mean_s, result.maximum_s)
    return replace(result, median_s=mean_s, low_s=low_s, high_s=high_s, minimum_s=minimum_s, maximum_s=maximum_s)


def _of_estimation(
    estimation: Estimation, basis: Basis, mean_s: float, times: int = 1, fixed_s: float = 0.0
) -> DurationStatistics:
    parts = [times * part_s + fixed_s for part_s in estimation.parts_s]
    result_s = times * estimation.step_s + fixed_s
    has_interval = estimation.low_s is not None and estimation.high_s is not None
    return DurationStatistics(
        basis=basis,
        count=estimation.steps,
        median_s=result_s,
        minimum_s=min(result_s, *parts),
        maximum_s=max(result_s, *parts),
        spread_pct=100 * statistics.stdev(parts) / result_s if len(parts) > 1 and result_s > 0 else None,
        first_s=None,
        low_s=None if estimation.low_s is None else times * estimation.low_s + fixed_s,
        high_s=None if estimation.high_s is None else times * estimation.high_s + fixed_s,
        confidence_pct=100 * CONFIDENCE if has_interval else None,
        mean_s=times * mean_s + fixed_s,
        warmup_steps=estimation.warmup_steps if basis == "estimate" else None,
    )


def sustained_pct(steps: StepTimes) -> float | None:
    """Return the speed in the last third of the measured time as a percentage of the speed in the first third.

    Warm-up and interruptions are excluded. None with fewer than 30 steps, because their thirds aren't meaningful.
    """
    count = len(steps.usual_s)
    if count < SUSTAINED_STEPS_AT_LEAST:
        return None
    whole_s = math.fsum(steps.usual_s)
    ends_s = list(itertools.accumulate(steps.usual_s))
    first_end = max(1, bisect.bisect_left(ends_s, whole_s / 3))
    last_begin = min(count - 1, bisect.bisect_right(ends_s, 2 * whole_s / 3))
    first = estimate_steps(steps.usual_s[:first_end])
    last = estimate_steps(steps.usual_s[last_begin:], has_warmup=False)
    assert first is not None
    assert last is not None
    return 100 * first.step_s / last.step_s if last.step_s > 0 else None


def drift_pct(steps_s: Sequence[float]) -> tuple[float, float] | None:
    """Return the increase in step duration from beginning to end, and its uncertainty, in percent.

    The last third is compared with the first on a line fitted to the medians of twelve equal parts, which are
    robust to single interruptions. The uncertainty is half the width of the 95 % confidence interval, computed
    from the residuals. Return None if there are too few steps.
    """
    size = len(steps_s) // DRIFT_PARTS
    if size < DRIFT_PART_STEPS_AT_LEAST:
        return None
    offset = len(steps_s) - size * DRIFT_PARTS
    medians_s = [statistics.median(steps_s[begin : begin + size]) for begin in range(offset, len(steps_s), size)]
    places = [number - (DRIFT_PARTS - 1) / 2 for number in range(DRIFT_PARTS)]
    middle_s, squares = statistics.fmean(medians_s), math.fsum(place * place for place in places)
    slope_s = math.fsum(place * part_s for place, part_s in zip(places, medians_s, strict=True)) / squares
    rest = math.fsum(
        (part_s - middle_s - slope_s * place) ** 2 for place, part_s in zip(places, medians_s, strict=True)
    )
    error_s = math.sqrt(rest / (DRIFT_PARTS - 2) / squares)
    per_slope = 100 * DRIFT_PARTS * 2 / 3 / middle_s if middle_s > 0 else 0.0
    return slope_s * per_slope, student_t(DRIFT_PARTS - 2) * error_s * per_slope


def headline_value(metric: str, duration_s: float, examples: int) -> float:
    """Convert a duration to a headline: a duration in seconds or a rate.

    Args:
        metric: One of workloads.workload.HeadlineKey.
        duration_s: Duration of an epoch or a step, depending on the metric.
        examples: Number of units of work per step, for a rate: batch size times words per example.
    """
    return duration_s if metric.startswith("seconds_per_") else examples / duration_s


def run_statistics(
    *,
    preset: str,
    steps: int | None,
    steps_per_epoch: int,
    epoch_durations_s: Sequence[float],
    timed_steps: StepTimes,
    validation_batches: int = 0,
    rest_s: float | None,
) -> DurationStatistics | None:
    """Return a run's headline from its raw durations; None if it has none.

    Args:
        preset: Headlines of "quick" runs, and of "sustained" runs without two whole epochs, are estimated from
            steps. Other headlines use epochs.
        steps: Number of steps of a shortened epoch, which never counts as an epoch; None for whole epochs.
        epoch_durations_s: Durations of whole epochs, in order.
        timed_steps: All timed steps.
        rest_s: For an estimate, the time that an epoch spends outside its steps and validation; None if it wasn't
            measured.
    """
    if preset == "sustained" and len(epoch_durations_s) < 2:
        return estimate_epoch(timed_steps, steps_per_epoch) if timed_steps.usual_s else None
    if preset == "quick":
        enough = len(timed_steps.durations_s) >= min(ESTIMATE_STEPS_AT_LEAST, steps_per_epoch)
        if rest_s is None or not enough:
            return None
        return estimate_epoch(timed_steps, steps_per_epoch, validation_batches=validation_batches, rest_s=rest_s)
    if steps is not None and steps < steps_per_epoch:
        return None
    return epoch_statistics(epoch_durations_s)
