"""What a plan says as it stands: for its page, its command, its picture, its text and its files."""

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
    """Texts by row and column; the columns between the words at the left and the last one are numbers.

    Attributes:
        headings: One for each column.
        rows: As long as the headings.
        left: How many columns, from the left, are words.
        is_best: Which rows stand out; () for none.
        reasons: Why a row has no result, or none that is valid; "" for no reason.
    """

    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    left: int = 1
    is_best: tuple[bool, ...] = ()
    reasons: tuple[str, ...] = ()


class PlanReport(ABC):
    """A plan, stored or running, and what it says.

    Attributes:
        problem: What was wrong with what the user set for it, such as a table of prices; None for nothing.
    """

    problem: AppError | None = None

    @property
    @abstractmethod
    def group(self) -> Group:
        """Its runs."""

    @property
    @abstractmethod
    def left(self) -> tuple[PlannedRun, ...]:
        """What is still to run."""

    @property
    def is_finished(self) -> bool:
        """Whether nothing is left to run."""
        return not self.left

    @property
    @abstractmethod
    def has_result(self) -> bool:
        """Whether there is something to share."""

    @property
    @abstractmethod
    def heading(self) -> str:
        """Its name and number, above its table."""

    @property
    @abstractmethod
    def entry(self) -> str:
        """Its name among others of its kind."""

    @property
    def shared_ids(self) -> list[int]:
        """The runs whose results are inside its picture."""
        return [run.id for run in self.group.runs]

    def with_details(self, database: Database, paths: Paths) -> "PlanReport":
        """Return the same with what has to be loaded to say all."""
        del database, paths
        return self

    @abstractmethod
    def lines(self, *, with_advice: bool = True) -> list[str]:
        """Return what it says, the most important sentence first.

        Args:
            with_advice: Whether to include what only the user needs to know.
        """

    def notes(self) -> list[str]:
        """Return the same for places that show the headline otherwise."""
        return self.lines()[1:]

    def figures(self) -> tuple[Figure, ...]:
        """Return its charts, the one that answers it first; () before the first result."""
        return ()

    @abstractmethod
    def table(self) -> Table:
        """Return its runs, points or parts."""

    @abstractmethod
    def card(self, chart: int = 0) -> ShareCard:
        """Return the content of its picture; raises UsageError if it has no result.

        Args:
            chart: Which of its charts; the first if there aren't as many.
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
        """Return what is written of it."""

    def current(self, planned: PlannedRun, number: int, count: int) -> str:
        """Return what to say of the current run, the `number`th of `count`."""
        del planned
        return sentence("cli.run_of", number=number, planned=count)
