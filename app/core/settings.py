"""The user's settings, stored in a small JSON file that is written atomically. An unreadable file is renamed."""

import errno
import itertools
import logging
import stat
import time
from pathlib import Path
from typing import Annotated, Literal

import msgspec

from app.core.errors import AppError
from app.core.files import read_regular, write_whole
from app.core.messages import message, sentence
from app.core.plain_text import one_line
from workloads.protocol import typed

_SIZE_LIMIT_BYTES = 1 << 20
ZoomPct = Annotated[int, msgspec.Meta(ge=80, le=200)]
Amount = Annotated[float, msgspec.Meta(ge=0, le=1e6)]
Names = Annotated[tuple[Annotated[str, msgspec.Meta(max_length=100)], ...], msgspec.Meta(max_length=1_000)]
Folder = Annotated[str, msgspec.Meta(pattern=r"^[^\0]*\Z", max_length=4_096)]
_log = logging.getLogger(__name__)
ZOOM_STEPS_PCT = (80, 90, 100, 110, 125, 150, 175, 200)


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """The user's settings. Unknown fields from newer versions are ignored."""

    preset: Literal["quick", "standard", "sustained"] | None = (
        None  # None: never chosen, so each view uses its own default
    )
    data: Literal["auto", "real", "synthetic"] = "auto"
    theme: Literal["system", "light", "dark"] = "system"
    save_folder: Folder | None = None  # folder most recently used for saving
    recent_workloads: Names = ()  # newest first
    geometry: str | None = None  # geometry of the window as returned by Qt, in base64
    zoom_pct: ZoomPct = 100
    usd_per_hour: Amount | None = None  # price of an hour of training on this computer


def load_settings(path: Path) -> Settings:
    """Return the settings, or the defaults if there are none.

    A damaged file is renamed, not deleted, and a warning states its new name. If the path isn't a regular file,
    nothing is changed.
    """
    try:
        return typed.decode(read_regular(path, _SIZE_LIMIT_BYTES), Settings)
    except FileNotFoundError:
        return Settings()
    except msgspec.DecodeError as error:
        return _set_aside(path, str(error))
    except OSError as error:
        if error.errno == errno.EFBIG:
            return _set_aside(path, str(error.strerror))
        _log.warning("%s", sentence("settings.unreadable", path=_shown(path), reason=error.strerror))
        return Settings()


class _Zoom(msgspec.Struct, frozen=True):
    zoom_pct: ZoomPct = 100


def stored_zoom_pct(path: Path) -> int:
    """Return the stored zoom in percent, or 100 if none can be read. Problems with the file aren't reported."""
    try:
        return typed.decode(read_regular(path, _SIZE_LIMIT_BYTES), _Zoom).zoom_pct
    except (OSError, msgspec.DecodeError):
        return _Zoom().zoom_pct


def save_settings(path: Path, settings: Settings) -> None:
    """Write the settings atomically: after a crash, either the old or the new file exists.

    Links and permissions are preserved. Raises AppError if the file can't be written.
    """
    try:
        content = msgspec.json.format(msgspec.json.encode(settings), indent=2) + b"\n"
        if path.exists() and not stat.S_ISREG(path.stat().st_mode):
            raise OSError(errno.EINVAL, sentence("files.not_regular"))  # writing could block forever
        write_whole(path, [content])
    except UnicodeEncodeError as error:
        raise AppError(message("settings.folder_not_utf8"), message("run.rename_it")) from error
    except OSError as error:
        raise AppError(message("settings.not_written", path=_shown(path), reason=error.strerror)) from error


def _set_aside(path: Path, reason: str) -> Settings:
    path = path.resolve()  # the target of a link, so that the link is preserved
    stem = f"{path.stem}.damaged-{time.strftime('%Y%m%d-%H%M%S')}"
    names = (f"{stem}-{number}" if number else stem for number in itertools.count())
    aside = next(free for name in names if not (free := path.with_name(name + path.suffix)).exists())
    try:
        path.replace(aside)
    except OSError:
        aside = path
    _log.warning("%s", sentence("settings.invalid", reason=one_line(reason, 200), kept=_shown(aside)))
    return Settings()


def _shown(path: Path) -> str:
    return one_line(str(path), 300)
