"""Statistics of raw durations: pure functions, the only place where a headline is computed."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Basis = Literal["later_epochs", "first_epoch", "estimate"]


@dataclass(frozen=True, slots=True)
class EpochStatistics:
    """What whole epochs come to, in seconds.

    Attributes:
        basis: "later_epochs", or "first_epoch" when there is no other: then tracing and warm-up are in it.
        median_s: The headline: the median of the epochs after the first.
        first_s: The first epoch, kept apart.
        spread_pct: Sample standard deviation of the epochs after the first, in percent of their median; None
            below two of them.
    """

    basis: Basis
    count: int
    median_s: float
    minimum_s: float
    maximum_s: float
    spread_pct: float | None
    first_s: float | None


def epoch_statistics(durations_s: Sequence[float]) -> EpochStatistics | None:
    """Summarise whole epochs in their order; None when there are none."""
    if not durations_s:
        return None
    counted = durations_s[1:] or durations_s
    median_s = statistics.median(counted)
    spread_pct = None
    if len(counted) > 1 and median_s > 0:
        spread_pct = 100 * statistics.stdev(counted) / median_s
    return EpochStatistics(
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
) -> EpochStatistics | None:
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
    typical_s = trimmed_mean(steps)
    fixed_s = parts_s + max(0.0, step_durations_s[0] - typical_s)
    size = max(1, len(steps) // 10)
    means_s = [trimmed_mean(steps[start : start + size]) for start in range(0, len(steps) - size + 1, size)]
    scaled = [steps_per_epoch * mean_s + fixed_s for mean_s in means_s]
    estimate_s = steps_per_epoch * typical_s + fixed_s
    spread_pct = 100 * statistics.stdev(scaled) / estimate_s if len(scaled) > 1 and estimate_s > 0 else None
    return EpochStatistics(
        basis="estimate",
        count=len(steps),
        median_s=estimate_s,
        minimum_s=min(estimate_s, *scaled),
        maximum_s=max(estimate_s, *scaled),
        spread_pct=spread_pct,
        first_s=None,
    )


ESTIMATE_STEPS_AT_LEAST = 10


def run_statistics(
    *,
    preset: str,
    steps: int | None,
    steps_per_epoch: int,
    epoch_durations_s: Sequence[float],
    step_durations_s: Sequence[float],
    epoch_parts_s: float | None,
) -> EpochStatistics | None:
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
