"""Finds the programs that use the most CPU time. The names are shown, never stored."""

import os
import threading
import time
from collections import defaultdict
from collections.abc import Mapping

import psutil

from app.core.hardware.telemetry.processes import descendants
from app.core.plain_text import one_line

NAME_LIMIT, COUNT = 30, 2
# Programs below this share of one core don't explain a busy computer.
AT_LEAST_PCT = 20.0


def busy_programs(duration_s: float = 0.5, stop: threading.Event | None = None) -> tuple[str, ...]:
    """Return the names of the programs that use the most CPU time: at most two, busiest first.

    Processes with the same name, such as those of a browser, count as one program. Epochmark's own processes and
    other users' unreadable processes are excluded.
    """
    before, began_s = _used_s(), time.monotonic()
    (stop or threading.Event()).wait(duration_s)
    return busiest(before, _used_s(), time.monotonic() - began_s)


def busiest(
    before: Mapping[tuple[int, str], float], after: Mapping[tuple[int, str], float], elapsed_s: float
) -> tuple[str, ...]:
    """Return the busiest programs, given two readings of CPU times, in seconds, by process ID and name."""
    used_s: defaultdict[str, float] = defaultdict(float)
    for process, total_s in after.items():
        used_s[process[1]] += total_s - before.get(process, total_s)  # a process that is new isn't counted
    least_s = AT_LEAST_PCT / 100 * elapsed_s
    names = sorted(used_s, key=used_s.__getitem__, reverse=True)[:COUNT]
    return tuple(one_line(name, NAME_LIMIT) for name in names if used_s[name] >= least_s)


def _used_s() -> dict[tuple[int, str], float]:
    # On Windows, process 0 counts the time in which the CPU is idle.
    own = {0, os.getpid(), *descendants(os.getpid())}
    used_s: dict[tuple[int, str], float] = {}
    for process in psutil.process_iter(["name", "cpu_times"], ad_value=None):
        name, times = process.info["name"], process.info["cpu_times"]
        if name and times is not None and process.pid not in own:
            used_s[process.pid, name] = times.user + times.system
    return used_s
