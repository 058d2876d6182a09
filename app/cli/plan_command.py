"""Base class of the commands for plans, with actions to resume, show, share and export stored plans."""

import argparse
import json
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import replace

from app.cli.grammar import THEME_OPTION, Verbs, add_verb, add_watching, option
from app.cli.groups import Conclusion, carry_out, check_is_over
from app.cli.layout import Column
from app.cli.parser import Parser
from app.cli.results import put
from app.cli.text import in_line, say, say_json, say_table
from app.cli.values import output, whole
from app.core.errors import AppError, UsageError
from app.core.messages import message, sentence
from app.core.paths import Paths
from app.core.plans.kind import PlanKind
from app.core.plans.report import PlanReport
from app.core.records import Group
from app.core.report.export import DEFAULT_FORMAT, PLAN_FORMATS, plan_lines
from app.core.report.formats.result_document import enclosed_file
from app.core.storage.database import Database
from app.core.storage.outcomes import recover_runs

WORDS_CELLS = 16  # minimum width of text before it is wrapped


class PlanCommand(ABC):
    """A command for one kind of plan."""

    def __init__(self, kind: PlanKind) -> None:
        self.kind = kind  # the kind of plan, whose key is the name of the command and the prefix of its help codes
        self.name = kind.key

    def load(self, database: Database, group_id: int, paths: Paths) -> PlanReport:
        """Load a stored plan. Raises UsageError if it doesn't exist."""
        return self.kind.load(database, group_id).with_details(database, paths)

    def say(self, report: PlanReport) -> None:
        table = report.table()
        say("\n" + in_line(report.heading))
        say_table(_columns(table.headings, table.left), table.rows)
        say("\n" + "\n".join(map(in_line, report.lines())))
        if not report.is_finished:
            say("\n" + sentence(f"cli.{self.name}_resume", group_id=report.group.id))

    def check(self, options: argparse.Namespace) -> None:
        """Raise UsageError if there are options that don't apply to stored plans."""
        del options

    def chart(self, options: argparse.Namespace) -> int:
        """Return the index of the chart to draw, starting at 0."""
        return 0

    def conclusion(self, paths: Paths) -> Conclusion:

        def load(group: Group) -> PlanReport:
            with Database(paths.database) as database:
                return self.load(database, group.id, paths)

        return Conclusion(show=lambda group: self.say(load(group)), as_dict=lambda group: load(group).as_dict())

    def opened(self, options: argparse.Namespace, paths: Paths) -> PlanReport:
        self.check(options)
        with Database(paths.database) as database:
            recover_runs(database)
            return self.load(database, options.id, paths)

    @abstractmethod
    def list(self, options: argparse.Namespace, paths: Paths) -> int:
        """List the stored plans, newest first."""

    def resume(self, options: argparse.Namespace, paths: Paths) -> int:
        result = self.opened(options, paths)
        check_is_over(result.group)
        left = list(result.left)
        if not left:
            raise UsageError(message(f"cli.{self.name}_finished", group_id=options.id))
        plan, resumed = result.group.plan, (result.group, left)
        return carry_out(plan, options, paths, conclusion=self.conclusion(paths), resumed=resumed)

    def show(self, options: argparse.Namespace, paths: Paths) -> int:
        result = self.opened(options, paths)
        if options.json:
            say_json(json.dumps(result.as_dict(), allow_nan=False))
        else:
            self.say(result)
        return 0

    def share(self, options: argparse.Namespace, paths: Paths) -> int:
        result = self.opened(options, paths)
        card = result.card(self.chart(options))
        with Database(paths.database) as database:
            enclosed = enclosed_file(database, result.shared_ids)
        if options.draw_share is None:
            raise AppError(message("cli.no_pictures_here"), message("cli.use_start_py"))
        options.draw_share(card, options.output, options.theme == "dark", enclosed)
        path = in_line(str(options.output))
        say(sentence(f"cli.{self.name}_picture_saved", group_id=options.id, path=path))
        return 0

    def export(self, options: argparse.Namespace, paths: Paths) -> int:
        result = self.opened(options, paths)
        lines = plan_lines(result.export(), options.format)
        put(lines, options.output, f"cli.{self.name}_exported", group_id=options.id)
        return 0

    def add_actions(self, actions: Verbs, default: bool | str = False) -> dict[str, Parser]:
        """Add the parsers of these actions, and return them by name. For `default`, see `add_watching`."""
        number = option("id", f"help.{self.name}_id", type=whole, metavar="ID")
        json_option = option("--json", "help.json", action="store_true", default=default)
        first = DEFAULT_FORMAT.name
        shared = option("--output", "help.share_output", type=output, required=True, metavar="FILE.png")
        exported = (
            option("--format", "help.study_format", {"format": first}, choices=tuple(PLAN_FORMATS), default=first),
            option("--output", "help.results_export_output", type=output, metavar="FILE"),
        )
        options = {
            "resume": (number,),
            "list": (json_option,),
            "show": (number, json_option),
            "share": (number, shared, THEME_OPTION),
            "export": (number, *exported),
        }
        parsers = {
            name: add_verb(actions, name, f"{self.name}_{name}", getattr(self, name), *of_verb)
            for name, of_verb in options.items()
        }
        add_watching(parsers["resume"], default=default)
        return parsers


def _columns(headings: Sequence[str], left: int) -> list[Column]:
    """Return the columns of a plan's table: `left` columns of text, columns of numbers, and a column of remarks.

    If the table doesn't fit, all columns of numbers except the first can be dropped.
    """
    last = len(headings) - 1
    words = Column("", least=WORDS_CELLS)
    others = (Column("", is_right=True, order=last - place) for place in range(left + 1, last))
    columns = (*[words] * left, replace(words, is_right=True), *others, words)
    return [replace(column, title=heading) for column, heading in zip(columns, headings, strict=True)]
