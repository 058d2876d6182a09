"""Time limits for calls that may block forever because of a driver or an unreachable server.

Thread pools of concurrent.futures aren't used, because the program would wait for their threads at exit.
"""

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

_Value = TypeVar("_Value")


def call_in_thread(call: Callable[[], _Value], name: str) -> Future[_Value]:
    """Call a function in a new thread.

    The future's `result(limit_s)` returns the value, or raises the function's exception or TimeoutError.
    """
    outcome: Future[_Value] = Future()

    def run() -> None:
        try:
            outcome.set_result(call())
        except BaseException as error:  # noqa: BLE001 - handed over, to be raised again where it is waited for
            outcome.set_exception(error)

    threading.Thread(target=run, name=name, daemon=True).start()
    return outcome
