"""Restricts Python's garbage collection to the GUI thread.

Python collects garbage in whichever thread creates an object. If another thread destroys a Qt object, the
destructor may hold one of Qt's locks and wait for the GIL, while the GUI thread holds the GIL and waits for that
lock in `connect`. The result is a deadlock.

Objects created at startup (modules, the window and its charts) live as long as the window. Scanning them takes
several times as long as all other work, so they are excluded.
"""

import gc

from PySide6.QtCore import QObject

from app.gui.widgets.timers import timer

INTERVAL_MS = 1_000


class GarbageCollector(QObject):
    """Takes over garbage collection from Python until `close` is called, and collects only between events."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        gc.disable()
        self._timer = timer(self, INTERVAL_MS)
        self._timer.timeout.connect(self.collect)
        self._timer.start()
        self._is_first = True

    def collect(self) -> None:
        """Collect the oldest generation that is due. The first call only excludes all existing objects."""
        if self._is_first:
            self._is_first = False
            gc.freeze()
            return
        # Same rule as the interpreter's, based on new objects and collections of the two younger generations.
        due = [count > limit for count, limit in zip(gc.get_count(), gc.get_threshold(), strict=True)]
        if any(due):
            gc.collect(max(generation for generation, is_due in enumerate(due) if is_due))

    def close(self) -> None:
        self._timer.stop()
        gc.unfreeze()
        gc.enable()
