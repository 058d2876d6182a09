"""The interface of export formats."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from app.core.storage.database import Database

FORMAT_VERSION = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanTable:
    """The data of a plan for export."""

    format_version: int  # version of the columns and keys
    plain: dict[str, Any]  # all data as plain JSON types
    rows: str  # key for the list of configurations, tests or runs in `plain`, each of which has a `reason`
    columns: Sequence[str]  # names of the columns
    cells: Sequence[Sequence[Any]]  # rows of plain values, one for each configuration, test or run
    private: Mapping[str, str]  # strings to replace, as returned by `redaction.private_texts`


@dataclass(frozen=True, slots=True)
class ExportFormat:
    """A file format for runs and, in some cases, plans."""

    name: str  # name for the command line
    title: str  # message code of the title in the file dialog
    ending: str  # suffix of file names, including the dot
    # Function that yields the text of runs piece by piece, with constant memory use. Without ids, all runs are
    # included.
    lines: Callable[[Database, Sequence[int]], Iterator[str]]
    # Function that yields the text of a plan piece by piece; None if plans aren't supported.
    plan_lines: Callable[[PlanTable], Iterator[str]] | None = None
