"""Converts an epoch log to a result with the workload's default spec, the epoch times and a headline."""

import itertools
import statistics
from collections.abc import Sequence

from app.core.analysis.stats import epoch_statistics
from app.core.external_results import EPOCH_LOG
from app.core.result_file.canonical import sealed
from app.core.result_file.record import Environment, Epoch, Machine, Result, Spec, Statistics
from workloads.workload import Workload

# A record requires the name of an engine, but logs don't contain one.
UNKNOWN_ENGINE = "unknown"
# Limits for detecting running totals: largest ratio between a difference and the typical one, and smallest ratio
# of the typical difference to the first epoch, which includes startup.
_STEADY, _SHARE_OF_FIRST = 2.0, 0.2


def is_workload_of_logs(workload: Workload) -> bool:
    """Return whether epoch logs of a workload can be imported."""
    return workload.metric == "seconds_per_epoch_s" and not workload.is_demo


def log_result(workload: Workload, name: str, durations_s: Sequence[float]) -> Result:
    """Return a log as a result with its digest, but without a verdict.

    Args:
        workload: The workload that was trained; its default settings are assumed.
        name: Name of the computer.
        durations_s: Duration of each epoch; at least one.
    """
    numbers = epoch_statistics(durations_s)
    assert numbers is not None
    usual = workload.default_spec("standard")
    spec = Spec(
        workload=workload.id,
        workload_version=workload.version,
        preset=usual.preset,
        epochs=len(durations_s),
        steps_per_epoch=workload.steps_per_epoch(usual),
        samples_per_epoch=workload.samples_per_epoch,
        batch_size=usual.batch_size,
        precision=usual.precision,
        jit=usual.jit,
        seed=usual.seed,
    )
    headline = Statistics(
        metric=workload.metric,
        value=numbers.median_s,
        low=numbers.low_s,
        high=numbers.high_s,
        confidence_pct=numbers.confidence_pct,
        spread_pct=numbers.spread_pct,
        mean=numbers.mean_s,
        basis=numbers.basis,
        seconds_per_epoch_s=numbers.median_s,
        first_epoch_s=numbers.first_s,
        minimum_s=numbers.minimum_s,
        maximum_s=numbers.maximum_s,
        epochs_done=len(durations_s),
    )
    result = Result(
        app_version=EPOCH_LOG,
        status="completed",
        spec=spec,
        environment=Environment(engine=UNKNOWN_ENGINE),
        machine=Machine(cpu_name=name),
        epochs=tuple(Epoch(duration_s=each_s, train_s=each_s) for each_s in durations_s),
        statistics=headline,
    )
    return sealed(result)


def epochs_of_totals(durations_s: Sequence[float]) -> tuple[float, ...] | None:
    """Return the duration of each epoch if a log seems to contain running totals; None if it doesn't.

    Running totals increase in nearly equal steps; no computer slows down so steadily. At least three epochs are
    needed to detect them.
    """
    differences_s = differences(durations_s)
    later_s = differences_s[1:]
    if len(later_s) < 2:
        return None
    typical_s = statistics.median(later_s)
    is_steady = all(typical_s / _STEADY <= each_s <= typical_s * _STEADY for each_s in later_s)
    return differences_s if typical_s >= _SHARE_OF_FIRST * durations_s[0] and is_steady else None


def differences(totals_s: Sequence[float]) -> tuple[float, ...]:
    """Return the duration of each epoch of a log that contains running totals."""
    return (totals_s[0], *(later_s - before_s for before_s, later_s in itertools.pairwise(totals_s)))
