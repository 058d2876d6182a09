"""Identifies the app's own files in a data set's folder, and deletes only those.

A folder belongs to the app if it contains a valid note of an installation or, next to the final location, a mark
with the folder's name. Only the files listed in the note or by the data set's module belong to the app. These
files are deleted one by one, and a folder with other files is kept.
"""

import errno
import json
import os
import stat
from collections.abc import Callable, Collection, Iterator
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
        own: Names of our files and folders, in deletion order; None if nothing is ours.
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
    noted = _noted(folder, module)
    if noted is None and not is_ours:
        some = named([path.name for path in folder.iterdir()])
        return Found(None, problem=message("dataset.no_installation_note", names=some))

    def owns(name: str) -> bool:
        return name in {NOTE, MARK, LOCK} | _LEFT_BY_SYSTEMS or module.STORED.owns(name, noted)

    own: list[str] = []
    strangers: list[str] = []
    for name, is_own in _entries(folder, "", owns):
        (own if is_own else strangers).append(name)
    # The file that marks the folder as ours is last, so that the rest still counts as ours after a killed removal.
    own.sort(key=lambda name: name in {NOTE, MARK})
    return Found(tuple(own), tuple(sorted(strangers)))


def is_marked(folder: Path, module: Dataset) -> bool:
    """Return whether the mark in a folder names that folder. In a copy of the folder, it doesn't."""
    content = _read(folder / MARK)
    return content is not None and content == mark_of(folder, module)


def mark_of(folder: Path, module: Dataset) -> dict[str, object]:
    """Return the contents of the mark in a folder next to the final location."""
    return {"dataset": module.SOURCE.id, "folder": folder.name}


def _noted(folder: Path, module: Dataset) -> Collection[str] | None:
    """Return the names in an installation's note; None without a valid note of this data set."""
    content = _read(folder / NOTE)
    if content is None or content.get("dataset", module.SOURCE.id) != module.SOURCE.id:
        return None
    if not isinstance(content.get("files"), list) or not isinstance(content.get("installed_at"), str):
        return None
    # Earlier versions recorded only the source.
    names = content.get("contents", module.STORED.contents(folder))
    return {name for name in names if isinstance(name, str)} if isinstance(names, list | frozenset) else None


def _read(path: Path) -> dict[str, object] | None:
    """Read one of our small JSON files; None if it is missing or invalid."""
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


def _entries(folder: Path, prefix: str, owns: Callable[[str], bool]) -> Iterator[tuple[str, bool]]:
    """Yield each name and whether it is ours, contents before their folder. Other folders aren't searched."""
    with os.scandir(folder) as entries:
        in_order = sorted(entries, key=lambda entry: entry.name)
    for entry in in_order:
        status = entry.stat(follow_symlinks=False)
        is_folder = _is_real_folder(status)
        name = f"{prefix}{entry.name}{'/' if is_folder else ''}"
        is_own = owns(name) and (is_folder or stat.S_ISREG(status.st_mode))
        if is_own and is_folder:
            yield from _entries(Path(entry.path), name, owns)
        yield name, is_own


def _is_real_folder(status: os.stat_result) -> bool:
    # A Windows junction looks like a folder but points to another one.
    return stat.S_ISDIR(status.st_mode) and getattr(status, "st_reparse_tag", 0) != _JUNCTION_TAG


def _problem(status: os.stat_result) -> Message:
    if stat.S_ISLNK(status.st_mode) or stat.S_ISDIR(status.st_mode):
        return message("dataset.is_link")
    return message("dataset.is_file" if stat.S_ISREG(status.st_mode) else "dataset.is_no_folder")


def delete(folder: Path, names: Collection[str]) -> None:
    """Delete our files and folders, and the folder itself if it is then empty; keep all other files."""
    for name in names:
        path = folder / name
        if name.endswith("/"):
            _remove_empty(path)
        else:
            path.unlink(missing_ok=True)
    _remove_empty(folder)


def _remove_empty(folder: Path) -> None:
    try:
        folder.rmdir()
    except OSError as error:
        if error.errno not in _NOT_EMPTY_OR_GONE:
            raise
