"""The command `study`."""

import argparse
import json
from typing import Any

from app.cli.groups import carry_out
from app.cli.layout import Column
from app.cli.plan_command import PlanCommand
from app.cli.plan_lines import plan_columns
from app.cli.text import complain, in_line, say, say_json, say_table
from app.cli.values import quoted
from app.core.errors import UsageError
from app.core.hardware.machine import detect_machine
from app.core.messages import message, sentence, text
from app.core.paths import Paths
from app.core.plans.study.axes import read_axis
from app.core.plans.study.costs import Costs, load_costs
from app.core.plans.study.details import Details, load_details
from app.core.plans.study.planning import plan_axes, plan_preset
from app.core.plans.study.points import StudyResult, list_studies, load_study
from app.core.plans.study.presets import PRESETS
from app.core.plans.study.share import study_card, study_lines_to_read
from app.core.plans.study.tables import study_as_dict, study_export, study_table
from app.core.records import Plan
from app.core.report.card import ShareCard
from app.core.report.formats.export_format import PlanTable
from app.core.runs.runner import Runner, known_workload
from app.core.settings import load_settings
from app.core.storage.database import Database
from app.core.storage.outcomes import recover_runs
from workloads import STANDARD
from workloads.settings import AUTO

SETTINGS = ("engine", "device", "data", "precision", "epochs", "threads", "seed")


def run(options: argparse.Namespace, paths: Paths) -> int:
    """Run a study; return 0 done, 1 failed, 130 cancelled."""
    machine = detect_machine(data_folder=paths.datasets)
    runner = Runner(paths, machine)
    choice = {"data": load_settings(paths.settings).data} | {
        name: value for name in SETTINGS if (value := getattr(options, name)) not in (None, AUTO)
    }
    plan = _own_plan(options, runner, choice) if options.axis else _preset_plan(options, runner, choice)
    for refusal in plan.study.refused if plan.study else ():
        reason = refusal.reason if isinstance(refusal.reason, str) else text(refusal.reason)
        complain(sentence("cli.note", note=in_line(reason)))
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


class StudyCommand(PlanCommand[StudyResult]):
    """The actions on stored studies."""

    name = "study"

    def load(self, database: Database, group_id: int) -> StudyResult:
        """Return a stored study; raises UsageError if there's none with this number."""
        return load_study(database, group_id)

    def as_dict(self, result: StudyResult, paths: Paths) -> dict[str, Any]:
        """Return a study as plain JSON types."""
        return study_as_dict(result, _details(result, paths), _costs(result, paths))

    def say(self, result: StudyResult, paths: Paths) -> None:
        """Print a study's table and what it found."""
        table, details = study_table(result), _details(result, paths)
        title = sentence("cli.study_heading", group_id=result.group.id, title=result.title)
        say("\n" + in_line(title))
        say_table(plan_columns(table.headings, table.left), table.rows)
        lines = study_lines_to_read(result, details, _costs(result, paths))
        say("\n" + "\n".join(map(in_line, lines)))
        if not result.is_finished:
            say("\n" + sentence("cli.study_resume", group_id=result.group.id))

    def card(self, result: StudyResult, paths: Paths, options: argparse.Namespace) -> ShareCard:
        """Return the picture of one of its charts."""
        if options.chart is not None and options.chart < 1:
            limits = {"option": "--chart", "least": 1, "most": 20, "given": options.chart}
            raise UsageError(message("cli.number_out_of_range", **limits))
        chart = (options.chart or 1) - 1
        return study_card(result, _details(result, paths), _costs(result, paths), chart)

    def table(self, result: StudyResult, paths: Paths) -> PlanTable:
        """Return what is written of it."""
        return study_export(result, _details(result, paths), _costs(result, paths))

    def list(self, options: argparse.Namespace, paths: Paths) -> int:
        """List the stored studies, newest first."""
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
            Column("column.study", is_right=True),
            Column("column.title"),
            Column("column.workload", order=1),
            Column("column.points", is_right=True),
            Column("column.begun", order=2),
        )
        say_table(columns, list(map(_row, studies)))
        return 0


def _row(result: StudyResult) -> list[str]:
    points = f"{len(result.done)}/{len(result.points)}"
    return [
        str(result.group.id),
        result.title,
        ", ".join(result.workloads),
        points,
        result.group.created_at[:10],
    ]


def _details(result: StudyResult, paths: Paths) -> Details:
    with Database(paths.database) as database:
        return load_details(database, result)


def _costs(result: StudyResult, paths: Paths) -> Costs | None:
    """Return the prices for a study of costs; None for others."""
    if result.study.preset != "cost":
        return None
    costs, problem = load_costs(paths)
    if problem is not None:
        complain(sentence("cli.note", note=in_line(str(problem))))
    return costs


COMMAND = StudyCommand()
