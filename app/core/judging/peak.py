"""How much of what the machine can do a run reached, by the best late run of `matmul` on the same machine."""

from app.core.keeping.database import Database
from app.core.model import PeakShare, RunSummary


def peak_share(database: Database, run: RunSummary) -> PeakShare | None:
    """Return what a stored run reached; None for one without a network, counted operations or steps."""
    sql = "SELECT json_extract(model, '$.flops_per_example') FROM runs WHERE id = ?"
    with database.complaints():
        row = database.connection.execute(sql, (run.id,)).fetchone()
        peak = database.connection.execute(_PEAK, (run.id,)).fetchone()
    flops = row[0] if row else None
    if not flops or not run.step_median_s:
        return None
    return PeakShare(flops * run.batch_size / run.step_median_s, peak[0] if peak else None)


# The number of threads changes the peak, so that a run on fewer is not measured against all. A busy computer only
# lowers what is measured: the best of some counts, without those that were cut.
_PEAK = """
    SELECT max(value) FROM (
    SELECT peak.value FROM runs AS peak JOIN runs AS run ON run.machine_id = peak.machine_id
    WHERE run.id = ? AND peak.workload = 'matmul' AND peak.status = 'completed' AND peak.value IS NOT NULL
        AND peak.deleted_at IS NULL AND peak.device IS run.device AND peak.device_name IS run.device_name
        AND peak.precision = run.precision AND peak.threads IS run.threads AND peak.steps >= 20
    ORDER BY peak.id DESC LIMIT 10)
"""
