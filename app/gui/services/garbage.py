"""Makes Python collect garbage only in the window's thread.

Python collects in any thread that happens to create an object. In another thread, a Qt object in the garbage can
cause a deadlock if its destructor holds a lock of Qt and waits for Python's, while the window's thread holds
Python's and waits in `connect` for Qt's.

Objects created at the start (modules, the window and its charts) live as long as the window. Scanning them takes
several times as long as everything else, so they are excluded.
"""

import gc

from PySide6.QtCore import QObject

from app.gui.widgets.timers import timer

INTERVAL_MS = 1_000


class GarbageCollector(QObject):
    """Collects garbage between events, instead of Python itself, until `close`."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        gc.disable()
        self._timer = timer(self, INTERVAL_MS)
        self._timer.timeout.connect(self.collect)
        self._timer.start()
        self._is_first = True

    def collect(self) -> None:
        """Collect the oldest generation that is due. The first time, only exclude all existing objects."""
        if self._is_first:
            self._is_first = False
            gc.freeze()
            return
        # As in the interpreter: new objects, collections of the youngest and of the middle generation.
        due = [count > limit for count, limit in zip(gc.get_count(), gc.get_threshold(), strict=True)]
        if any(due):
            gc.collect(max(generation for generation, is_due in enumerate(due) if is_due))

    def close(self) -> None:
        """Give garbage collection back to Python."""
        self._timer.stop()
        gc.unfreeze()
        gc.enable()
