"""The values that must be the same on all computers of a run, and the run's spec for all of them."""

from importlib.metadata import PackageNotFoundError, version
from typing import Any

import msgspec

import app
from app.core.cluster.facts import DATA, PARAMETER, SETTING
from app.core.engines.locations import engine_folder, installable
from app.core.paths import Paths
from workloads import CATALOGUE
from workloads.datasets import DATASETS
from workloads.engines.registry import ENGINES
from workloads.protocol.spec import RunSpec
from workloads.settings import all_settings
from workloads.workload import Workload

# Settings that may differ between the computers.
_OWN = frozenset({"device", "cpus", "threads", "power_limit_w", "data", "engine"})
_TEXT_LIMIT = 500


def claim_of(spec: RunSpec, paths: Paths) -> dict[str, str]:
    """Return the values that must be the same on all computers, given the spec for this computer."""
    workload = CATALOGUE[spec.workload]
    facts: dict[str, Any] = {
        "version": app.__version__,
        "workload": spec.workload,
        "workload_version": workload.version,
        "engine": spec.engine,
        "engine_version": _engine_version(spec.engine, paths),
        DATA: _data(workload, spec, paths),
        f"{SETTING}preset": spec.preset,
        f"{SETTING}duration_s": spec.duration_s,
    }
    facts |= {f"{SETTING}{each.name}": each.of(spec) for each in all_settings() if each.name not in _OWN}
    facts |= {f"{PARAMETER}{name}": workload.value_of(spec, name) for name in sorted(spec.parameters)}
    return {name: "-" if value is None else str(value)[:_TEXT_LIMIT] for name, value in facts.items()}


def joint_spec(spec: RunSpec, count: int) -> RunSpec:
    """Return the spec for a run on several computers, given the spec for each of them."""
    settings = spec.settings | {"machines": count, "devices": count * spec.device_count}
    return msgspec.structs.replace(spec, settings=settings)


def _engine_version(engine: str, paths: Paths) -> str | None:
    if engine in installable():
        stamp = engine_folder(paths, engine).look().stamp
        return stamp.version if stamp is not None else None
    package = ENGINES[engine].included_as
    try:
        return version(package) if package is not None else None
    except PackageNotFoundError:
        return None


def _data(workload: Workload, spec: RunSpec, paths: Paths) -> str:
    if workload.dataset is None:
        return "generated"
    is_there = spec.data != "synthetic" and DATASETS[workload.dataset].is_installed(
        paths.datasets / workload.dataset
    )
    return "real" if is_there else "synthetic"
