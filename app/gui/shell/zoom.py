"""Zoom for the whole app. Qt scales everything, including painted content, but only at startup."""

import contextlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path

from PySide6.QtCore import QSize

from app.core.errors import AppError
from app.core.messages import sentence
from app.core.settings import stored_zoom_pct
from app.gui.services.bundle import Services

STEPS_PCT = (80, 90, 100, 110, 125, 150, 175, 200)
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
    """Stores the zoom, and offers the restart that is needed to apply it.

    Args:
        restart: Closes the window and restarts the app.
    """

    def __init__(self, services: Services, smallest: QSize, restart: Callable[[], None]) -> None:
        self._services = services
        self._smallest = smallest
        self._restart = restart
        self._now_pct = services.preferences.settings.zoom_pct  # the zoom that is in effect

    def larger(self, screen: QSize) -> None:
        """Zoom in by one step, unless the window would no longer fit on the screen."""
        now_pct = self._services.preferences.settings.zoom_pct
        next_pct = next((step for step in STEPS_PCT if step > now_pct), now_pct)
        if next_pct in (now_pct, USUAL_PCT) or self._fits(next_pct, screen):
            self._store(next_pct)
        else:
            refused = sentence("zoom.no_room", zoom_pct=next_pct, kept_pct=now_pct)
            self._services.notify(refused, "caution", "", None)

    def smaller(self) -> None:
        now_pct = self._services.preferences.settings.zoom_pct
        self._store(next((step for step in reversed(STEPS_PCT) if step < now_pct), now_pct))

    def reset(self) -> None:
        self._store(USUAL_PCT)

    def _fits(self, zoom_pct: int, screen: QSize) -> bool:
        room = screen * (self._now_pct / zoom_pct)
        return room.width() >= self._smallest.width() and room.height() >= self._smallest.height()

    def _store(self, zoom_pct: int) -> None:
        try:
            self._services.preferences.change(zoom_pct=zoom_pct)
        except AppError as error:
            self._services.complain(error)
            return
        if zoom_pct == self._now_pct:
            self._services.notify(sentence("zoom.stays", zoom_pct=zoom_pct), "", "", None)
            return
        action = "" if self._services.bridge.is_running else sentence("zoom.restart")
        self._services.notify(sentence("zoom.next_start", zoom_pct=zoom_pct), "", action, self._restart)
