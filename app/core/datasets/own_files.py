"""Identifies the app's own files in a data set's folder, and deletes only those.

A folder belongs to the app if it contains a valid note of an installation or, next to the final location, a mark
with the folder's name. Only the files listed by the data set's module belong to the app. These
files are deleted one by one, and a folder with other files is kept.
"""

import errno
import json
import os
import stat
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

from app.core.messages import Message, message, sentence
from app.core.plain_text import one_line
from workloads.datasets.regular_file import read_regular
from workloads.datasets.source import Dataset

NOTE = "installed.json"  # of a finished installation
MARK = "installing.json"  # of an installation in progress: in the new folder, and in the old one that is replaced
LOCK = "installing.lock"  # held by the process that fills a new folder
_NOTE_LIMIT_BYTES = 8 << 20
# Files that operating systems create in any folder that is opened.
_LEFT_BY_SYSTEMS = frozenset({".DS_Store", "Thumbs.db"})
_JUNCTION_TAG = 0xA0000003  # Windows' IO_REPARSE_TAG_MOUNT_POINT
_NOT_EMPTY_OR_GONE = frozenset({errno.ENOENT, errno.EEXIST, errno.ENOTEMPTY})


@dataclass(frozen=True, slots=True)
class Found:
    """The contents of a folder that may belong to a data set.

    Attributes:
        own: Names of our files, in deletion order; None if nothing is ours.
        strangers: Names of files that aren't ours.
        problem: Reason why nothing is ours; None if something is, or if the folder is empty or missing.
    """

    own: tuple[str, ...] | None
    strangers: tuple[str, ...] = ()
    problem: Message | None = None


def find(folder: Path, module: Dataset, *, is_ours: bool = False) -> Found:
    """Split a folder's contents into our files and other files. Raises OSError if the folder can't be read.

    Args:
        folder: The folder.
        module: The data set expected in the folder.
        is_ours: Whether the folder is known to be ours, even without a note.
    """
    try:
        status = folder.lstat()
    except FileNotFoundError:
        return Found(None)
    if not _is_real_folder(status):
        return Found(None, problem=_problem(status))
    if not any(folder.iterdir()):
        return Found(() if is_ours else None)
    if not is_ours and not _is_noted(folder, module):
        some = named([path.name for path in folder.iterdir()])
        return Found(None, problem=message("dataset.no_installation_note", names=some))

    names = {NOTE, MARK, LOCK} | _LEFT_BY_SYSTEMS | module.STORED
    own: list[str] = []
    strangers: list[str] = []
    for name, is_file in _entries(folder):
        (own if is_file and name in names else strangers).append(name)
    # The file that marks the folder as ours is last, so that the rest still counts as ours after a killed removal.
    own.sort(key=lambda name: name in {NOTE, MARK})
    return Found(tuple(own), tuple(sorted(strangers)))


def is_marked(folder: Path, module: Dataset) -> bool:
    """Return whether the mark in a folder names that folder. In a copy of the folder, it doesn't."""
    content = _read(folder / MARK)
    return content is not None and content == mark_of(folder, module)


def mark_of(folder: Path, module: Dataset) -> dict[str, object]:
    return {"dataset": module.SOURCE.id, "folder": folder.name}


def _is_noted(folder: Path, module: Dataset) -> bool:
    """Return whether a folder contains a valid note of this data set's installation."""
    content = _read(folder / NOTE)
    if content is None or content.get("dataset", module.SOURCE.id) != module.SOURCE.id:
        return False
    return isinstance(content.get("files"), list) and isinstance(content.get("installed_at"), str)


def _read(path: Path) -> dict[str, object] | None:
    if path.is_symlink():
        return None
    try:
        content = json.loads(read_regular(path, _NOTE_LIMIT_BYTES))
    except (OSError, ValueError, RecursionError):
        return None
    return content if isinstance(content, dict) else None


def named(names: Collection[str]) -> str:
    """Return the first three names as text, with the number of remaining names."""
    some = [one_line(name, 60) for name in sorted(names)[:3]]
    more = len(names) - len(some)
    return sentence("dataset.names_and_more", names=some, more=more) if more else ", ".join(some)


def _entries(folder: Path) -> Iterator[tuple[str, bool]]:
    """Yield each name in a folder, and whether it is a regular file. Names of folders end with a slash."""
    with os.scandir(folder) as entries:
        in_order = sorted(entries, key=lambda entry: entry.name)
    for entry in in_order:
        status = entry.stat(follow_symlinks=False)
        yield f"{entry.name}{'/' if _is_real_folder(status) else ''}", stat.S_ISREG(status.st_mode)


def _is_real_folder(status: os.stat_result) -> bool:
    # A Windows junction looks like a folder but points to another one.
    return stat.S_ISDIR(status.st_mode) and getattr(status, "st_reparse_tag", 0) != _JUNCTION_TAG


def _problem(status: os.stat_result) -> Message:
    if stat.S_ISLNK(status.st_mode) or stat.S_ISDIR(status.st_mode):
        return message("dataset.is_link")
    return message("dataset.is_file" if stat.S_ISREG(status.st_mode) else "dataset.is_no_folder")


def delete(folder: Path, names: Collection[str]) -> None:
    """Delete our files, and the folder itself if it is then empty; keep all other files."""
    for name in names:
        (folder / name).unlink(missing_ok=True)
    try:
        folder.rmdir()
    except OSError as error:
        if error.errno not in _NOT_EMPTY_OR_GONE:
            raise
