"""Warnings about conditions that would disturb a run, printed before it starts."""

from app.core.engines.choices import installed_variant
from app.core.hardware.telemetry.monitor import read_telemetry
from app.core.hardware.telemetry.programs import busy_programs
from app.core.messages import sentence
from app.core.paths import Paths
from app.core.verdict.preflight import has_busy_programs, is_load_known, preflight
from workloads import CATALOGUE
from workloads.protocol.machine import Machine
from workloads.protocol.spec import RunSpec

# Long enough to detect the load of other programs, short enough not to annoy the user.
PREFLIGHT_S = 0.4


def preflight_lines(spec: RunSpec, machine: Machine, paths: Paths) -> list[str]:
    """Return a line for each condition that could affect the run, and one if the load is unknown."""
    if CATALOGUE[spec.workload].is_demo:
        return []
    variant = installed_variant(paths, spec.engine)
    telemetry = read_telemetry(PREFLIGHT_S)
    programs = busy_programs(PREFLIGHT_S) if has_busy_programs(telemetry) else ()
    lines = [
        sentence("cli.caution", reason=reason.text, advice=reason.advice).rstrip()
        for reason in preflight(spec, machine, telemetry, variant, programs)
    ]
    return lines if is_load_known(telemetry) else [*lines, sentence("preflight.load_unknown")]
