"""The user's settings: a small JSON file, written atomically; a file that cannot be read is set aside."""

import contextlib
import itertools
import logging
import os
import time
from pathlib import Path
from typing import Annotated, Literal

import msgspec

from app.core.errors import AppError

_SIZE_LIMIT_BYTES = 1 << 20
Folder = Annotated[str, msgspec.Meta(pattern=r"^[^\0]*\Z", max_length=4_096)]
_log = logging.getLogger(__name__)


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """What the user chose. Fields that a newer version wrote are ignored."""

    preset: Literal["quick", "standard", "sustained"] | None = (
        None  # None: never chosen; the views have defaults of their own
    )
    data: Literal["auto", "real", "synthetic"] = "auto"
    theme: Literal["system", "light", "dark"] = "system"
    datasets_folder: Folder | None = None  # None: among Epochmark's own files
    geometry: str | None = None  # the window's place, as Qt says it, in base64


def load_settings(path: Path) -> Settings:
    """Return the settings, or the defaults when there are none.

    A damaged file is renamed, never deleted, and named in a log warning.
    """
    try:
        if path.stat().st_size > _SIZE_LIMIT_BYTES:
            return _set_aside(path, "it is too large")
        return msgspec.json.decode(path.read_bytes(), type=Settings)
    except FileNotFoundError:
        return Settings()
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        return _set_aside(path, str(error))
    except OSError as error:
        _log.warning("The settings in %s cannot be read (%s); the defaults are used.", path, error.strerror)
        return Settings()


def save_settings(path: Path, settings: Settings) -> None:
    """Write the settings so that a crash leaves the old file or the new one, never half of it."""
    partial = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        partial.write_bytes(msgspec.json.format(msgspec.json.encode(settings), indent=2) + b"\n")
        partial.replace(path)
    except OSError as error:
        with contextlib.suppress(OSError):
            partial.unlink(missing_ok=True)
        raise AppError(f"The settings cannot be written to {path} ({error.strerror}).") from error


def _set_aside(path: Path, reason: str) -> Settings:
    stem = f"{path.stem}.damaged-{time.strftime('%Y%m%d-%H%M%S')}"
    names = (f"{stem}-{number}" if number else stem for number in itertools.count())
    aside = next(free for name in names if not (free := path.with_name(name + path.suffix)).exists())
    try:
        path.replace(aside)
    except OSError:
        aside = path
    _log.warning(
        "The settings file is no valid settings (%s); it was kept as %s, and the defaults are used.",
        reason,
        aside,
    )
    return Settings()
