"""What the commands of plans have in common: resuming, showing, sharing and exporting one that is stored."""

import argparse
import json
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, Generic, Protocol, TypeVar

from app.cli.grammar import THEME, Verbs, add_json, add_verb, add_watching
from app.cli.groups import Conclusion, carry_out, check_is_over
from app.cli.parser import Parser
from app.cli.results import put
from app.cli.text import in_line, say, say_json
from app.cli.values import output, whole
from app.core.errors import AppError, UsageError
from app.core.messages import message, sentence
from app.core.paths import Paths
from app.core.records import Group, PlannedRun
from app.core.report.card import ShareCard
from app.core.report.export import DEFAULT_FORMAT, PLAN_FORMATS, plan_lines
from app.core.report.formats.export_format import PlanTable
from app.core.report.formats.result_document import enclosed_file
from app.core.storage.database import Database
from app.core.storage.outcomes import recover_runs


class Stored(Protocol):
    """What the result of a plan has, whatever its kind."""

    @property
    def group(self) -> Group:
        """Its runs."""

    @property
    def left(self) -> tuple[PlannedRun, ...]:
        """What is still to run."""


Result = TypeVar("Result", bound=Stored)


class PlanCommand(ABC, Generic[Result]):
    """A command of a kind of plan.

    Attributes:
        name: As typed; with an action, the code of its help.
    """

    name: str

    @abstractmethod
    def load(self, database: Database, group_id: int) -> Result:
        """Return a stored plan; raises UsageError if there's none with this number."""

    @abstractmethod
    def as_dict(self, result: Result, paths: Paths) -> dict[str, Any]:
        """Return it as plain JSON types."""

    @abstractmethod
    def say(self, result: Result, paths: Paths) -> None:
        """Print it."""

    @abstractmethod
    def card(self, result: Result, paths: Paths, options: argparse.Namespace) -> ShareCard:
        """Return its picture; raises UsageError if it has no result."""

    @abstractmethod
    def table(self, result: Result, paths: Paths) -> PlanTable:
        """Return what is written of it."""

    def shared_ids(self, result: Result) -> Sequence[int]:
        """Return the runs whose results are inside its picture."""
        return [run.id for run in result.group.runs]

    def check(self, options: argparse.Namespace) -> None:
        """Raise UsageError for options that have no meaning for a stored plan."""

    def conclusion(self, paths: Paths) -> Conclusion:
        """Return what is printed at the end of a plan."""

        def load(group: Group) -> Result:
            with Database(paths.database) as database:
                return self.load(database, group.id)

        return Conclusion(
            show=lambda group: self.say(load(group), paths),
            as_dict=lambda group: self.as_dict(load(group), paths),
        )

    def opened(self, options: argparse.Namespace, paths: Paths) -> Result:
        """Return the stored plan that an action is about."""
        self.check(options)
        with Database(paths.database) as database:
            recover_runs(database)
            return self.load(database, options.id)

    @abstractmethod
    def list(self, options: argparse.Namespace, paths: Paths) -> int:
        """List those that are stored, newest first."""

    def resume(self, options: argparse.Namespace, paths: Paths) -> int:
        """Run what has no result; return 0 done, 1 failed, 130 cancelled."""
        result = self.opened(options, paths)
        check_is_over(result.group)
        left = list(result.left)
        if not left:
            raise UsageError(message(f"cli.{self.name}_finished", group_id=options.id))
        plan, resumed = result.group.plan, (result.group, left)
        return carry_out(plan, options, paths, conclusion=self.conclusion(paths), resumed=resumed)

    def show(self, options: argparse.Namespace, paths: Paths) -> int:
        """Print a stored plan."""
        result = self.opened(options, paths)
        if options.json:
            say_json(json.dumps(self.as_dict(result, paths), allow_nan=False))
        else:
            self.say(result, paths)
        return 0

    def share(self, options: argparse.Namespace, paths: Paths) -> int:
        """Save a picture."""
        result = self.opened(options, paths)
        card = self.card(result, paths, options)
        with Database(paths.database) as database:
            enclosed = enclosed_file(database, self.shared_ids(result))
        if options.draw_share is None:
            raise AppError(message("cli.no_pictures_here"), message("cli.use_start_py"))
        options.draw_share(card, options.output, options.theme == "dark", enclosed)
        path = in_line(str(options.output))
        say(sentence(f"cli.{self.name}_picture_saved", group_id=options.id, path=path))
        return 0

    def export(self, options: argparse.Namespace, paths: Paths) -> int:
        """Write CSV or JSON to a file or to standard output."""
        result = self.opened(options, paths)
        lines = plan_lines(self.table(result, paths), options.format)
        put(lines, options.output, f"cli.{self.name}_exported", group_id=options.id)
        return 0

    def add_actions(self, actions: Verbs, default: bool | str = False) -> dict[str, Parser]:
        """Add the grammar of these actions; return their parsers by name.

        Args:
            actions: Of the command.
            default: Of options that the command itself has, too, see `add_json`.
        """
        parsers = {name: add_verb(actions, name, f"{self.name}_{name}") for name in _ACTIONS}
        for name, parser in parsers.items():
            if name != "list":
                parser.add_argument("id", type=whole, metavar="ID", help=sentence(f"help.{self.name}_id"))
            parser.set_defaults(verb=getattr(self, name))
        add_watching(parsers["resume"], default)
        add_json(parsers["list"], default)
        add_json(parsers["show"], default)
        share, export = parsers["share"], parsers["export"]
        help_text = sentence("help.share_output")
        share.add_argument("--output", type=output, required=True, metavar="FILE.png", help=help_text)
        help_text = sentence("help.share_theme", theme=THEME)
        share.add_argument("--theme", choices=("light", "dark"), default=THEME, help=help_text)
        help_text = sentence("help.study_format", format=DEFAULT_FORMAT.name)
        export.add_argument("--format", choices=tuple(PLAN_FORMATS), default=DEFAULT_FORMAT.name, help=help_text)
        export.add_argument("--output", type=output, metavar="FILE", help=sentence("help.results_output"))
        return parsers


_ACTIONS = ("resume", "list", "show", "share", "export")
