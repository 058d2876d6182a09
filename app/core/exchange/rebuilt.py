"""Runs rebuilt from exports, as far as these have them."""

from typing import Any

from app.core.records import Run, RunSummary
from app.core.report.result_records import fitting_result
from app.core.result_file.record import Result
from workloads.protocol.machine import UNKNOWN_MACHINE
from workloads.protocol.spec import RunSpec

_WITHOUT: dict[str, Any] = {
    "environment": None,
    "dataset": None,
    "model": None,
    "epochs": (),
    "steps": (),
    "metrics": {},
    "warnings": (),
    "telemetry": (),
}


def rebuilt(summary: RunSummary, *, is_whole: bool, **parts: Any) -> Result:
    """Return the result of a run of which only some parts came; raises UnfitError if it isn't right in itself.

    Args:
        summary: Its row.
        is_whole: Whether these are all of its parts.
        parts: Fields of Run.
    """
    own: dict[str, Any] = {"spec": RunSpec(workload=summary.workload), "machine": UNKNOWN_MACHINE}
    # What it says has been made private where it was exported.
    return fitting_result(Run(summary=summary, **_WITHOUT | own | parts), private={}, is_whole=is_whole)
