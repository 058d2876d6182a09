"""The interface of export formats."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from app.core.storage.database import Database

FORMAT_VERSION = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanTable:
    """The data of a plan for export.

    Attributes:
        format_version: Version of the columns and keys.
        plain: All data as plain JSON types.
        rows: Key for the list of configurations, tests or runs in `plain`, each of which has a `reason`.
        columns: Names of the columns.
        cells: Rows of plain values, one for each configuration, test or run.
        private: Strings to replace, as returned by `redaction.private_texts`.
    """

    format_version: int
    plain: dict[str, Any]
    rows: str
    columns: Sequence[str]
    cells: Sequence[Sequence[Any]]
    private: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class ExportFormat:
    """A file format for runs and, in some cases, plans.

    Attributes:
        name: Name for the command line.
        title: Message code of the title in the file dialog.
        ending: Suffix of file names, including the dot.
        lines: Function that yields the text of runs piece by piece, with constant memory use. Without ids, all
            runs are included.
        plan_lines: Function that yields the text of a plan piece by piece; None if plans aren't supported.
    """

    name: str
    title: str
    ending: str
    lines: Callable[[Database, Sequence[int]], Iterator[str]]
    plan_lines: Callable[[PlanTable], Iterator[str]] | None = None
