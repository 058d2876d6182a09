"""Building blocks of the command line's parser."""

import argparse
from typing import TypeAlias

from app.cli.parser import Parser
from app.cli.values import whole
from app.core.messages import message, sentence
from app.core.messages import text as text_of
from workloads.settings import AUTO, Setting

THEME = "dark"
# argparse has no public name for this type.
Verbs: TypeAlias = "argparse._SubParsersAction[Parser]"


def add_verb(verbs: Verbs, name: str, code: str) -> "Parser":
    text = sentence(f"help.{code}")
    description = sentence("help.as_description", text=text)
    return verbs.add_parser(name, help=text, description=description, epilog=sentence(f"examples.{code}"))


def add_setting(parser: "argparse._ActionsContainer", setting: Setting) -> None:
    """Add the option for a run setting. The default depends on the workload, the engine or the user's settings."""
    allowed = setting.allowed()
    if allowed:
        parser.add_argument(setting.flag, dest=setting.name, choices=allowed, help=_option_help(setting))
    elif setting.name == "devices":
        shape = "N|all|gpu:0,gpu:1"
        parser.add_argument(setting.flag, dest=setting.name, metavar=shape, help=_option_help(setting))
    elif setting.kind == "int":
        parser.add_argument(setting.flag, dest=setting.name, type=whole, metavar="N", help=_option_help(setting))
    else:
        parser.add_argument(setting.flag, dest=setting.name, metavar="auto|cpu|gpu:N", help=_option_help(setting))


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


def add_json(parser: argparse.ArgumentParser, default: bool | str = False) -> None:
    """Add the option for JSON output. If `default` is argparse.SUPPRESS, the parent parser's value is kept."""
    parser.add_argument("--json", action="store_true", default=default, help=sentence("help.json"))


def add_watching(parser: argparse.ArgumentParser, default: bool | str = False) -> None:
    """Add the options for running a plan. For `default`, see `add_json`."""
    parser.add_argument("--json", action="store_true", default=default, help=sentence("help.json_events"))
    parser.add_argument("--quiet", action="store_true", default=default, help=sentence("help.run_quiet"))
