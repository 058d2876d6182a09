"""The folder of one data set: installs, replaces and removes it.

The location may be chosen by the user, so it may contain another program's `mnist` or `.mnist-backup`, and other
processes may start, work or be killed at any moment. New files are unpacked next to the final location, in `.<data
set>-????????.epochmark-new`. The files they replace are moved to `.<data set>-????????.epochmark-old`.
"""

import contextlib
import json
import logging
import os
import re
import secrets
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path

from app.core import locks
from app.core.clock import now_text
from app.core.datasets.own_files import LOCK, MARK, NOTE, Found, delete, find, is_marked, mark_of, named
from app.core.errors import AppError, UsageError
from app.core.files import patiently
from app.core.messages import message, sentence
from app.core.plain_text import one_line
from workloads.datasets.source import Dataset

_NEW, _OLD = ".epochmark-new", ".epochmark-old"
_PATIENCE_S, _LOOK_EVERY_S = 10.0, 0.02
_log = logging.getLogger(__name__)


class DataFolder:
    """The location of a data set, in a folder that other programs may change at any time."""

    def __init__(self, datasets: Path, module: Dataset) -> None:
        self.path = datasets / module.SOURCE.id
        self._datasets, self._module = datasets, module
        self._beside = re.compile(
            rf"\.{re.escape(module.SOURCE.id)}-[a-z0-9_]{{8}}({re.escape(_NEW)}|{re.escape(_OLD)})", re.ASCII
        )

    def check_replaceable(self) -> None:
        """Raise UsageError if the folder contains other files, or OSError if it can't be read."""
        with _undisturbed(self._datasets):
            self._check_replaceable()

    def _check_replaceable(self) -> None:
        content, shown = find(self.path, self._module), one_line(str(self.path), 300)
        if content.problem:
            raise UsageError(
                message("dataset.folder_not_ours", folder=shown, problem=content.problem),
                message("dataset.move_folder_away"),
            )
        if content.strangers:
            raise UsageError(
                message("dataset.folder_has_strangers", folder=shown, names=named(content.strangers)),
                message("files.move_strangers_away"),
            )

    def stamp(self) -> tuple[int, int] | None:
        """Return an identifier for the installation; None if there is no installation."""
        try:
            status = (self.path / NOTE).lstat()
        except OSError:
            return None
        return status.st_ino, status.st_mtime_ns

    def install(self, files: Mapping[str, Path]) -> None:
        """Install the data set completely or not at all: unpack next to the final location, then rename.

        Raises:
            HostileArchiveError: A file isn't as expected (raised by the data set).
            UsageError: The final location contains other files.
            OSError: The files can't be written.
        """
        source = self._module.SOURCE
        with _undisturbed(self._datasets):  # protects it from processes that consider it a leftover
            fresh = Path(tempfile.mkdtemp(prefix=f".{source.id}-", suffix=_NEW, dir=self._datasets))
            try:
                hold = locks.acquire(fresh / LOCK)
            except AppError:
                hold = None
        try:
            _write_json(fresh / MARK, mark_of(fresh, self._module))
            self._module.install(files, fresh)
            note = {"dataset": source.id, "files": [asdict(file) for file in source.files]}
            _write_json(fresh / NOTE, {**note, "installed_at": now_text()})
            fresh.chmod(0o755)
            if hold is not None and os.name == "nt":
                hold.release()  # on Windows, a folder can't be renamed while a file in it is open
            with _undisturbed(self._datasets):
                self._put_in_place(fresh)
        finally:
            if hold is not None:
                hold.release()
            self._discard(fresh)

    def remove(self) -> Found:
        """Delete the app's files and return what the folder contained.

        After an OSError, the remaining files still count as the app's.
        """
        with _undisturbed(self._datasets):
            content = find(self.path, self._module)
            if content.own is not None:
                delete(self.path, content.own)
        return content

    def is_cut_off(self) -> bool:
        """Return whether the data set must be restored because a program was killed while replacing it."""
        return any(path.suffix == _OLD for path in self._besides()) and not os.path.lexists(self.path)

    def tidy(self) -> None:
        """Restore a half-replaced data set, and delete leftovers of killed installations."""
        if not self._besides():
            return
        with _undisturbed(self._datasets):
            for path in self._besides():
                # After a failure, nothing is changed, and the next operation reports the problem.
                with contextlib.suppress(OSError):
                    self._tidy(path)

    def _tidy(self, path: Path) -> None:
        if _is_hardly_begun(path):
            self._discard(path)
        elif is_marked(path, self._module):
            is_free = find(self.path, self._module) == Found(None)
            if path.suffix == _OLD and is_free and self._module.is_installed(path):
                self._rename(path)
            else:
                self._discard(path)

    def _besides(self) -> list[Path]:
        """Return the temporary folders of this data set. Some folders may be leftovers of killed installations."""
        try:
            return [path for path in self._datasets.iterdir() if self._beside.fullmatch(path.name)]
        except OSError:
            return []

    def _discard(self, folder: Path) -> None:
        """Delete a temporary folder, unless it is in use or contains other files."""
        try:
            content = find(folder, self._module, is_ours=True)
            if content.own is None or _is_in_use(folder):
                return
            if content.strangers:
                shown = one_line(str(folder), 300)
                _log.warning("%s", sentence("dataset.leftover_kept", folder=shown, names=named(content.strangers)))
                return
            delete(folder, content.own)
        except OSError as error:
            _log.info("%s cannot be removed (%s).", one_line(str(folder), 300), error.strerror)

    def _put_in_place(self, fresh: Path) -> None:
        """Move the old folder aside and the new one into place, so that one of them always exists."""
        self._check_replaceable()  # again, because unpacking may have taken minutes
        aside: Path | None = None
        try:
            if find(self.path, self._module).own is not None:
                name = self.path.with_name(f".{self.path.name}-{secrets.token_hex(4)}{_OLD}")
                _write_json(self.path / MARK, mark_of(name, self._module))
                aside = patiently(lambda: self.path.rename(name))
            self._rename(fresh)
        except OSError:
            if aside is not None:
                with contextlib.suppress(OSError):
                    self._rename(aside)
            raise
        (self.path / LOCK).unlink(missing_ok=True)
        if aside is not None:
            self._discard(aside)

    def _rename(self, folder: Path) -> None:
        with contextlib.suppress(FileNotFoundError):
            self.path.rmdir()
        patiently(lambda: folder.rename(self.path))
        (self.path / MARK).unlink(missing_ok=True)


@contextlib.contextmanager
def _undisturbed(datasets: Path) -> Iterator[None]:
    """Lock the data set folder, so that processes with another home folder can't rename files in it."""
    # The folder itself is locked, so no lock file remains in it. If it can't be locked, continue without a lock.
    if sys.platform == "win32" or not datasets.is_dir():
        yield
        return
    import fcntl

    descriptor = os.open(datasets, os.O_RDONLY | os.O_CLOEXEC | os.O_DIRECTORY)
    try:
        for _ in range(round(_PATIENCE_S / _LOOK_EVERY_S)):  # because another program may never release the lock
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
    """Return whether a folder contains only our lock and mark, because its process was killed at the start."""
    return {path.name for path in folder.iterdir()} <= {LOCK, MARK}


def _is_in_use(folder: Path) -> bool:
    try:
        return locks.is_held(folder / LOCK)
    except AppError:
        return True


def _write_json(path: Path, content: object) -> None:
    path.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
