"""The `study` command."""

import argparse
import json
from typing import Any

import msgspec

from app.cli.groups import carry_out
from app.cli.layout import Column
from app.cli.plan_command import PlanCommand
from app.cli.text import complain, in_line, say, say_json, say_table
from app.cli.values import check_range, quoted
from app.core.errors import UsageError
from app.core.hardware.machine import detect_machine
from app.core.messages import message, sentence, text
from app.core.paths import Paths
from app.core.plans.study.axes import read_axis
from app.core.plans.study.kind import StudyPlan
from app.core.plans.study.planning import plan_axes, plan_preset
from app.core.plans.study.points import StudyResult, list_studies
from app.core.plans.study.presets import PRESETS
from app.core.plans.study.tables import study_as_dict
from app.core.records import Plan
from app.core.runs.runner import Runner, known_workload
from app.core.settings import load_settings, save_settings
from app.core.storage.database import Database
from app.core.storage.outcomes import recover_runs
from workloads import STANDARD
from workloads.protocol.parameters import AUTO

PRICE_MOST_USD = 1_000_000
SETTINGS = ("engine", "device", "data", "precision", "epochs", "threads", "seed")


def run(options: argparse.Namespace, paths: Paths) -> int:
    machine = detect_machine(data_folder=paths.datasets)
    runner = Runner(paths, machine)
    settings = load_settings(paths.settings)
    choice = {"data": settings.data} | {
        name: value for name in SETTINGS if (value := getattr(options, name)) not in (None, AUTO)
    }
    plan = _own_plan(options, runner, choice) if options.axis else _preset_plan(options, runner, choice)
    for refusal in plan.study.refused if plan.study else ():
        reason = refusal.reason if isinstance(refusal.reason, str) else text(refusal.reason)
        complain(sentence("cli.note", note=in_line(reason)))
    if options.price is not None:
        check_range("--price", options.price, 0, PRICE_MOST_USD)
        save_settings(paths.settings, msgspec.structs.replace(settings, usd_per_hour=options.price))
    return carry_out(plan, options, paths, conclusion=COMMAND.conclusion(paths))


def _preset_plan(options: argparse.Namespace, runner: Runner, choice: dict[str, Any]) -> Plan:
    if options.study is None:
        raise UsageError(message("cli.no_study"), message("cli.studies_are", studies=list(PRESETS)))
    return plan_preset(
        options.study,
        runner,
        workloads=options.workload or (),
        preset=options.preset,
        rounds=options.rounds,
        choice=choice,
        folders=[str(folder.absolute()) for folder in options.folder],
    )


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


class StudyCommand(PlanCommand):
    """The actions for stored studies."""

    def chart(self, options: argparse.Namespace) -> int:
        if options.chart is not None and options.chart < 1:
            limits = {"option": "--chart", "least": 1, "most": 20, "given": options.chart}
            raise UsageError(message("cli.number_out_of_range", **limits))
        return (options.chart or 1) - 1

    def list(self, options: argparse.Namespace, paths: Paths) -> int:
        with Database(paths.database) as database:
            recover_runs(database)
            studies = list_studies(database)
        if options.json:
            say_json(json.dumps([study_as_dict(each) for each in studies], allow_nan=False))
            return 0
        if not studies:
            say(sentence("cli.no_studies"))
            return 0
        columns = (
            Column("group.kind_study", is_right=True),
            Column("column.title"),
            Column("studies.axis_workload", order=1),
            Column("column.points", is_right=True),
            Column("heading.started", order=2),
        )
        say_table(columns, list(map(_row, studies)))
        return 0


def _row(result: StudyResult) -> list[str]:
    points = f"{len(result.done)}/{len(result.points)}"
    return [str(result.group.id), result.title, ", ".join(result.workloads), points, result.group.created_at[:10]]


COMMAND = StudyCommand(StudyPlan())
