"""The command `completion`: scripts that complete commands, options and their values in a shell.

They are made from the grammar and start nothing while they complete.
"""

import argparse
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from app.cli.shells import SHELLS, Place, Values
from app.cli.text import say_raw
from app.cli.values import output
from app.core.engines.places import installable
from app.core.paths import Paths
from workloads import CATALOGUE
from workloads.datasets import DATASETS

# What an argument may be, by its name, where the grammar has no choices for it.
_VALUES: dict[str, Callable[[], Iterable[str]]] = {
    "workload": lambda: CATALOGUE,
    "workloads": lambda: CATALOGUE,
    "dataset": lambda: DATASETS,
    "engine": installable,
}


def completion(options: argparse.Namespace, paths: Paths) -> int:
    """Print the script for a shell."""
    say_raw(SHELLS[options.shell](list(places(options.parser))))
    return 0


def places(parser: argparse.ArgumentParser, path: str = "") -> Iterator[Place]:
    """Yield a command and all below it."""
    verbs: dict[str, str] = {}
    below: dict[str, argparse.ArgumentParser] = {}
    values = Values()
    options: dict[str, tuple[str, Values | None]] = {}
    for action in parser._actions:  # argparse has no public name for them
        if isinstance(action, argparse._SubParsersAction):
            verbs = {each.dest: each.help or "" for each in action._choices_actions}
            below = dict(action.choices)
        elif action.option_strings:
            given = None if action.nargs == 0 else _values(action)
            options |= dict.fromkeys(action.option_strings, (action.help or "", given))
        else:
            more = _values(action)
            values = Values(values.words + more.words, values.are_files or more.are_files)
    yield Place(path, verbs, values, options)
    for name, each in below.items():
        yield from places(each, f"{path} {name}".strip())


def _values(action: argparse.Action) -> Values:
    if action.choices is not None:
        return Values(tuple(map(str, action.choices)))
    if action.type in {Path, output} or action.metavar == "FILE":
        return Values(are_files=True)
    return Values(tuple(_VALUES[action.dest]())) if action.dest in _VALUES else Values()
