"""Locations of installed engines, and a lock that lets only one process at a time change them.

This module is separate from `install` because every run and the start of the window need it, but not the imports
required for installing.
"""

import contextlib
from collections.abc import Iterator
from pathlib import Path

from app.core import locks
from app.core.engines.folder import EngineFolder
from app.core.errors import AppError
from app.core.messages import message
from app.core.paths import Paths, make_folder
from workloads.engines.registry import ENGINES, engine_title, is_included


def installable() -> tuple[str, ...]:
    return tuple(name for name in ENGINES if not is_included(name))


def engine_folder(paths: Paths, engine: str) -> EngineFolder:
    return EngineFolder(paths.engines, engine, engine_title(engine))


def put_back(paths: Paths, engine: str) -> None:
    """Restore an engine after an interrupted replacement, unless another process is working on it."""
    place = engine_folder(paths, engine)
    if place.is_cut_off() and paths.locks.is_dir():
        with contextlib.suppress(AppError), exclusive(paths, engine):
            place.tidy()


def is_busy(paths: Paths, engine: str) -> bool:
    """Return whether an engine is being installed, removed or checked."""
    return locks.is_held(_lock_place(paths, engine))


@contextlib.contextmanager
def exclusive(paths: Paths, engine: str) -> Iterator[None]:
    """Lock an engine against other processes that use the same folders.

    Raises AppError if another process holds the lock.
    """
    make_folder(paths.locks)
    hold = locks.acquire(_lock_place(paths, engine))
    if hold is None:
        raise AppError(message("engines.busy", title=engine_title(engine)), message("engines.wait_for_it"))
    with hold:
        yield


def _lock_place(paths: Paths, engine: str) -> Path:
    return paths.locks / f"engine-{engine}.lock"
