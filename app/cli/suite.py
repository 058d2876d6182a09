"""The command `suite`: run, resume, list, show and export suites."""

import argparse
import json
from collections.abc import Iterator
from contextlib import contextmanager

from app.cli.groups import Conclusion, carry_out, check_is_over
from app.cli.layout import Column
from app.cli.plan_lines import plan_columns
from app.cli.results import put
from app.cli.text import complain, in_line, say, say_json, say_table
from app.core.errors import AppError, UsageError
from app.core.hardware.machine import detect_machine
from app.core.messages import message, sentence, text
from app.core.paths import Paths
from app.core.plans.suite.definition import NEWEST, suite_name
from app.core.plans.suite.export import suite_as_dict, suite_export
from app.core.plans.suite.imported import ImportedScore, imported_scores
from app.core.plans.suite.planning import AUTO, plan_suite
from app.core.plans.suite.score import SuiteResult
from app.core.plans.suite.share import suite_card
from app.core.plans.suite.stored import list_suites, load_suite
from app.core.plans.suite.texts import (
    imported_name,
    points_text,
    suite_conditions,
    suite_headline,
    suite_lines,
    suite_table,
    verdict_title,
    verdict_word,
)
from app.core.records import Group
from app.core.report.formats.result_document import enclosed_file
from app.core.runs.runner import Runner
from app.core.storage.database import Database
from app.core.storage.outcomes import recover_runs

RUN_OPTIONS = ("engine", "device", "number")


def run(options: argparse.Namespace, paths: Paths) -> int:
    """Run a suite; return 0 done, 1 failed, 130 cancelled."""
    runner = Runner(paths, detect_machine(data_folder=paths.datasets))
    number = NEWEST if options.number is None else options.number
    plan = plan_suite(runner, options.engine or AUTO, options.device or AUTO, number)
    for refusal in plan.suite.refused if plan.suite else ():
        reason = refusal.reason if isinstance(refusal.reason, str) else text(refusal.reason)
        complain(sentence("cli.note", note=in_line(reason)))
    return carry_out(plan, options, paths, conclusion=_conclusion(paths))


def resume(options: argparse.Namespace, paths: Paths) -> int:
    """Run the parts of a suite that have no result; return 0 done, 1 failed, 130 cancelled."""
    with _open(options, paths) as database:
        result = load_suite(database, options.id)
    check_is_over(result.group)
    if not result.left:
        raise UsageError(message("cli.suite_finished", group_id=options.id))
    resumed = (result.group, list(result.left))
    return carry_out(result.group.plan, options, paths, conclusion=_conclusion(paths), resumed=resumed)


def list_(options: argparse.Namespace, paths: Paths) -> int:
    """List the stored suites, newest first."""
    with _open(options, paths) as database:
        suites = list_suites(database)
        imported = imported_scores(database)
    if options.json:
        say_json(json.dumps([suite_as_dict(each) for each in suites], allow_nan=False))
        return 0
    if not suites and not imported:
        say(sentence("cli.no_suites"))
        return 0
    columns = (
        Column("column.suite", is_right=True),
        Column("column.title"),
        Column("column.score", is_right=True),
        Column("column.verdict"),
        Column("column.conditions", order=1),
        Column("column.begun", order=2),
    )
    say_table(columns, [*map(_row, suites), *map(_imported_row, imported)])
    return 0


def _row(result: SuiteResult) -> list[str]:
    headline, verdict = suite_headline(result), verdict_word(result)
    return [
        str(result.group.id),
        result.name,
        headline,
        verdict,
        suite_conditions(result),
        result.group.created_at[:10],
    ]


def _imported_row(each: ImportedScore) -> list[str]:
    score, verdict = sentence("suite.points", points=points_text(each.score.points)), verdict_title(each.verdict)
    return ["", suite_name(each.suite), score, verdict, imported_name(each), ""]


def show(options: argparse.Namespace, paths: Paths) -> int:
    """Print a stored suite."""
    with _open(options, paths) as database:
        result = load_suite(database, options.id)
    if options.json:
        say_json(json.dumps(suite_as_dict(result), allow_nan=False))
    else:
        _say_suite(result)
    return 0


def share(options: argparse.Namespace, paths: Paths) -> int:
    """Save a picture of a suite."""
    with _open(options, paths) as database:
        result = load_suite(database, options.id)
        card = suite_card(result)
        enclosed = enclosed_file(database, [run.id for run in result.runs])
    if options.draw_share is None:
        raise AppError(message("cli.no_pictures_here"), message("cli.use_start_py"))
    options.draw_share(card, options.output, options.theme == "dark", enclosed)
    path = in_line(str(options.output))
    say(sentence("cli.suite_picture_saved", group_id=options.id, path=path))
    return 0


def export(options: argparse.Namespace, paths: Paths) -> int:
    """Write a suite as CSV or JSON to a file or to standard output."""
    with _open(options, paths) as database:
        result = load_suite(database, options.id)
    put(suite_export(result, options.format), options.output, "cli.suite_exported", group_id=options.id)
    return 0


def _conclusion(paths: Paths) -> Conclusion:
    def load(group: Group) -> SuiteResult:
        with Database(paths.database) as database:
            return load_suite(database, group.id)

    return Conclusion(
        show=lambda group: _say_suite(load(group)),
        as_dict=lambda group: suite_as_dict(load(group)),
    )


def _say_suite(result: SuiteResult) -> None:
    table = suite_table(result)
    date = result.group.created_at[:10]
    say("\n" + in_line(sentence("cli.suite_heading", name=result.name, group_id=result.group.id, date=date)))
    say_table(plan_columns(table.headings, 1), table.rows)
    say("\n" + "\n".join(map(in_line, suite_lines(result))))
    if not result.is_finished:
        say("\n" + sentence("cli.suite_resume", group_id=result.group.id))


@contextmanager
def _open(options: argparse.Namespace, paths: Paths) -> Iterator[Database]:
    """Open the results for an action; raises UsageError if it was given what only a new suite takes."""
    if any(getattr(options, name) is not None for name in RUN_OPTIONS):
        raise UsageError(message("cli.suite_options", options=[f"--{name}" for name in RUN_OPTIONS]))
    with Database(paths.database) as database:
        recover_runs(database)
        yield database
