"""What an export format is."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from app.core.storage.database import Database

FORMAT_VERSION = 1


@dataclass(frozen=True, slots=True)
class ExportFormat:
    """One way to write runs to a file.

    Attributes:
        name: On the command line.
        title: Its code in the catalogue, for the file dialog.
        ending: Of its files, with the dot.
        lines: Yields the text of runs piece by piece, so that memory stays flat; no ids: all runs.
    """

    name: str
    title: str
    ending: str
    lines: Callable[[Database, Sequence[int]], Iterator[str]]
