"""The command line's parser."""

import argparse
from pathlib import Path
from typing import get_args

import app
from app.cli import ab, data, doctor, engine, imports, machine, results, run, study, suite
from app.cli.grammar import JSON, THEME_OPTION, Verbs, add_setting, add_verb, add_watching, flag, option
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
PRESET_NAMES = ("quick", "standard", "sustained")
SHELLS = ("bash", "zsh", "fish")
WORKLOAD = option(
    "workload", "help.run_workload", {"workload": STANDARD}, nargs="?", default=STANDARD, metavar="WORKLOAD"
)


def make_parser() -> argparse.ArgumentParser:
    """Return the parser. The `verb` attribute of its result is the function to call."""
    parser = Parser(prog=started_as(), description=sentence("help.app"), epilog=sentence("examples.app"))
    parser.add_argument("--self-test", action="store_true", help=sentence("help.self_test"))
    parser.add_argument("--version", action="version", version=f"Epochmark {app.__version__}")
    parser.set_defaults(folders=True, color="auto")
    verbs = parser.add_subparsers(metavar="VERB", required=True, prog=parser.prog)
    for add_verbs in (_add_run, _add_compare, _add_results, _add_suite, _add_doctor, _add_ab, _add_study):
        add_verbs(verbs)
    for name, verb in (("workloads", machine.workloads), ("hardware", machine.hardware)):
        add_verb(verbs, name, name, verb, JSON, folders=False)  # even without a writable home folder
    for add_verbs in (_add_data, _add_engine, _add_import):
        add_verbs(verbs)
    shell = option("shell", "help.completion_shell", choices=SHELLS)
    add_verb(verbs, "completion", "completion", _complete, shell, folders=False, parser=parser)
    more = sentence("help.more_verbs", verbs=[name for name in verbs.choices if name not in USUAL_VERBS])
    parser.epilog = f"{more}\n\n{parser.epilog}"
    return parser


def _add_run(verbs: Verbs) -> None:
    options = (
        option("--repeat", "help.run_repeat", type=whole, metavar="N"),
        option("--output", "help.run_output", type=output, metavar="FILE"),
    )
    parser = add_verb(verbs, "run", "run", run.run, WORKLOAD, *options)
    _add_run_options(parser).add_argument(
        "--distributed", action="store_true", help=sentence("help.run_distributed")
    )


def _add_ab(verbs: Verbs) -> None:
    parser = add_verb(verbs, "ab", "ab", ab.ab, WORKLOAD)
    parser.description = f"{parser.description} {sentence('help.ab_keys', keys=list(settings_by_key()))}"
    _add_run_options(parser)
    for side in ("a", "b"):
        help_text = sentence(f"help.ab_{side}")
        parser.add_argument(f"--{side}", default="", metavar="KEY=VALUE,…", help=help_text)
        parser.add_argument(f"--label-{side}", metavar="TEXT", help=sentence(f"help.ab_label_{side}"))
    help_text = sentence("help.ab_pairs", pairs=PAIRS)
    parser.add_argument("--pairs", type=whole, default=PAIRS, metavar="N", help=help_text)
    parser.add_argument("--by-hand", action="store_true", help=sentence("help.ab_by_hand"))


def _add_run_options(parser: argparse.ArgumentParser) -> "argparse._ArgumentGroup":
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


def _add_compare(verbs: Verbs) -> None:
    options = (
        option("workload", "help.compare_workload", {"workload": STANDARD}, nargs="?", metavar="WORKLOAD"),
        option("--baseline", "help.compare_baseline", metavar="NAME"),
        flag("--efficiency", "help.compare_efficiency"),
        flag("--several-gpus", "help.compare_several"),
    )
    add_verb(verbs, "compare", "compare", machine.compare, *options, JSON)


def _add_doctor(verbs: Verbs) -> None:
    options = (
        option("--log", "help.doctor_log", metavar="FILE"),
        flag("--report", "help.doctor_report"),
        flag("--verbose", "help.doctor_verbose"),
    )
    add_verb(verbs, "doctor", "doctor", doctor.doctor, *options, JSON, folders=False)


def _add_data(verbs: Verbs) -> None:
    actions = _actions(verbs, "data", "help.data")
    name = option("dataset", "help.data_name", metavar="NAME")
    files = option("files", "help.data_files", metavar="FILE", type=Path, nargs="+")
    add_verb(actions, "list", "data_list", data.show, JSON)
    add_verb(actions, "fetch", "data_fetch", data.fetch, name, option("--url", "help.data_url"))
    add_verb(actions, "import", "data_import", data.import_, name, files)
    add_verb(actions, "remove", "data_remove", data.remove, name)


def _add_engine(verbs: Verbs) -> None:
    actions = _actions(verbs, "engine", "help.engine")
    name = option("engine", "help.engine_name", metavar="NAME")
    sources = (
        option("--variant", "help.engine_variant", metavar="VARIANT"),
        option("--from", "help.engine_from", dest="source", type=Path, metavar="FOLDER"),
    )
    rounds, presets = engine.ROUNDS, ("quick", "standard")
    compared = (
        option("workloads", "help.run_workload", {"workload": STANDARD}, metavar="WORKLOAD", nargs="*"),
        option("--rounds", "help.engine_rounds", {"rounds": rounds}, type=whole, default=rounds, metavar="N"),
        option("--preset", "help.engine_preset", choices=presets, default="quick"),
        option("--device", "help.engine_device", default="auto", metavar="DEVICE"),
        option("--data", "help.engine_data", choices=get_args(DataChoice), default="auto"),
    )
    checked = option("engine", "help.engine_check_name", metavar="NAME", nargs="?")
    add_verb(actions, "list", "engine_list", engine.show, JSON)
    add_verb(actions, "install", "engine_install", engine.install, name, *sources, JSON)
    add_watching(add_verb(actions, "compare", "engine_compare", engine.compare, *compared))
    add_verb(actions, "remove", "engine_remove", engine.remove, name, JSON)
    add_verb(actions, "check", "engine_check", engine.check, checked, JSON)


def _add_study(verbs: Verbs) -> None:
    actions = _actions(verbs, "study", "help.study")
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


def _add_import(verbs: Verbs) -> None:
    options = (
        option("files", "help.import_files", metavar="FILE", type=Path, nargs="*"),
        flag("--list", "help.import_list"),
        option("--show", "help.import_show", type=whole, metavar="ID"),
        option("--remove", "help.import_remove", type=whole, metavar="ID"),
    )
    add_verb(verbs, "import", "import", imports.import_, *options, JSON)


def _add_results(verbs: Verbs) -> None:
    actions = _actions(verbs, "results", "help.results")
    count, first = LISTED_RUNS, DEFAULT_FORMAT.name
    formats = [name for name in TERMINAL_FORMATS if name != csv_table.FORMAT.name]
    number = option("id", "help.run_id", type=whole, metavar="ID")
    listed = (
        option("--limit", "help.results_limit", {"limit": count}, type=whole, default=count, metavar="N"),
        flag("--imported", "help.results_imported"),
    )
    shared = (
        flag("--group", "help.share_group"),
        option("--output", "help.share_picture", type=output, metavar="FILE.png"),
        THEME_OPTION,
        option("--text", "help.share_text", choices=TEXT_FORMS),
        option("--without", "help.share_without", metavar="FIELD,…"),
    )
    exported = (
        option("ids", "help.results_export_ids", type=whole, nargs="*", metavar="ID"),
        option("--format", "help.results_format", {"format": first}, choices=formats, default=first),
        option("--output", "help.results_output", type=output, metavar="FILE"),
        flag("--all", "help.results_all"),
        flag("--bom", "help.results_bom"),
        flag("--decimal-comma", "help.results_comma"),
    )
    group = option("id", "help.group_id", type=whole, metavar="ID")
    deleted = option("ids", "help.run_ids", type=whole, nargs="+", metavar="ID")
    imported = flag("--imported", "help.results_show_imported")
    add_verb(actions, "list", "results_list", results.list_, *listed, JSON)
    add_verb(actions, "show", "results_show", results.show, number, imported, JSON)
    add_verb(actions, "group", "group", results.group, group, JSON)
    add_verb(actions, "share", "share", results.share, number, *shared)
    add_verb(actions, "delete", "results_delete", results.delete, deleted)
    add_verb(actions, "export", "results_export", results.export, *exported)


def _actions(verbs: Verbs, name: str, code: str) -> Verbs:
    parent = verbs.add_parser(name, help=sentence(code))
    return parent.add_subparsers(metavar="ACTION", required=True, prog=parent.prog)


def _complete(options: argparse.Namespace, paths: Paths) -> int:
    from app.cli.completion import completion  # imported late, because it is rarely needed

    return completion(options, paths)
