"""A helper that creates timers."""

from PySide6.QtCore import QObject, QTimer


def timer(parent: QObject, interval_ms: int, *, once: bool = False) -> QTimer:
    """Return a timer that hasn't been started.

    This avoids QTimer(parent, interval=...), because PySide derives "setInterval" with the C library's upper-case
    "i", which is a different letter in Turkish.
    """
    made = QTimer(parent, singleShot=once)
    made.setInterval(interval_ms)
    return made
