"""The registry of engines."""

import importlib
import importlib.util
from typing import TYPE_CHECKING

from workloads.engines.info import JAX, TENSORFLOW, TORCH, EngineInfo
from workloads.protocol.errors import WorkloadError
from workloads.protocol.messages import message

if TYPE_CHECKING:
    from workloads.engines.engine import Engine

ENGINES: dict[str, EngineInfo] = {info.name: info for info in (TENSORFLOW, TORCH, JAX)}
DEFAULT_ENGINE = "tensorflow"
NO_ENGINE = "none"  # engine of the demo workload


def engine_named(name: str) -> "Engine":
    """Return the engine with this name, for the worker. Raises WorkloadError if its module can't be imported."""
    try:
        engine: Engine = importlib.import_module(f"workloads.engines.{name}").ENGINE
    except ImportError as error:
        said = message("engine.broken", engine=name, reason=str(error))
        raise WorkloadError("engine_missing", said) from error
    return engine


def is_included(name: str) -> bool:
    package = ENGINES[name].included_as
    return package is not None and importlib.util.find_spec(package) is not None


def engine_title(name: str) -> str:
    """Return an engine's official name, or `name` itself if the engine is unknown."""
    if name == NO_ENGINE:
        return "Demo"
    return ENGINES[name].title if name in ENGINES else name


def compiler_name(engine: str) -> str:
    """Return the name of an engine's compiler; "XLA", as in older records, if the engine is unknown."""
    return ENGINES.get(engine, EngineInfo).compiler


def compiles_always(engine: str) -> bool:
    """Return whether an engine always compiles steps; False if the engine is unknown."""
    return ENGINES.get(engine, EngineInfo).compiles_always
