"""Times repeated calls. Workloads that don't train use this as their main loop."""

import math
import time
from collections.abc import Callable

from workloads.protocol.reporter import Reporter


def repeat(
    reporter: Reporter,
    call: Callable[[], object],
    *,
    index: int,
    steps: int,
    budget_s: float = math.inf,
    steps_at_least: int = 1,
    agreed: Callable[[bool], bool] = bool,
) -> list[float]:
    """Call a function repeatedly, report each call as a step, and return the durations in seconds.

    Args:
        reporter: Receives the steps.
        call: Function that returns once the device has completed its work.
        budget_s: Stop after this many seconds. If finite, also stop when the parent has measured enough.
        steps_at_least: Minimum number of calls, regardless of `budget_s`.
        agreed: If `budget_s` is finite, called after each call with this process's decision whether to stop.
            Returns the decision for all processes of the run.
    """
    durations_s: list[float] = []
    reporter.epoch_begin(index)
    start_s = last_s = time.perf_counter()
    while len(durations_s) < steps:
        call()
        now_s = time.perf_counter()
        durations_s.append(now_s - last_s)
        reporter.step_end()
        last_s = time.perf_counter()
        is_over = now_s - start_s > budget_s or reporter.enough.is_set()
        if budget_s < math.inf and agreed(is_over and len(durations_s) >= steps_at_least):
            break
    return durations_s
