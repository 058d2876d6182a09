"""Imports files and folders of results: each file wholly or not at all, and one that is refused stops no other."""

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from app.core.errors import UsageError
from app.core.exchange.epoch_log import LogDetails, import_log
from app.core.exchange.file_import import EpochLogError, read_results, read_text
from app.core.messages import message, sentence
from app.core.result_file.record import Result
from app.core.result_file.short_form import read_short_forms
from app.core.storage.database import Database
from app.core.storage.imported_results import Added, add_results

# What is looked at in folders; a file that is named itself may be called anything.
ENDINGS = (".json", ".csv", ".png")
PICTURES = (".png", ".jpg", ".jpeg", ".webp")
FILES_LIMIT, DEPTH_LIMIT = 20_000, 8
# Returns the text of the code on a picture; "" if there's none, or the picture can't be read.
Scan = Callable[[Path], str]
_GUESSED = LogDetails()


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one file.

    Attributes:
        added: What was taken of it.
        are_totals: Whether it is a new epoch log of totals, whose differences were taken; None if it's no log.
        refusal: Why nothing was; None if it was read.
    """

    path: Path
    added: Added = field(default_factory=Added)
    are_totals: bool | None = None
    refusal: UsageError | None = None

    @property
    def count(self) -> int:
        """Of what is new."""
        return len(self.added.imported) + len(self.added.upgraded)


def import_files(
    database: Database, paths: Iterable[Path], scan: Scan | None = None, logs: LogDetails | None = _GUESSED
) -> Iterator[Outcome]:
    """Yield what became of each file, and of each in the folders, one by one.

    Args:
        database: The results.
        paths: Files and folders.
        scan: Reads the code on a picture; None where nothing can.
        logs: What is known of epoch logs besides their names; None to refuse each by an EpochLogError.

    Raises:
        AppError: The database can't be written; what was yielded before is stored.
    """
    for path in paths:
        try:
            files = list(files_of(path))
        except UsageError as error:
            yield Outcome(path, refusal=error)
            continue
        for file in files:
            try:
                yield _import(database, file, scan)
            except EpochLogError as error:
                folder = path if path.is_dir() else None
                refused = Outcome(file, refusal=error)
                yield refused if logs is None else _import_log(database, file, folder, logs)


def import_text(database: Database, text: str) -> Outcome:
    """Import what was pasted or typed, a short form or the content of a result file; raises AppError as above."""
    source = sentence("exchange.pasted")
    try:
        results = read_text(text)
    except UsageError as error:
        return Outcome(Path(source), refusal=error)
    return Outcome(Path(source), add_results(database, results, source))


def _import(database: Database, path: Path, scan: Scan | None) -> Outcome:
    try:
        results = _read(path, scan)
    except EpochLogError:
        raise
    except UsageError as error:
        return Outcome(path, refusal=error)
    return Outcome(path, add_results(database, results, path.name))


def _import_log(database: Database, path: Path, folder: Path | None, details: LogDetails) -> Outcome:
    try:
        added, are_totals = import_log(database, path, folder, details)
    except UsageError as error:
        return Outcome(path, refusal=error)
    return Outcome(path, added, are_totals=are_totals and bool(added.imported))


def _read(path: Path, scan: Scan | None) -> tuple[Result, ...]:
    """Return a file's results; where a picture has lost them, what its code tells."""
    try:
        return read_results(path)
    except UsageError:
        code = scan(path) if scan is not None and path.suffix.lower() in PICTURES else ""
        if not code:
            raise
    return read_short_forms(code)


def files_of(path: Path) -> Iterator[Path]:
    """Yield a file itself, or a folder's files that may have results, in the order of their names.

    Links to folders aren't followed; hidden files and folders are left out.

    Raises:
        UsageError: A folder can't be read, has none, or has too many.
    """
    if not path.is_dir():
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
            yield folder  # reported as rejected, while the others continue
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
    """Return whether a link leads to a folder; a link that leads nowhere, or to itself, doesn't."""
    try:
        return entry.is_dir()
    except OSError:
        return False
