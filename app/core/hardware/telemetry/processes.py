"""Measures the CPU time of a run's own processes, to separate it from the CPU time of other programs."""

import os
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from app.core.hardware.system_files import attempt

# Searching for new children takes longer than reading known ones, and the time of a child found late still counts.
TREE_EVERY_S = 5.0
# New workers may start children immediately. In a virtual environment on Windows, the started process only waits
# for the real Python process.
YOUNG_S = 10.0
_CHILDREN_LIMIT = 1_000


@dataclass(frozen=True, slots=True)
class Used:
    """CPU time (in seconds) of a process since its start, and of its children that have ended."""

    own_s: float = 0.0
    gone_s: float = 0.0


class OwnProcesses:
    """A worker, its descendants and this process, for use from one thread. The worker may be this process."""

    def __init__(self, worker_pid: int | None, proc: Path = Path("/proc")) -> None:
        self._proc = proc
        self._worker: Any = None if worker_pid is None else attempt(lambda: psutil.Process(worker_pid))
        self._children: tuple[int, ...] = ()
        self._began_s = time.monotonic()
        self._listed_s = -TREE_EVERY_S
        self._used: dict[int, Used] | None = None

    @property
    def pids(self) -> frozenset[int] | None:
        """The process IDs as of the latest read; None if the worker is unknown."""
        return None if self._used is None else frozenset(self._used)

    def spent_s(self) -> float | None:
        """Return the CPU time in seconds since the previous read; None on the first read or without a worker."""
        before, self._used = self._used, self._look()
        return None if before is None or self._used is None else spent_s(before, self._used)

    def _look(self) -> dict[int, Used] | None:
        if self._worker is None or not attempt(self._worker.is_running):
            return None
        pid = int(self._worker.pid)
        now_s = time.monotonic()
        if now_s - self._listed_s >= TREE_EVERY_S or now_s - self._began_s < YOUNG_S:
            self._listed_s = now_s
            # On other systems, a folder with this name would be unrelated to processes.
            is_linux = sys.platform.startswith("linux")
            self._children = descendants(pid, self._proc) if is_linux else _descendants_by_psutil(pid)
        used_by_pid = {each: used for each in (pid, *self._children) if (used := _used(each)) is not None}
        if pid not in used_by_pid:
            return None
        own = os.getpid()
        if own not in used_by_pid and (mine := _used(own)) is not None:
            used_by_pid[own] = Used(mine.own_s)  # ended children were workers of other runs
        return used_by_pid


def spent_s(before: Mapping[int, Used], after: Mapping[int, Used]) -> float:
    """Return the CPU time of a process tree between two reads, including processes that started or ended."""
    new = Used()
    running_s = sum(max(0.0, used.own_s - before.get(pid, new).own_s) for pid, used in after.items())
    gone_s = sum(max(0.0, used.gone_s - before.get(pid, new).gone_s) for pid, used in after.items())
    # The total time of an ended child is added to its parent's, but part of it has already been counted.
    counted_s = sum(used.own_s + used.gone_s for pid, used in before.items() if pid not in after)
    return running_s + max(0.0, gone_s - counted_s)


def descendants(pid: int, proc: Path = Path("/proc")) -> tuple[int, ...]:
    """Return the IDs of a process's descendants; empty if it has ended."""
    pids: dict[int, None] = {}
    waiting = [pid]
    while waiting and len(pids) < _CHILDREN_LIMIT:
        children = child_pids(waiting.pop(), proc)
        if children is None:
            return _descendants_by_psutil(pid)
        fresh = [child for child in children if child not in pids and child != pid]
        pids |= dict.fromkeys(fresh)
        waiting += fresh
    return tuple(pids)


def child_pids(pid: int, proc: Path) -> list[int] | None:
    """Return the IDs of a process's children from Linux's own list; None if the kernel doesn't provide it.

    psutil would read every process on the computer, which takes a hundred times as long.
    """
    try:
        lists = [task / "children" for task in (proc / str(pid) / "task").iterdir()]
    except FileNotFoundError:
        return [] if proc.is_dir() else None
    except OSError:
        return None
    texts = []
    for path in lists:
        try:
            texts.append(path.read_text(encoding="ascii", errors="replace"))
        except OSError:  # the thread has ended, or the file doesn't exist
            continue
    if lists and not texts:
        return None
    numbers = " ".join(texts).split()
    return [int(number) for number in numbers if number.isascii() and number.isdigit() and len(number) < 10]


def _descendants_by_psutil(pid: int) -> tuple[int, ...]:
    return attempt(lambda: tuple(int(child.pid) for child in psutil.Process(pid).children(recursive=True))) or ()


def _used(pid: int) -> Used | None:
    times = attempt(lambda: psutil.Process(pid).cpu_times())
    if times is None:
        return None
    gone_s = getattr(times, "children_user", 0.0) + getattr(times, "children_system", 0.0)
    return Used(times.user + times.system, gone_s)
