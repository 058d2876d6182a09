"""Timers, and work divided among turns of the event loop."""

from collections.abc import Iterator
from functools import partial

from PySide6.QtCore import QObject, QTimer


def timer(parent: QObject, interval_ms: int, *, once: bool = False) -> QTimer:
    """Return a timer that hasn't been started.

    The function avoids QTimer(parent, interval=...), because PySide uses the C library to capitalise "i" in
    "setInterval", which yields a different letter in a Turkish locale.
    """
    made = QTimer(parent, singleShot=once)
    made.setInterval(interval_ms)
    return made


def in_turns(owner: QObject, steps: Iterator[object]) -> None:
    """Run the steps of an iterator in separate turns of the event loop, the first one immediately.

    Input is handled between the steps. The remaining steps are dropped if `owner` is deleted.
    """
    for _ in steps:
        QTimer.singleShot(0, owner, partial(in_turns, owner, steps))
        return
