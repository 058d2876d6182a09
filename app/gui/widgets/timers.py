"""Timers."""

from PySide6.QtCore import QObject, QTimer


def timer(parent: QObject, interval_ms: int, *, once: bool = False) -> QTimer:
    """Return a timer that hasn't started.

    Not QTimer(parent, interval=...): PySide makes "setInterval" of it with the C library's capital "i", which in
    Turkish is another letter.
    """
    made = QTimer(parent, singleShot=once)
    made.setInterval(interval_ms)
    return made
