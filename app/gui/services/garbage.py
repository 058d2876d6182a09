"""Has Python collect garbage in the window's thread only.

Python does it in whatever thread makes an object just then. Where that is not the window's, a Qt object among the
garbage can stop everything for good: its destructor holds a lock of Qt and waits for Python's, while the window's
thread holds Python's and waits in `connect` for Qt's.
"""

import gc

from PySide6.QtCore import QObject, QTimer

INTERVAL_MS = 1_000


class GarbageCollector(QObject):
    """Collects garbage between two events, instead of Python itself, until `close`."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        gc.disable()
        self._timer = QTimer(self, interval=INTERVAL_MS)
        self._timer.timeout.connect(self.collect)
        self._timer.start()

    def collect(self) -> None:
        """Collect the oldest generation whose turn it is."""
        # As the interpreter counts: new objects, collections of the youngest, those of the middle generation.
        due = [count > limit for count, limit in zip(gc.get_count(), gc.get_threshold(), strict=True)]
        if any(due):
            gc.collect(max(generation for generation, is_due in enumerate(due) if is_due))

    def close(self) -> None:
        """Give it back to Python."""
        self._timer.stop()
        gc.enable()
