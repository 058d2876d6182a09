"""The available engines: one row each, with module and interpreter."""

import importlib
from dataclasses import dataclass

from workloads.engines.engine import Engine
from workloads.protocol.errors import WorkloadError
from workloads.protocol.messages import message


@dataclass(frozen=True, slots=True)
class Entry:
    """One engine.

    Attributes:
        module: Defines ENGINE; importing it doesn't import the engine yet.
        home: Its folder among those of engines, whose Python runs it; None for the app's Python.
    """

    module: str
    home: str | None = None


ENGINES: dict[str, Entry] = {
    "tensorflow": Entry("workloads.engines.tensorflow"),
}
USUAL = "tensorflow"


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
    try:
        return engine_named(name).title
    except (KeyError, WorkloadError):
        return name
