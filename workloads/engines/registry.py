"""The registry of engines, with each engine's module and packages folder."""

import importlib
import importlib.util
from dataclasses import dataclass

from workloads.engines.engine import Engine
from workloads.protocol.errors import WorkloadError
from workloads.protocol.messages import message


@dataclass(frozen=True, slots=True)
class EngineEntry:
    """A registered engine.

    Attributes:
        module: Module that defines ENGINE. Importing it doesn't import the engine.
        packages_folder: Name of the engine's folder inside the engines folder.
        included_as: Package whose presence shows that the engine is included in Epochmark; None if it never is.
    """

    module: str
    packages_folder: str
    included_as: str | None = None


ENGINES: dict[str, EngineEntry] = {
    "tensorflow": EngineEntry("workloads.engines.tensorflow", "tensorflow", included_as="tensorflow"),
    "torch": EngineEntry("workloads.engines.torch", "torch"),
    "jax": EngineEntry("workloads.engines.jax", "jax"),
}
DEFAULT_ENGINE = "tensorflow"
NO_ENGINE = "none"  # engine of the demo workload


def engine_named(name: str) -> Engine:
    """Return the engine with this name.

    Raises:
        KeyError: The engine is unknown.
        WorkloadError: engine_missing, if its module can't be imported.
    """
    try:
        engine: Engine = importlib.import_module(ENGINES[name].module).ENGINE
    except ImportError as error:
        said = message("engine.broken", engine=name, reason=str(error))
        raise WorkloadError("engine_missing", said) from error
    return engine


def is_included(name: str) -> bool:
    package = ENGINES[name].included_as
    return package is not None and importlib.util.find_spec(package) is not None


def engine_title(name: str) -> str:
    """Return an engine's official name, or `name` itself if the engine is unknown or broken."""
    if name == NO_ENGINE:
        return "Demo"
    try:
        return engine_named(name).title
    except (KeyError, WorkloadError):
        return name


def compiler_name(engine: str) -> str:
    """Return the name of an engine's compiler; "XLA", as in older records, if the engine is unknown or broken."""
    try:
        return engine_named(engine).compiler
    except (KeyError, WorkloadError):
        return Engine.compiler


def compiles_always(engine: str) -> bool:
    """Return whether an engine always compiles steps; False if the engine is unknown or broken."""
    try:
        return engine_named(engine).compiles_always
    except (KeyError, WorkloadError):
        return False
