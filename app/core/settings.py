"""The user's settings: a small JSON file, written atomically; an unreadable file is set aside."""

import errno
import itertools
import logging
import stat
import time
from pathlib import Path
from typing import Annotated, Literal

import msgspec

from app.core.errors import AppError
from app.core.files import write_whole
from app.core.messages import message, sentence
from app.core.plain_text import one_line
from workloads.datasets.regular_file import read_regular

_SIZE_LIMIT_BYTES = 1 << 20
ZoomPct = Annotated[int, msgspec.Meta(ge=80, le=200)]
Folder = Annotated[str, msgspec.Meta(pattern=r"^[^\0]*\Z", max_length=4_096)]
_log = logging.getLogger(__name__)


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """The user's choices. Fields from a newer version are ignored."""

    preset: Literal["quick", "standard", "sustained"] | None = (
        None  # None: never chosen; each view has its own default
    )
    data: Literal["auto", "real", "synthetic"] = "auto"
    theme: Literal["system", "light", "dark"] = "system"
    datasets_folder: Folder | None = None  # None: Epochmark's own folder
    save_folder: Folder | None = None  # where something was saved last
    geometry: str | None = None  # the window's geometry from Qt, in base64
    zoom_pct: ZoomPct = 100


def load_settings(path: Path) -> Settings:
    """Return the settings, or the defaults if there are none.

    A damaged file is renamed, never deleted, and named in a warning; anything but a file stays where it is.
    """
    try:
        return msgspec.json.decode(read_regular(path, _SIZE_LIMIT_BYTES), type=Settings)
    except FileNotFoundError:
        return Settings()
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        return _set_aside(path, str(error))
    except OSError as error:
        if error.errno == errno.EFBIG:
            return _set_aside(path, str(error.strerror))
        _log.warning("%s", sentence("settings.unreadable", path=_shown(path), reason=error.strerror))
        return Settings()


class _Zoom(msgspec.Struct, frozen=True):
    zoom_pct: ZoomPct = 100


def stored_zoom_pct(path: Path) -> int:
    """Return the stored zoom before anything else can be read or said; 100 if there is none, or no such file."""
    try:
        return msgspec.json.decode(read_regular(path, _SIZE_LIMIT_BYTES), type=_Zoom).zoom_pct
    except (OSError, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return _Zoom().zoom_pct


def save_settings(path: Path, settings: Settings) -> None:
    """Write the settings so that a crash leaves either the old file or the new one.

    Links and permissions are kept; raises AppError if it can't be written.
    """
    try:
        content = msgspec.json.format(msgspec.json.encode(settings), indent=2) + b"\n"
        if path.exists() and not stat.S_ISREG(path.stat().st_mode):
            raise OSError(errno.EINVAL, sentence("files.not_regular"))  # which might block forever
        write_whole(path, [content])
    except UnicodeEncodeError as error:
        raise AppError(message("settings.folder_not_utf8"), message("settings.rename_folder")) from error
    except OSError as error:
        raise AppError(message("settings.not_written", path=_shown(path), reason=error.strerror)) from error


def _set_aside(path: Path, reason: str) -> Settings:
    path = path.resolve()  # the link's target, so that the link stays
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
