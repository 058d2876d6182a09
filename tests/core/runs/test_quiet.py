"""Waiting for a quiet computer before a run is repeated."""

import threading

import pytest

from app.core.messages import sentence
from app.core.plans.repeat import repeat_plan
from app.core.runs.quiet import QuietComputer, QuietWait
from app.core.verdict.preflight import passing
from workloads import CATALOGUE
from workloads.protocol.events import Reason
from workloads.protocol.telemetry import Telemetry

BUSY = passing((Telemetry(other_cpu_pct=40.0),) * 2, ("backup",))


class Computer:
    """Is busy for some looks, each of which takes two seconds of a clock of its own."""

    def __init__(self, busy_looks: int) -> None:
        self.busy_looks = busy_looks
        self.now_s = 100.0
        self.waits: list[QuietWait] = []

    def look(self, stop: threading.Event) -> tuple[Reason, ...]:
        self.now_s += 2.0
        self.busy_looks -= 1
        return BUSY if self.busy_looks >= 0 else ()

    def wait(self, stop: threading.Event | None = None, workload: str = "mnist_mlp", runs: int = 1) -> None:
        condition = QuietComputer(self.look, lambda: self.now_s, limit_s=30.0)
        for planned in repeat_plan(CATALOGUE[workload].default_spec(), runs).runs():
            assert condition.wait(planned, stop or threading.Event(), self.waits.append)


@pytest.mark.parametrize("busy_looks", [0, 1, 5])
def test_the_wait_ends_with_the_first_look_that_finds_nothing(busy_looks: int) -> None:
    computer = Computer(busy_looks)
    computer.wait()
    assert computer.busy_looks == -1
    assert [wait.left_s for wait in computer.waits] == [30.0 - 2.0 * look for look in range(1, busy_looks + 1)]


def test_a_computer_that_stays_busy_is_waited_for_in_vain_only_so_long() -> None:
    computer = Computer(1000)
    computer.wait()
    assert computer.now_s == 130.0
    cause = sentence("preflight.other_load_named", share_pct=40.0, programs=["backup"])
    assert computer.waits[0].text == sentence("run.waiting_for_quiet", cause=cause, left_s=28.0)


def test_only_what_may_pass_is_waited_for() -> None:
    lasting = Telemetry(on_battery=True, power_plan="powersave", cpu_held_pct=50.0)
    assert passing((lasting, lasting)) == ()
    busy = Telemetry(other_cpu_pct=40.0, steal_pct=20.0, swap_bytes_per_s=5e7)
    assert [cause.code for cause in passing((busy, busy))] == ["other_load", "host_steal", "swapping"]


@pytest.mark.parametrize(("workload", "runs", "looks"), [("demo", 3, 0), ("mnist_mlp", 1, 1), ("mnist_mlp", 3, 1)])
def test_only_the_first_run_waits_and_demos_never_do(workload: str, runs: int, looks: int) -> None:
    computer = Computer(0)
    computer.wait(workload=workload, runs=runs)
    assert computer.busy_looks == -looks
