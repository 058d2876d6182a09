"""What others measured beside a run: which of it can be drawn, and what is said of it."""

from app.core.analysis.comparability import engine_name, run_refusal, unusual_settings
from app.core.messages import sentence
from app.core.metrics import format_value
from app.core.others import CommunityRow, ImportedLog
from app.core.records import RunSummary
from workloads import CATALOGUE


def is_usual(run: RunSummary) -> bool:
    """Return whether a run has the study's own settings."""
    usual = CATALOGUE[run.workload].batch_size if run.workload in CATALOGUE else None
    return run.batch_size == usual and not run.variant and run.precision == "float32"


def log_remarks(log: ImportedLog) -> tuple[str, ...]:
    """Return what is said of an imported log."""
    codes = ["compare.imported_log"] + (["compare.first_epoch_only"] if len(log.durations_s) == 1 else [])
    return tuple(map(sentence, codes))


def is_beside(row: CommunityRow, run: RunSummary | None) -> bool:
    """Return whether a row compares with a run; without one, whether its batch is the usual one."""
    summary = row.summary
    if run is not None:
        return run_refusal(run, summary) is None
    return summary.workload in CATALOGUE and summary.batch_size == CATALOGUE[summary.workload].batch_size


def community_remarks(row: CommunityRow) -> tuple[str, ...]:
    """Return whose a row is, and its conditions as for published rows."""
    summary = row.summary
    low, high = (format_value(summary.metric, end) for end in (row.low, row.high))
    remarks = (
        sentence("compare.community", count=row.machines),
        sentence("compare.community_range", low=low, high=high) if row.machines > 1 else "",
        engine_name(summary.engine, None),
        sentence("compare.batch", batch_size=summary.batch_size),
        summary.precision,
        summary.variant,
        *unusual_settings(summary),
        sentence("compare.community_cautions", count=row.cautions) if row.cautions else "",
    )
    return tuple(filter(None, dict.fromkeys(remarks)))
