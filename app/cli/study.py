"""The `study` command."""

import argparse
import json
from pathlib import Path
from typing import Any

import msgspec

from app.cli.grammar import JSON, PRESET_NAMES, add_setting, add_watching, command, option
from app.cli.groups import carry_out
from app.cli.layout import Column
from app.cli.parser import Parser
from app.cli.plan_command import add_plan_commands, say_refusals
from app.cli.text import complain, in_line, say, say_json, say_table
from app.cli.values import check_range, fraction, quoted, whole
from app.core.errors import UsageError
from app.core.hardware.machine import detect_machine
from app.core.messages import message, sentence, text
from app.core.paths import Paths
from app.core.plans.experiments import STUDIES, list_reports
from app.core.plans.report import PlanOptions
from app.core.plans.study.axes import read_axis
from app.core.plans.study.planning import plan_axes, plan_study
from app.core.plans.study.report import StudyReport
from app.core.records import Plan
from app.core.runs.runner import Runner, known_workload
from app.core.settings import load_settings, save_settings
from app.core.storage.database import Database
from app.core.storage.outcomes import recover_runs
from workloads import STANDARD
from workloads.protocol.parameters import AUTO
from workloads.settings import all_settings

PRICE_MOST_USD = 1_000_000
SETTINGS = ("engine", "device", "data", "precision", "epochs", "threads", "seed")


COLUMNS = (
    Column("group.kind_study", is_right=True),
    Column("column.title"),
    Column("studies.axis_workload", order=1),
    Column("column.points", is_right=True),
    Column("heading.started", order=2),
)


def _add_settings(parser: Parser, _: str) -> None:
    parser.description = f"{parser.description} {sentence('help.studies_are', studies=list(STUDIES))}"
    for setting in all_settings():
        if setting.name in SETTINGS:
            add_setting(parser, setting)


@command(
    "study run",
    option("study", nargs="?", metavar="STUDY"),
    option("--workload", action="append", metavar="WORKLOAD"),
    option("--axis", action="append", default=[], metavar="NAME=VALUE,…"),
    option("--folder", action="append", default=[], type=Path, metavar="FOLDER"),
    option("--rounds", type=whole, metavar="N"),
    option("--price", type=fraction, metavar="USD"),
    option("--preset", choices=PRESET_NAMES),
    _add_settings,
    add_watching,
)
def run(options: argparse.Namespace, paths: Paths) -> int:
    machine = detect_machine(data_folder=paths.datasets)
    runner = Runner(paths, machine)
    settings = load_settings(paths.settings)
    choice = {"data": settings.data} | {
        name: value for name in SETTINGS if (value := getattr(options, name)) not in (None, AUTO)
    }
    plan = _own_plan(options, runner, choice) if options.axis else _preset_plan(options, runner, choice)
    say_refusals(plan)
    if options.price is not None:
        check_range("--price", options.price, 0, PRICE_MOST_USD)
        save_settings(paths.settings, msgspec.structs.replace(settings, usd_per_hour=options.price))
    return carry_out(plan, options, paths)


def _preset_plan(options: argparse.Namespace, runner: Runner, choice: dict[str, Any]) -> Plan:
    if options.study is None:
        raise UsageError(message("cli.no_study"), message("cli.studies_are", studies=list(STUDIES)))
    if (study := STUDIES.get(options.study)) is None:
        raise UsageError(message("studies.unknown_preset", preset=quoted(options.study), presets=list(STUDIES)))
    plan_options = PlanOptions(
        workloads=options.workload or (),
        preset=options.preset,
        rounds=options.rounds,
        choice=choice,
        folders=[str(folder.absolute()) for folder in options.folder],
    )
    return plan_study(study, runner, plan_options)


def _own_plan(options: argparse.Namespace, runner: Runner, choice: dict[str, Any]) -> Plan:
    if options.study is not None:
        raise UsageError(message("cli.study_or_axis", study=quoted(options.study)))
    if options.folder:
        raise UsageError(message("cli.folder_and_axis"))
    names = options.workload or [STANDARD]
    workload = known_workload(names[0])
    axes: dict[str, tuple[Any, ...]] = {}
    for typed in options.axis:
        name, values, remarks = read_axis(typed, workload)
        if name in axes:
            raise UsageError(message("cli.axis_twice", axis=quoted(name)))
        for remark in remarks:
            complain(sentence("cli.note", note=in_line(text(remark))))
        axes[name] = values
    if len(names) > 1 and "workload" not in axes:
        axes["workload"] = tuple(known_workload(name).id for name in names)
    spec = workload.default_spec(options.preset or "quick", **choice)
    return plan_axes(spec, axes, runner, options.rounds if options.rounds is not None else 1)


@command("study list", JSON)
def show_list(options: argparse.Namespace, paths: Paths) -> int:
    with Database(paths.database) as database:
        recover_runs(database)
        reports = list_reports(database, ["study"])
    if options.json:
        say_json(json.dumps([report.as_dict() for report in reports], allow_nan=False))
    elif not reports:
        say(sentence("cli.no_studies"))
    else:
        say_table(COLUMNS, [_row(report) for report in reports if isinstance(report, StudyReport)])
    return 0


def _row(report: StudyReport) -> list[str]:
    result, group = report.result, report.group
    points = f"{len(result.done)}/{len(result.points)}"
    return [str(group.id), report.subject, ", ".join(result.workloads), points, group.created_at[:10]]


add_plan_commands("study")
