"""Waiting for what sends a test no event: other processes and their files."""

import threading
from collections.abc import Callable

PATIENCE_S = 60.0
_PAUSE_S = 0.02


def wait_until(condition: Callable[[], object], patience_s: float = PATIENCE_S) -> None:
    """Wait until something is so; fails if it is not after a time that no computer needs for it."""
    pause = threading.Event()
    for _ in range(round(patience_s / _PAUSE_S)):
        if condition():
            return
        pause.wait(_PAUSE_S)
    assert condition(), f"not so after {patience_s:g} s"
