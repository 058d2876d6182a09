"""The `suite` command."""

import argparse
import json

from app.cli.grammar import JSON, add_watching, command, option
from app.cli.groups import carry_out
from app.cli.layout import Column
from app.cli.plan_command import add_plan_commands, say_refusals
from app.cli.text import say, say_json, say_table
from app.cli.values import whole
from app.core.hardware.machine import detect_machine
from app.core.messages import sentence
from app.core.paths import Paths
from app.core.plans.suite.definition import NEWEST, suite_name
from app.core.plans.suite.export import suite_as_dict
from app.core.plans.suite.known import KnownScore, imported_scores
from app.core.plans.suite.planning import AUTO, plan_suite
from app.core.plans.suite.score import SuiteResult, list_suites
from app.core.plans.suite.texts import imported_name, points_text, suite_conditions, suite_headline, verdict_word
from app.core.runs.runner import Runner
from app.core.storage.database import Database
from app.core.storage.outcomes import recover_runs
from app.core.titles import level_title

COLUMNS = (
    Column("group.kind_suite", is_right=True),
    Column("column.title"),
    Column("column.score", is_right=True),
    Column("heading.verdict"),
    Column("provenance.conditions", order=1),
    Column("heading.started", order=2),
)


@command(
    "suite",
    option("--engine", metavar="NAME"),
    option("--device", metavar="auto|cpu|gpu:N"),
    option("--number", arguments={"number": NEWEST}, type=whole, metavar="N"),
    add_watching,
)
def run(options: argparse.Namespace, paths: Paths) -> int:
    runner = Runner(paths, detect_machine(data_folder=paths.datasets))
    number = NEWEST if options.number is None else options.number
    plan = plan_suite(runner, options.engine or AUTO, options.device or AUTO, number)
    say_refusals(plan)
    return carry_out(plan, options, paths)


@command("suite list", JSON)
def show_list(options: argparse.Namespace, paths: Paths) -> int:
    with Database(paths.database) as database:
        recover_runs(database)
        suites, imported = list_suites(database), imported_scores(database)
    if options.json:
        say_json(json.dumps([suite_as_dict(suite) for suite in suites], allow_nan=False))
    elif not suites and not imported:
        say(sentence("cli.no_suites"))
    else:
        say_table(COLUMNS, [*map(_row, suites), *map(_imported_row, imported)])
    return 0


def _row(result: SuiteResult) -> list[str]:
    number, date = str(result.group.id), result.group.created_at[:10]
    headline, verdict = suite_headline(result), verdict_word(result)
    return [number, result.name, headline, verdict, suite_conditions(result), date]


def _imported_row(each: KnownScore) -> list[str]:
    score, verdict = sentence("suite.points", points=points_text(each.score.points)), level_title(each.verdict)
    return ["", suite_name(each.suite), score, verdict, imported_name(each), ""]


add_plan_commands("suite")
