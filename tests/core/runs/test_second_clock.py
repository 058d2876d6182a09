"""The second clock: a worker whose clock runs slow is told, and a delivery that is held up never is."""

import random
import sys
from collections.abc import Callable

import msgspec
import pytest

from app.core.paths import Paths
from app.core.runs.worker import SecondClock
from app.core.runs.worker_command import WorkerCommand, worker_command
from app.core.verdict.rules import judge
from tests.core.runs.running import Ran
from tests.saying import said
from tests.sure import sure
from workloads import CATALOGUE
from workloads.protocol import events
from workloads.protocol.spec import RunSpec

replace = msgspec.structs.replace
STEPS = events.Steps(phase="measure", epoch=0, first_index=0, durations_s=(0.1,))


def clocks(
    sent_s: list[float],
    held_up: list[tuple[float, float]],
    *,
    rate: float = 1.0,
    jitter_s: float = 0.001,
    full_from_s: float = 1e9,
) -> dict[str, float]:
    """Return what the second clock says of lines that are sent at these times.

    Args:
        held_up: When this process was held up, from and to: it can neither read nor look at its clock.
        full_from_s: When the queue behind the reader is full: from then on, each line takes it 0.3 s.
        rate: Seconds of the worker's clock in each second.
    """
    now_s, chance = 0.0, random.Random(1)
    second = SecondClock(clock=lambda: now_s)
    for each_s in sent_s:
        second.asked()
        now_s = max(now_s + 0.0001, each_s + chance.uniform(0, jitter_s))
        now_s = next((end_s for begin_s, end_s in held_up if begin_s <= now_s < end_s), now_s)
        second.heard(replace(STEPS, t_s=each_s * rate))
        now_s += 0.3 if now_s > full_from_s else 0.0
    return second.metrics()


def behind(metrics: dict[str, float]) -> float:
    return 1 - metrics["worker_clock_s"] / metrics["parent_clock_s"]


def every(step_s: float, seconds: float) -> list[float]:
    return [step_s * number for number in range(1, int(seconds / step_s))]


@pytest.mark.parametrize("step_s", [0.1, 0.7, 2.0])
@pytest.mark.parametrize("rate", [0.5, 0.9, 1.0])
def test_it_measures_how_fast_the_workers_clock_runs(step_s: float, rate: float) -> None:
    assert behind(clocks(every(step_s, 40), [], rate=rate)) == pytest.approx(1 - rate, abs=0.002)


def test_a_busy_computer_delivers_late_and_unevenly() -> None:
    assert abs(behind(clocks(every(0.1, 30), [], jitter_s=0.3))) < 0.002


def test_a_few_seconds_are_too_short_to_tell() -> None:
    assert clocks(every(0.1, 2), []) == {}


def test_only_the_promptest_arrival_of_a_quarter_second_is_kept() -> None:
    times_s = iter([0.0, *(moment for number in range(4_000) for moment in (number / 100, (number + 0.9) / 100))])
    second = SecondClock(clock=lambda: next(times_s))
    for number in range(4_000):
        second.asked()
        second.heard(replace(STEPS, t_s=number / 100))
    assert 20 < second.metrics()["parent_clock_s"] <= 40


CHEATS = {
    "whole_process": """
import time
real = time.perf_counter
time.perf_counter = lambda: real() / 2
""",
    "durations_only": """
from workloads.protocol import reporter
import time
usual = reporter.Reporter.__init__
def start(self, emitter):
    usual(self, emitter, lambda: time.perf_counter() / 2)
reporter.Reporter.__init__ = start
""",
    "": "",
}


def started_by(code: str) -> Callable[[RunSpec, Paths], WorkerCommand]:
    """Return a command for a worker in which this runs first."""

    def command(spec: RunSpec, paths: Paths) -> WorkerCommand:
        whole = f"{code}\nfrom workloads.__main__ import start\nstart()"
        return WorkerCommand((sys.executable, "-c", whole), worker_command(spec, paths).environment)

    return command


# Takes its time: clocks are compared over real seconds.
@pytest.mark.slow
@pytest.mark.parametrize(
    "cheat", ["whole_process", *(pytest.param(cheat, marks=pytest.mark.long) for cheat in ("durations_only", ""))]
)
def test_a_worker_whose_clock_is_halved_is_found_out(cheat: str, ran: Ran) -> None:
    spec = CATALOGUE["demo"].default_spec(epochs=9, parameters={"step_s": 0.05})
    run = ran(spec, command=started_by(CHEATS[cheat]))
    codes = {reason.code: reason for reason in judge(run).reasons}
    assert ("clock_slow" in codes) == bool(cheat)
    if cheat == "whole_process":
        assert codes["clock_slow"].level == "invalid"
        worker_s, parent_s = run.metrics["worker_clock_s"], run.metrics["parent_clock_s"]
        assert worker_s == pytest.approx(sure(parent_s) / 2, rel=0.02)
        assert said("verdict.clock_slow").is_in(codes["clock_slow"].text)
    if cheat == "durations_only":
        assert said("verdict.durations_short").is_in(codes["clock_slow"].text)


# Takes its time, as above.
@pytest.mark.slow
def test_a_worker_cannot_speak_for_the_second_clock(ran: Ran) -> None:
    code = "from workloads.protocol import events\nfrom workloads import CATALOGUE\n"
    code += "usual = CATALOGUE['demo'].run\ndef run(job, reporter):\n"
    code += "    reporter.send(events.Metric(key='parent_clock_s', value=1.0))\n    usual(job, reporter)\n"
    code += "CATALOGUE['demo'].run = run"
    run = ran(CATALOGUE["demo"].default_spec(epochs=1), command=started_by(code))
    assert "parent_clock_s" not in run.metrics
