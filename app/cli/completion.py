"""The `completion` command: prints scripts that complete commands, options and values in a shell."""

import argparse
import os
import shlex
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from app.cli.grammar import command, option
from app.cli.text import say_raw
from app.cli.values import output
from app.core.engines.locations import installable
from app.core.messages.started_as import NAME, VARIABLE
from app.core.paths import Paths
from workloads import CATALOGUE
from workloads.datasets import DATASETS

# Possible values, by name, of arguments that have no choices in the parser.
_VALUES: dict[str, Callable[[], Iterable[str]]] = {
    "workload": lambda: CATALOGUE,
    "workloads": lambda: CATALOGUE,
    "dataset": lambda: DATASETS,
    "engine": installable,
}


@command("completion", option("shell", choices=("bash", "zsh", "fish")), folders=False)
def completion(options: argparse.Namespace, paths: Paths) -> int:
    import shtab  # rarely needed

    from app.cli.arguments import make_parser  # which imports this module

    parser = make_parser()
    parser.prog = NAME
    for action in _actions(parser):
        if action.type in {Path, output} or action.metavar == "FILE":
            action.complete = shtab.FILE  # type: ignore[attr-defined]
        elif action.choices is None and action.dest in _VALUES:
            action.choices = tuple(_VALUES[action.dest]())
    script = shtab.complete(parser, shell=options.shell)
    say_raw("\n".join((*_command(options.shell), script, "")))
    return 0


def _actions(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    for action in parser._actions:  # argparse has no public attribute for this
        if isinstance(action, argparse._SubParsersAction):
            for each in action.choices.values():
                yield from _actions(each)
        else:
            yield action


def _command(shell: str) -> list[str]:
    """Return a shell function that starts Epochmark from any folder, unless it is an installed command."""
    started = os.environ.get(VARIABLE, "")
    try:
        words = shlex.split(started, posix=os.name == "posix") if started.endswith("start.py") else []
    except ValueError:  # an unclosed quotation mark, so it wasn't set by start.py
        words = []
    if not words:
        return []
    words[-1] = str(Path(words[-1]).resolve())
    if shell == "fish":
        quoted = " ".join("'" + word.replace("\\", "\\\\").replace("'", "\\'") + "'" for word in words)
        return [f"function {NAME}; env {VARIABLE}={NAME} {quoted} $argv; end"]
    return [f'{NAME}() {{ {VARIABLE}={NAME} {shlex.join(words)} "$@"; }}']
