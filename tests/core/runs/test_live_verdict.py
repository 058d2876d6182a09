"""Live runs in real workers: Quick ends when it has measured enough, and the live verdict is sent."""

import itertools
from dataclasses import replace
from typing import Any

import pytest

from app.core.analysis import estimator
from app.core.analysis.estimator import estimate_steps
from app.core.analysis.stats import sustained_pct
from app.core.analysis.timed_steps import step_times
from app.core.paths import Paths
from app.core.records import Run
from app.core.runs.live_verdict import LiveVerdict
from app.core.runs.liveness import RunLimits
from app.core.runs.runner import Runner
from app.core.runs.state import RunState
from app.core.storage.database import Database
from app.core.storage.recording import RunWriter
from app.core.storage.runs import load_run
from tests.build import begin, telemetry_of
from tests.core.runs.running import start_run
from tests.sure import sure
from workloads import CATALOGUE
from workloads.protocol import events
from workloads.protocol.machine import Machine

DEMO = CATALOGUE["demo"]
LIMITS = RunLimits()


def run_demo(
    paths: Paths, machine: Machine, preset: Any, limits: RunLimits = LIMITS, **asked: Any
) -> tuple[Run, list[events.Event]]:
    """Run to the end; return what was stored and the events that were sent."""
    told: list[events.Event] = []
    session = start_run(Runner(paths, machine, limits), DEMO.default_spec(preset, **asked), told.append)
    assert session.wait(60)
    with Database(paths.database) as database:
        return load_run(database, session.run_id), told


@pytest.mark.long
def test_quick_ends_when_it_knows_enough(paths: Paths, machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(estimator, "MEASURED_S_AT_LEAST", 8.0)  # it waits for 60 blocks of steps, too
    guest = replace(machine, virtual_machine=True)
    run, told = run_demo(paths, guest, "quick", duration_s=55.0, parameters={"step_s": 0.16})
    assert sum(sum(block.durations_s) for block in run.steps) < 40, "it went on for all its time"
    estimates = [event for event in told if isinstance(event, events.Estimate)]
    assert [event.is_enough for event in estimates[-1:]] == [True]
    assert not any(event.is_enough for event in estimates[:-2])
    assert run.summary.basis == "estimate"
    assert run.summary.value == pytest.approx(10 * 0.16 + 0.16, rel=0.1)
    assert sure(run.summary.value_low) <= sure(run.summary.value) <= sure(run.summary.value_high)
    assert run.summary.confidence_pct == 95


@pytest.mark.slow
def test_quick_ends_at_its_time_if_it_does_not_know_enough(paths: Paths, machine: Machine) -> None:
    run, told = run_demo(paths, machine, "quick", duration_s=2.0)
    assert not any(event.is_enough for event in told if isinstance(event, events.Estimate))
    measured_s = sum(duration_s for block in run.steps for duration_s in block.durations_s)
    assert 1.5 < measured_s < 30
    assert sure(run.summary.value) > 0.1


@pytest.mark.slow
def test_sustained_trains_for_its_time_and_reports_the_speed_it_kept(paths: Paths, machine: Machine) -> None:
    run, _ = run_demo(paths, machine, "sustained", duration_s=2.0)
    assert run.summary.status == "completed"
    assert all(epoch.steps == 10 for epoch in run.epochs), "the last one was cut, and is no epoch"
    assert run.summary.epochs_done > 5
    assert run.summary.sustained_pct == pytest.approx(sustained_pct(step_times(run.steps)))
    assert run.summary.sustained_pct is not None
    assert run.summary.basis == "later_epochs"


@pytest.mark.slow
def test_the_live_verdict_is_sent_when_it_changes_and_only_the_final_one_is_stored(
    paths: Paths, machine: Machine
) -> None:
    run, told = run_demo(paths, machine, "standard", RunLimits(verdict_s=0.2), epochs=10)
    verdicts = [event for event in told if isinstance(event, events.Judged)]
    assert verdicts[0].level == "invalid"
    assert "demo" in {reason.code for reason in verdicts[0].reasons}
    assert all(
        (one.level, one.reasons, one.interrupted_t_s) != (two.level, two.reasons, two.interrupted_t_s)
        for one, two in itertools.pairwise(verdicts)
    )
    assert (run.summary.verdict, "demo" in (run.summary.reasons or "").split()) == ("invalid", True)
    assert [event.type for event in told][-2:] == ["result", "end"]


class Clock:
    """Moves only on request, and by `cost_s` at each read."""

    def __init__(self) -> None:
        self.now_s = 1_000.0
        self.cost_s = 0.0

    def __call__(self) -> float:
        self.now_s += self.cost_s
        return self.now_s


class Watched:
    """A stored run, its state and its live verdict, by a clock of our own."""

    def __init__(
        self, database: Database, machine: Machine, workload: str = "cifar10_keras_cnn", **asked: Any
    ) -> None:
        run = load_run(database, begin(database, machine, workload=workload, **asked)).summary
        self.clock = Clock()
        self.state = RunState(CATALOGUE[run.workload].default_spec(**asked), run, keeps_steps=True)
        self.live = LiveVerdict(self.state, database, machine, clock=self.clock)
        self._first = 0
        self.follow(events.Phase(name="measure"))

    def follow(self, event: events.Event) -> None:
        self.state.follow(event)
        self.live.follow(event)

    def steps(self, *durations_s: float) -> None:
        index = self._first
        self._first += len(durations_s)
        self.follow(events.Steps(phase="measure", epoch=0, first_index=index, durations_s=durations_s))

    def news(self, after_s: float) -> list[str]:
        self.clock.now_s += after_s
        return [event.type for event in self.live.news()]


EVEN, WIDE = (0.4, 0.4004) * 40, (0.3, 0.5, 0.24, 0.6) * 40


def test_an_estimate_comes_each_second_if_there_are_new_steps(database: Database, machine: Machine) -> None:
    run = Watched(database, machine, preset="quick")
    run.steps(*WIDE)
    assert run.news(after_s=0.9) == []
    assert run.news(after_s=0.1) == ["estimate"]
    assert run.news(after_s=1.0) == [], "no new steps"
    run.steps(0.1)
    assert run.news(after_s=1.0) == ["estimate"]
    run.follow(events.Phase(name="evaluate"))
    run.steps(0.1)
    assert run.news(after_s=100.0) == []


@pytest.mark.parametrize(("preset", "ends"), [("quick", True), ("standard", False), ("sustained", False)])
def test_quick_has_enough_at_the_second_narrow_estimate_in_a_row(
    database: Database, machine: Machine, preset: str, ends: bool
) -> None:
    run = Watched(database, replace(machine, virtual_machine=True), preset=preset)
    found, narrow = [], []
    for durations_s in (EVEN * 2, WIDE, EVEN * 20, EVEN):
        run.steps(*durations_s)
        run.clock.now_s += 1.0
        (estimate,) = (event for event in run.live.news() if isinstance(event, events.Estimate))
        assert estimate.is_enough == run.live.is_enough
        found.append(run.live.is_enough)
        alone = estimate_steps(list(run.state.steps.durations_s)[1:]) if run.state.steps else None
        narrow.append(alone is not None and alone.is_enough)
    assert narrow == [True, False, True, True]
    assert found == [False, False, False, ends]


def test_whole_epochs_replace_the_estimate(database: Database, machine: Machine) -> None:
    run = Watched(database, machine, epochs=3)
    run.steps(*EVEN)
    assert run.news(after_s=1.0) == ["estimate"]
    run.steps(*EVEN)
    run.follow(events.Epoch(index=0, duration_s=20.0, train_s=19.0))
    assert run.news(after_s=1.0) == []
    cut = Watched(database, machine, epochs=3, steps=80)
    cut.steps(*EVEN)
    assert cut.news(after_s=1.0) == []


def test_the_verdict_is_sent_every_ten_seconds_if_it_changes(database: Database, machine: Machine) -> None:
    run = Watched(database, machine)
    assert run.news(after_s=9.9) == []
    assert run.news(after_s=0.1) == ["verdict"]
    assert run.news(after_s=10.0) == [], "it is the same"
    run.clock.now_s += 5.0
    run.follow(events.Phase(name="measure"))
    assert run.news(after_s=9.9) == [], "a phase begins anew"
    writer = RunWriter(database, run.state.summary.id if run.state.summary else 0)
    slept = telemetry_of({"suspended_s": 60.0})
    writer.add(events.TelemetryEvent(t_s=5.0, telemetry=slept))
    writer.flush()
    run.clock.now_s += 0.1
    (verdict,) = run.live.news()
    assert isinstance(verdict, events.Judged)
    assert (verdict.level, [reason.code for reason in verdict.reasons]) == ("invalid", ["suspended"])
