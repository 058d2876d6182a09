"""Building blocks of the command line's parser."""

import argparse
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from app.cli.parser import Parser
from app.cli.values import fraction, whole
from app.core.messages import ENGLISH, message, sentence
from app.core.messages import text as text_of
from app.core.paths import Paths
from workloads import STANDARD
from workloads.protocol.parameters import AUTO, Whole
from workloads.settings import Setting, all_settings

THEME = "dark"
# argparse has no public name for this type.
Verbs: TypeAlias = "argparse._SubParsersAction[Parser]"
Run: TypeAlias = Callable[[argparse.Namespace, Paths], int]
# Adds options to the parser of a command, given as in the codes of its help.
Option: TypeAlias = Callable[[Parser, str], object]
PRESET_NAMES = ("quick", "standard", "sustained")
USUAL = ("device", "engine", "epochs")  # settings whose options aren't listed as for experiments


def option(name: str, code: str = "", arguments: Mapping[str, object] | None = None, **how: Any) -> Option:
    """Return an option or argument. Its help has this code and arguments, or else "help.COMMAND_NAME"."""

    def add(parser: Parser, command: str) -> None:
        own = f"help.{command}_{name.removeprefix('--').replace('-', '_')}"
        parser.add_argument(name, help=sentence(code or own, **(arguments or {})), **how)

    return add


def flag(name: str, code: str = "") -> Option:
    return option(name, code, action="store_true")


# Without a default of its own, which would replace the value given before a further command.
JSON = option("--json", "help.json", action="store_true", default=argparse.SUPPRESS)
THEME_OPTION = option("--theme", "help.share_theme", {"theme": THEME}, choices=("light", "dark"), default=THEME)
WORKLOAD = option(
    "workload", "help.run_workload", {"workload": STANDARD}, nargs="?", default=STANDARD, metavar="WORKLOAD"
)


COMMANDS: dict[str, Callable[[Verbs], Parser]] = {}


def command(name: str, *options: Option, **defaults: object) -> Callable[[Run], Run]:
    """Declare that a function carries out a command, such as "results list".

    The command's help is "help.NAME" and "examples.NAME". `defaults` are what else the parsed options contain.
    """

    def declared(run: Run) -> Run:
        last, code = name.rpartition(" ")[2], name.replace(" ", "_")
        COMMANDS[name] = lambda verbs: add_verb(verbs, last, code, run, *options, **defaults)
        return run

    return declared


def add_commands(verbs: Verbs, verb: str) -> None:
    """Add the command with this name and the commands that begin with it."""
    own, actions = COMMANDS.get(verb), [name for name in COMMANDS if name.startswith(f"{verb} ")]
    parent = own(verbs) if own else verbs.add_parser(verb, help=sentence(f"help.{verb}"))
    if actions:
        below = parent.add_subparsers(metavar="ACTION", required=own is None, prog=parent.prog)
        for name in actions:
            COMMANDS[name](below)


def add_verb(verbs: Verbs, name: str, code: str, verb: Run, *options: Option, **defaults: object) -> Parser:
    """Add a verb, with the function that carries it out, its options, and what else the parsed options contain."""
    text = sentence(f"help.{code}")
    description = sentence("help.as_description", text=text)
    epilog = sentence(f"examples.{code}") if f"examples.{code}" in ENGLISH else None
    parser = verbs.add_parser(name, help=text, description=description, epilog=epilog)
    for add in options:
        add(parser, code)
    parser.set_defaults(verb=verb, **defaults)
    return parser


def add_setting(parser: "argparse._ActionsContainer", setting: Setting) -> None:
    """Add the option for a run setting. The default depends on the workload, the engine or the user's settings."""
    how: dict[str, Any] = {"metavar": setting.kind.metavar}
    if allowed := setting.allowed():
        how = {"choices": allowed}
    elif setting.name == "devices":
        how = {"metavar": "N|all|gpu:0,gpu:1"}
    elif setting.kind.is_number:
        how["type"] = whole if isinstance(setting.kind, Whole) else fraction
    parser.add_argument(setting.flag, dest=setting.name, help=_option_help(setting), **how)


def _option_help(setting: Setting) -> str:
    description = sentence(f"setting_help.{setting.name}").removesuffix(".")
    description = description[:1].lower() + description[1:]
    return sentence("help.setting", description=description, default=_default(setting))


def _default(setting: Setting) -> str:
    if isinstance(setting.default, bool):
        return "on" if setting.default else "off"
    if setting.default is not None:
        return str(setting.default)
    if setting.may_be_auto:
        return AUTO
    if setting.kind.is_number:
        return text_of(setting.kind.zero or message("help.default_of_workload"))
    return sentence("help.default_in_settings")


def add_watching(parser: argparse.ArgumentParser, _: str = "") -> None:
    """Add the options for running a plan."""
    for name, code in (("--json", "help.json_events"), ("--quiet", "help.run_quiet")):
        parser.add_argument(name, action="store_true", default=argparse.SUPPRESS, help=sentence(code))


def add_run_options(parser: argparse.ArgumentParser) -> "argparse._ArgumentGroup":
    """Add the options of a run, and return the group of those for experiments."""
    parser.add_argument("--preset", choices=PRESET_NAMES, help=sentence("help.run_preset"))
    add_watching(parser)
    experiments = parser.add_argument_group(sentence("help.experiments"))
    experiments.add_argument("--duration", type=fraction, metavar="S", help=sentence("help.run_duration"))
    for setting in all_settings():
        if setting.flag:
            add_setting(parser if setting.name in USUAL else experiments, setting)
    set_help = sentence("help.run_set")
    experiments.add_argument(
        "--set", action="append", default=[], metavar="NAME=VALUE", dest="settings", help=set_help
    )
    return experiments
