"""The headline of a run, from its raw durations."""

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from app.core.analysis.estimator import find_interruptions
from app.core.analysis.shared_host import with_host
from app.core.analysis.stats import (
    DurationStatistics,
    estimate_epoch,
    headline_value,
    run_statistics,
    step_statistics,
    sustained_pct,
)
from app.core.analysis.timed_steps import Disturbance, Timed, timed
from app.core.metrics import headline_kind
from app.core.records import Run, RunSummary
from workloads import CATALOGUE
from workloads.protocol import events

# What was asked of a run, by the names of its summary.
_ASKED = (
    *("workload", "variant", "metric", "preset"),
    *("batch_size", "steps", "steps_per_epoch", "samples_per_epoch"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """What was asked of a run, and its raw durations: everything its headline is computed from.

    Attributes:
        steps: Length that epochs were cut to; None for whole epochs.
        metrics: What it reported besides its steps, by key.
        on_shared_host: Whether others may change its speed from one run to the next.
    """

    workload: str
    variant: str
    metric: str
    preset: str
    batch_size: int
    steps: int | None
    steps_per_epoch: int
    samples_per_epoch: int
    epoch_durations_s: Sequence[float]
    timed_steps: Timed
    metrics: Mapping[str, float | None]
    on_shared_host: bool = False


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of a run's raw durations. None means not reached.

    Attributes:
        value: The headline.
        statistics: The statistics behind it.
        seconds_per_epoch_s: Set even if the headline is another number.
        low, high: Confidence interval of the value, in its unit.
        mean: The plain average, in the same unit.
        interruptions, interruptions_s: Steps that took far longer than their neighbours, and the seconds lost.
        sustained_pct: For a Sustained run, the speed of its last third in percent of its first.
    """

    value: float | None = None
    statistics: DurationStatistics | None = None
    seconds_per_epoch_s: float | None = None
    step_median_s: float | None = None
    low: float | None = None
    high: float | None = None
    mean: float | None = None
    interruptions: int | None = None
    interruptions_s: float | None = None
    sustained_pct: float | None = None


def outcome_of(measured: Measured) -> Outcome:
    """Return the result of a run's raw durations, and its interruptions."""
    steps, preset = measured.timed_steps, measured.preset
    is_uneven = measured.metric == "words_per_s"
    per_epoch = run_statistics(
        preset=preset,
        steps=measured.steps,
        steps_per_epoch=measured.steps_per_epoch,
        epoch_durations_s=measured.epoch_durations_s,
        timed_steps=steps,
        validation_batches=round(measured.metrics.get("validation_batches") or 0),
        rest_s=measured.metrics.get("epoch_rest_s"),
    )
    per_step = step_statistics(steps, is_estimate=preset != "standard", is_uneven=is_uneven)
    outcome = summarise(
        workload=measured.workload,
        variant=measured.variant,
        metric=measured.metric,
        batch_size=measured.batch_size,
        per_epoch=per_epoch if measured.samples_per_epoch else None,
        per_step=per_step,
        step_median_s=statistics.median(steps.durations_s) or None if steps.durations_s else None,
        reported=measured.metrics.get(measured.metric),
        reported_ends=tuple(measured.metrics.get(f"{measured.metric}_{end}") for end in ("low", "high")),
        on_shared_host=measured.on_shared_host,
    )
    if steps.usual_s and not _reports(measured.workload):
        held_up = () if is_uneven else interruptions(preset, steps)
        excess_s = math.fsum(interruption.excess_s for interruption in held_up)
        outcome = replace(outcome, interruptions=len(held_up), interruptions_s=excess_s)
    return replace(outcome, sustained_pct=sustained_pct(steps)) if preset == "sustained" else outcome


def interruptions(preset: str, steps: Timed) -> tuple[Disturbance, ...]:
    """Return a run's interruptions after its warm-up.

    The warm-up ends where the estimate says or, otherwise, with the first epoch if there is another.
    """
    if preset == "standard":
        warmup = steps.first_epoch_steps
        return steps.disturbances(find_interruptions(steps.usual_s[warmup:]), warmup)
    estimation = steps.estimation() if steps.usual_s else None
    return steps.disturbances(estimation.interruptions if estimation is not None else ())


def summarise(
    *,
    workload: str,
    variant: str,
    metric: str,
    batch_size: int,
    per_epoch: DurationStatistics | None,
    per_step: DurationStatistics | None,
    step_median_s: float | None,
    reported: float | None = None,
    reported_ends: tuple[float | None, ...] = (),
    on_shared_host: bool = False,
) -> Outcome:
    """Return the headline, its interval and the statistics behind it.

    Args:
        workload: Its id; for an unknown one, an example counts as one.
        variant: How its network differs from the usual one.
        metric: Its headline's metric.
        batch_size: Examples per step.
        per_epoch: Statistics of whole epochs; None without any.
        per_step: Statistics of steps; None without any that count.
        step_median_s: The typical step of all kinds.
        reported: The headline as measured by the workload itself, if steps don't give it.
        reported_ends: Its interval, if there is one.
        on_shared_host: Whether the interval includes what others may change until the next run.
    """
    whole_s = per_epoch.median_s if per_epoch and per_epoch.median_s > 0 else None
    if reported is not None:
        low, high = _ends(reported, reported_ends)
        outcome = Outcome(reported if reported > 0 else None, None, whole_s, step_median_s, low, high)
        return _with_host(outcome, metric) if on_shared_host else outcome
    chosen = per_epoch if metric == "seconds_per_epoch_s" else per_step
    examples = batch_size * (CATALOGUE[workload].units_of(variant) if workload in CATALOGUE else 1)
    steps_tell = metric.startswith("seconds_per_") or metric in ("images_per_s", "words_per_s", "tokens_per_s")
    # A duration of 0 is below the clock's resolution and gives no speed.
    if chosen is None or chosen.median_s <= 0 or not steps_tell or _reports(workload):
        return Outcome(None, None, whole_s, step_median_s)

    def in_unit(duration_s: float | None) -> float | None:
        return headline_value(metric, duration_s, examples) if duration_s else None

    value = headline_value(metric, chosen.median_s, examples)
    ends = [end for end in (in_unit(chosen.low_s), in_unit(chosen.high_s)) if end is not None]
    low, high = (min(ends), max(ends)) if len(ends) == 2 else (None, None)
    outcome = Outcome(value, chosen, whole_s, step_median_s, low, high, mean=in_unit(chosen.mean_s))
    return _with_host(outcome, metric) if on_shared_host else outcome


def _with_host(outcome: Outcome, metric: str) -> Outcome:
    if outcome.value is None:
        return outcome
    is_rate = headline_kind(metric).is_rate
    low, high = with_host(outcome.value, outcome.low, outcome.high, is_rate=is_rate)
    return replace(outcome, low=low, high=high)


def _ends(value: float, reported: tuple[float | None, ...]) -> tuple[float | None, float | None]:
    """Return the interval that a workload reported, unless it makes no sense."""
    ends = [end for end in reported if end is not None and end > 0]
    return (ends[0], ends[1]) if len(ends) == 2 and ends[0] <= value <= ends[1] else (None, None)


def estimate_so_far(run: RunSummary, steps: Timed, *, on_shared_host: bool = False) -> events.Estimate | None:
    """Return a running run's estimate in the unit of its headline; None if steps don't give it.

    It leaves out what an epoch has besides its steps, which is known only at the end.

    Args:
        run: Its record.
        steps: Its timed steps.
        on_shared_host: Whether others may change its speed from one run to the next.
    """
    if not steps.usual_s or _reports(run.workload):
        return None
    estimation = steps.estimation()
    assert estimation is not None
    per_epoch = estimate_epoch(steps, run.steps_per_epoch) if run.samples_per_epoch else None
    per_step = step_statistics(steps, is_estimate=run.preset != "standard", is_uneven=run.metric == "words_per_s")
    outcome = summarise(
        workload=run.workload,
        variant=run.variant,
        metric=run.metric,
        batch_size=run.batch_size,
        per_epoch=per_epoch,
        per_step=per_step,
        step_median_s=None,
        on_shared_host=on_shared_host,
    )
    if outcome.value is None:
        return None
    return events.Estimate(
        value=outcome.value,
        low=outcome.low,
        high=outcome.high,
        warmup_steps=estimation.warmup_steps,
        steps=estimation.steps,
        interruptions=len(estimation.interruptions),
        is_enough=estimation.is_enough,
    )


def half_interval_pct(metric: str, value: float | None, low: float | None, high: float | None) -> float | None:
    """Return the ± of a headline, wherever one is shown or judged; None without an interval.

    It is how far the farther end of the 95 % interval is from the value, in percent of the time that the work
    takes, also where the headline is a rate: that is what Quick narrows.
    """
    if value is None or low is None or high is None or low <= 0 or high <= 0 or value <= 0:
        return None
    if headline_kind(metric).is_rate:
        return 100 * max(value / low - 1, 1 - value / high)
    return 100 * max(high - value, value - low) / value


def measured_of(run: Run, steps: Timed | None = None, *, on_shared_host: bool = False) -> Measured:
    """Return what a stored run's headline is computed from.

    Args:
        run: The run.
        steps: Its timed steps; None to sort them now.
        on_shared_host: Whether others may change its speed from one run to the next.
    """
    return Measured(
        **{name: getattr(run.summary, name) for name in _ASKED},
        epoch_durations_s=[epoch.duration_s for epoch in run.epochs],
        timed_steps=timed(run.steps) if steps is None else steps,
        metrics=run.metrics,
        on_shared_host=on_shared_host,
    )


def own_half_pct(run: Run, steps: Timed | None = None) -> float | None:
    """Return the ± that a run's own measurements show, without what others may change until the next run.

    Args:
        run: The run.
        steps: Its timed steps; None to sort them now.
    """
    outcome = outcome_of(measured_of(run, steps))
    return half_interval_pct(run.summary.metric, outcome.value, outcome.low, outcome.high)


def _reports(workload: str) -> bool:
    """Return whether a workload reports its headline itself: its steps are of many different kinds."""
    return workload in CATALOGUE and CATALOGUE[workload].reports_headline
