"""A run while it goes on, in real workers: Quick ends when it knows enough, and the verdict so far is told."""

import itertools
from typing import Any

import pytest

from app.core.analysis.stats import sustained_pct
from app.core.analysis.timed_steps import timed
from app.core.paths import Paths
from app.core.records import Run
from app.core.runs.live_verdict import LiveVerdict
from app.core.runs.runner import Runner
from app.core.runs.session import Limits
from app.core.runs.state import RunState
from app.core.storage.database import Database
from app.core.storage.runs import load_run
from tests.core.storage.storing import begin
from workloads import CATALOGUE
from workloads.protocol import events
from workloads.protocol.machine import Machine

DEMO = CATALOGUE["demo"]
LIMITS = Limits()


def run_demo(
    paths: Paths, machine: Machine, preset: Any, limits: Limits = LIMITS, **asked: Any
) -> tuple[Run, list[events.Event]]:
    """Run to the end; return what was stored and what was told."""
    told: list[events.Event] = []
    session = Runner(paths, machine, limits).start(DEMO.default_spec(preset, **asked), told.append)
    assert session.wait(60)
    with Database(paths.database) as database:
        return load_run(database, session.run_id), told


@pytest.mark.slow
def test_quick_ends_as_soon_as_it_knows_enough(paths: Paths, machine: Machine) -> None:
    run, told = run_demo(paths, machine, "quick", duration_s=55.0, parameters={"step_s": 0.16})
    assert sum(sum(block.durations_s) for block in run.steps) < 40, "it went on for all its time"
    estimates = [event for event in told if isinstance(event, events.Estimate)]
    assert [event.is_enough for event in estimates[-1:]] == [True]
    assert not any(event.is_enough for event in estimates[:-2])
    assert run.summary.basis == "estimate"
    assert run.summary.value == pytest.approx(10 * 0.16 + 0.16, rel=0.1)
    assert run.summary.value_low is not None
    assert run.summary.value_high is not None
    assert run.summary.value is not None
    assert run.summary.value_low <= run.summary.value <= run.summary.value_high
    assert run.summary.confidence_pct == 95


@pytest.mark.slow
def test_quick_ends_at_its_time_if_it_does_not_know_enough(paths: Paths, machine: Machine) -> None:
    run, told = run_demo(paths, machine, "quick", duration_s=2.0)
    assert not any(event.is_enough for event in told if isinstance(event, events.Estimate))
    measured_s = sum(duration_s for block in run.steps for duration_s in block.durations_s)
    assert 1.5 < measured_s < 4
    assert run.summary.value is not None
    assert 0.1 < run.summary.value < 0.4


@pytest.mark.slow
def test_sustained_trains_for_its_time_and_says_what_it_lost(paths: Paths, machine: Machine) -> None:
    run, _ = run_demo(paths, machine, "sustained", duration_s=2.0)
    assert run.summary.status == "completed"
    assert all(epoch.steps == 10 for epoch in run.epochs), "the last one was cut, and is no epoch"
    assert run.summary.epochs_done > 5
    assert run.summary.sustained_pct == pytest.approx(sustained_pct(timed(run.steps)))
    assert run.summary.sustained_pct is not None
    assert run.summary.basis == "later_epochs"


@pytest.mark.slow
def test_what_is_told_between_is_not_stored_and_the_verdict_is(paths: Paths, machine: Machine) -> None:
    run, told = run_demo(paths, machine, "standard", epochs=2)
    assert (run.summary.verdict, "demo" in (run.summary.reasons or "").split()) == ("invalid", True)
    assert [event.type for event in told][-2:] == ["result", "end"]


@pytest.mark.slow
def test_the_verdict_so_far_is_told_when_it_changes(paths: Paths, machine: Machine) -> None:
    _, told = run_demo(paths, machine, "standard", Limits(verdict_s=0.2), epochs=10)
    verdicts = [event for event in told if isinstance(event, events.Judged)]
    assert verdicts
    assert verdicts[0].level == "invalid"
    assert "demo" in {reason.code for reason in verdicts[0].reasons}
    assert all(
        (one.level, one.reasons, one.interrupted_t_s) != (two.level, two.reasons, two.interrupted_t_s)
        for one, two in itertools.pairwise(verdicts)
    )


def test_a_database_that_fails_costs_a_verdict_and_not_the_run(paths: Paths, machine: Machine) -> None:
    with Database(paths.database) as database:
        run = load_run(database, begin(database, machine, workload="demo")).summary
        state = RunState(DEMO.default_spec(), run, keeps_steps=True)
        watch = LiveVerdict(state, database, verdict_s=0.0)
        measuring = events.Phase(name="measure")
        state.follow(measuring)
        watch.follow(measuring)
        assert [event.type for event in watch.news()] == ["verdict"]
    assert list(LiveVerdict(state, database).news()) == []
    watch.follow(measuring)
    assert list(watch.news()) == [], "the database is closed"
