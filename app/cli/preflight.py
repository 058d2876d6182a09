"""What a terminal says before a run about what would disturb it; the run begins all the same."""

from app.core.hardware.telemetry.monitor import look
from app.core.records import Machine
from app.core.verdict.preflight import preflight
from workloads import CATALOGUE
from workloads.protocol.spec import RunSpec

# Long enough to tell what other programs do, and short enough to be waited for.
PREFLIGHT_S = 0.4


def preflight_lines(spec: RunSpec, machine: Machine) -> list[str]:
    """Return a line for each condition; none for the demo, whose times mean nothing."""
    if CATALOGUE[spec.workload].kind == "demo":
        return []
    return [
        f"Caution  {reason.text} {reason.advice}".rstrip()
        for reason in preflight(spec, machine, look(PREFLIGHT_S))
    ]
