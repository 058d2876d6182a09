"""The interface of an export format."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from app.core.storage.database import Database

FORMAT_VERSION = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanTable:
    """The export of a plan.

    Attributes:
        format_version: Version of its columns and keys.
        plain: Everything as plain JSON types.
        rows: The key of its configurations or tests in `plain`, each with a `reason`.
        columns: Names of the cells.
        cells: A row of plain values for each configuration or test.
        private: Strings to replace; see `report.private_texts`.
    """

    format_version: int
    plain: dict[str, Any]
    rows: str
    columns: Sequence[str]
    cells: Sequence[Sequence[Any]]
    private: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class ExportFormat:
    """One way to write runs, and optionally plans, to a file.

    Attributes:
        name: Name on the command line.
        title: Message code of its title in the file dialog.
        ending: File name suffix, with the dot.
        lines: Yields the text of runs piece by piece, so that memory use is constant. Without ids, all runs are
            included.
        plan_lines: Yields the text of a plan piece by piece; None if plans aren't supported.
    """

    name: str
    title: str
    ending: str
    lines: Callable[[Database, Sequence[int]], Iterator[str]]
    plan_lines: Callable[[PlanTable], Iterator[str]] | None = None
