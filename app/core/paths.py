"""Locations of Epochmark's files. EPOCHMARK_HOME moves all of them into one folder."""

import errno
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import appdirs

from app.core.errors import UsageError
from app.core.messages import message
from app.core.plain_text import one_line
from workloads.protocol.folders import is_folder

RESOURCES = Path(__file__).resolve().parents[2] / "resources"
_SHOWN_LIMIT = 300
_DATABASE_LIMIT_BYTES = 504  # SQLite opens names of up to 512 bytes and appends -journal
DOCUMENTATION = RESOURCES.parent / "docs"  # missing if only the app package is installed


@dataclass(frozen=True, slots=True)
class Paths:
    """The app's folders. `data` must be kept; `cache` can be recreated."""

    data: Path
    config: Path
    cache: Path
    engines_folder: Path | None = None  # the user's engines folder; None for the default folder

    @property
    def database(self) -> Path:
        return self.data / "runs.sqlite3"

    @property
    def datasets(self) -> Path:
        return self.data / "datasets"

    @property
    def settings(self) -> Path:
        return self.config / "settings.json"

    @property
    def downloads(self) -> Path:
        return self.cache / "downloads"

    @property
    def locks(self) -> Path:
        return self.cache / "locks"

    @property
    def logs(self) -> Path:
        return self.cache / "logs"

    @property
    def engines(self) -> Path:
        return self.engines_folder or self.data / "engines"

    @property
    def keras_home(self) -> Path:
        """Epochmark's own Keras folder, used so that the user's keras.json has no effect."""
        return self.cache / "keras"

    def create(self) -> None:
        """Create the folders. Raises UsageError if one can't be created."""
        if os.name == "posix":
            self._check_length()
        for folder in (self.data, self.config, self.logs, self.downloads, self.locks, self.keras_home):
            make_folder(folder)

    def _check_length(self) -> None:
        size_bytes = len(os.fsencode(os.path.realpath(self.database)))
        if size_bytes > _DATABASE_LIMIT_BYTES:
            raise UsageError(
                message(
                    "folders.name_too_long",
                    folder=_shown(self.data),
                    size_bytes=size_bytes,
                    limit_bytes=_DATABASE_LIMIT_BYTES,
                ),
                message("folders.choose_shorter"),
            )


def default_paths(environment: Mapping[str, str] = os.environ) -> Paths:
    """Return the default folders, or those in EPOCHMARK_HOME. Raises UsageError if they can't be determined."""
    home = environment.get("EPOCHMARK_HOME")
    if home:
        root = _root(home)
        return Paths(data=root / "data", config=root / "config", cache=root / "cache")
    paths = Paths(
        data=Path(appdirs.user_data_dir("epochmark", appauthor=False)),
        config=Path(appdirs.user_config_dir("epochmark", appauthor=False)),
        cache=Path(appdirs.user_cache_dir("epochmark", appauthor=False)),
    )
    for folder in (paths.data, paths.config, paths.cache):
        if not folder.is_absolute():  # "~/…" if the home folder is unknown, or a relative XDG_DATA_HOME
            raise UsageError(
                message("folders.not_absolute", folder=_shown(folder)), message("folders.set_home_or_xdg")
            )
    return paths


def _root(home: str) -> Path:
    shown = one_line(home, _SHOWN_LIMIT)
    try:
        return Path(home).expanduser().absolute()
    except RuntimeError as error:
        raise UsageError(
            message("folders.home_unknown", folder=shown), message("folders.set_home_or_xdg")
        ) from error
    except OSError as error:  # the current folder no longer exists
        raise UsageError(
            message("folders.current_is_gone", folder=shown, reason=error.strerror),
            message("folders.set_home_or_xdg"),
        ) from error


def make_folder(folder: Path) -> None:
    """Create a folder and its parents. Raises UsageError if this fails."""
    try:
        if not is_folder(folder):
            folder.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError) as error:
        where = next(
            (place for place in (folder, *folder.parents) if os.path.lexists(place) and not place.is_dir()), folder
        )
        raise UsageError(
            message("folders.file_in_place", folder=_shown(where)), message("folders.move_away")
        ) from error
    except OSError as error:
        advice = "database.check_permissions"
        if error.errno == errno.ENAMETOOLONG:
            advice = "folders.choose_shorter"
        elif error.errno in {errno.ENOSPC, errno.EDQUOT}:
            advice = "dataset.free_space_or_move_home"
        raise UsageError(
            message("folders.not_created", folder=_shown(folder), reason=error.strerror), message(advice)
        ) from error


def _shown(folder: Path) -> str:
    return one_line(str(folder), _SHOWN_LIMIT)
