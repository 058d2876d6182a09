"""Where Epochmark keeps its files: the only place that knows. EPOCHMARK_HOME moves all of it to one folder."""

import errno
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import appdirs

from app.core.errors import UsageError
from app.core.plain_text import one_line

RESOURCES = Path(__file__).resolve().parents[2] / "resources"
_SHOWN_LIMIT = 300
_DATABASE_LIMIT_BYTES = 504  # SQLite opens names of 512 bytes, and calls the journal <name>-journal
_SHORTER = "Set EPOCHMARK_HOME to a folder with a shorter name."
DOCUMENTATION = RESOURCES.parent / "docs"  # not there where only the app is installed


@dataclass(frozen=True, slots=True)
class Paths:
    """The folders in use: `data` is worth keeping, `cache` can be made again.

    Attributes:
        datasets_folder: Where the user wants data sets; None for the usual place.
    """

    data: Path
    config: Path
    cache: Path
    datasets_folder: Path | None = None

    @property
    def database(self) -> Path:
        """The results."""
        return self.data / "runs.sqlite3"

    @property
    def datasets(self) -> Path:
        """A folder for each installed data set."""
        return self.datasets_folder or self.data / "datasets"

    @property
    def settings(self) -> Path:
        """What the user chose."""
        return self.config / "settings.json"

    @property
    def downloads(self) -> Path:
        """Unfinished downloads."""
        return self.cache / "downloads"

    @property
    def locks(self) -> Path:
        """Files that only say who is at work on something."""
        return self.cache / "locks"

    @property
    def logs(self) -> Path:
        """The app's log and one for each run's worker."""
        return self.cache / "logs"

    @property
    def keras_home(self) -> Path:
        """A Keras folder of our own, so that a user's keras.json changes nothing."""
        return self.cache / "keras"

    def create(self) -> None:
        """Make the folders; raises UsageError with the folder and the reason if that cannot be done."""
        size_bytes = len(os.fsencode(os.path.realpath(self.database)))
        if os.name == "posix" and size_bytes > _DATABASE_LIMIT_BYTES:
            raise UsageError(
                f"The name of the folder {one_line(str(self.data), _SHOWN_LIMIT)} is too long: "
                f"that of the results would have {size_bytes} bytes, and may have {_DATABASE_LIMIT_BYTES}.",
                _SHORTER,
            )
        for folder in (self.data, self.config, self.logs, self.downloads, self.locks, self.keras_home):
            make_folder(folder)


def default_paths(environment: Mapping[str, str] = os.environ) -> Paths:
    """Return the user's folders, or those below EPOCHMARK_HOME; raises UsageError if nobody says where."""
    home = environment.get("EPOCHMARK_HOME")
    if home:
        root = _root(home)
        return Paths(data=root / "data", config=root / "config", cache=root / "cache")
    found = Paths(
        data=Path(appdirs.user_data_dir("epochmark", appauthor=False)),
        config=Path(appdirs.user_config_dir("epochmark", appauthor=False)),
        cache=Path(appdirs.user_cache_dir("epochmark", appauthor=False)),
    )
    for folder in (found.data, found.config, found.cache):
        if not folder.is_absolute():  # "~/…" where nobody has a home, or XDG_DATA_HOME=relative
            shown = one_line(str(folder), _SHOWN_LIMIT)
            raise UsageError(
                f"Epochmark's files would be in {shown!r}, which does not say where it begins.",
                "Set HOME (and XDG_DATA_HOME, XDG_CONFIG_HOME and XDG_CACHE_HOME where they are used) to a whole "
                "path, or EPOCHMARK_HOME to a folder of your choice.",
            )
    return found


def _root(home: str) -> Path:
    shown = one_line(home, _SHOWN_LIMIT)
    try:
        return Path(home).expanduser().absolute()
    except RuntimeError as error:
        if home.split("/", maxsplit=1)[0] == "~":
            raise UsageError(
                f"EPOCHMARK_HOME is {shown!r}, but it is not known where your home is.", "Set HOME too."
            ) from error
        raise UsageError(f"EPOCHMARK_HOME is {shown!r}, but there is no such user.") from error
    except OSError as error:  # the current folder has been removed
        raise UsageError(
            f"EPOCHMARK_HOME is {shown!r}, but the current folder is not there ({error.strerror}).",
            "Set it to a whole path.",
        ) from error


def with_datasets_folder(paths: Paths, folder: str | None) -> Paths:
    """Return the paths with the user's own folder for data sets; None or an empty one is the usual place."""
    return replace(paths, datasets_folder=Path(folder) if folder else None)


def check_datasets_folder(paths: Paths) -> None:
    """Raise UsageError if the user's own folder for data sets is not there.

    It is never made: where a drive is unplugged, its files would land on another one.
    """
    folder = paths.datasets_folder
    if folder is None:
        return
    if not folder.is_absolute():
        raise UsageError(
            f"The folder for data sets is {one_line(str(folder), _SHOWN_LIMIT)!r}, "
            "which does not say where it begins.",
            "Choose a whole path in the settings.",
        )
    try:
        if folder.is_dir():
            return
        reason = "it is not there"
        if os.path.lexists(folder):
            reason = "it is a link that leads nowhere" if folder.is_symlink() else "it is no folder"
        if folder.is_file():
            reason = "it is a file"
    except OSError as error:
        reason = str(error.strerror)
    raise UsageError(
        f"The folder for data sets, {one_line(str(folder), _SHOWN_LIMIT)}, cannot be used ({reason}).",
        "Plug in the drive that it is on, or choose another folder in the settings.",
    )


def make_folder(folder: Path) -> None:
    """Make the folder and its parents; raises UsageError that says which one and why not."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError) as error:
        where = next((place for place in (folder, *folder.parents) if _is_in_the_way(place)), folder)
        what = "a link that leads nowhere" if where.is_symlink() else "a file"
        raise UsageError(
            f"{one_line(str(where), _SHOWN_LIMIT)} cannot be used as a folder because {what} is in its place.",
            "Move it away, or set EPOCHMARK_HOME to another folder.",
        ) from error
    except OSError as error:
        advice = "Set EPOCHMARK_HOME to a folder that can be written."
        if error.errno == errno.ENAMETOOLONG:
            advice = _SHORTER
        elif error.errno in {errno.ENOSPC, errno.EDQUOT}:
            advice = "Free some space, or set EPOCHMARK_HOME to another folder."
        raise UsageError(
            f"The folder {one_line(str(folder), _SHOWN_LIMIT)} cannot be made ({error.strerror}).", advice
        ) from error


def _is_in_the_way(place: Path) -> bool:
    return os.path.lexists(place) and not place.is_dir()
