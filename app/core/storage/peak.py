"""Compares a run with the best recent `matmul` and `all_reduce` runs on the same computer and devices."""

from app.core.records import Exchange, PeakShare, RunSummary
from app.core.storage.database import Database
from workloads.protocol.events import Model

# Gradients are float32 in all engines and with all precisions.
_BYTES_PER_GRADIENT = 4


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
    peak = _best(database, run, "matmul")
    return PeakShare(flops * run.batch_size / run.step_median_s, peak)


def exchange(database: Database, run: RunSummary, model: Model | None) -> Exchange | None:
    """Describe the exchange of a step's gradients between a run's devices; None on one device or if unknown.

    Args:
        database: Database with the other runs of this computer.
        run: Record of the run.
        model: The run's network; None if unknown.
    """
    if model is None or not run.step_median_s or run.device_count == 1:
        return None
    return Exchange(
        gradients_bytes=_BYTES_PER_GRADIENT * model.parameters_count,
        devices=run.device_count,
        step_s=run.step_median_s,
        bytes_per_s=_best(database, run, "all_reduce"),
    )


def _best(database: Database, run: RunSummary, workload: str) -> float | None:
    with database.complaints():
        row = database.connection.execute(_BEST, (run.id, workload)).fetchone()
    return row[0] if row else None


# The number of threads must be the same, because it changes the peak. The best of several runs is used, because
# other load only lowers the measured peak. Shortened runs are excluded. Sums must have used the same devices.
_BEST = """
    SELECT max(value) FROM (
    SELECT peak.value FROM runs AS peak JOIN runs AS run ON run.machine_id = peak.machine_id
    WHERE run.id = ? AND peak.workload = ? AND peak.status = 'completed'
        AND peak.value BETWEEN 1e-300 AND 1e300
        AND peak.deleted_at IS NULL AND peak.device IS run.device AND peak.device_name IS run.device_name
        AND peak.engine = run.engine AND peak.precision = run.precision AND peak.threads IS run.threads
        AND (peak.workload = 'matmul' OR peak.settings IS run.settings) AND peak.steps >= 20
    ORDER BY peak.id DESC LIMIT 10)
"""
