"""A run's events as one state: what window, command line and live verdict read of a live run."""

from dataclasses import replace
from typing import Any

import pytest

from app.core.records import RunSummary
from app.core.runs.state import RunState
from tests.sure import sure
from workloads import CATALOGUE
from workloads.protocol import events

SPEC = CATALOGUE["cifar10_keras_cnn"].default_spec()
SUSPENDED = events.Reason(code="suspended", level="invalid", text="The computer slept.")
ON_BATTERY = events.Reason(code="on_battery", level="caution", text="It ran on battery.")
SILENT = events.Warn(code="silent_worker", message="The worker has been silent.")


def after(summary: RunSummary | None, *seen: events.Event, keeps_steps: bool = False) -> RunState:
    state = RunState(SPEC, summary, keeps_steps=keeps_steps)
    for event in seen:
        state.follow(event)
    return state


def steps(*durations_s: float) -> events.Steps:
    return events.Steps(t_s=9.0, phase="measure", epoch=0, first_index=0, durations_s=durations_s)


@pytest.fixture
def begun(summary: RunSummary) -> RunSummary:
    """A run's record before its worker reported anything."""
    return replace(
        summary, status="running", value=None, data_source=None, device=None, engine_version=None, epochs_done=0
    )


def test_the_record_gets_engine_and_data_as_they_really_are(begun: RunSummary) -> None:
    used: dict[str, Any] = {
        "engine": "jax",
        "engine_version": "0.7",
        "device": "gpu:1",
        "device_name": "RTX 4090",
        "precision": "mixed_float16",
        "jit": True,
    }
    dataset = events.Dataset(name="cifar10", source="synthetic", samples=50_000)
    state = after(begun, events.Environment(**used), dataset)
    assert state.summary == replace(begun, **used, data_source="synthetic")


def test_the_live_record_has_the_results_so_far(begun: RunSummary) -> None:
    assert after(None).live() is None
    epochs = [events.Epoch(index=index, duration_s=60.0 + index, train_s=59.0) for index in range(2)]
    live = sure(after(begun, *epochs).live())
    assert (live.value, live.epochs_done, live.basis) == (61.0, 2, "later_epochs")


def test_steps_are_kept_only_where_they_are_wanted() -> None:
    assert after(None, steps(0.2, 0.1)).steps is None
    assert list(sure(after(None, steps(0.2, 0.1), keeps_steps=True).steps).durations_s) == [0.2, 0.1]


def test_it_measures_only_in_that_phase() -> None:
    phases: tuple[events.PhaseName, ...] = ("build", "warmup", "measure", "evaluate")
    assert [after(None, events.Phase(name=name)).is_measuring for name in phases] == [False, False, True, False]


def test_a_warning_stands_before_the_verdict_until_it_is_part_of_it() -> None:
    judged = events.Judged(level="caution", reasons=(ON_BATTERY,))
    verdict = sure(after(None, judged, SILENT).verdict)
    assert (verdict.level, [reason.code for reason in verdict.reasons]) == (
        "caution",
        ["silent_worker", "on_battery"],
    )
    assert verdict.reasons[0].text == SILENT.message
    known = events.Judged(
        level="caution", reasons=(events.Reason(code="silent_worker", level="caution", text=SILENT.message),)
    )
    assert after(None, SILENT, known).verdict == known
    assert after(None).verdict is None


def test_a_warning_does_not_make_an_invalid_run_better() -> None:
    judged = events.Judged(level="invalid", reasons=(SUSPENDED, ON_BATTERY), interrupted_t_s=(3.0,))
    verdict = sure(after(None, judged, SILENT).verdict)
    assert (verdict.level, verdict.interrupted_t_s) == ("invalid", (3.0,))
    assert [reason.code for reason in verdict.reasons] == ["suspended", "silent_worker", "on_battery"]
