"""Parsers for the commands `study` and `suite`, which run plans of several runs."""

import argparse
from pathlib import Path

from app.cli import study, suite
from app.cli.grammar import Verbs, add_setting, add_verb, add_watching
from app.cli.values import fraction, whole
from app.core.messages import sentence
from app.core.plans.study.presets import PRESETS
from app.core.plans.suite.definition import NEWEST
from workloads.settings import all_settings


def add_study(verbs: Verbs) -> None:
    """Add the `study` command and its actions."""
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
    help_text = sentence("help.study_price")
    parser.add_argument("--price", type=fraction, metavar="USD", help=help_text)
    presets = ("quick", "standard", "sustained")
    parser.add_argument("--preset", choices=presets, help=sentence("help.study_preset"))
    for setting in all_settings():
        if setting.name in study.SETTINGS:
            add_setting(parser, setting)
    add_watching(parser)
    parser.set_defaults(verb=study.run)
    parsers = study.COMMAND.add_actions(actions)
    parsers["share"].add_argument("--chart", type=whole, metavar="N", help=sentence("help.study_chart"))


def add_suite(verbs: Verbs) -> None:
    """Add the `suite` command and its actions. Without an action, it runs a suite."""
    parent = add_verb(verbs, "suite", "suite")
    parent.add_argument("--engine", metavar="NAME", help=sentence("help.suite_engine"))
    parent.add_argument("--device", metavar="auto|cpu|gpu:N", help=sentence("help.suite_device"))
    help_text = sentence("help.suite_number", number=NEWEST)
    parent.add_argument("--number", type=whole, metavar="N", help=help_text)
    add_watching(parent)
    parent.set_defaults(verb=suite.run)
    actions = parent.add_subparsers(metavar="ACTION", prog=parent.prog)
    suite.COMMAND.add_actions(actions, argparse.SUPPRESS)  # otherwise `suite --json resume 1` would ignore --json
