"""How a run ended, and the headline that its stored raw durations come to."""

# ruff: noqa: S608 - SQL is put together from our own column names, never from values
import json
import sqlite3
import statistics
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from app.core.judging.stats import DurationStatistics, headline_value, run_statistics, step_statistics
from app.core.keeping.database import Database
from workloads import CATALOGUE, events

# Kinds of workloads that report their headline: their steps are those of many different cases.
_REPORTING = ("limits", "storage")


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a run's raw durations come to. None means not reached.

    Attributes:
        value: The headline.
        statistics: What it rests on.
        seconds_per_epoch_s: Also where another number is the headline.
    """

    value: float | None = None
    statistics: DurationStatistics | None = None
    seconds_per_epoch_s: float | None = None
    step_median_s: float | None = None


def now_text(ago_s: float = 0.0) -> str:
    """Return the present moment, or an earlier one, as ISO 8601 in UTC, to the second."""
    return (datetime.now(UTC) - timedelta(seconds=ago_s)).strftime("%Y-%m-%dT%H:%M:%SZ")


def store_outcome(database: Database, run_id: int, status: str, error: events.Error | None) -> None:
    """Store how a run ended and its headline; raises DatabaseError if it cannot be stored."""
    with database.transaction() as connection:
        outcome = _outcome(connection, run_id)
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
        }
        columns = ", ".join(f"{name} = ?" for name in values)
        connection.execute(f"UPDATE runs SET {columns} WHERE id = ?", (*values.values(), run_id))


def _outcome(connection: sqlite3.Connection, run_id: int) -> Outcome:
    run = connection.execute("SELECT * FROM runs WHERE id = ?", (run_id,)).fetchone()
    epochs_sql = "SELECT duration_s FROM epochs WHERE run_id = ? ORDER BY idx"
    blocks = connection.execute(
        "SELECT epoch, durations_s FROM step_blocks WHERE run_id = ? AND phase = 'measure' ORDER BY seq", (run_id,)
    )
    steps_s = [(block["epoch"], step_s) for block in blocks for step_s in json.loads(block["durations_s"])]
    metrics = dict(connection.execute("SELECT key, value FROM metrics WHERE run_id = ?", (run_id,)).fetchall())
    per_epoch = run_statistics(
        preset=run["preset"],
        steps=run["steps"],
        steps_per_epoch=run["steps_per_epoch"],
        epoch_durations_s=[row["duration_s"] for row in connection.execute(epochs_sql, (run_id,))],
        step_durations_s=[step_s for _, step_s in steps_s],
        epoch_parts_s=_epoch_parts(metrics),
    )
    return summarise(
        workload=run["workload"],
        metric=run["metric"],
        batch_size=run["batch_size"],
        per_epoch=per_epoch if run["samples_per_epoch"] else None,
        per_step=step_statistics(
            steps_s, is_estimate=run["preset"] == "quick", is_uneven=run["metric"] == "words_per_s"
        ),
        step_median_s=statistics.median(step_s for _, step_s in steps_s) if steps_s else None,
        reported=metrics.get(run["metric"]),
    )


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
    whole_s = per_epoch.median_s if per_epoch else None
    if reported is not None:
        return Outcome(reported, None, whole_s, step_median_s)
    chosen = per_epoch if metric == "seconds_per_epoch_s" else per_step
    examples = batch_size * (CATALOGUE[workload].units_per_example if workload in CATALOGUE else 1)
    steps_tell = metric in ("seconds_per_epoch_s", "seconds_per_batch_s", "images_per_s", "words_per_s")
    if workload in CATALOGUE and CATALOGUE[workload].kind in _REPORTING:
        steps_tell = False
    if chosen is None or not steps_tell:
        return Outcome(None, None, whole_s, step_median_s)
    return Outcome(headline_value(metric, chosen.median_s, examples), chosen, whole_s, step_median_s)


def _epoch_parts(metrics: dict[str, float | None]) -> float | None:
    """Return what a Quick run measured of an epoch beside its steps; None when it did not come so far."""
    if "epoch_rest_s" not in metrics:
        return None
    return (metrics.get("validation_s") or 0.0) + (metrics["epoch_rest_s"] or 0.0)
