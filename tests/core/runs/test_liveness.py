"""When a worker is silent, slow or hung, and when one that should stop is ended."""

import pytest

from app.core.runs.liveness import Liveness, RunLimits
from tests.sure import sure
from workloads.protocol import events

LIMITS = RunLimits(
    silence_s=20,
    slow_s=2,
    slow_steps=10,
    start_s=100,
    unheard_s=5,
    loads_s=10,
    hung_s=30,
    hung_steps=40,
    cancel_s=5,
    terminate_s=3,
)
ENGINE = events.Environment(engine="torch", device="cpu", precision="float32", jit=False)


class Clock:
    now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


def steps(duration_s: float) -> events.Steps:
    return events.Steps(phase="measure", epoch=0, first_index=0, durations_s=(duration_s, duration_s))


@pytest.mark.parametrize(
    ("heard", "limit_s"), [([], 100), ([steps(0.1)], 30), ([steps(2.0)], 80), ([steps(0.1), steps(2.0)], 80)]
)
def test_a_silent_worker_is_hung_after_far_longer_than_a_step(heard: list[events.Event], limit_s: float) -> None:
    liveness = Liveness(LIMITS, has_computers=False)
    for event in heard:
        liveness.hear(event)
    liveness.silent_s = limit_s
    assert not liveness.is_hung
    liveness.silent_s += 0.1
    assert liveness.is_hung
    liveness.hear(ENGINE)
    assert not liveness.is_hung


@pytest.mark.parametrize(
    ("has_computers", "heard", "limit_s"),
    [
        (False, [], 99),  # only those that once said that they are alive must go on saying so
        (False, [events.Alive()], 10),
        (True, [], 10),
        (True, [ENGINE], 5),  # until the engine has been imported, it may take longer
    ],
)
def test_a_worker_that_no_longer_says_that_it_is_alive_is_hung(
    heard: list[events.Event], limit_s: int, *, has_computers: bool
) -> None:
    clock = Clock()
    liveness = Liveness(LIMITS, has_computers=has_computers, clock=clock)
    for event in heard:
        liveness.hear(event)

    def pass_time(seconds: int) -> None:
        for _ in range(seconds):
            clock.now_s += 100.0  # this computer slept, and that doesn't count
            liveness.count()

    pass_time(limit_s)
    assert not liveness.is_hung
    pass_time(1)
    assert liveness.is_hung == (limit_s < 99)
    liveness.hear(events.Alive())
    assert not liveness.is_hung


def test_each_silence_is_warned_about_once_and_slow_computers_once_a_run() -> None:
    liveness = Liveness(LIMITS, has_computers=True)
    liveness.hear(steps(0.1))
    codes = []
    for liveness.silent_s in (1.0, 2.5, 2.6, 21.0, 22.0):
        codes.append((warning := liveness.warning()) and warning.code)
    assert codes == [None, "slow_peers", None, "silent_worker", None]
    liveness.hear(steps(0.1))
    liveness.silent_s = 25.0
    assert sure(liveness.warning()).code == "silent_worker"
    alone = Liveness(LIMITS, has_computers=False)
    alone.hear(steps(0.1))
    alone.silent_s = 19.0
    assert alone.warning() is None


def test_a_worker_that_should_stop_is_asked_then_terminated_then_killed() -> None:
    clock = Clock()
    liveness = Liveness(LIMITS, has_computers=False, clock=clock)
    done = [liveness.cancelling() for clock.now_s in (100.0, 105.0, 105.1, 108.0, 108.1, 109.0)]
    assert done == ["ask", None, "terminate", None, "kill", "kill"]
