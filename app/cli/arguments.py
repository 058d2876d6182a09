"""The command line's parser."""

import argparse
from pathlib import Path
from typing import get_args

import app
from app.cli import ab, data, doctor, engine, imports, machine, results, run, study, suite
from app.cli.grammar import THEME, Verbs, add_json, add_setting, add_verb, add_watching
from app.cli.parser import USUAL_VERBS, Parser
from app.cli.values import fraction, output, whole
from app.core.exchange.sharing import TEXT_FORMS
from app.core.messages import sentence
from app.core.messages.started_as import started_as
from app.core.paths import Paths
from app.core.plans.study.presets import PRESETS
from app.core.plans.suite.definition import NEWEST
from app.core.report.export import DEFAULT_FORMAT, TERMINAL_FORMATS
from app.core.report.formats import csv_table
from workloads import STANDARD
from workloads.protocol.spec import DataChoice
from workloads.settings import all_settings, settings_by_key

PAIRS, LISTED_RUNS = 6, 50
USUAL = ("device", "engine", "epochs")  # settings whose options aren't listed as for experiments
SHELLS = ("bash", "zsh", "fish")


def make_parser() -> argparse.ArgumentParser:
    """Return the parser. The `verb` attribute of its result is the function to call."""
    parser = Parser(prog=started_as(), description=sentence("help.app"), epilog=sentence("examples.app"))
    parser.add_argument("--self-test", action="store_true", help=sentence("help.self_test"))
    parser.add_argument("--version", action="version", version=f"Epochmark {app.__version__}")
    parser.set_defaults(folders=True, color="auto")
    verbs = parser.add_subparsers(metavar="VERB", required=True, prog=parser.prog)
    _add_run(verbs)
    _add_compare(verbs)
    _add_results(verbs)
    _add_suite(verbs)
    _add_doctor(verbs)
    _add_ab(verbs)
    _add_study(verbs)
    _add_machine(verbs)
    _add_data(verbs)
    _add_engine(verbs)
    _add_import(verbs)
    _add_completion(verbs, parser)
    more = sentence("help.more_verbs", verbs=[name for name in verbs.choices if name not in USUAL_VERBS])
    parser.epilog = f"{more}\n\n{parser.epilog}"
    return parser


def _add_run(verbs: Verbs) -> None:
    parser = add_verb(verbs, "run", "run")
    help_text = sentence("help.run_workload", workload=STANDARD)
    parser.add_argument("workload", nargs="?", default=STANDARD, metavar="WORKLOAD", help=help_text)
    parser.add_argument("--repeat", type=whole, metavar="N", help=sentence("help.run_repeat"))
    parser.add_argument("--output", type=output, metavar="FILE", help=sentence("help.run_output"))
    experiments = _add_run_options(parser)
    experiments.add_argument("--distributed", action="store_true", help=sentence("help.run_distributed"))
    parser.set_defaults(verb=run.run)


def _add_ab(verbs: Verbs) -> None:
    parser = add_verb(verbs, "ab", "ab")
    parser.description = f"{parser.description} {sentence('help.ab_keys', keys=list(settings_by_key()))}"
    help_text = sentence("help.run_workload", workload=STANDARD)
    parser.add_argument("workload", nargs="?", default=STANDARD, metavar="WORKLOAD", help=help_text)
    _add_run_options(parser)
    for side in ("a", "b"):
        help_text = sentence(f"help.ab_{side}")
        parser.add_argument(f"--{side}", default="", metavar="KEY=VALUE,…", help=help_text)
        parser.add_argument(f"--label-{side}", metavar="TEXT", help=sentence(f"help.ab_label_{side}"))
    help_text = sentence("help.ab_pairs", pairs=PAIRS)
    parser.add_argument("--pairs", type=whole, default=PAIRS, metavar="N", help=help_text)
    parser.add_argument("--by-hand", action="store_true", help=sentence("help.ab_by_hand"))
    parser.set_defaults(verb=ab.ab)


def _add_run_options(parser: argparse.ArgumentParser) -> "argparse._ArgumentGroup":
    """Add the options of a run, and return the group of those for experiments."""
    presets = ("quick", "standard", "sustained")
    parser.add_argument("--preset", choices=presets, help=sentence("help.run_preset"))
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


def _add_machine(verbs: Verbs) -> None:
    for name, verb in (("workloads", machine.workloads), ("hardware", machine.hardware)):
        parser = add_verb(verbs, name, name)
        add_json(parser)
        parser.set_defaults(verb=verb, folders=False)  # these only read, even without a writable home folder


def _add_compare(verbs: Verbs) -> None:
    parser = add_verb(verbs, "compare", "compare")
    help_text = sentence("help.compare_workload", workload=STANDARD)
    parser.add_argument("workload", nargs="?", metavar="WORKLOAD", help=help_text)
    parser.add_argument("--baseline", metavar="NAME", help=sentence("help.compare_baseline"))
    parser.add_argument("--efficiency", action="store_true", help=sentence("help.compare_efficiency"))
    parser.add_argument("--several-gpus", action="store_true", help=sentence("help.compare_several"))
    add_json(parser)
    parser.set_defaults(verb=machine.compare)


def _add_doctor(verbs: Verbs) -> None:
    parser = add_verb(verbs, "doctor", "doctor")
    parser.add_argument("--log", metavar="FILE", help=sentence("help.doctor_log"))
    parser.add_argument("--report", action="store_true", help=sentence("help.doctor_report"))
    parser.add_argument("--verbose", action="store_true", help=sentence("help.doctor_verbose"))
    add_json(parser)
    parser.set_defaults(verb=doctor.doctor, folders=False)


def _add_data(verbs: Verbs) -> None:
    parent = verbs.add_parser("data", help=sentence("help.data"))
    actions = parent.add_subparsers(metavar="ACTION", required=True, prog=parent.prog)
    name = sentence("help.data_name")
    parser = add_verb(actions, "list", "data_list")
    add_json(parser)
    parser.set_defaults(verb=data.show)
    parser = add_verb(actions, "fetch", "data_fetch")
    parser.add_argument("dataset", metavar="NAME", help=name)
    parser.add_argument("--url", help=sentence("help.data_url"))
    parser.set_defaults(verb=data.fetch)
    parser = add_verb(actions, "import", "data_import")
    parser.add_argument("dataset", metavar="NAME", help=name)
    parser.add_argument("files", metavar="FILE", type=Path, nargs="+", help=sentence("help.data_files"))
    parser.set_defaults(verb=data.import_)
    parser = add_verb(actions, "remove", "data_remove")
    parser.add_argument("dataset", metavar="NAME", help=name)
    parser.set_defaults(verb=data.remove)


def _add_engine(verbs: Verbs) -> None:
    parent = verbs.add_parser("engine", help=sentence("help.engine"))
    actions = parent.add_subparsers(metavar="ACTION", required=True, prog=parent.prog)
    name = sentence("help.engine_name")
    parser = add_verb(actions, "list", "engine_list")
    add_json(parser)
    parser.set_defaults(verb=engine.show)
    parser = add_verb(actions, "install", "engine_install")
    parser.add_argument("engine", metavar="NAME", help=name)
    parser.add_argument("--variant", metavar="VARIANT", help=sentence("help.engine_variant"))
    help_text = sentence("help.engine_from")
    parser.add_argument("--from", dest="source", type=Path, metavar="FOLDER", help=help_text)
    add_json(parser)
    parser.set_defaults(verb=engine.install)
    parser = add_verb(actions, "compare", "engine_compare")
    parser.add_argument(
        "workloads", metavar="WORKLOAD", nargs="*", help=sentence("help.run_workload", workload=STANDARD)
    )
    help_text = sentence("help.engine_rounds", rounds=engine.ROUNDS)
    parser.add_argument("--rounds", type=whole, default=engine.ROUNDS, metavar="N", help=help_text)
    help_text = sentence("help.engine_preset")
    parser.add_argument("--preset", choices=("quick", "standard"), default="quick", help=help_text)
    parser.add_argument("--device", default="auto", metavar="DEVICE", help=sentence("help.engine_device"))
    parser.add_argument("--data", choices=get_args(DataChoice), default="auto", help=sentence("help.engine_data"))
    add_watching(parser)
    parser.set_defaults(verb=engine.compare)
    parser = add_verb(actions, "remove", "engine_remove")
    parser.add_argument("engine", metavar="NAME", help=name)
    add_json(parser)
    parser.set_defaults(verb=engine.remove)
    parser = add_verb(actions, "check", "engine_check")
    help_text = sentence("help.engine_check_name")
    parser.add_argument("engine", metavar="NAME", nargs="?", help=help_text)
    add_json(parser)
    parser.set_defaults(verb=engine.check)


def _add_study(verbs: Verbs) -> None:
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


def _add_suite(verbs: Verbs) -> None:
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


def _add_import(verbs: Verbs) -> None:
    parser = add_verb(verbs, "import", "import")
    parser.add_argument("files", metavar="FILE", type=Path, nargs="*", help=sentence("help.import_files"))
    parser.add_argument("--list", action="store_true", help=sentence("help.import_list"))
    parser.add_argument("--show", type=whole, metavar="ID", help=sentence("help.import_show"))
    parser.add_argument("--remove", type=whole, metavar="ID", help=sentence("help.import_remove"))
    add_json(parser)
    parser.set_defaults(verb=imports.import_)


def _add_completion(verbs: Verbs, whole: argparse.ArgumentParser) -> None:
    parser = add_verb(verbs, "completion", "completion")
    parser.add_argument("shell", choices=SHELLS, help=sentence("help.completion_shell"))
    parser.set_defaults(verb=_complete, folders=False, parser=whole)


def _complete(options: argparse.Namespace, paths: Paths) -> int:
    from app.cli.completion import completion  # imported late, because it is rarely needed

    return completion(options, paths)


def _add_results(verbs: Verbs) -> None:
    parent = verbs.add_parser("results", help=sentence("help.results"))
    actions = parent.add_subparsers(metavar="ACTION", required=True, prog=parent.prog)
    number = sentence("help.run_id")
    parser = add_verb(actions, "list", "results_list")
    help_text = sentence("help.results_limit", limit=LISTED_RUNS)
    parser.add_argument("--limit", type=whole, default=LISTED_RUNS, metavar="N", help=help_text)
    parser.add_argument("--imported", action="store_true", help=sentence("help.results_imported"))
    add_json(parser)
    parser.set_defaults(verb=results.list_)
    parser = add_verb(actions, "show", "results_show")
    parser.add_argument("id", type=whole, metavar="ID", help=number)
    parser.add_argument("--imported", action="store_true", help=sentence("help.results_show_imported"))
    add_json(parser)
    parser.set_defaults(verb=results.show)
    parser = add_verb(actions, "group", "group")
    parser.add_argument("id", type=whole, metavar="ID", help=sentence("help.group_id"))
    add_json(parser)
    parser.set_defaults(verb=results.group)
    parser = add_verb(actions, "share", "share")
    parser.add_argument("id", type=whole, metavar="ID", help=number)
    parser.add_argument("--group", action="store_true", help=sentence("help.share_group"))
    help_text = sentence("help.share_picture")
    parser.add_argument("--output", type=output, metavar="FILE.png", help=help_text)
    help_text = sentence("help.share_theme", theme=THEME)
    parser.add_argument("--theme", choices=("light", "dark"), default=THEME, help=help_text)
    parser.add_argument("--text", choices=TEXT_FORMS, help=sentence("help.share_text"))
    parser.add_argument("--without", metavar="FIELD,…", help=sentence("help.share_without"))
    parser.set_defaults(verb=results.share)
    parser = add_verb(actions, "delete", "results_delete")
    parser.add_argument("ids", type=whole, nargs="+", metavar="ID", help=sentence("help.run_ids"))
    parser.set_defaults(verb=results.delete)
    parser = add_verb(actions, "export", "results_export")
    parser.add_argument("ids", type=whole, nargs="*", metavar="ID", help=sentence("help.results_export_ids"))
    help_text = sentence("help.results_format", format=DEFAULT_FORMAT.name)
    formats = [name for name in TERMINAL_FORMATS if name != csv_table.FORMAT.name]
    parser.add_argument("--format", choices=formats, default=DEFAULT_FORMAT.name, help=help_text)
    parser.add_argument("--output", type=output, metavar="FILE", help=sentence("help.results_output"))
    parser.add_argument("--all", action="store_true", help=sentence("help.results_all"))
    parser.add_argument("--bom", action="store_true", help=sentence("help.results_bom"))
    parser.add_argument("--decimal-comma", action="store_true", help=sentence("help.results_comma"))
    parser.set_defaults(verb=results.export)
