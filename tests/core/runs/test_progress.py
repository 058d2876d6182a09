"""Progress: how far a run is, followed from the events that a worker sends."""

import pytest

from app.core.runs.progress import Progress
from workloads import CATALOGUE
from workloads.protocol import events

SPEC = CATALOGUE["demo"].default_spec(epochs=4)


def steps(epoch: int, first_index: int, *durations_s: float, loss: float | None = None) -> events.Steps:
    return events.Steps(phase="measure", epoch=epoch, first_index=first_index, durations_s=durations_s, loss=loss)


def epoch(index: int, validation_s: float | None = None) -> events.Epoch:
    return events.Epoch(index=index, duration_s=3.0, train_s=2.0, validation_s=validation_s)


def followed(*seen: events.Event) -> Progress:
    progress = Progress(SPEC)
    for event in seen:
        progress.follow(event)
    return progress


MEASURE = events.Phase(name="measure", epochs=4, total_steps=40)


def test_before_training_nothing_is_guessed() -> None:
    for progress in (followed(), followed(events.Phase(name="data"))):
        assert {progress.fraction, progress.remaining_s, progress.step_s, progress.loss} == {None}


def test_steps_move_the_share_that_is_done() -> None:
    progress = followed(MEASURE)
    assert progress.fraction == 0.0
    progress.follow(steps(0, 0, 9.0, 1.0, loss=2.0))
    assert (progress.step, progress.steps_per_epoch, progress.loss) == (2, 10, 2.0)
    assert progress.fraction == pytest.approx(2 / 40)
    progress.follow(steps(0, 2, *[1.0] * 8))
    assert progress.fraction == pytest.approx(10 / 40)
    progress.follow(epoch(0))
    assert (progress.epoch, progress.step) == (1, 0)
    assert progress.fraction == pytest.approx(10 / 40)


def test_the_first_step_of_a_run_says_nothing_about_the_rest() -> None:
    progress = followed(MEASURE, steps(0, 0, 50.0))
    assert progress.step_s is None
    assert progress.remaining_s is None
    progress.follow(steps(0, 1, 1.0))
    assert progress.step_s == 1.0


def test_time_left_comes_from_measured_steps_and_validation() -> None:
    progress = followed(MEASURE, steps(0, 0, 50.0, *[0.5] * 9), epoch(0, validation_s=2.0))
    assert progress.remaining_s == pytest.approx(30 * 0.5 + 3 * 2.0)
    progress.follow(steps(1, 0, *[0.5] * 4))
    assert progress.remaining_s == pytest.approx(26 * 0.5 + 3 * 2.0)


def test_time_left_follows_the_latest_fifty_steps() -> None:
    long = events.Phase(name="measure", epochs=4, total_steps=4_000)
    progress = followed(long, steps(0, 0, *[5.0] * 100), steps(0, 100, *[1.0] * 50))
    assert progress.step_s == 1.0


def test_time_left_is_known_only_while_measuring() -> None:
    progress = followed(MEASURE, steps(0, 0, 1.0, 1.0))
    assert progress.remaining_s is not None
    progress.follow(events.Phase(name="evaluate"))
    assert progress.remaining_s is None


def test_more_steps_than_announced_never_pass_the_end() -> None:
    progress = followed(MEASURE, steps(3, 5, *[1.0] * 50))
    assert progress.fraction == 1.0
    assert progress.remaining_s == 0.0


def test_measuring_starts_over_after_the_warm_up() -> None:
    progress = followed(
        events.Phase(name="warmup", epochs=1, total_steps=2),
        events.Steps(phase="warmup", epoch=0, first_index=0, durations_s=(3.0, 1.0)),
    )
    assert progress.fraction == 1.0
    progress.follow(events.Phase(name="measure", epochs=1, total_steps=60))
    assert (progress.fraction, progress.epochs, progress.steps_per_epoch) == (0.0, 1, 60)


def test_progress_of_a_timed_run_follows_its_time() -> None:
    progress = followed(events.Phase(name="measure", t_s=100.0, budget_s=60.0))
    assert (progress.fraction, progress.remaining_s) == (0.0, 60.0)
    progress.follow(events.Steps(t_s=115.0, phase="measure", epoch=0, first_index=0, durations_s=(9.0, 6.0)))
    assert (progress.fraction, progress.remaining_s) == (0.25, 45.0)
    progress.follow(events.Steps(t_s=130.0, phase="validate", epoch=0, first_index=0, durations_s=(1.0,)))
    assert (progress.fraction, progress.remaining_s, progress.step) == (0.5, 30.0, 2)
    progress.follow(events.Steps(t_s=999.0, phase="measure", epoch=0, first_index=2, durations_s=(9.0,)))
    assert (progress.fraction, progress.remaining_s) == (1.0, 0.0)


def test_steps_take_no_longer_than_the_time_that_is_left() -> None:
    limited = events.Phase(name="measure", t_s=10.0, epochs=1, total_steps=100, budget_s=20.0)
    slow = events.Steps(t_s=22.0, phase="measure", epoch=0, first_index=0, durations_s=(6.0, 6.0))
    progress = followed(limited, slow)
    assert (progress.fraction, progress.remaining_s) == (0.02, 8.0)


def test_events_of_other_kinds_change_nothing() -> None:
    progress = followed(MEASURE, steps(0, 0, 1.0, 1.0))
    before = (progress.fraction, progress.remaining_s)
    for event in (events.Log(message="hello"), events.Warn(code="x", message="y"), events.End(status="completed")):
        progress.follow(event)
    assert (progress.fraction, progress.remaining_s) == before
