"""A pool of threads that makes things in order, ahead of their use."""

import math
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

from workloads.engines.cpu_allowance import cpu_quota, visible_cpus

_Made = TypeVar("_Made")


def usable_cpus() -> int:
    """Return how many threads can compute at once in this process."""
    return max(1, math.ceil(min(visible_cpus() or 1, cpu_quota() or math.inf)))


def made(calls: Iterable[Callable[[], _Made]], threads: int) -> Iterator[_Made]:
    """Yield the results of calls in their order; two calls for each thread are made ahead.

    Args:
        calls: Taken one by one, in the caller's thread.
        threads: How many of them run at once.
    """
    waiting: deque[Future[_Made]] = deque()
    with ThreadPoolExecutor(threads, "pictures") as pool:
        try:
            for call in calls:
                waiting.append(pool.submit(call))
                if len(waiting) > 2 * threads:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            pool.shutdown(cancel_futures=True)
