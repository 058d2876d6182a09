"""Interface of a plan's report: text for its page, command, picture and files."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

from app.core.errors import AppError
from app.core.messages import sentence
from app.core.paths import Paths
from app.core.records import Group, PlannedRun
from app.core.report.card import Figure, ShareCard
from app.core.report.formats.export_format import PlanTable
from app.core.storage.database import Database


@dataclass(frozen=True, slots=True)
class Table:
    """Text by row and column. All columns except the text columns at the left and the last one are numbers.

    Attributes:
        headings: One for each column.
        rows: Rows with one cell per heading.
        left: Number of text columns at the left.
        is_best: Whether each row is highlighted; () for none.
        reasons: Why each row has no valid result; "" for no reason.
    """

    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    left: int = 1
    is_best: tuple[bool, ...] = ()
    reasons: tuple[str, ...] = ()


class PlanReport(ABC):
    """A stored or running plan, described as text.

    Attributes:
        problem: Error in the user's settings for it, such as in a table of prices; None without errors.
    """

    problem: AppError | None = None

    @property
    @abstractmethod
    def group(self) -> Group:
        """Its runs."""

    @property
    @abstractmethod
    def left(self) -> tuple[PlannedRun, ...]:
        """The remaining runs."""

    @property
    def is_finished(self) -> bool:
        """Whether no runs remain."""
        return not self.left

    @property
    @abstractmethod
    def has_result(self) -> bool:
        """Whether there is something to share."""

    @property
    @abstractmethod
    def heading(self) -> str:
        """Its name and number, for the heading of its table."""

    @property
    @abstractmethod
    def entry(self) -> str:
        """Its name in a list of the same kind."""

    @property
    def shared_ids(self) -> list[int]:
        """The runs whose results are embedded in its picture."""
        return [run.id for run in self.group.runs]

    def with_details(self, database: Database, paths: Paths) -> "PlanReport":
        """Return a copy that has loaded all data needed for complete text."""
        del database, paths
        return self

    @abstractmethod
    def lines(self, *, with_advice: bool = True) -> list[str]:
        """Return its sentences, most important first.

        Args:
            with_advice: Whether to include advice that is only for the user.
        """

    def notes(self) -> list[str]:
        """Return its sentences without the headline, for views that show it separately."""
        return self.lines()[1:]

    def figures(self) -> tuple[Figure, ...]:
        """Return its charts, the main one first; () before the first result."""
        return ()

    @abstractmethod
    def table(self) -> Table:
        """Return its runs, configurations or tests."""

    @abstractmethod
    def card(self, chart: int = 0) -> ShareCard:
        """Return the content of its picture. Raises UsageError if it has no result.

        Args:
            chart: Index of the chart; the first chart is used if there are fewer.
        """

    @abstractmethod
    def text(self) -> str:
        """Return it as plain text to post, without names of user, computer or folder.

        Raises:
            UsageError: It has no result.
        """

    @abstractmethod
    def as_dict(self) -> dict[str, Any]:
        """Return it as plain JSON types."""

    @abstractmethod
    def export(self) -> PlanTable:
        """Return the table for export."""

    def current(self, planned: PlannedRun, number: int, count: int) -> str:
        """Return the description of the current run, the `number`th of `count`."""
        del planned
        return sentence("cli.run_of", number=number, planned=count)
