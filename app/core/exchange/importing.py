"""Imports files and folders of results.

Each file is imported completely or rejected. After a rejected file, the import continues.
"""

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from app.core.errors import UsageError
from app.core.exchange.file_import import read_code, read_results, read_text
from app.core.messages import message, sentence
from app.core.result_file.canonical import UnfitError
from app.core.result_file.record import Result
from app.core.storage.database import Database
from app.core.storage.imported_results import Added, add_results

# File extensions considered in folders; files selected directly may have any name.
ENDINGS = (".json", ".png")
PICTURES = (".png", ".jpg", ".jpeg", ".webp")
FILES_LIMIT, DEPTH_LIMIT = 20_000, 8
# Function that returns the text of a picture's QR code; "" if there is no readable one.
Scan = Callable[[Path], str]


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of importing one file."""

    path: Path
    added: Added = field(default_factory=Added)  # the results that were added
    refusal: UsageError | None = None  # error that describes why the file was rejected; None if it was read

    @property
    def count(self) -> int:
        return len(self.added.imported) + len(self.added.upgraded)


def import_files(database: Database, paths: Iterable[Path], scan: Scan | None = None) -> Iterator[Outcome]:
    """Import files, including those in folders, and yield the outcome of each.

    Args:
        scan: Function that reads the QR code in a picture; None if unavailable.

    Raises:
        AppError: The database can't be written. Files whose outcome was yielded are stored.
    """
    for path in paths:
        try:
            files = list(files_of(path))
        except UsageError as error:
            yield Outcome(path, refusal=error)
            continue
        for file in files:
            yield _import(database, file, scan)


def import_text(database: Database, text: str) -> Outcome:
    """Import a short form or the text of a result file. Raises AppError if the database can't be written."""
    return _add(database, Path(sentence("exchange.pasted")), lambda: read_text(text), "exchange.text_refused")


def _import(database: Database, path: Path, scan: Scan | None) -> Outcome:
    def read() -> tuple[Result, ...]:
        """Return a file's results. If a picture contains no result file, read its QR code."""
        try:
            return read_results(path)
        except UsageError:
            code = scan(path) if scan is not None and path.suffix.lower() in PICTURES else ""
            if not code:
                raise
        return read_code(code)

    return _add(database, path, read, "exchange.refused")


def _add(database: Database, path: Path, read: Callable[[], tuple[Result, ...]], refusal: str) -> Outcome:
    try:
        return Outcome(path, add_results(database, read(), path.name))
    except UsageError as error:
        return Outcome(path, refusal=error)
    except UnfitError as error:
        return Outcome(path, refusal=UsageError(message(refusal, path=str(path), problem=error.problem)))


def files_of(path: Path) -> Iterator[Path]:
    """Yield the file itself, or the files in a folder that may contain results, sorted by name.

    Links to folders aren't followed; hidden files and folders are skipped.

    Raises:
        UsageError: A folder can't be read, or contains no such files or too many.
    """
    if not os.path.isdir(path):
        yield path
        return
    count = 0
    for file in _walk(path, 0):
        count += 1
        if count > FILES_LIMIT:
            raise UsageError(message("exchange.too_many_files", path=str(path), limit=FILES_LIMIT))
        yield file
    if not count:
        raise UsageError(message("exchange.no_files", path=str(path), endings=list(ENDINGS)))


def _walk(folder: Path, depth: int) -> Iterator[Path]:
    try:
        with os.scandir(folder) as entries:
            sorted_entries = sorted(
                (entry for entry in entries if not entry.name.startswith(".")), key=lambda entry: entry.name
            )
    except OSError as error:
        if depth:
            yield folder  # reported as rejected, and the import continues
            return
        reason = error.strerror or str(error)
        raise UsageError(message("files.unreadable", path=str(folder), reason=reason)) from error
    for entry in sorted_entries:
        if entry.is_dir(follow_symlinks=False):
            if depth < DEPTH_LIMIT:
                yield from _walk(folder / entry.name, depth + 1)
        elif entry.name.lower().endswith(ENDINGS) and not _is_folder(entry):
            yield folder / entry.name


def _is_folder(entry: "os.DirEntry[str]") -> bool:
    """Return whether a link points to a folder; False for dangling and circular links."""
    try:
        return entry.is_dir()
    except OSError:
        return False
