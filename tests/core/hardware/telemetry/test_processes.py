"""Whose processor time it is: the run's own, with all that it started, or that of other programs."""

import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest

from app.core.hardware.telemetry import processes
from app.core.hardware.telemetry.monitor import TelemetryReader, read_telemetry
from app.core.hardware.telemetry.processes import OwnProcesses, Used, spent_s
from app.core.paths import Paths
from app.core.runs.worker_command import worker_command
from tests.sure import sure
from tests.systems import not_in_wine
from tests.waiting import wait_until
from workloads import CATALOGUE
from workloads.engines.setup import foreign_variables

linux_only = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads Linux's files")
BUSY = "while True: pass"
# As in an environment of Windows, where python.exe starts the real one, and waits.
LAUNCHER = f"import subprocess, sys; sys.stdin.read(1); subprocess.run([sys.executable, '-c', {BUSY!r}])"


@contextmanager
def running(code: str) -> Iterator[Any]:
    started = psutil.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE)
    try:
        yield started
    finally:
        for child in started.children(recursive=True):
            child.kill()
        started.kill()
        started.wait()
        started.stdin.close()


def used_s(process: psutil.Process) -> float:
    return sum(sum(each.cpu_times()[:2]) for each in (process, *process.children(recursive=True)))


def wait_until_busy(process: psutil.Process) -> None:
    used_before_s = used_s(process)
    wait_until(lambda: used_s(process) > used_before_s + 0.3)


@not_in_wine("tells no process's CPU time but that of the one that asks")
@pytest.mark.slow
def test_the_worker_and_its_children_are_no_other_load() -> None:
    cores = psutil.cpu_count() or 1
    with running(LAUNCHER) as worker, running(BUSY) as other:
        own = OwnProcesses(worker.pid)
        assert own.spent_s() is None
        assert own.pids == frozenset((os.getpid(), worker.pid))
        worker.stdin.write(b"x")
        worker.stdin.flush()
        wait_until_busy(worker)
        wait_until_busy(other)
        own.spent_s()
        # Both cover the same seconds, so that any other load is in both.
        seen, unseen = TelemetryReader(worker_pid=worker.pid), TelemetryReader(worker_pid=os.getpid())
        begin_s, before_s, other_before_s = time.monotonic(), used_s(worker), used_s(other)
        wait_until_busy(worker)
        wait_until_busy(other)
        at_least_s, spent, at_most_s = used_s(worker) - before_s, own.spent_s(), used_s(worker) - before_s
        with_other, without = seen.read().other_cpu_pct, unseen.read().other_cpu_pct
        share_pct = 100 * (used_s(other) - other_before_s) / (time.monotonic() - begin_s) / cores
        assert own.pids == frozenset((os.getpid(), worker.pid, *(child.pid for child in worker.children())))
    own_s = 0.5  # includes what this process itself used in the meantime
    assert at_least_s - 0.05 <= sure(spent) <= at_most_s + own_s
    assert share_pct / 2 < sure(with_other) - sure(without) < 2 * share_pct


@pytest.mark.slow
def test_without_a_worker_nothing_is_reported() -> None:
    assert TelemetryReader().read().other_cpu_pct is None
    ended = subprocess.Popen([sys.executable, "-c", ""])
    own = OwnProcesses(ended.pid)
    ended.wait()
    assert own.spent_s() is None
    assert own.spent_s() is None
    assert own.pids is None
    assert OwnProcesses(2**22 + 1).spent_s() is None


def test_preflight_telemetry_takes_the_time_it_is_given_unless_it_is_abandoned() -> None:
    pauses_s: list[float | None] = []

    class Noted(threading.Event):
        def wait(self, timeout: float | None = None) -> bool:
            pauses_s.append(timeout)
            return False

    looks = read_telemetry(0.6, 3, stop=Noted())
    assert pauses_s == pytest.approx([0.2, 0.2, 0.2])
    assert [look.memory_used_bytes is None for look in looks] == [False] * 3
    assert read_telemetry(0.1)[1].other_cpu_pct is not None
    stop = threading.Event()
    threading.Timer(0.1, stop.set).start()
    assert read_telemetry(60.0, with_gpus=False, stop=stop, patience_s=60.0) == ()
    assert not [thread for thread in threading.enumerate() if thread.name == "look"]


@pytest.mark.parametrize(
    ("before", "after", "expected_s"),
    [
        ({1: Used(5, 2)}, {1: Used(6, 2)}, 1),
        ({1: Used(5, 0)}, {1: Used(5, 0), 2: Used(3, 0)}, 3),  # it began in between
        ({1: Used(5, 0), 2: Used(3, 0)}, {1: Used(5, 4)}, 1),  # it ended, and most of it was counted before
        ({1: Used(5, 0)}, {1: Used(5, 2)}, 2),  # it began and ended in between
        ({1: Used(5, 0), 2: Used(3, 0)}, {1: Used(6, 0)}, 1),  # a system that does not pass it on to the parent
        ({1: Used(5, 0)}, {1: Used(4, 0)}, 0),
    ],
)
def test_time_of_children_counts_once(before: dict[int, Used], after: dict[int, Used], expected_s: float) -> None:
    assert spent_s(before, after) == pytest.approx(expected_s)


def test_a_tree_as_linux_lists_it(tmp_path: Path) -> None:
    for thread, children in (
        ("10/task/10", "11 12 "),
        ("10/task/15", "13 "),
        ("11/task/11", "14 10 x 99999999999 "),
    ):
        (tmp_path / thread).mkdir(parents=True)
        (tmp_path / thread / "children").write_text(children)
    assert processes.child_pids(10, tmp_path) == [11, 12, 13]
    assert sorted(processes.descendants(10, tmp_path)) == [11, 12, 13, 14]
    assert processes.descendants(12, tmp_path) == ()


@pytest.mark.slow
def test_without_such_lists_psutil_is_asked(tmp_path: Path) -> None:
    (tmp_path / f"{os.getpid()}/task/1").mkdir(parents=True)
    assert processes.child_pids(os.getpid(), tmp_path) is None
    assert processes.child_pids(os.getpid(), tmp_path / "none") is None
    with running("import time; time.sleep(60)") as child:
        assert child.pid in processes.descendants(os.getpid(), tmp_path)
        assert child.pid in processes.descendants(os.getpid())


@linux_only
@pytest.mark.parametrize("changes", [{}, {"device": "cpu"}, {"threads": 3}, {"onednn": False}, {"onednn": True}])
def test_variables_that_epochmark_sets_are_not_reported(paths: Paths, changes: dict[str, Any]) -> None:
    spec = CATALOGUE["cifar10_keras_cnn"].default_spec(**changes)
    clean = worker_command(spec, paths, {"PATH": "/bin"}).environment
    assert foreign_variables(clean, spec) == ()
    assert foreign_variables(clean | {"OMP_NUM_THREADS": "64"}, spec) == ("OMP_NUM_THREADS",)
