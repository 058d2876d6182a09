"""Waiting for work in another thread, in steps short enough to cancel."""

from collections.abc import Callable
from concurrent.futures import Future, wait
from typing import TypeVar

_Value = TypeVar("_Value")
Pulse = Callable[[], None]  # called ten times a second; may raise to cancel
_PULSE_S = 0.1


def wait_for(outcome: Future[_Value], pulse: Pulse) -> _Value:
    """Return the result of work in another thread, or raise its error; calls `pulse` at least once."""
    pulse()
    while not wait([outcome], _PULSE_S).done:
        pulse()
    return outcome.result()
