"""Whether the drives have room for an engine."""

import shutil
from collections.abc import Mapping
from pathlib import Path

from app.core.engines.variants import Variant
from app.core.engines.wheels import Wheel
from app.core.errors import AppError
from app.core.messages import message
from app.core.paths import Paths
from app.core.plain_text import one_line

_UNPACKED = 4  # times the size of the wheels, at most, as long as nothing better is known


def check_room(paths: Paths, variant: Variant, sizes: Mapping[Wheel, int | None], downloads: Path) -> None:
    """Raise AppError if downloads or packages won't fit.

    Args:
        paths: The app's folders.
        variant: What is installed.
        sizes: Its files, with their sizes as far as known.
        downloads: Where they go.
    """
    all_bytes = sum(size or 0 for size in sizes.values())
    missing_bytes = sum(
        size or 0
        for wheel, size in sizes.items()
        if wheel.local is None and not (downloads / wheel.file_name).is_file()
    )
    unpacked_bytes = variant.disk_bytes or _UNPACKED * (all_bytes or variant.download_bytes or 0)
    if _drive(downloads) == _drive(paths.engines):
        check_free(paths.engines, missing_bytes + unpacked_bytes)
    else:
        check_free(downloads, missing_bytes)
        check_free(paths.engines, unpacked_bytes)


def check_free(folder: Path, need_bytes: int) -> None:
    """Raise AppError unless a folder's drive has so much room."""
    free_bytes = shutil.disk_usage(_existing(folder)).free
    if free_bytes < need_bytes:
        raise AppError(
            message(
                "engines.no_room", folder=one_line(str(folder), 300), need_bytes=need_bytes, free_bytes=free_bytes
            ),
            message("engines.free_space"),
        )


def _drive(folder: Path) -> int:
    return _existing(folder).stat().st_dev


def _existing(folder: Path) -> Path:
    return next(place for place in (folder, *folder.parents) if place.exists())
