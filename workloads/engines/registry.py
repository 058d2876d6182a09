"""The available engines: one row each, with module and interpreter."""

import importlib
from dataclasses import dataclass

from workloads.engines.engine import Engine


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
    """Return the engine with this name; raises KeyError if there is none."""
    engine: Engine = importlib.import_module(ENGINES[name].module).ENGINE
    return engine


def engine_title(name: str) -> str:
    """Return an engine's name as its makers write it; an unknown one is returned unchanged."""
    return engine_named(name).title if name in ENGINES else name
