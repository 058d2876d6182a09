"""A run's share of peak, defined by the best recent run of `matmul` on the same computer."""

from app.core.records import PeakShare, RunSummary
from app.core.storage.database import Database
from workloads.protocol.events import Model


def peak_share(database: Database, run: RunSummary, model: Model | None) -> PeakShare | None:
    """Return a stored run's share of peak; None without a network, counted operations or steps.

    Args:
        database: Contains the computer's other runs.
        run: The run.
        model: Its stored network.
    """
    flops = None if model is None else model.flops_per_example
    if not flops or not run.step_median_s:
        return None
    with database.complaints():
        peak = database.connection.execute(_PEAK, (run.id,)).fetchone()
    return PeakShare(flops * run.batch_size / run.step_median_s, peak[0] if peak else None)


# The number of threads changes the peak, so it must be the same. Other load only lowers a measured peak, so the
# best of several runs is used, without shortened ones.
_PEAK = """
    SELECT max(value) FROM (
    SELECT peak.value FROM runs AS peak JOIN runs AS run ON run.machine_id = peak.machine_id
    WHERE run.id = ? AND peak.workload = 'matmul' AND peak.status = 'completed'
        AND peak.value BETWEEN 1e-300 AND 1e300
        AND peak.deleted_at IS NULL AND peak.device IS run.device AND peak.device_name IS run.device_name
        AND peak.engine = run.engine AND peak.precision = run.precision AND peak.threads IS run.threads
        AND peak.steps >= 20
    ORDER BY peak.id DESC LIMIT 10)
"""
