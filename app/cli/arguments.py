"""The command line's parser."""

import argparse
from functools import partial
from pathlib import Path

import app
from app.cli import ab, completion, data, doctor, engine, imports, machine, results, run, study, suite  # noqa: F401
from app.cli.grammar import (
    COMMANDS,
    PRESET_NAMES,
    WORKLOAD,
    Verbs,
    add_commands,
    add_run_options,
    add_setting,
    add_verb,
    add_watching,
    option,
)
from app.cli.parser import USUAL_VERBS, Parser
from app.cli.values import fraction, whole
from app.core.messages import sentence
from app.core.messages.started_as import started_as
from app.core.plans.study.presets import PRESETS
from app.core.plans.suite.definition import NEWEST
from workloads.settings import all_settings, settings_by_key

PAIRS = 6


def make_parser() -> argparse.ArgumentParser:
    """Return the parser. The `verb` attribute of its result is the function to call."""
    parser = Parser(prog=started_as(), description=sentence("help.app"), epilog=sentence("examples.app"))
    parser.add_argument("--self-test", action="store_true", help=sentence("help.self_test"))
    parser.add_argument("--version", action="version", version=f"Epochmark {app.__version__}")
    parser.set_defaults(folders=True, color="auto")
    verbs = parser.add_subparsers(metavar="VERB", required=True, prog=parser.prog)
    others = {"ab": _add_ab, "study": _add_study, "suite": _add_suite}
    further = sorted({name.split()[0] for name in COMMANDS} | others.keys())
    for verb in dict.fromkeys((*USUAL_VERBS, *further)):
        others.get(verb, partial(add_commands, verb=verb))(verbs)
    more = sentence("help.more_verbs", verbs=list(verbs.choices)[len(USUAL_VERBS) :])
    parser.epilog = f"{more}\n\n{parser.epilog}"
    return parser


def _add_ab(verbs: Verbs) -> None:
    parser = add_verb(verbs, "ab", "ab", ab.ab, WORKLOAD)
    parser.description = f"{parser.description} {sentence('help.ab_keys', keys=list(settings_by_key()))}"
    add_run_options(parser)
    for side in ("a", "b"):
        help_text = sentence(f"help.ab_{side}")
        parser.add_argument(f"--{side}", default="", metavar="KEY=VALUE,…", help=help_text)
        parser.add_argument(f"--label-{side}", metavar="TEXT", help=sentence(f"help.ab_label_{side}"))
    help_text = sentence("help.ab_pairs", pairs=PAIRS)
    parser.add_argument("--pairs", type=whole, default=PAIRS, metavar="N", help=help_text)
    parser.add_argument("--by-hand", action="store_true", help=sentence("help.ab_by_hand"))


def _add_study(verbs: Verbs) -> None:
    parent = verbs.add_parser("study", help=sentence("help.study"))
    actions = parent.add_subparsers(metavar="ACTION", required=True, prog=parent.prog)
    options = (
        option("study", "help.study_name", nargs="?", metavar="STUDY"),
        option("--workload", "help.study_workload", action="append", metavar="WORKLOAD"),
        option("--axis", "help.study_axis", action="append", default=[], metavar="NAME=VALUE,…"),
        option("--folder", "help.study_folder", action="append", default=[], type=Path, metavar="FOLDER"),
        option("--rounds", "help.study_rounds", type=whole, metavar="N"),
        option("--price", "help.study_price", type=fraction, metavar="USD"),
        option("--preset", "help.study_preset", choices=PRESET_NAMES),
    )
    parser = add_verb(actions, "run", "study_run", study.run, *options)
    parser.description = f"{parser.description} {sentence('help.studies_are', studies=list(PRESETS))}"
    for setting in all_settings():
        if setting.name in study.SETTINGS:
            add_setting(parser, setting)
    add_watching(parser)
    parsers = study.COMMAND.add_actions(actions)
    parsers["share"].add_argument("--chart", type=whole, metavar="N", help=sentence("help.study_chart"))


def _add_suite(verbs: Verbs) -> None:
    """Add the `suite` command and its actions. Without an action, it runs a suite."""
    options = (
        option("--engine", "help.suite_engine", metavar="NAME"),
        option("--device", "help.suite_device", metavar="auto|cpu|gpu:N"),
        option("--number", "help.suite_number", {"number": NEWEST}, type=whole, metavar="N"),
    )
    parent = add_verb(verbs, "suite", "suite", suite.run, *options)
    add_watching(parent)
    actions = parent.add_subparsers(metavar="ACTION", prog=parent.prog)
    suite.COMMAND.add_actions(actions, argparse.SUPPRESS)  # otherwise `suite --json resume 1` would ignore --json
