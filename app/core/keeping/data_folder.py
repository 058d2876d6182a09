"""The folder of one data set: which files in it are ours, and how they are put there, replaced and removed.

The place may be the user's own, with a `mnist` or a `.mnist-backup` in it that we never made. A folder is ours
when a sound note of an installation lies in it, and then only what the note or the data set's module names. That
is deleted file by file, never a folder with something else in it.
"""

import contextlib
import errno
import json
import logging
import os
import re
import secrets
import stat
import sys
import tempfile
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from app.core import locks
from app.core.errors import AppError, UsageError
from app.core.judging.outcome import now_text
from app.core.plain_text import one_line
from workloads.datasets.source import Dataset
from workloads.regular_file import read_regular

NOTE = "installed.json"  # of an installation that has been done
_MARK = "installing.json"  # of one that is being done, in a folder beside the final one
_LOCK = "installing.lock"
_NOTE_LIMIT_BYTES = 8 << 20
_PATIENCE_S, _LOOK_EVERY_S = 10.0, 0.02
# What systems leave in every folder that was looked at; nobody wrote it.
_LEFT_BY_SYSTEMS = frozenset({".DS_Store", "Thumbs.db"})
_JUNCTION_TAG = 0xA0000003  # Windows' IO_REPARSE_TAG_MOUNT_POINT
_OVERTAKEN = frozenset({errno.ENOENT, errno.EEXIST, errno.ENOTEMPTY})
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Found:
    """What lies in a data set's place.

    Attributes:
        own: Names of our files and folders, in an order in which they can be deleted; None where nothing is ours.
        strangers: Names of what is somebody else's.
        problem: A clause that says why nothing is ours; None where it is, or where nothing is there.
    """

    own: tuple[str, ...] | None
    strangers: tuple[str, ...] = ()
    problem: str | None = None


class DataFolder:
    """Where a data set is, or will be, in a folder in which others may do what they like meanwhile."""

    def __init__(self, datasets: Path, module: Dataset) -> None:
        self.path = datasets / module.SOURCE.id
        self._datasets, self._module = datasets, module
        self._beside = re.compile(rf"\.{re.escape(module.SOURCE.id)}-[a-z0-9_]{{8}}\.(new|old)", re.ASCII)

    def check_replaceable(self) -> None:
        """Raise UsageError if something is in the way that is not ours; OSError if it cannot be looked at."""
        with _undisturbed(self._datasets):
            self._check_replaceable()

    def _check_replaceable(self) -> None:
        found = self._find(self.path)
        if found.problem:
            raise UsageError(
                f"{one_line(str(self.path), 300)} is not Epochmark's: {found.problem}.",
                "Move it away or choose another folder for data sets, then try again.",
            )
        if found.strangers:
            raise UsageError(
                f"{one_line(str(self.path), 300)} holds {named(found.strangers)}, which is not Epochmark's.",
                "Move that away, then try again: the folder is replaced as a whole.",
            )

    def stamp(self) -> tuple[int, int] | None:
        """Return what tells this installation from every other one; None where there is none."""
        try:
            status = (self.path / NOTE).lstat()
        except OSError:
            return None
        return status.st_ino, status.st_mtime_ns

    def install(self, files: Mapping[str, Path]) -> None:
        """Unpack beside the final place and rename: the data set is there as a whole or not at all.

        Raises:
            HostileArchiveError: By the data set: a file is not what it should be.
            UsageError: Something is in the way that is not ours.
            OSError: It cannot be written.
        """
        source = self._module.SOURCE
        with _undisturbed(self._datasets):  # by who would take it for a leftover
            fresh = Path(tempfile.mkdtemp(prefix=f".{source.id}-", suffix=".new", dir=self._datasets))
            hold = _claim(fresh)
        try:
            _write_json(fresh / _MARK, {"dataset": source.id})
            self._module.install(files, fresh)
            names = sorted(self._module.STORED.contents(fresh))
            note = {"dataset": source.id, "files": [asdict(file) for file in source.files], "contents": names}
            _write_json(fresh / NOTE, {**note, "installed_at": now_text()})
            (fresh / _MARK).unlink()
            fresh.chmod(0o755)
            if hold is not None and os.name == "nt":
                hold.release()  # there, no folder can be renamed in which a file is open
            with _undisturbed(self._datasets):
                self._put_in_place(fresh)
        finally:
            if hold is not None:
                hold.release()
            self._discard(fresh, is_ours=True)

    def remove(self) -> Found:
        """Delete what is ours; returns what was there. After an OSError the rest is still known as ours."""
        with _undisturbed(self._datasets):
            found = self._find(self.path)
            if found.own is not None:
                _delete(self.path, found.own)
        return found

    def is_cut_off(self) -> bool:
        """Say whether a data set has to be put back: a program was killed while it replaced it."""
        return any(path.suffix == ".old" for path in self._besides()) and not os.path.lexists(self.path)

    def tidy(self) -> None:
        """Put back what was cut off while it was replaced, and delete what killed installations left."""
        if not self._besides():
            return
        with _undisturbed(self._datasets):
            for path in self._besides():
                # What cannot be done leaves all as it is, and what comes next tells what is wrong.
                with contextlib.suppress(OSError):
                    self._tidy(path)

    def _tidy(self, path: Path) -> None:
        if path.suffix == ".new":
            self._discard(path, is_ours=self._read(path / _MARK) is not None or _is_hardly_begun(path))
        elif self._find(path).own is not None and self._is_free() and self._module.is_installed(path):
            self._rename(path)
        else:
            self._discard(path, is_ours=False)

    def _besides(self) -> list[Path]:
        """Return the folders that installations of this data set may have left."""
        try:
            return [path for path in self._datasets.iterdir() if self._beside.fullmatch(path.name)]
        except OSError:
            return []

    def _is_free(self) -> bool:
        return self._find(self.path) == Found(None)

    def _find(self, folder: Path, *, is_ours: bool = False) -> Found:
        """Look what is in a folder, which may be known as ours without a note."""
        try:
            status = folder.lstat()
        except FileNotFoundError:
            return Found(None)
        if not _is_real_folder(status):
            return Found(None, problem=f"it is {_kind(status)}")
        if not any(folder.iterdir()):
            return Found(None)
        noted = self._read(folder / NOTE)
        if noted is None and not is_ours:
            some = named([path.name for path in folder.iterdir()])
            return Found(None, problem=f"it holds {some}, and no sound note of an installation")

        def owns(name: str) -> bool:
            return name in {NOTE, _MARK, _LOCK} | _LEFT_BY_SYSTEMS or self._module.STORED.owns(name, noted)

        own: list[str] = []
        strangers: list[str] = []
        for name, is_own in _entries(folder, "", owns):
            (own if is_own else strangers).append(name)
        # What marks the folder as ours goes last: what a killed removal leaves must be known again.
        own.sort(key=lambda name: name in {NOTE, _MARK})
        return Found(tuple(own), tuple(sorted(strangers)))

    def _read(self, note: Path) -> Collection[str] | None:
        """Return the files that a note names; None if it is no sound note of this data set."""
        if note.is_symlink():
            return None
        try:
            content = json.loads(read_regular(note, _NOTE_LIMIT_BYTES))
        except (OSError, ValueError, RecursionError):
            return None
        if (
            not isinstance(content, dict)
            or content.get("dataset", self._module.SOURCE.id) != self._module.SOURCE.id
        ):
            return None
        if note.name == _MARK:
            return () if "dataset" in content else None
        if not isinstance(content.get("files"), list) or not isinstance(content.get("installed_at"), str):
            return None
        # Earlier versions noted only where the files came from.
        names = content.get("contents", self._module.STORED.contents(note.parent))
        return {name for name in names if isinstance(name, str)} if isinstance(names, list | frozenset) else None

    def _discard(self, folder: Path, *, is_ours: bool) -> None:
        """Delete a folder beside the final place, if it is ours, nobody works in it and nothing else is in it."""
        try:
            found = self._find(folder, is_ours=is_ours)
            if found.own is None or _is_in_use(folder):
                return
            if found.strangers:
                _log.warning(
                    "%s was left by an installation and stays, because %s is in it.",
                    one_line(str(folder), 300),
                    named(found.strangers),
                )
                return
            _delete(folder, found.own)
        except OSError as error:
            _log.info("%s cannot be removed (%s).", one_line(str(folder), 300), error.strerror)

    def _put_in_place(self, fresh: Path) -> None:
        """Rename the old one aside and the new one in: whenever that is cut off, one of them is there."""
        self._check_replaceable()  # again: unpacking may have taken minutes
        aside: Path | None = None
        try:
            if self._find(self.path).own is not None:
                aside = self.path.with_name(f".{self.path.name}-{secrets.token_hex(4)}.old")
                self.path.rename(aside)
            self._rename(fresh)
        except OSError:
            if aside is not None:
                with contextlib.suppress(OSError):
                    self._rename(aside)
            raise
        (self.path / _LOCK).unlink(missing_ok=True)
        if aside is not None:
            self._discard(aside, is_ours=False)

    def _rename(self, folder: Path) -> None:
        """Give a folder the final name, which only an empty folder may have."""
        with contextlib.suppress(FileNotFoundError):
            self.path.rmdir()
        folder.rename(self.path)


def named(names: Collection[str]) -> str:
    """Return some names for a sentence."""
    some = [one_line(name, 60) for name in sorted(names)[:3]]
    more = len(names) - len(some)
    return ", ".join(some) + (f" and {more} more" if more else "")


def _entries(folder: Path, prefix: str, owns: Callable[[str], bool]) -> Iterator[tuple[str, bool]]:
    """Yield name and whether it is ours: what is in a folder before it; a stranger's folder is not looked into."""
    with os.scandir(folder) as entries:
        found = sorted(entries, key=lambda entry: entry.name)
    for entry in found:
        status = entry.stat(follow_symlinks=False)
        is_folder = _is_real_folder(status)
        name = f"{prefix}{entry.name}{'/' if is_folder else ''}"
        is_own = owns(name) and (is_folder or stat.S_ISREG(status.st_mode))
        if is_own and is_folder:
            yield from _entries(Path(entry.path), name, owns)
        yield name, is_own


def _is_real_folder(status: os.stat_result) -> bool:
    # A junction of Windows looks like a folder and leads elsewhere.
    return stat.S_ISDIR(status.st_mode) and getattr(status, "st_reparse_tag", 0) != _JUNCTION_TAG


def _kind(status: os.stat_result) -> str:
    is_link = stat.S_ISLNK(status.st_mode) or stat.S_ISDIR(status.st_mode)
    return "a link" if is_link else "a file" if stat.S_ISREG(status.st_mode) else "no folder"


def _delete(folder: Path, names: Collection[str]) -> None:
    """Delete files and folders of ours, and the folder; what came meanwhile stays, with the folders around it."""
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
        if error.errno not in _OVERTAKEN:
            raise


@contextlib.contextmanager
def _undisturbed(datasets: Path) -> Iterator[None]:
    """Keep processes with another home, which share only the folder of data sets, from renaming in it meanwhile.

    The folder itself is locked, which leaves no file in it. Where that cannot be done, all goes on without.
    """
    if sys.platform == "win32" or not datasets.is_dir():
        yield
        return
    import fcntl

    descriptor = os.open(datasets, os.O_RDONLY | os.O_CLOEXEC | os.O_DIRECTORY)
    try:
        for _ in range(round(_PATIENCE_S / _LOOK_EVERY_S)):  # a stranger may have locked it for ever
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                time.sleep(_LOOK_EVERY_S)
            except OSError:
                break
            else:
                break
        yield
    finally:
        os.close(descriptor)


def _is_hardly_begun(folder: Path) -> bool:
    """Say whether there is nothing but a lock of ours and half a mark: its process was killed at once."""
    names = {path.name for path in folder.iterdir()}
    return _LOCK in names and names <= {_LOCK, _MARK}


def _claim(fresh: Path) -> locks.Hold | None:
    """Show others that somebody works here; None where the file system knows no locks: there, nobody tidies up."""
    try:
        return locks.take(fresh / _LOCK)
    except AppError:
        return None


def _is_in_use(folder: Path) -> bool:
    try:
        return locks.is_held(folder / _LOCK)
    except AppError:
        return True


def _write_json(path: Path, content: object) -> None:
    path.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
