"""The grammar of commands that run several runs as one: studies and suites."""

import argparse
from pathlib import Path

from app.cli import prices, study, suite
from app.cli.grammar import THEME, Verbs, add_json, add_setting, add_verb, add_watching
from app.cli.parser import Parser
from app.cli.values import output, whole
from app.core.messages import sentence
from app.core.plans.study.export import FORMATS as STUDY_FORMATS
from app.core.plans.study.presets import PRESETS
from app.core.plans.suite.definition import NEWEST
from app.core.plans.suite.export import FORMATS as SUITE_FORMATS
from workloads.settings import all_settings


def add_study(verbs: Verbs) -> None:
    """Add the command `study` with its actions."""
    parent = verbs.add_parser("study", help=sentence("help.study"))
    actions = parent.add_subparsers(metavar="ACTION", required=True, prog=parent.prog)
    parser = add_verb(actions, "run", "study_run")
    parser.description = f"{parser.description} {sentence('help.studies_are', studies=list(PRESETS))}"
    parser.add_argument("study", nargs="?", metavar="STUDY", help=sentence("help.study_name"))
    help_text = sentence("help.study_workload")
    parser.add_argument("--workload", action="append", metavar="WORKLOAD", help=help_text)
    help_text = sentence("help.study_axis")
    parser.add_argument("--axis", action="append", default=[], metavar="NAME=VALUE,…", help=help_text)
    help_text = sentence("help.study_folder")
    parser.add_argument("--folder", action="append", default=[], type=Path, metavar="FOLDER", help=help_text)
    parser.add_argument("--rounds", type=whole, metavar="N", help=sentence("help.study_rounds"))
    presets = ("quick", "standard", "sustained")
    parser.add_argument("--preset", choices=presets, help=sentence("help.study_preset"))
    for setting in all_settings():
        if setting.name in study.SETTINGS:
            add_setting(parser, setting)
    add_watching(parser)
    parser.set_defaults(verb=study.run)
    _add_prices(actions)
    number = sentence("help.study_id")
    parser = add_verb(actions, "resume", "study_resume")
    parser.add_argument("id", type=whole, metavar="ID", help=number)
    add_watching(parser)
    parser.set_defaults(verb=study.resume)
    parser = add_verb(actions, "list", "study_list")
    add_json(parser)
    parser.set_defaults(verb=study.list_)
    parser = add_verb(actions, "show", "study_show")
    parser.add_argument("id", type=whole, metavar="ID", help=number)
    add_json(parser)
    parser.set_defaults(verb=study.show)
    parser = add_verb(actions, "share", "study_share")
    parser.add_argument("id", type=whole, metavar="ID", help=number)
    parser.add_argument("--chart", type=whole, metavar="N", help=sentence("help.study_chart"))
    help_text = sentence("help.share_output")
    parser.add_argument("--output", type=output, required=True, metavar="FILE.png", help=help_text)
    help_text = sentence("help.share_theme", theme=THEME)
    parser.add_argument("--theme", choices=("light", "dark"), default=THEME, help=help_text)
    parser.set_defaults(verb=study.share)
    parser = add_verb(actions, "export", "study_export")
    parser.add_argument("id", type=whole, metavar="ID", help=number)
    help_text = sentence("help.study_format", format=STUDY_FORMATS[0])
    parser.add_argument("--format", choices=STUDY_FORMATS, default=STUDY_FORMATS[0], help=help_text)
    parser.add_argument("--output", type=output, metavar="FILE", help=sentence("help.results_output"))
    parser.set_defaults(verb=study.export)


def _add_prices(actions: Verbs) -> None:
    parser = add_verb(actions, "prices", "study_prices")
    parser.add_argument("--device", metavar="NAME", help=sentence("help.prices_device"))
    for each in prices.AMOUNTS:
        help_text = sentence(f"help.prices_{each.option}")
        parser.add_argument(f"--{each.option}", type=prices.amount, metavar="N", help=help_text)
    add_json(parser)
    parser.set_defaults(verb=prices.prices)


def add_suite(verbs: Verbs) -> None:
    """Add the command `suite`, which runs one without a further word."""
    parent = add_verb(verbs, "suite", "suite")
    parent.add_argument("--engine", metavar="NAME", help=sentence("help.suite_engine"))
    parent.add_argument("--device", metavar="auto|cpu|gpu:N", help=sentence("help.suite_device"))
    help_text = sentence("help.suite_number", number=NEWEST)
    parent.add_argument("--number", type=whole, metavar="N", help=help_text)
    add_watching(parent)
    parent.set_defaults(verb=suite.run)
    actions = parent.add_subparsers(metavar="ACTION", prog=parent.prog)
    number = sentence("help.suite_id")
    parser = _add_numbered(actions, "resume", number)
    add_watching(parser, default=argparse.SUPPRESS)  # or `suite --json resume 1` would forget it
    parser.set_defaults(verb=suite.resume)
    parser = add_verb(actions, "list", "suite_list")
    add_json(parser, default=argparse.SUPPRESS)
    parser.set_defaults(verb=suite.list_)
    parser = _add_numbered(actions, "show", number)
    add_json(parser, default=argparse.SUPPRESS)
    parser.set_defaults(verb=suite.show)
    parser = _add_numbered(actions, "share", number)
    help_text = sentence("help.share_output")
    parser.add_argument("--output", type=output, required=True, metavar="FILE.png", help=help_text)
    help_text = sentence("help.share_theme", theme=THEME)
    parser.add_argument("--theme", choices=("light", "dark"), default=THEME, help=help_text)
    parser.set_defaults(verb=suite.share)
    parser = _add_numbered(actions, "export", number)
    help_text = sentence("help.study_format", format=SUITE_FORMATS[0])
    parser.add_argument("--format", choices=SUITE_FORMATS, default=SUITE_FORMATS[0], help=help_text)
    parser.add_argument("--output", type=output, metavar="FILE", help=sentence("help.results_output"))
    parser.set_defaults(verb=suite.export)


def _add_numbered(actions: Verbs, name: str, number: str) -> Parser:
    """Add an action on a stored suite."""
    parser = add_verb(actions, name, f"suite_{name}")
    parser.add_argument("id", type=whole, metavar="ID", help=number)
    return parser
