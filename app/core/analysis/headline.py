"""Computes the headline of a run from its raw durations."""

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
from app.core.analysis.student_t import CONFIDENCE
from app.core.analysis.timed_steps import Disturbance, StepTimes, step_times
from app.core.formats import rounded
from app.core.metrics import amount_text, format_value, headline_kind
from app.core.records import Headline, Run, RunSummary
from workloads import CATALOGUE
from workloads.protocol import events

# How much farther the one end of an interval may be than the other for a single ± to describe both: as a share of
# the nearer end's distance, or in percent of the value.
_EVEN_SHARE, _EVEN_PCT = 0.25, 2.0
# Fields of a run's summary that contain its requested settings.
_ASKED = (
    *("workload", "variant", "metric", "preset"),
    *("batch_size", "steps", "steps_per_epoch", "samples_per_epoch"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """Inputs for a run's headline: its requested settings and raw durations."""

    workload: str
    variant: str
    metric: str
    preset: str
    batch_size: int
    steps: int | None  # steps per shortened epoch; None for whole epochs
    steps_per_epoch: int
    samples_per_epoch: int
    epoch_durations_s: Sequence[float]
    timed_steps: StepTimes
    metrics: Mapping[str, float | None]  # reported values other than steps, by key
    on_shared_host: bool = False  # whether other users of a shared host may change the speed between runs


def headline_of(measured: Measured) -> Headline:
    """Compute a run's headline, including its interruptions."""
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
    headline = summarise(
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
        headline = replace(headline, interruptions=len(held_up), interruptions_s=excess_s)
    return replace(headline, sustained_pct=sustained_pct(steps)) if preset == "sustained" else headline


def interruptions(preset: str, steps: StepTimes) -> tuple[Disturbance, ...]:
    """Return a run's interruptions after its warm-up.

    Standard runs exclude their first epoch, unless it is the only one. With other presets, the estimator
    determines the warm-up.
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
) -> Headline:
    """Return the headline, its interval and the statistics behind it.

    Args:
        workload: Workload id. For an unknown workload, the headline counts plain examples.
        variant: Difference from the default network; "" if there is none.
        batch_size: Examples per step.
        per_epoch: Statistics of whole epochs; None if there are none.
        per_step: Statistics of steps; None if no steps are usable.
        step_median_s: Median duration of all steps, regardless of kind.
        reported: Headline reported by the workload itself, if it can't be computed from steps.
        reported_ends: Confidence interval of `reported`, if there is one.
        on_shared_host: Whether to widen the interval by the possible effect of other users of a shared host.
    """
    whole_s = per_epoch.median_s if per_epoch and per_epoch.median_s > 0 else None
    nothing = Headline(seconds_per_epoch_s=whole_s, step_median_s=step_median_s)
    if reported is not None:
        if reported <= 0:
            return nothing
        ends = [end for end in reported_ends if end is not None and end > 0]
        low, high = (ends[0], ends[1]) if len(ends) == 2 and ends[0] <= reported <= ends[1] else (None, None)
        headline = replace(nothing, value=reported, basis="repetitions", value_low=low, value_high=high)
        return _with_interval(headline, metric, 100 * CONFIDENCE, on_shared_host=on_shared_host)
    chosen = per_epoch if metric == "seconds_per_epoch_s" else per_step
    examples = batch_size * (CATALOGUE[workload].units_of(variant) if workload in CATALOGUE else 1)
    is_of_steps = metric.startswith("seconds_per_") or metric in ("images_per_s", "words_per_s", "tokens_per_s")
    # A duration of 0 is below the clock's resolution, so no speed can be computed.
    if chosen is None or chosen.median_s <= 0 or not is_of_steps or _reports(workload):
        return nothing

    headline = _of_durations(nothing, metric, chosen, examples)
    return _with_interval(headline, metric, chosen.confidence_pct, on_shared_host=on_shared_host)


def _of_durations(headline: Headline, metric: str, chosen: DurationStatistics, examples: int) -> Headline:
    """Return the headline with the chosen statistics, converted to the metric's unit."""

    def in_unit(duration_s: float | None) -> float | None:
        return headline_value(metric, duration_s, examples) if duration_s else None

    ends = [end for end in (in_unit(chosen.low_s), in_unit(chosen.high_s)) if end is not None]
    low, high = (min(ends), max(ends)) if len(ends) == 2 else (None, None)
    return replace(
        headline,
        value=headline_value(metric, chosen.median_s, examples),
        basis=chosen.basis,
        first_epoch_s=chosen.first_s,
        minimum_s=chosen.minimum_s,
        maximum_s=chosen.maximum_s,
        spread_pct=chosen.spread_pct,
        value_low=low,
        value_high=high,
        value_mean=in_unit(chosen.mean_s),
        warmup_steps=chosen.warmup_steps,
    )


def _with_interval(
    headline: Headline, metric: str, confidence_pct: float | None, *, on_shared_host: bool
) -> Headline:
    """Return the headline with its confidence level and interval. The interval is wider on a shared host."""
    low, high = headline.value_low, headline.value_high
    if on_shared_host and headline.value is not None:
        low, high = with_host(headline.value, low, high, is_rate=headline_kind(metric).is_rate)
    confidence_pct = None if low is None else confidence_pct
    return replace(headline, value_low=low, value_high=high, confidence_pct=confidence_pct)


def estimate_so_far(run: RunSummary, steps: StepTimes, *, on_shared_host: bool = False) -> events.Estimate | None:
    """Return the current estimate of the headline of a run in progress; None if steps don't yield one.

    The time that an epoch spends outside its steps is excluded, because it is known only at the end.

    Args:
        run: The run's record.
        steps: The run's timed steps.
        on_shared_host: Whether other users of a shared host may change the speed between runs.
    """
    if not steps.usual_s or _reports(run.workload):
        return None
    estimation = steps.estimation()
    assert estimation is not None
    per_epoch = estimate_epoch(steps, run.steps_per_epoch) if run.samples_per_epoch else None
    per_step = step_statistics(steps, is_estimate=run.preset != "standard", is_uneven=run.metric == "words_per_s")
    headline = summarise(
        workload=run.workload,
        variant=run.variant,
        metric=run.metric,
        batch_size=run.batch_size,
        per_epoch=per_epoch,
        per_step=per_step,
        step_median_s=None,
        on_shared_host=on_shared_host,
    )
    if headline.value is None:
        return None
    return events.Estimate(
        value=headline.value,
        low=headline.value_low,
        high=headline.value_high,
        warmup_steps=estimation.warmup_steps,
        steps=estimation.steps,
        interruptions=len(estimation.interruptions),
        is_enough=estimation.is_enough,
    )


def half_interval_pct(metric: str, value: float | None, low: float | None, high: float | None) -> float | None:
    """Return the uncertainty of a headline, as used for display and verdicts; None without an interval.

    The result is the distance from the value to the farther end of the 95 % interval, as a percentage of the
    duration. The percentage refers to the duration even if the headline is a rate, because Quick narrows the
    duration's interval.
    """
    if value is None or low is None or high is None or low <= 0 or high <= 0 or value <= 0:
        return None
    if headline_kind(metric).is_rate:
        return 100 * max(value / low - 1, 1 - value / high)
    return 100 * max(high - value, value - low) / value


def uncertainty(run: RunSummary) -> float | None:
    """Return half the width of a headline's 95 % interval, in the headline's unit; None if there is none."""
    half_pct = half_interval_pct(run.metric, run.value, run.value_low, run.value_high)
    if half_pct is None or not run.value or (run.confidence_pct or 0.0) < 100 * CONFIDENCE:
        return None
    return run.value * half_pct / 100


def value_text(run: RunSummary) -> str:
    """Return a headline's value without its unit, rounded to the second digit of its uncertainty."""
    return format_value(run.metric, shown_value(run))


def shown_value(run: RunSummary) -> float | None:
    return None if run.value is None else rounded(run.value, uncertainty(run))


def marked_value(run: RunSummary) -> str:
    """Return a headline's value as `value_text` does, with a sign if it is an estimate."""
    return f"≈ {value_text(run)}" if run.basis == "estimate" else value_text(run)


def result_amount(run: RunSummary, *, is_short: bool = False, is_marked: bool = False) -> str:
    """Return a headline's value with its unit and, if marked, a sign for an estimate; "n/a" without a result."""
    if run.value is None:
        return "n/a"
    mark = "≈ " if is_marked and run.basis == "estimate" else ""
    return mark + amount_text(run.metric, shown_value(run), is_short=is_short)


def is_even(value: float | None, low: float | None, high: float | None) -> bool:
    """Return whether a single margin of error describes both ends of an interval. True without an interval."""
    if value is None or low is None or high is None:
        return True
    nearer, farther = sorted((high - value, value - low))
    return farther - nearer <= max(_EVEN_SHARE * nearer, _EVEN_PCT / 100 * value)


def measured_of(run: Run, steps: StepTimes | None = None, *, on_shared_host: bool = False) -> Measured:
    """Return the inputs from which a stored run's headline is computed.

    Args:
        steps: Its timed steps; None to extract them from the run.
        on_shared_host: Whether other users of a shared host may change the speed between runs.
    """
    return Measured(
        **{name: getattr(run.summary, name) for name in _ASKED},
        epoch_durations_s=[epoch.duration_s for epoch in run.epochs],
        timed_steps=step_times(run.steps) if steps is None else steps,
        metrics=run.metrics,
        on_shared_host=on_shared_host,
    )


def headline_step_s(run: Run) -> float | None:
    """Return the duration of a training step at the speed of the headline, in seconds; None without timed steps.

    If the headline is a duration of epochs, this is the time of their steps, without validation.
    """
    summary, steps = run.summary, step_times(run.steps)
    if summary.metric == "seconds_per_epoch_s" and summary.basis in ("later_epochs", "first_epoch"):
        epochs = run.epochs[1:] or run.epochs
        return statistics.median(epoch.train_s / summary.steps_per_epoch for epoch in epochs) if epochs else None
    is_uneven = summary.metric == "words_per_s"
    per_step = step_statistics(steps, is_estimate=summary.preset != "standard", is_uneven=is_uneven)
    return None if per_step is None else per_step.median_s


def own_half_pct(run: Run, steps: StepTimes | None = None) -> float | None:
    """Return the uncertainty due to the run's own steps, excluding the allowance for shared hosts.

    Args:
        steps: Its timed steps; None to extract them from the run.
    """
    own = headline_of(measured_of(run, steps))
    return half_interval_pct(run.summary.metric, own.value, own.value_low, own.value_high)


def _reports(workload: str) -> bool:
    """Return whether a workload reports its own headline because its steps do many different kinds of work."""
    return workload in CATALOGUE and CATALOGUE[workload].reports_headline
