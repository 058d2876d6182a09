"""What `study` and `suite` have in common: commands that resume, show, share and export stored plans."""

import argparse
import json

from app.cli.grammar import JSON, THEME_OPTION, add_watching, command, option
from app.cli.groups import carry_out, check_is_over, say_report
from app.cli.results import put
from app.cli.text import complain, in_line, say, say_json
from app.cli.values import check_range, output, whole
from app.core.errors import AppError, UsageError
from app.core.messages import message, sentence, text
from app.core.paths import Paths
from app.core.plans.experiments import load_report
from app.core.plans.report import Report
from app.core.records import Plan
from app.core.report.export import DEFAULT_FORMAT, PLAN_FORMATS, plan_lines
from app.core.report.formats.result_document import enclosed_file
from app.core.storage.database import Database
from app.core.storage.outcomes import recover_runs

CHARTS_LIMIT = 20
SUITE_OPTIONS = ("engine", "device", "number")  # of `suite` without a further command
_FIRST = DEFAULT_FORMAT.name
_NUMBER = option("id", "help.plan_id", type=whole, metavar="ID")
_CHART = option("--chart", "help.plan_chart", type=whole, default=1, metavar="N")
_PICTURE = option("--output", "help.share_output", type=output, required=True, metavar="FILE.png")
_FORMAT = option("--format", "help.plan_format", {"format": _FIRST}, choices=tuple(PLAN_FORMATS), default=_FIRST)
_FILE = option("--output", "help.results_export_output", type=output, metavar="FILE")


def say_refusals(plan: Plan) -> None:
    """Print which configurations or tests can't be run, with reasons."""
    definition = plan.study or plan.suite
    for refusal in definition.refused if definition is not None else ():
        reason = refusal.reason if isinstance(refusal.reason, str) else text(refusal.reason)
        complain(sentence("cli.note", note=in_line(reason)))


def resume(options: argparse.Namespace, paths: Paths) -> int:
    report = _opened(options, paths)
    check_is_over(report.group)
    if report.is_finished:
        raise UsageError(message("cli.plan_finished", group_id=options.id))
    return carry_out(report.group.plan, options, paths, resumed=(report.group, report.left))


def show(options: argparse.Namespace, paths: Paths) -> int:
    report = _opened(options, paths)
    if options.json:
        say_json(json.dumps(report.as_dict(), allow_nan=False))
    else:
        say_report(report)
    return 0


def share(options: argparse.Namespace, paths: Paths) -> int:
    check_range("--chart", options.chart, 1, CHARTS_LIMIT)
    report = _opened(options, paths)
    card = report.card(options.chart - 1)
    with Database(paths.database) as database:
        enclosed = enclosed_file(database, report.shared_ids)
    if options.draw_share is None:
        raise AppError(message("cli.no_pictures_here"), message("cli.use_start_py"))
    options.draw_share(card, options.output, options.theme == "dark", enclosed)
    say(sentence("cli.picture_of_group_saved", number=options.id, path=in_line(str(options.output))))
    return 0


def export(options: argparse.Namespace, paths: Paths) -> int:
    lines = plan_lines(_opened(options, paths).export(), options.format)
    put(lines, options.output, "cli.plan_exported", group_id=options.id)
    return 0


def add_plan_commands(verb: str) -> None:
    """Declare the commands for stored plans, such as "study show"."""
    command(f"{verb} resume", _NUMBER, add_watching)(resume)
    command(f"{verb} show", _NUMBER, JSON)(show)
    command(f"{verb} share", _NUMBER, _CHART, _PICTURE, THEME_OPTION)(share)
    command(f"{verb} export", _NUMBER, _FORMAT, _FILE)(export)


def _opened(options: argparse.Namespace, paths: Paths) -> Report:
    if any(getattr(options, name, None) is not None for name in SUITE_OPTIONS):
        raise UsageError(message("cli.suite_options", options=[f"--{name}" for name in SUITE_OPTIONS]))
    with Database(paths.database) as database:
        recover_runs(database)
        return load_report(database, options.id).with_details(database, paths)
