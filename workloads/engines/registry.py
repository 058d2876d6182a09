"""The engines that there are: a row each, with where its code is and which interpreter runs it."""

import importlib
from dataclasses import dataclass

from workloads.engines.engine import Engine


@dataclass(frozen=True, slots=True)
class Entry:
    """One engine.

    Attributes:
        module: Holds it as ENGINE; importing it imports no engine yet.
        home: The folder, among those of engines, whose Python runs it; None for the Python that runs the app.
    """

    module: str
    home: str | None = None


ENGINES: dict[str, Entry] = {
    "tensorflow": Entry("workloads.engines.tensorflow"),
}
USUAL = "tensorflow"


def engine_named(name: str) -> Engine:
    """Return the engine of that name; raises KeyError if there is none."""
    engine: Engine = importlib.import_module(ENGINES[name].module).ENGINE
    return engine


def engine_title(name: str) -> str:
    """Return an engine's name as its makers write it; one that this version does not know stays as it is."""
    return engine_named(name).title if name in ENGINES else name
