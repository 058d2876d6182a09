"""Converts an epoch log, as stored by formats of the database before 10, to a result."""

from collections.abc import Sequence

from app.core.analysis.stats import epoch_statistics
from app.core.external_results import EPOCH_LOG
from app.core.result_file.canonical import sealed
from app.core.result_file.record import Environment, Epoch, Machine, Result, Spec, Statistics
from workloads.workload import Workload

# A record requires the name of an engine, but logs don't contain one.
UNKNOWN_ENGINE = "unknown"


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
