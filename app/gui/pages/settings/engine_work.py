"""Installs or checks an engine in a thread. The GUI can show the progress and cancel the work."""

import time
from collections.abc import Callable
from typing import TypeVar

from app.core.engines.install import Checkup, Phase, Progress, check_engine, install_engine, remove_engine
from app.core.engines.stamp import Stamp
from app.core.engines.variants import Variant
from app.core.messages import sentence
from app.core.paths import Paths
from app.core.storage.database import Database
from app.core.storage.outcomes import check_engine_unused
from app.gui.services.rate import Rate

_Result = TypeVar("_Result")


class WorkCancelledError(Exception):
    """The user cancelled the installation or check."""


class EngineWork:
    """An installation or check. `share` and `status_text` may be called from any thread."""

    def __init__(self, title: str, clock: Callable[[], float] = time.monotonic) -> None:
        self.title = title
        self.cancelled = False
        self._rate = Rate(clock)
        self._now: tuple[Phase, int, int] = ("resolve", 0, 0)

    def install(self, paths: Paths, variant: Variant) -> Stamp | None:
        """Install a variant, unless a run is using the installed files. Returns None if cancelled."""
        with Database(paths.database) as database:
            check_engine_unused(database, variant.engine)
        return self._cancellable(lambda progress: install_engine(paths, variant, progress=progress))

    def check(self, paths: Paths, engine: str) -> Checkup | None:
        self._now = ("check", 0, 0)
        return self._cancellable(lambda progress: check_engine(paths, engine, progress))

    @property
    def share(self) -> float | None:
        phase, done_bytes, total_bytes = self._now
        return done_bytes / total_bytes if phase == "download" and total_bytes else None

    def status_text(self) -> str:
        phase, done_bytes, total_bytes = self._now
        if phase != "download" or not total_bytes:
            return sentence(f"engines.phase.{phase}")
        arrived = {
            "done_bytes": done_bytes,
            "total_bytes": total_bytes,
            "share_pct": 100 * done_bytes // total_bytes,
        }
        rate_bytes = self._rate.bytes_per_s(done_bytes)
        if rate_bytes is None:
            return sentence("engines_card.downloading", **arrived)
        return sentence("engines_card.downloading_at", **arrived, rate_bytes=rate_bytes)

    def _cancellable(self, do: Callable[[Progress], _Result]) -> _Result | None:
        try:
            return do(self.report)
        except WorkCancelledError:
            return None

    def report(self, phase: Phase, done_bytes: int, total_bytes: int) -> None:
        """Record progress from the work's thread. Raises WorkCancelledError if the user has cancelled."""
        if self.cancelled:
            raise WorkCancelledError
        if phase == "download":
            self._rate.note(done_bytes)
        self._now = phase, done_bytes, total_bytes


def remove_unused(paths: Paths, engine: str) -> None:
    """Delete an engine, unless a run is using it."""
    with Database(paths.database) as database:
        check_engine_unused(database, engine)
    remove_engine(paths, engine)
