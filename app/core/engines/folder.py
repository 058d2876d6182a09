"""The folder of one engine: determines its state, and replaces an old installation with a new one.

`Paths.engines / NAME` contains the stamp, engine.json, and `packages`, a plain folder of unpacked wheels. A new
installation is created next to it in `.NAME-????????.epochmark-new`. The old folder is first renamed to
`.NAME-????????.epochmark-old`, and deleted last.
"""

import contextlib
import logging
import os
import re
import secrets
import shutil
import stat
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal

from app.core.engines.stamp import NAME, Stamp, read_stamp, sync_folder
from app.core.errors import UsageError
from app.core.files import patiently
from app.core.messages import Message, message
from app.core.plain_text import one_line

State = Literal["absent", "ready", "damaged", "other_python", "unreachable"]
PACKAGES = "packages"
_NEW, _OLD = ".epochmark-new", ".epochmark-old"
_JUNCTION_TAG = 0xA0000003  # Windows' IO_REPARSE_TAG_MOUNT_POINT
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Seen:
    """The state of an engine's folder."""

    state: State  # the state; "other_python" if it was installed for a Python other than the one running Epochmark
    stamp: Stamp | None = None  # the stamp; None if there is no valid one
    problem: Message | None = None  # reason why it isn't ready; None if it is ready or absent


class EngineFolder:
    """The location of an engine, in a folder that other programs may change at any time."""

    def __init__(self, engines: Path, engine: str, title: str) -> None:
        self.path, self.packages = engines / engine, engines / engine / PACKAGES
        self._engines, self._engine, self._title = engines, engine, title
        self._beside = re.compile(rf"\.{engine}-[a-z0-9_]{{8}}({re.escape(_NEW)}|{re.escape(_OLD)})")

    def look(self) -> Seen:
        """Return the state of the engine without reading its packages."""
        try:
            kind = _kind(self.path)
            if kind is None:
                return Seen("absent")
            if kind != "folder":
                return Seen("damaged", problem=self._say("engines.in_the_way"))
            stamp = read_stamp(self.path)
            if stamp is None or stamp.engine != self._engine or _kind(self.packages) != "folder":
                return Seen("damaged", problem=self._say("engines.damaged"))
        except OSError as error:
            return Seen("unreachable", problem=self._say("engines.unreachable", reason=error.strerror))
        if not stamp.is_for_this_python():
            said = message("engines.other_python", title=self._title, python=stamp.python, platform=stamp.platform)
            return Seen("other_python", stamp, said)
        return Seen("ready", stamp)

    def check_replaceable(self) -> None:
        """Raise UsageError if the location contains other files, or OSError if it can't be read."""
        kind = _kind(self.path)
        if kind == "folder":
            strangers = sorted({path.name for path in self.path.iterdir()} - {NAME, PACKAGES})
            if strangers:
                shown = [one_line(name, 60) for name in strangers[:3]]
                raise UsageError(self._say("engines.strangers", names=shown), message("files.move_strangers_away"))
        elif kind is not None:
            raise UsageError(self._say("engines.in_the_way"), message("database.move_it_away"))

    def fresh(self) -> Path:
        """Create and return an empty folder next to the final location. Raises OSError."""
        return Path(tempfile.mkdtemp(prefix=f".{self._engine}-", suffix=_NEW, dir=self._engines))

    def put_in_place(self, fresh: Path) -> None:
        """Move the old folder aside and the new one into place. After an OSError, the old one is unchanged."""
        self.check_replaceable()  # again, because downloading may have taken an hour
        fresh.chmod(0o755)
        aside = self._aside(_OLD)
        had_one = _kind(self.path) is not None
        if had_one:
            patiently(lambda: self.path.rename(aside))
        try:
            patiently(lambda: fresh.rename(self.path))
        except BaseException:
            if had_one:
                patiently(lambda: aside.rename(self.path))
            raise
        sync_folder(self._engines)
        if had_one:
            self.discard(aside)

    def remove(self) -> bool:
        """Delete the engine or its remains; return whether anything existed. Raises UsageError or OSError."""
        self.check_replaceable()
        if _kind(self.path) is None:
            return False
        aside = self._aside(_NEW)
        patiently(lambda: self.path.rename(aside))  # from now on, it counts as a leftover
        sync_folder(self._engines)
        _delete(aside)
        return True

    def is_cut_off(self) -> bool:
        """Return whether the engine must be restored because a program was killed while replacing it."""
        return any(path.suffix == _OLD for path in self._besides()) and not os.path.lexists(self.path)

    def tidy(self) -> bool:
        """Restore a half-replaced engine, and delete leftovers of killed programs; return whether any existed.

        Call this only while holding the engine's lock. After a failure, the next call tries again.
        """
        left = self._besides()
        for path in left:
            with contextlib.suppress(OSError):
                if path.suffix == _OLD and not os.path.lexists(self.path) and read_stamp(path) is not None:
                    patiently(partial(path.rename, self.path))
                else:
                    self.discard(path)
        return bool(left)

    def discard(self, folder: Path) -> None:
        """Delete a folder next to the final location. After a failure, the next `tidy` tries again."""
        try:
            _delete(folder)
        except OSError as error:
            _log.info("%s cannot be removed (%s).", one_line(str(folder), 300), error.strerror)

    def _aside(self, suffix: str) -> Path:
        return self.path.with_name(f".{self._engine}-{secrets.token_hex(4)}{suffix}")

    def _besides(self) -> list[Path]:
        try:
            paths = [path for path in self._engines.iterdir() if self._beside.fullmatch(path.name)]
            return [path for path in paths if _kind(path) == "folder"]
        except OSError:
            return []

    def _say(self, code: str, **arguments: object) -> Message:
        return message(code, title=self._title, folder=one_line(str(self.path), 300), **arguments)


def _kind(path: Path) -> Literal["folder", "link", "other"] | None:
    try:
        status = path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    if stat.S_ISLNK(status.st_mode) or getattr(status, "st_reparse_tag", 0) == _JUNCTION_TAG:
        return "link"
    return "folder" if stat.S_ISDIR(status.st_mode) else "other"


def _delete(folder: Path) -> None:
    """Delete a folder. Links in it are deleted but not followed. Raises OSError."""

    def make_writable(function: Callable[[str], object], path: str, _: object) -> None:
        # Needed for read-only files on Windows, and for files in read-only folders on other systems.
        with contextlib.suppress(OSError):
            Path(path).parent.chmod(0o700)
            Path(path).chmod(0o700)
        function(path)

    if sys.version_info >= (3, 12):
        shutil.rmtree(folder, onexc=make_writable)
    else:
        shutil.rmtree(folder, onerror=make_writable)
