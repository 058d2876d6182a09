"""Interface of plan reports: the contents of a plan's page, command output, picture and files."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

from app.core.messages import sentence
from app.core.paths import Paths
from app.core.records import Group, PlannedRun
from app.core.report.card import Figure, ShareCard
from app.core.report.formats.export_format import PlanTable
from app.core.storage.database import Database


@dataclass(frozen=True, slots=True)
class Table:
    """Cell texts by row and column. All columns but the first `left` and the last contain numbers."""

    headings: tuple[str, ...]  # heading of each column
    rows: tuple[tuple[str, ...], ...]  # rows with one cell for each heading
    left: int = 1  # number of text columns on the left
    is_best: tuple[bool, ...] = ()  # whether to highlight each row; () for no rows
    reasons: tuple[str, ...] = ()  # reason why each row has no valid result; "" if there is none


class PlanReport(ABC):
    """A report on a stored or running plan."""

    @property
    @abstractmethod
    def group(self) -> Group:
        """The runs of the plan."""

    @property
    @abstractmethod
    def left(self) -> tuple[PlannedRun, ...]:
        """The runs that haven't been completed."""

    @property
    def is_finished(self) -> bool:
        return not self.left

    @property
    @abstractmethod
    def has_result(self) -> bool:
        """Whether there is a result to share."""

    @property
    @abstractmethod
    def heading(self) -> str:
        """The name and number of the plan, as a heading of its table."""

    @property
    @abstractmethod
    def entry(self) -> str:
        """The name of the plan in a list of plans of the same kind."""

    @property
    def shared_ids(self) -> list[int]:
        """The ids of the runs whose results are embedded in the picture."""
        return [run.id for run in self.group.runs]

    def with_details(self, database: Database, paths: Paths) -> "PlanReport":
        del database, paths
        return self

    @abstractmethod
    def lines(self, *, with_advice: bool = True) -> list[str]:
        """Return the sentences of the report, most important first.

        Args:
            with_advice: Whether to include advice for the user.
        """

    def notes(self) -> list[str]:
        """Return the sentences without the headline, for views that show it separately."""
        return self.lines()[1:]

    def figures(self) -> tuple[Figure, ...]:
        """Return the charts, the main one first; () before the first result."""
        return ()

    @abstractmethod
    def table(self) -> Table:
        """Return a table of the runs, configurations or tests."""

    @abstractmethod
    def card(self, chart: int = 0) -> ShareCard:
        """Return the contents of the picture. Raises UsageError if there is no result.

        Args:
            chart: Index of the chart to show. If there are fewer charts, the first one is used.
        """

    @abstractmethod
    def text(self) -> str:
        """Return the report as plain text to post, without names of users, computers or folders.

        Raises:
            UsageError: There is no result.
        """

    @abstractmethod
    def as_dict(self) -> dict[str, Any]:
        """Return the report as plain JSON types."""

    @abstractmethod
    def export(self) -> PlanTable:
        """Return a table for export."""

    def current(self, planned: PlannedRun, number: int, count: int) -> str:
        """Describe the current run, which is number `number` of `count`."""
        del planned
        return sentence("cli.run_of", number=number, planned=count)
