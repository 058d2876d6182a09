"""Statistics of raw durations: pure functions, the only place where a headline is computed."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

Basis = Literal["later_epochs", "first_epoch", "estimate", "repetitions"]


@dataclass(frozen=True, slots=True)
class DurationStatistics:
    """What durations come to, in seconds: of whole epochs, or of steps.

    Attributes:
        basis: "later_epochs", or "first_epoch" when there is no other: then tracing and warm-up are in it.
        median_s: The headline: the median of the epochs after the first, or the trimmed mean of steps.
        first_s: The first epoch, kept apart.
        spread_pct: Sample standard deviation of the epochs after the first (or of the parts of the steps), in
            percent of the headline; None below two of them.
    """

    basis: Basis
    count: int
    median_s: float
    minimum_s: float
    maximum_s: float
    spread_pct: float | None
    first_s: float | None


def epoch_statistics(durations_s: Sequence[float]) -> DurationStatistics | None:
    """Summarise whole epochs in their order; None when there are none."""
    if not durations_s:
        return None
    counted = durations_s[1:] or durations_s
    median_s = statistics.median(counted)
    spread_pct = None
    if len(counted) > 1 and median_s > 0:
        spread_pct = 100 * statistics.stdev(counted) / median_s
    return DurationStatistics(
        basis="later_epochs" if len(durations_s) > 1 else "first_epoch",
        count=len(counted),
        median_s=median_s,
        minimum_s=min(counted),
        maximum_s=max(counted),
        spread_pct=spread_pct,
        first_s=durations_s[0],
    )


def trimmed_mean(values: Sequence[float], share: float = 0.1) -> float:
    """Return the mean without the lowest and highest `share` of the values (0 to below 0.5)."""
    cut = int(len(values) * share)
    return statistics.fmean(sorted(values)[cut : len(values) - cut])


def estimate_epoch(
    step_durations_s: Sequence[float], steps_per_epoch: int, parts_s: float
) -> DurationStatistics | None:
    """Scale timed steps to a whole epoch; None without steps.

    A trimmed mean stands for the typical step: the plain mean would be moved by one step during which the computer
    froze. Where slow steps are part of the work it lies below the plain mean, by what it leaves out of the upper
    tenth. Minimum and maximum come from scaling consecutive parts of about a tenth of the steps each in the same
    way, and always enclose the estimate.

    Args:
        step_durations_s: The first one also sets the epoch's input pipeline up, which happens once an epoch.
        steps_per_epoch: What is scaled to.
        parts_s: What an epoch takes beside its steps: validation, and the rest between its parts.
    """
    if not step_durations_s:
        return None
    steps = step_durations_s[1:] or step_durations_s
    fixed_s = parts_s + max(0.0, step_durations_s[0] - trimmed_mean(steps))
    return _of_steps(steps, "estimate", steps_per_epoch, fixed_s)


def step_statistics(
    steps_s: Sequence[tuple[int, float]], *, is_estimate: bool = False, is_uneven: bool = False
) -> DurationStatistics | None:
    """Summarise the steps of a workload whose headline is one step; None when there are none that count.

    Args:
        steps_s: Epoch and duration of each. The first epoch warms up, as long as there is another; else the first
            step, which traces and compiles, is left out.
        is_estimate: Whether they are a Quick run's, which was warmed up before.
        is_uneven: Whether some steps have more to do than others: then all count, by a plain mean.
    """
    later = [duration_s for epoch, duration_s in steps_s if epoch > 0]
    counted = later or [duration_s for _, duration_s in steps_s[1:]]
    if not counted:
        return None
    result = _of_steps(counted, "estimate" if is_estimate else "later_epochs" if later else "first_epoch")
    return replace(result, median_s=statistics.fmean(counted)) if is_uneven else result


def _of_steps(steps: Sequence[float], basis: Basis, times: int = 1, fixed_s: float = 0.0) -> DurationStatistics:
    """Scale the typical step; minimum and maximum are those of consecutive tenths, scaled in the same way."""
    typical_s = trimmed_mean(steps)
    size = max(1, len(steps) // 10)
    means_s = [trimmed_mean(steps[start : start + size]) for start in range(0, len(steps) - size + 1, size)]
    scaled = [times * mean_s + fixed_s for mean_s in means_s]
    result_s = times * typical_s + fixed_s
    spread_pct = 100 * statistics.stdev(scaled) / result_s if len(scaled) > 1 and result_s > 0 else None
    return DurationStatistics(
        basis=basis,
        count=len(steps),
        median_s=result_s,
        minimum_s=min(result_s, *scaled),
        maximum_s=max(result_s, *scaled),
        spread_pct=spread_pct,
        first_s=None,
    )


def headline_value(metric: str, duration_s: float, examples: int) -> float:
    """Return a headline from its duration: itself where seconds are the headline, else a rate.

    Args:
        metric: One of workloads.workload.HeadlineKey.
        duration_s: Of an epoch or of a step, as the metric needs it.
        examples: What one step counts for in a rate: its batch, times the words of each example.
    """
    return duration_s if metric.startswith("seconds_per_") else examples / duration_s


ESTIMATE_STEPS_AT_LEAST = 10


def run_statistics(
    *,
    preset: str,
    steps: int | None,
    steps_per_epoch: int,
    epoch_durations_s: Sequence[float],
    step_durations_s: Sequence[float],
    epoch_parts_s: float | None,
) -> DurationStatistics | None:
    """Return a run's headline from its raw durations; None when it has none.

    Args:
        preset: "quick" is estimated from steps, anything else has whole epochs.
        steps: What each epoch was cut to; a cut epoch is never an epoch's time.
        steps_per_epoch: Steps of a whole epoch.
        epoch_durations_s: Whole epochs, in order.
        step_durations_s: Steps measured after the warm-up.
        epoch_parts_s: For an estimate, what an epoch takes beside its steps; None when it was not reached.
    """
    if preset == "quick":
        enough = len(step_durations_s) >= min(ESTIMATE_STEPS_AT_LEAST, steps_per_epoch)
        if epoch_parts_s is None or not enough:
            return None
        return estimate_epoch(step_durations_s, steps_per_epoch, epoch_parts_s)
    if steps is not None and steps < steps_per_epoch:
        return None
    return epoch_statistics(epoch_durations_s)
