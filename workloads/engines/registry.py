"""The engines that Epochmark knows: one row each, with module and folder."""

import importlib
from dataclasses import dataclass

from workloads.engines.engine import Engine
from workloads.protocol.errors import WorkloadError
from workloads.protocol.messages import message


@dataclass(frozen=True, slots=True)
class EngineEntry:
    """One engine.

    Attributes:
        module: Defines ENGINE; importing it doesn't import the engine yet.
        packages_folder: Of its packages, among those of engines; None for an engine that comes with the app.
    """

    module: str
    packages_folder: str | None = None


ENGINES: dict[str, EngineEntry] = {
    "tensorflow": EngineEntry("workloads.engines.tensorflow"),
    "torch": EngineEntry("workloads.engines.torch", packages_folder="torch"),
    "jax": EngineEntry("workloads.engines.jax", packages_folder="jax"),
}
DEFAULT_ENGINE = "tensorflow"
NO_ENGINE = "none"  # of the demo


def engine_named(name: str) -> Engine:
    """Return the engine with this name.

    Raises:
        KeyError: There is none.
        WorkloadError: engine_missing; its module can't be imported.
    """
    try:
        engine: Engine = importlib.import_module(ENGINES[name].module).ENGINE
    except ImportError as error:
        said = message("engine.broken", engine=name, reason=str(error))
        raise WorkloadError("engine_missing", said) from error
    return engine


def engine_title(name: str) -> str:
    """Return an engine's name as its makers write it; an unknown or broken one is returned unchanged."""
    if name == NO_ENGINE:
        return "Demo"
    try:
        return engine_named(name).title
    except (KeyError, WorkloadError):
        return name


def compiler_name(engine: str) -> str:
    """Return what an engine compiles its steps with; XLA, which older records mean, if it is unknown or broken."""
    try:
        return engine_named(engine).compiler
    except (KeyError, WorkloadError):
        return Engine.compiler


def compiles_always(engine: str) -> bool:
    """Return whether an engine has no steps that aren't compiled; no for an unknown or broken one."""
    try:
        return engine_named(engine).compiles_always
    except (KeyError, WorkloadError):
        return False
