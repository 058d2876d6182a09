"""Disturbances that are real: another program, a worker that is stopped. Each is in the verdict on the run."""

import multiprocessing
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from app.core.paths import Paths
from app.core.records import Run
from app.core.runs.runner import Runner
from app.core.storage.runs import load_run
from tests.build import in_database
from tests.core.runs.running import start_run
from tests.sure import sure
from workloads import CATALOGUE
from workloads.protocol import events
from workloads.protocol.machine import Machine

pytestmark = pytest.mark.long

DEMO = CATALOGUE["demo"]
FREEZE_S = 5.0


@pytest.fixture
def hogs() -> Iterator[list[multiprocessing.Process]]:
    """Busy processes, as many as there are processors; they begin when the test starts them."""
    context = multiprocessing.get_context("spawn")
    processes = [context.Process(target=spin, daemon=True) for _ in range(os.cpu_count() or 1)]
    yield processes  # type: ignore[misc] # a spawned process is one too
    for process in processes:
        if process.pid is not None:
            process.kill()
            process.join()


def spin() -> None:
    while True:
        pass


def run_demo(paths: Paths, machine: Machine, listen: "Listener", **asked: Any) -> Run:
    spec = DEMO.default_spec(parameters={"step_s": 0.05}, **asked)
    session = start_run(Runner(paths, machine), spec, listen)
    assert session.wait(90)
    return in_database(paths.database, load_run, session.run_id)


class Listener:
    """Does something once, in a thread of its own, after a number of epochs."""

    def __init__(self, after_epochs: int) -> None:
        self.pid = 0
        self._left = after_epochs

    def __call__(self, event: events.Event) -> None:
        if isinstance(event, events.Hello):
            self.pid = event.pid
        if isinstance(event, events.Epoch):
            self._left -= 1
            if self._left == 0:
                threading.Thread(target=self.disturb).start()

    def disturb(self) -> None:
        raise NotImplementedError


def codes(run: Run) -> set[str]:
    return set((run.summary.reasons or "").split())


def test_another_program_that_starts_during_a_run_is_flagged(
    paths: Paths, machine: Machine, hogs: list[multiprocessing.Process]
) -> None:
    class Hogs(Listener):
        def disturb(self) -> None:
            for process in hogs:
                process.start()

    run = run_demo(paths, machine, Hogs(2), epochs=12)
    assert "other_load" in codes(run)
    busy = [sample.telemetry.other_cpu_pct for sample in run.telemetry]
    assert max(share for share in busy if share is not None) > 30


@pytest.mark.skipif(sys.platform == "win32", reason="Windows cannot stop a process by a signal")
def test_a_worker_that_stands_still_is_marked_and_counted(paths: Paths, machine: Machine) -> None:
    class Freeze(Listener):
        def disturb(self) -> None:
            time.sleep(0.4)  # between two epochs nothing is timed: into the middle of one
            os.kill(self.pid, signal.SIGSTOP)
            time.sleep(FREEZE_S)
            os.kill(self.pid, signal.SIGCONT)

    run = run_demo(paths, machine, Freeze(2), epochs=6, batch_size=40)
    assert "interruptions" in codes(run)
    assert sure(run.summary.interruptions) >= 1
    assert sure(run.summary.interruptions_s) > FREEZE_S - 1
    # It is in one epoch of five: the mean shows it, the median does not.
    assert run.summary.value == pytest.approx(25 * 0.05 + 0.05, rel=0.5)
    assert sure(run.summary.value_mean) > sure(run.summary.value) + 0.25
