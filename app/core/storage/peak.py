"""Computes a run's share of peak, relative to the best recent `matmul` run on the same computer."""

from app.core.records import PeakShare, RunSummary
from app.core.storage.database import Database
from workloads.protocol.events import Model


def peak_share(database: Database, run: RunSummary, model: Model | None) -> PeakShare | None:
    """Return a run's share of peak; None without counted operations or timed steps, or on several devices.

    Args:
        database: Database with the other runs of this computer.
        run: Record of the run.
        model: The run's network; None if unknown.
    """
    flops = None if model is None else model.flops_per_example
    if not flops or not run.step_median_s or run.device_count > 1:
        return None
    with database.complaints():
        peak = database.connection.execute(_PEAK, (run.id,)).fetchone()
    return PeakShare(flops * run.batch_size / run.step_median_s, peak[0] if peak else None)


# The number of threads must be the same, because it changes the peak. The best of several runs is used, because
# other load only lowers the measured peak. Shortened runs are excluded.
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
