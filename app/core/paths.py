"""Where Epochmark keeps its files: the only place that knows. EPOCHMARK_HOME moves all of it to one folder."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import appdirs

from app.core.errors import UsageError

RESOURCES = Path(__file__).resolve().parents[2] / "resources"
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
    def logs(self) -> Path:
        """The app's log and one for each run's worker."""
        return self.cache / "logs"

    @property
    def keras_home(self) -> Path:
        """A Keras folder of our own, so that a user's keras.json changes nothing."""
        return self.cache / "keras"

    def create(self) -> None:
        """Make the folders; raises UsageError with the folder and the reason if that cannot be done."""
        for folder in (self.data, self.config, self.logs, self.downloads, self.keras_home):
            make_folder(folder)


def default_paths(environment: Mapping[str, str] = os.environ) -> Paths:
    """Return the user's folders, or those below EPOCHMARK_HOME; raises UsageError if that names nobody's home."""
    home = environment.get("EPOCHMARK_HOME")
    if home:
        try:
            root = Path(home).expanduser().absolute()
        except RuntimeError as error:  # "~name" of nobody
            raise UsageError(f"EPOCHMARK_HOME is {home!r}, but there is no such user.") from error
        return Paths(data=root / "data", config=root / "config", cache=root / "cache")
    return Paths(
        data=Path(appdirs.user_data_dir("epochmark", appauthor=False)),
        config=Path(appdirs.user_config_dir("epochmark", appauthor=False)),
        cache=Path(appdirs.user_cache_dir("epochmark", appauthor=False)),
    )


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
            f"The folder for data sets is {str(folder)[:200]!r}, which does not say where it begins.",
            "Choose a whole path in the settings.",
        )
    try:
        reason = "it is a file" if folder.is_file() else "it is not there"
        if folder.is_dir():
            return
    except OSError as error:
        reason = str(error.strerror)
    raise UsageError(
        f"The folder for data sets, {str(folder)[:200]}, cannot be used ({reason}).",
        "Plug in the drive that it is on, or choose another folder in the settings.",
    )


def make_folder(folder: Path) -> None:
    """Make the folder and its parents; raises UsageError that says which one and why not."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError) as error:
        raise UsageError(
            f"{folder} cannot be used as a folder because a file is in its place.",
            "Move the file away, or set EPOCHMARK_HOME to another folder.",
        ) from error
    except OSError as error:
        raise UsageError(
            f"The folder {folder} cannot be made ({error.strerror}).",
            "Set EPOCHMARK_HOME to a folder that can be written.",
        ) from error
