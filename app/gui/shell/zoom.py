"""Zoom for the whole app. Qt scales everything, including painted content, but only at startup."""

import contextlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path

from PySide6.QtCore import QSize

from app.core.errors import AppError
from app.core.messages import sentence
from app.core.settings import ZOOM_STEPS_PCT, stored_zoom_pct
from app.gui.services.bundle import Services

USUAL_PCT = 100
VARIABLE = "QT_SCALE_FACTOR"


@contextlib.contextmanager
def zoomed(settings_file: Path) -> Iterator[None]:
    """Apply the stored zoom to a QApplication created inside the block, on top of the user's scale factor."""
    own = os.environ.get(VARIABLE)
    zoom_pct = stored_zoom_pct(settings_file)
    if zoom_pct != USUAL_PCT:
        with contextlib.suppress(ValueError):  # Qt complains about the invalid factor itself
            os.environ[VARIABLE] = str(float(own or 1) * zoom_pct / 100)
    try:
        yield
    finally:  # other programs started later must not be zoomed
        os.environ.pop(VARIABLE, None)
        if own is not None:
            os.environ[VARIABLE] = own


class Zoom:
    """Stores the zoom, and offers the restart that is needed to apply it."""

    def __init__(self, services: Services, smallest: QSize, restart: Callable[[], None]) -> None:
        self._services = services
        self._smallest = smallest
        self._restart = restart
        self._now_pct = services.preferences.settings.zoom_pct  # the zoom that is in effect

    def larger(self, screen: QSize) -> None:
        now_pct = self._services.preferences.settings.zoom_pct
        self.choose(next((step for step in ZOOM_STEPS_PCT if step > now_pct), now_pct), screen)

    def smaller(self) -> None:
        now_pct = self._services.preferences.settings.zoom_pct
        self._store(next((step for step in reversed(ZOOM_STEPS_PCT) if step < now_pct), now_pct))

    def reset(self) -> None:
        self._store(USUAL_PCT)

    def choose(self, zoom_pct: int, screen: QSize) -> None:
        """Store a zoom, or the largest one with which the window fits on the screen."""
        limit_pct = max(step for step in ZOOM_STEPS_PCT if step <= USUAL_PCT or self._fits(step, screen))
        self._store(min(zoom_pct, limit_pct), is_limit=zoom_pct > limit_pct)

    def _fits(self, zoom_pct: int, screen: QSize) -> bool:
        room = screen * (self._now_pct / zoom_pct)
        return room.width() >= self._smallest.width() and room.height() >= self._smallest.height()

    def _store(self, zoom_pct: int, *, is_limit: bool = False) -> None:
        try:
            self._services.preferences.change(zoom_pct=zoom_pct)
        except AppError as error:
            self._services.complain(error)
            return
        is_applied = zoom_pct == self._now_pct
        code = "zoom.limit" if is_limit else "zoom.stays" if is_applied else "zoom.next_start"
        action = "" if is_applied or self._services.bridge.is_running else sentence("zoom.restart")
        self._services.notify(sentence(code, zoom_pct=zoom_pct), "", action, self._restart)
