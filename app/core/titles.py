"""Names of workloads and of differing settings, for people."""

from app.core.messages import sentence, text
from workloads import CATALOGUE
from workloads.engines.registry import compiles_always
from workloads.protocol.spec import RunSpec
from workloads.settings import all_settings


def workload_title(name: str) -> str:
    """Return a workload's title; the name of one that only another version has."""
    return text(CATALOGUE[name].title) if name in CATALOGUE else name


def level_title(level: str) -> str:
    """Return a verdict's level, or a reason's, as it is shown: "Caution"."""
    return sentence(f"level.{level}")


def differing(a: RunSpec, b: RunSpec) -> tuple[str, str]:
    """Describe briefly how two specs differ, each in its own words; "A" and "B" if they don't."""
    apart = [setting for setting in all_settings() if setting.in_ab and setting.of(a) != setting.of(b)]
    if all(spec.jit == compiles_always(spec.engine) for spec in (a, b)):  # each as usual
        apart = [setting for setting in apart if setting.name != "jit"]
    words = [", ".join(text(setting.phrase(setting.of(spec))) for setting in apart) for spec in (a, b)]
    return words[0] or "A", words[1] or "B"
