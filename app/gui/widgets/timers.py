"""Timers."""

from PySide6.QtCore import QObject, QTimer


def timer(parent: QObject, interval_ms: int, *, once: bool = False) -> QTimer:
    """Return a timer that hasn't started.

    QTimer(parent, interval=...) isn't used because PySide derives "setInterval" with the C library's capital "i",
    which is a different letter in Turkish.
    """
    made = QTimer(parent, singleShot=once)
    made.setInterval(interval_ms)
    return made
