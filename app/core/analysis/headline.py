"""How a run ended, and the headline that its stored raw durations come to."""

# ruff: noqa: S608 - SQL is put together from our own column names, never from values
import sqlite3
import statistics
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from app.core.analysis.estimator import find_interruptions
from app.core.analysis.stats import (
    DurationStatistics,
    estimate_epoch,
    headline_value,
    run_statistics,
    step_statistics,
    sustained_pct,
)
from app.core.analysis.timed_steps import Disturbance, Timed, timed
from app.core.records import RunSummary
from app.core.storage import reading
from app.core.storage.database import Database, storable
from workloads import CATALOGUE
from workloads.protocol import events


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a run's raw durations come to. None means not reached.

    Attributes:
        value: The headline.
        statistics: What it rests on.
        seconds_per_epoch_s: Also where another number is the headline.
        low, high: Confidence interval of the value, in its unit.
        mean: What plain averaging says, in the same unit.
    """

    value: float | None = None
    statistics: DurationStatistics | None = None
    seconds_per_epoch_s: float | None = None
    step_median_s: float | None = None
    low: float | None = None
    high: float | None = None
    mean: float | None = None


def now_text(ago_s: float = 0.0) -> str:
    """Return the present moment, or an earlier one, as ISO 8601 in UTC, to the second."""
    return (datetime.now(UTC) - timedelta(seconds=ago_s)).strftime("%Y-%m-%dT%H:%M:%SZ")


def store_outcome(database: Database, run_id: int, status: str, error: events.Error | None) -> None:
    """Store how a run ended and its headline; raises DatabaseError if it cannot be stored."""
    with database.complaints():  # outside of the transaction: a long run takes seconds
        outcome, interrupted = _outcome(database.connection, run_id)
    result = outcome.statistics
    values = {
        "status": status,
        "finished_at": now_text(),
        "error_code": error.code if error else None,
        "error_message": error.message if error else None,
        "error_traceback": error.traceback if error else None,
        "value": outcome.value,
        "step_median_s": outcome.step_median_s,
        "seconds_per_epoch_s": outcome.seconds_per_epoch_s,
        "basis": result.basis if result else "repetitions" if outcome.value is not None else None,
        "first_epoch_s": result.first_s if result else None,
        "minimum_s": result.minimum_s if result else None,
        "maximum_s": result.maximum_s if result else None,
        "spread_pct": result.spread_pct if result else None,
        "value_low": outcome.low,
        "value_high": outcome.high,
        "confidence_pct": result.confidence_pct if result and outcome.low is not None else None,
        "value_mean": outcome.mean,
        "warmup_steps": result.warmup_steps if result else None,
        **interrupted,
    }
    columns = ", ".join(f"{name} = ?" for name in values)
    with database.transaction() as connection:
        connection.execute(f"UPDATE runs SET {columns} WHERE id = ?", (*map(storable, values.values()), run_id))


def _outcome(connection: sqlite3.Connection, run_id: int) -> tuple[Outcome, dict[str, float | None]]:
    """Return a run's headline, and the columns about what disturbed it."""
    run = connection.execute("SELECT * FROM runs WHERE id = ?", (run_id,)).fetchone()
    epochs = reading.stored_rows(connection, "epochs", run_id)
    steps = timed(reading.iter_steps(reading.stored_rows(connection, "step_blocks", run_id), []))
    metrics = reading.read_metrics(reading.stored_rows(connection, "metrics", run_id), [])
    per_epoch = run_statistics(
        preset=run["preset"],
        steps=run["steps"],
        steps_per_epoch=run["steps_per_epoch"],
        epoch_durations_s=[epoch.duration_s for epoch in reading.read_epochs(epochs, [])],
        timed_steps=steps,
        validation_batches=round(metrics.get("validation_batches") or 0),
        rest_s=metrics.get("epoch_rest_s"),
    )
    found = interruptions(run["preset"], steps) if run["metric"] != "words_per_s" else ()
    has_steps = bool(steps.usual_s) and not _reports(run["workload"])
    outcome = summarise(
        workload=run["workload"],
        metric=run["metric"],
        batch_size=run["batch_size"],
        per_epoch=per_epoch if run["samples_per_epoch"] else None,
        per_step=step_statistics(
            steps, is_estimate=run["preset"] != "standard", is_uneven=run["metric"] == "words_per_s"
        ),
        step_median_s=statistics.median(steps.durations_s) or None if steps.durations_s else None,
        reported=metrics.get(run["metric"]),
    )
    disturbed = {
        "interruptions": len(found) if has_steps else None,
        "interruptions_s": sum(interruption.excess_s for interruption in found) if has_steps else None,
        "sustained_pct": sustained_pct(steps) if run["preset"] == "sustained" else None,
    }
    return outcome, disturbed


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
    return workload in CATALOGUE and CATALOGUE[workload].kind in ("limits", "storage")
