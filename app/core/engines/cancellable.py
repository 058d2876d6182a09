"""Waits for work in another thread, and allows the user to cancel it."""

from collections.abc import Callable
from concurrent.futures import Future, wait
from typing import TypeVar

_Value = TypeVar("_Value")
CancelCheck = Callable[[], None]  # called ten times a second; may raise an exception to cancel
_CHECK_S = 0.1


def wait_for(outcome: Future[_Value], check: CancelCheck) -> _Value:
    """Return the result of work in another thread, or raise its exception. Calls `check` at least once."""
    check()
    while not wait([outcome], _CHECK_S).done:
        check()
    return outcome.result()
