"""A run's events as one state: what window, command line and live verdict read of a live run."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal

import msgspec
import pytest

from app.core.records import RunSummary
from app.core.runs.progress import Progress
from app.core.runs.state import RunState
from tests.sure import sure
from workloads import CATALOGUE
from workloads.protocol import events
from workloads.protocol.telemetry import Telemetry

SPEC = CATALOGUE["cifar10_keras_cnn"].default_spec()
SUSPENDED = events.Reason(code="suspended", level="invalid", text="The computer slept.")
ON_BATTERY = events.Reason(code="on_battery", level="caution", text="It ran on battery.")
SILENT = events.Warn(code="silent_worker", message="The worker has been silent.")


def after(summary: RunSummary | None, *seen: events.Event, keeps_steps: bool = False) -> RunState:
    state = RunState(SPEC, summary, keeps_steps=keeps_steps)
    for event in seen:
        state.follow(event)
    return state


@pytest.fixture
def begun(summary: RunSummary) -> RunSummary:
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


ASKED = CATALOGUE["demo"].default_spec(epochs=4)


def step_events(epoch: int, first_index: int, *durations_s: float, loss: float | None = None) -> events.Steps:
    return events.Steps(phase="measure", epoch=epoch, first_index=first_index, durations_s=durations_s, loss=loss)


def epoch(index: int, validation_s: float | None = None) -> events.Epoch:
    return events.Epoch(index=index, duration_s=3.0, train_s=2.0, validation_s=validation_s)


def followed(*seen: events.Event) -> Progress:
    progress = Progress(ASKED)
    for event in seen:
        progress.follow(event)
    return progress


MEASURE = events.Phase(name="measure", epochs=4, total_steps=40)


def test_a_phase_by_time_lasts_longer_if_its_first_steps_do() -> None:
    def at(t_s: float, first_index: int, *durations_s: float) -> events.Steps:
        return msgspec.structs.replace(step_events(0, first_index, *durations_s), t_s=t_s)

    progress = followed(events.Phase(name="measure", t_s=0.0, budget_s=60.0))
    assert (progress.fraction, progress.remaining_s) == (0.0, 60.0)
    progress.follow(events.TelemetryEvent(t_s=30.0, telemetry=Telemetry(cpu_pct=50.0)))
    assert (progress.fraction, progress.remaining_s) == (0.5, 30.0)
    progress.follow(at(80.0, 0, 80.0))  # the first step isn't typical, so nothing is known about the others
    assert (progress.fraction, progress.remaining_s) == (None, None)
    progress.follow(at(120.0, 1, 40.0))
    assert progress.remaining_s == pytest.approx(2 * 40)
    assert progress.fraction == pytest.approx(120 / 200)
    progress.follow(at(200.0, 2, 40.0, 40.0))
    assert (progress.fraction, progress.remaining_s) == (1.0, 0.0)
    quick = followed(events.Phase(name="measure", t_s=0.0, budget_s=60.0), at(10.0, 0, 4.0, 3.0, 3.0))
    assert quick.fraction == pytest.approx(10 / 60)
    assert quick.remaining_s == 50.0


FIRST_EPOCH = (MEASURE, step_events(0, 0, 50.0, *[0.5] * 9), epoch(0, validation_s=2.0))
TIMED = events.Phase(name="measure", t_s=100.0, budget_s=60.0)
LIMITED = events.Phase(name="measure", t_s=10.0, epochs=1, total_steps=100, budget_s=20.0)


def steps_at(
    t_s: float, *durations_s: float, phase: Literal["measure", "validate"] = "measure", first_index: int = 0
) -> events.Steps:
    return events.Steps(t_s=t_s, phase=phase, epoch=0, first_index=first_index, durations_s=durations_s)


@pytest.mark.parametrize(
    ("seen", "fraction", "remaining_s"),
    [
        ([], None, None),
        ([events.Phase(name="data")], None, None),
        ([MEASURE], 0.0, None),
        ([MEASURE, step_events(0, 0, 50.0)], 1 / 40, None),  # the first step says nothing about the rest
        ([MEASURE, step_events(0, 0, 50.0), step_events(0, 1, 1.0)], 2 / 40, 38.0),
        (FIRST_EPOCH, 10 / 40, 30 * 0.5 + 3 * 2.0),
        ([*FIRST_EPOCH, step_events(1, 0, *[0.5] * 4)], 14 / 40, 26 * 0.5 + 3 * 2.0),
        ([MEASURE, step_events(3, 5, *[1.0] * 50)], 1.0, 0.0),  # more steps than announced
        ([TIMED], 0.0, 60.0),
        ([TIMED, steps_at(115.0, 9.0, 6.0)], 0.25, 45.0),
        ([TIMED, steps_at(115.0, 9.0, 6.0), steps_at(130.0, 1.0, phase="validate")], 0.5, 30.0),
        ([TIMED, steps_at(115.0, 9.0, 6.0), steps_at(999.0, 9.0, 9.0, first_index=2)], 1.0, 0.0),
        ([LIMITED, steps_at(22.0, 6.0, 6.0)], 0.02, 8.0),  # no longer than the time that is left
    ],
)
def test_how_much_is_done_and_how_much_time_is_left(
    seen: Sequence[events.Event], fraction: float | None, remaining_s: float | None
) -> None:
    progress = followed(*seen)
    assert progress.fraction == (None if fraction is None else pytest.approx(fraction))
    assert progress.remaining_s == (None if remaining_s is None else pytest.approx(remaining_s))


def test_steps_and_epochs_are_counted_while_measuring() -> None:
    progress = followed(MEASURE, step_events(0, 0, 9.0))
    assert (progress.step_s, followed().loss) == (None, None)
    progress.follow(step_events(0, 1, 1.0, loss=2.0))
    assert (progress.step, progress.steps_per_epoch, progress.loss, progress.step_s) == (2, 10, 2.0, 1.0)
    progress.follow(steps_at(20.0, 1.0, phase="validate"))
    assert progress.step == 2
    progress.follow(step_events(0, 2, *[1.0] * 8))
    assert progress.fraction == pytest.approx(10 / 40)
    progress.follow(epoch(0))
    assert (progress.epoch, progress.step) == (1, 0)
    progress.follow(events.Phase(name="evaluate"))
    assert progress.remaining_s is None


def test_measuring_starts_over_after_the_warm_up() -> None:
    progress = followed(
        events.Phase(name="warmup", epochs=1, total_steps=2),
        events.Steps(phase="warmup", epoch=0, first_index=0, durations_s=(3.0, 1.0)),
    )
    assert progress.fraction == 1.0
    progress.follow(events.Phase(name="measure", epochs=1, total_steps=60))
    assert (progress.fraction, progress.epochs, progress.steps_per_epoch) == (0.0, 1, 60)
