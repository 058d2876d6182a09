"""Compares the arithmetic that a result claims with what its device can do."""

from dataclasses import replace

from app.core.analysis.claims import limit_pct
from app.core.analysis.published import published_peak
from app.core.records import RunSummary
from workloads import CATALOGUE


def with_credible_verdict(run: RunSummary) -> RunSummary:
    """Return a result from another computer, as invalid if it is too fast for its device or only for testing."""
    applies = {"impossible": not is_possible(run), "divided_cpu": run.divides_cpu}
    if not any(applies.values()):
        return run
    codes = (*(code for code in applies if applies[code]), *(run.reasons or "").split())
    return replace(run, verdict="invalid", reasons=" ".join(dict.fromkeys(codes)))


def is_possible(run: RunSummary) -> bool:
    """Return whether the fastest matrix product published for a result's device allows its speed.

    True if the operations or the device are unknown.
    """
    workload = CATALOGUE.get(run.workload)
    operations = None if workload is None else workload.operations_for(run.variant)
    if workload is None or operations is None or not run.value or run.device == "cpu":
        return True
    examples_per_s = {
        "seconds_per_epoch_s": run.samples_per_epoch / run.value,
        "seconds_per_batch_s": run.batch_size / run.value,
    }.get(run.metric, run.value / workload.units_of(run.variant))
    peak = published_peak(run.device_name, run.precision)
    most = limit_pct(workload) / 100 * (peak or 0.0) * run.device_count
    return not peak or operations * examples_per_s <= most
