"""The headline that a run's raw durations come to."""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from app.core.analysis.estimator import find_interruptions
from app.core.analysis.stats import (
    DurationStatistics,
    estimate_epoch,
    headline_value,
    run_statistics,
    step_statistics,
    sustained_pct,
)
from app.core.analysis.timed_steps import Disturbance, Timed
from app.core.records import RunSummary
from workloads import CATALOGUE
from workloads.protocol import events


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """What was asked of a run, and its raw durations: all that its headline is computed from.

    Attributes:
        steps: Those that each epoch was cut to; None for whole epochs.
        metrics: What it reported beside its steps, by key.
    """

    workload: str
    metric: str
    preset: str
    batch_size: int
    steps: int | None
    steps_per_epoch: int
    samples_per_epoch: int
    epoch_durations_s: Sequence[float]
    timed_steps: Timed
    metrics: Mapping[str, float | None]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a run's raw durations come to. None means not reached.

    Attributes:
        value: The headline.
        statistics: What it rests on.
        seconds_per_epoch_s: Also where another number is the headline.
        low, high: Confidence interval of the value, in its unit.
        mean: What plain averaging says, in the same unit.
        interruptions, interruptions_s: Steps that took far longer than their neighbours, and how much longer.
        sustained_pct: Of a Sustained run: speed of its last third, in percent of the first.
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
    """Return what a run's raw durations come to, and what disturbed it."""
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
    outcome = summarise(
        workload=measured.workload,
        metric=measured.metric,
        batch_size=measured.batch_size,
        per_epoch=per_epoch if measured.samples_per_epoch else None,
        per_step=step_statistics(steps, is_estimate=preset != "standard", is_uneven=is_uneven),
        step_median_s=statistics.median(steps.durations_s) or None if steps.durations_s else None,
        reported=measured.metrics.get(measured.metric),
    )
    if steps.usual_s and not _reports(measured.workload):
        held_up = () if is_uneven else interruptions(preset, steps)
        excess_s = sum(interruption.excess_s for interruption in held_up)
        outcome = replace(outcome, interruptions=len(held_up), interruptions_s=excess_s)
    return replace(outcome, sustained_pct=sustained_pct(steps)) if preset == "sustained" else outcome


def interruptions(preset: str, steps: Timed) -> tuple[Disturbance, ...]:
    """Return the interruptions of a run, without its warm-up.

    That ends where an estimate finds its end, else with the first epoch, as long as there is another.
    """
    if preset == "standard":
        warmup = steps.first_epoch_steps
        return steps.disturbances(find_interruptions(steps.usual_s[warmup:]), warmup)
    estimation = steps.estimation() if steps.usual_s else None
    return steps.disturbances(estimation.interruptions if estimation is not None else ())


def summarise(
    *,
    workload: str,
    metric: str,
    batch_size: int,
    per_epoch: DurationStatistics | None,
    per_step: DurationStatistics | None,
    step_median_s: float | None,
    reported: float | None = None,
) -> Outcome:
    """Choose what the run's headline rests on.

    Args:
        workload: Its id; one that this version does not know counts an example as one.
        metric: What its headline is.
        batch_size: Examples of a step.
        per_epoch: Of whole epochs, None without any.
        per_step: Of steps, None without any that count.
        step_median_s: The typical step, whatever it belongs to.
        reported: The headline as the workload itself measured it, where steps do not tell it.
    """
    whole_s = per_epoch.median_s if per_epoch and per_epoch.median_s > 0 else None
    if reported is not None:
        return Outcome(reported if reported > 0 else None, None, whole_s, step_median_s)
    chosen = per_epoch if metric == "seconds_per_epoch_s" else per_step
    examples = batch_size * (CATALOGUE[workload].units_per_example if workload in CATALOGUE else 1)
    steps_tell = metric in ("seconds_per_epoch_s", "seconds_per_batch_s", "images_per_s", "words_per_s")
    # A duration of 0 is one that the clock was too coarse for: it tells no speed.
    if chosen is None or chosen.median_s <= 0 or not steps_tell or _reports(workload):
        return Outcome(None, None, whole_s, step_median_s)

    def in_unit(duration_s: float | None) -> float | None:
        return headline_value(metric, duration_s, examples) if duration_s else None

    ends = [end for end in (in_unit(chosen.low_s), in_unit(chosen.high_s)) if end is not None]
    return Outcome(
        value=headline_value(metric, chosen.median_s, examples),
        statistics=chosen,
        seconds_per_epoch_s=whole_s,
        step_median_s=step_median_s,
        low=min(ends) if len(ends) == 2 else None,
        high=max(ends) if len(ends) == 2 else None,
        mean=in_unit(chosen.mean_s),
    )


def estimate_so_far(run: RunSummary, steps: Timed) -> events.Estimate | None:
    """Return what steps come to while a run goes on, in the unit of its headline; None if they do not tell.

    What an epoch has beside its steps is known at the end only, and not in it.
    """
    if not steps.usual_s or _reports(run.workload):
        return None
    estimation = steps.estimation()
    assert estimation is not None
    outcome = summarise(
        workload=run.workload,
        metric=run.metric,
        batch_size=run.batch_size,
        per_epoch=estimate_epoch(steps, run.steps_per_epoch) if run.samples_per_epoch else None,
        per_step=step_statistics(
            steps, is_estimate=run.preset != "standard", is_uneven=run.metric == "words_per_s"
        ),
        step_median_s=None,
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


def _reports(workload: str) -> bool:
    """Say whether a workload reports its headline itself: its steps are those of many different cases."""
    return workload in CATALOGUE and CATALOGUE[workload].reports_headline
