"""The interface of an export format."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from app.core.storage.database import Database

FORMAT_VERSION = 1


@dataclass(frozen=True, slots=True)
class ExportFormat:
    """One way to write runs to a file.

    Attributes:
        name: Name on the command line.
        title: Message code of its title in the file dialog.
        ending: File ending, with the dot.
        lines: Yields the text of runs piece by piece, so that memory stays flat; no ids means all runs.
    """

    name: str
    title: str
    ending: str
    lines: Callable[[Database, Sequence[int]], Iterator[str]]
