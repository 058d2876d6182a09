"""The `completion` command: prints scripts that complete commands, options and values in a shell.

The scripts are generated from the parser, and don't start any program during completion.
"""

import argparse
import os
import shlex
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from app.cli.text import say_raw
from app.cli.values import output
from app.core.engines.locations import installable
from app.core.messages.started_as import NAME, VARIABLE
from app.core.paths import Paths
from workloads import CATALOGUE
from workloads.datasets import DATASETS


@dataclass(frozen=True, slots=True)
class Values:
    """The possible values of an argument: words or files."""

    words: tuple[str, ...] = ()
    are_files: bool = False


@dataclass(frozen=True, slots=True)
class Place:
    """The words that can follow a command.

    Attributes:
        path: The command, such as "data fetch"; "" for the first word.
        verbs: Subcommands and their descriptions.
        values: Possible values of the positional arguments.
        options: Description and possible values of each option, by name. The values are None for flags.
    """

    path: str
    verbs: dict[str, str]
    values: Values
    options: dict[str, tuple[str, Values | None]]


def _program() -> list[str]:
    """Return the command that starts Epochmark from any folder, as words; empty if it is an installed command."""
    started = os.environ.get(VARIABLE, "")
    try:
        words = shlex.split(started, posix=os.name == "posix") if started.endswith("start.py") else []
    except ValueError:  # an unclosed quotation mark, so it wasn't set by start.py
        words = []
    return [*words[:-1], str(Path(words[-1]).resolve())] if words else []


def _descent(all_places: Sequence[Place]) -> str:
    """Return a shell pattern that matches each command followed by one of its subcommands."""
    return "|".join(shlex.quote(f"{place.path} {verb}") for place in all_places for verb in place.verbs)


def _shell_head() -> list[str]:
    """Return a shell function that defines the command in bash and zsh, unless the command is installed."""
    words = shlex.join(_program())
    return [f'{NAME}() {{ {VARIABLE}={NAME} {words} "$@"; }}'] if words else []


def _bash(all_places: Sequence[Place]) -> str:
    lines = [*_shell_head(), f"_{NAME}() {{"]
    lines += [
        "    local at= word cur=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}",
        "    COMPREPLY=()",
        '    for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do',
        f'        case "$at $word" in {_descent(all_places)}) at=${{at:+$at }}$word;; esac',
        "    done",
        # Bash splits --option=value into three words.
        '    [[ $before == "=" ]] && before=${COMP_WORDS[COMP_CWORD-2]}',
        '    [[ $cur == "=" ]] && cur=',
        '    case "$at:$before" in',
    ]
    files = 'compopt -o filenames 2>/dev/null; COMPREPLY=($(compgen -f -- "$cur"))'

    def reply(values: Values, more: Iterable[str] = ()) -> str:
        words = shlex.quote(" ".join((*values.words, *more)))
        return files if values.are_files else f'COMPREPLY=($(compgen -W {words} -- "$cur"))'

    for place in all_places:
        for name, (_, values) in place.options.items():
            if values is not None:
                lines.append(f"        {shlex.quote(f'{place.path}:{name}')}) {reply(values)}; return;;")
    lines += ["    esac", '    case "$at" in']
    for place in all_places:
        names = shlex.quote(" ".join(place.options))
        lines += [
            f"        {shlex.quote(place.path)}) if [[ $cur == -* ]]",
            f'        then COMPREPLY=($(compgen -W {names} -- "$cur"))',
            f"        else {reply(place.values, place.verbs)}; fi;;",
        ]
    return "\n".join([*lines, "    esac", "}", f"complete -F _{NAME} {NAME}", ""])


def _zsh(all_places: Sequence[Place]) -> str:
    lines = [*_shell_head(), f"_{NAME}() {{"]
    lines += [
        "    local at= word before=$words[CURRENT-1]",
        "    local -a names",
        '    for word in "${(@)words[2,CURRENT-1]}"; do',
        f'        case "$at $word" in ({_descent(all_places)}) at=${{at:+$at }}$word;; esac',
        "    done",
        "    if [[ $words[CURRENT] == --*=* ]]; then before=${words[CURRENT]%%=*}; compset -P '*='; fi",
        '    case "$at:$before" in',
    ]

    def reply(values: Values) -> str:
        return "_files" if values.are_files else f"compadd -- {shlex.join(values.words)}"

    def described(texts: dict[str, str]) -> str:
        pairs = [name.replace(":", r"\:") + ":" + " ".join(text.split()) for name, text in texts.items()]
        return f"names=({shlex.join(pairs)}); _describe {NAME} names"

    for place in all_places:
        for name, (_, values) in place.options.items():
            if values is not None:
                lines.append(f"        ({shlex.quote(f'{place.path}:{name}')}) {reply(values)}; return;;")
    lines += ["    esac", '    case "$at" in']
    for place in all_places:
        options = {name: text for name, (text, _) in place.options.items()}
        follows = described(place.verbs) if place.verbs else reply(place.values)
        lines.append(
            f"        ({shlex.quote(place.path)}) if [[ $words[CURRENT] == -* ]]; then {described(options)}"
        )
        lines.append(f"        else {follows}; fi;;")
    lines += ["    esac", "}", "autoload -Uz compinit", "(( $+functions[compdef] )) || compinit"]
    return "\n".join([*lines, f"compdef _{NAME} {NAME}", ""])


def _fish(all_places: Sequence[Place]) -> str:
    program = _program()
    lines = [f"function {NAME}; env {VARIABLE}={NAME} {_in_fish(*program)} $argv; end"] if program else []
    pairs = [_in_fish(f"{place.path} {verb}") for place in all_places for verb in place.verbs]
    lines += [
        f"function __{NAME}_is_at",
        "    set -l at ''",
        "    for word in (commandline -opc)[2..-1]",
        f'        contains -- "$at $word" {" ".join(pairs)}; and set at (string trim -- "$at $word")',
        "    end",
        '    test "$at" = "$argv"',
        "end",
        f"complete -c {NAME} -f",
    ]
    for place in all_places:
        start = f"complete -c {NAME} -n {_in_fish(f'__{NAME}_is_at {place.path}'.strip())}"
        lines += [f"{start} -a {_in_fish(verb)} -d {_in_fish(text)}" for verb, text in place.verbs.items()]
        lines += [f"{start} -F"] if place.values.are_files else []
        lines += [f"{start} -a {_in_fish(' '.join(place.values.words))}"] if place.values.words else []
        for name, (text, values) in place.options.items():
            flag = f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}"
            takes = (
                ""
                if values is None
                else " -r -F"
                if values.are_files
                else f" -x -a {_in_fish(' '.join(values.words))}"
            )
            lines.append(f"{start} {flag}{takes} -d {_in_fish(text)}")
    return "\n".join([*lines, ""])


def _in_fish(*words: str) -> str:
    """Quote words for fish."""
    return " ".join("'" + word.replace("\\", "\\\\").replace("'", "\\'") + "'" for word in words)


SHELLS: dict[str, Callable[[Sequence[Place]], str]] = {"bash": _bash, "zsh": _zsh, "fish": _fish}


# Possible values, by name, of arguments that have no choices in the parser.
_VALUES: dict[str, Callable[[], Iterable[str]]] = {
    "workload": lambda: CATALOGUE,
    "workloads": lambda: CATALOGUE,
    "dataset": lambda: DATASETS,
    "engine": installable,
}


def completion(options: argparse.Namespace, paths: Paths) -> int:
    """Print the completion script for a shell."""
    say_raw(SHELLS[options.shell](list(places(options.parser))))
    return 0


def places(parser: argparse.ArgumentParser, path: str = "") -> Iterator[Place]:
    """Yield the completions for a command and all its subcommands."""
    verbs: dict[str, str] = {}
    below: dict[str, argparse.ArgumentParser] = {}
    values = Values()
    options: dict[str, tuple[str, Values | None]] = {}
    for action in parser._actions:  # argparse has no public attribute for this
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
