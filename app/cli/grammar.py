"""Building blocks of the command line's parser."""

import argparse
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from app.cli.parser import Parser
from app.cli.values import whole
from app.core.messages import ENGLISH, message, sentence
from app.core.messages import text as text_of
from workloads.settings import AUTO, Setting

THEME = "dark"
# argparse has no public name for this type.
Verbs: TypeAlias = "argparse._SubParsersAction[Parser]"


@dataclass(frozen=True, slots=True)
class Option:
    """An option or argument of a verb: its name, its help with arguments, and how argparse treats it."""

    name: str
    code: str
    arguments: Mapping[str, object]
    how: Mapping[str, Any]


def option(name: str, code: str, arguments: Mapping[str, object] | None = None, **how: Any) -> Option:
    return Option(name, code, arguments or {}, how)


def flag(name: str, code: str) -> Option:
    return option(name, code, action="store_true")


JSON = flag("--json", "help.json")
THEME_OPTION = option("--theme", "help.share_theme", {"theme": THEME}, choices=("light", "dark"), default=THEME)


def add_verb(
    verbs: Verbs, name: str, code: str, verb: Callable[..., int], *options: Option, **defaults: object
) -> Parser:
    """Add a verb, with the function that carries it out, its options, and what else the parsed options contain."""
    text = sentence(f"help.{code}")
    description = sentence("help.as_description", text=text)
    epilog = sentence(f"examples.{code}") if f"examples.{code}" in ENGLISH else None
    parser = verbs.add_parser(name, help=text, description=description, epilog=epilog)
    for added in options:
        parser.add_argument(added.name, help=sentence(added.code, **added.arguments), **added.how)
    parser.set_defaults(verb=verb, **defaults)
    return parser


def add_setting(parser: "argparse._ActionsContainer", setting: Setting) -> None:
    """Add the option for a run setting. The default depends on the workload, the engine or the user's settings."""
    how: dict[str, Any] = {"metavar": "auto|cpu|gpu:N"}
    if allowed := setting.allowed():
        how = {"choices": allowed}
    elif setting.name == "devices":
        how = {"metavar": "N|all|gpu:0,gpu:1"}
    elif setting.kind == "int":
        how = {"type": whole, "metavar": "N"}
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
    if setting.kind == "int":
        return text_of(setting.zero or message("help.default_of_workload"))
    return sentence("help.default_in_settings")


def add_watching(parser: argparse.ArgumentParser, default: bool | str = False) -> None:
    """Add the options for running a plan. If `default` is argparse.SUPPRESS, the parent parser's value is kept."""
    parser.add_argument("--json", action="store_true", default=default, help=sentence("help.json_events"))
    parser.add_argument("--quiet", action="store_true", default=default, help=sentence("help.run_quiet"))
