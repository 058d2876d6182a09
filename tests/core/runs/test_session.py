"""Which events of a worker are too many."""

from app.core.runs.session import WARNINGS, WARNINGS_OF_A_CODE, Flood
from workloads.protocol import events

STEPS = events.Steps(phase="measure", epoch=0, first_index=0, durations_s=(0.1,))


def test_what_a_worker_may_send_is_never_left_out() -> None:
    flood = Flood()
    for tenth in range(20_000):  # ten blocks a second, for half an hour
        assert flood.lets_in(STEPS, tenth / 10)
    for index in range(5_000):  # epochs of one step, as fast as can be
        assert flood.lets_in(STEPS, 2_000.0)
        assert flood.lets_in(events.Epoch(index=index, duration_s=0.001, train_s=0.001), 2_000.0)
    assert flood.left_out == 0


def test_steps_without_end_are_left_out() -> None:
    flood = Flood()
    kept = sum(flood.lets_in(STEPS, 1.0) for _ in range(50_000))
    assert 1_000 <= kept < 2_000
    assert flood.left_out == 50_000 - kept


def test_warnings_have_a_limit_of_their_kind_and_one_of_all() -> None:
    flood = Flood()
    kept = [flood.lets_in(events.Warn(code="same"), 0.0) for _ in range(1_000)]
    assert sum(kept) == WARNINGS_OF_A_CODE
    assert flood.lets_in(events.Warn(code="other"), 0.0)
    assert sum(flood.lets_in(events.Warn(code=str(number)), 0.0) for number in range(1_000)) < WARNINGS


def test_what_is_not_stored_passes() -> None:
    flood = Flood()
    assert all(flood.lets_in(events.Log(message="x"), 0.0) for _ in range(20_000))
    assert sum(flood.lets_in(events.Model(parameters_count=1), 0.0) for _ in range(20_000)) == 10_000
