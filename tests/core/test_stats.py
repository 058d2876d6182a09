"""Statistics: the headline from raw durations, worked out by hand and by properties."""

import math
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.judging.stats import (
    DurationStatistics,
    epoch_statistics,
    estimate_epoch,
    run_statistics,
    trimmed_mean,
)

durations = st.floats(0.001, 10_000)


def headline(**changes: object) -> DurationStatistics | None:
    asked = {
        "preset": "standard",
        "steps": None,
        "steps_per_epoch": 500,
        "epoch_durations_s": [9.0, 4.0, 6.0, 5.0],
        "step_durations_s": [0.01] * 60,
        "epoch_parts_s": 0.5,
    }
    return run_statistics(**(asked | changes))  # type: ignore[arg-type]


def test_the_headline_is_the_median_of_the_epochs_after_the_first() -> None:
    found = epoch_statistics([99.0, 4.0, 6.0, 5.0])
    assert found == DurationStatistics(
        basis="later_epochs",
        count=3,
        median_s=5.0,
        minimum_s=4.0,
        maximum_s=6.0,
        spread_pct=20.0,
        first_s=99.0,
    )


def test_a_single_epoch_counts_as_it_is_and_says_so() -> None:
    found = epoch_statistics([99.0])
    assert found == DurationStatistics("first_epoch", 1, 99.0, 99.0, 99.0, None, 99.0)


def test_two_epochs_have_a_headline_but_no_spread() -> None:
    found = epoch_statistics([99.0, 5.0])
    assert found == DurationStatistics("later_epochs", 1, 5.0, 5.0, 5.0, None, 99.0)


def test_nothing_measured_is_none_and_not_zero() -> None:
    assert epoch_statistics([]) is None
    assert estimate_epoch([], 500, 0.5) is None


def test_epochs_of_no_time_have_no_spread() -> None:
    found = epoch_statistics([0.0, 0.0, 0.0])
    assert found is not None
    assert (found.median_s, found.spread_pct) == (0.0, None)


@given(st.lists(durations, min_size=2, max_size=30))
def test_headline_lies_between_minimum_and_maximum_whatever_the_first_epoch_was(values: list[float]) -> None:
    found = epoch_statistics(values)
    assert found is not None
    assert found.minimum_s <= found.median_s <= found.maximum_s
    assert found.median_s == statistics.median(values[1:])
    changed = epoch_statistics([values[0] * 3, *values[1:]])
    assert changed is not None
    assert (changed.median_s, changed.spread_pct) == (found.median_s, found.spread_pct)


def test_trimmed_mean_leaves_the_outermost_tenths_out() -> None:
    assert trimmed_mean([100.0, 2.0, 2.0, 3.0, 3.0, 3.0, 3.0, 4.0, 4.0, 0.0]) == 3.0
    assert trimmed_mean([1.0, 2.0]) == 1.5


def test_an_estimate_scales_the_typical_step_and_adds_the_validation() -> None:
    found = estimate_epoch([0.02] + [0.02] * 100, 500, 1.5)
    assert found is not None
    assert found.basis == "estimate"
    assert found.count == 100
    assert found.first_s is None
    assert found.median_s == pytest.approx(500 * 0.02 + 1.5)
    assert found.spread_pct == pytest.approx(0.0, abs=1e-9)


def test_what_the_first_step_of_an_epoch_takes_longer_counts_once() -> None:
    found = estimate_epoch([5.0] + [0.02] * 100, 500, 1.5)
    assert found is not None
    assert found.median_s == pytest.approx(500 * 0.02 + 1.5 + 4.98)


def test_an_estimate_without_validation_is_training_alone() -> None:
    found = estimate_epoch([0.02] * 11, 500, 0.0)
    assert found is not None
    assert found.median_s == pytest.approx(10.0)


def test_a_step_during_which_the_computer_froze_does_not_move_the_estimate() -> None:
    calm = estimate_epoch([0.02] * 101, 500, 0.0)
    frozen = estimate_epoch([0.02] * 50 + [30.0] + [0.02] * 50, 500, 0.0)
    assert calm is not None
    assert frozen is not None
    assert frozen.median_s == pytest.approx(calm.median_s)


def test_minimum_and_maximum_of_an_estimate_come_from_its_parts() -> None:
    found = estimate_epoch([0.02] + [0.01] * 50 + [0.03] * 50, 100, 0.0)
    assert found is not None
    assert found.minimum_s == pytest.approx(1.0)
    assert found.maximum_s == pytest.approx(3.0)
    assert found.median_s == pytest.approx(2.0)
    assert found.spread_pct == pytest.approx(100 * statistics.stdev([1.0] * 5 + [3.0] * 5) / 2.0)


def test_one_step_is_enough_for_an_estimate_without_spread() -> None:
    found = estimate_epoch([0.02], 500, 1.0)
    assert found is not None
    assert (found.count, found.spread_pct) == (1, None)
    assert found.median_s == found.minimum_s == found.maximum_s == pytest.approx(11.0)


@given(st.lists(durations, min_size=1, max_size=200), st.integers(1, 1000), durations)
def test_an_estimate_lies_between_its_minimum_and_maximum(
    steps_s: list[float], steps_per_epoch: int, parts_s: float
) -> None:
    found = estimate_epoch(steps_s, steps_per_epoch, parts_s)
    assert found is not None
    tiny = 1e-9 * found.median_s
    assert found.minimum_s - tiny <= found.median_s <= found.maximum_s + tiny
    assert math.isfinite(found.median_s)


def test_a_regularly_slow_step_leaves_the_estimate_inside_its_range() -> None:
    found = estimate_epoch([0.01] + ([0.01] * 8 + [0.1]) * 10, 100, 0.0)
    assert found is not None
    assert found.minimum_s <= found.median_s <= found.maximum_s


def test_the_standard_preset_is_told_from_its_epochs() -> None:
    found = headline()
    assert found is not None
    assert (found.basis, found.median_s) == ("later_epochs", 5.0)


def test_the_quick_preset_is_told_from_its_steps() -> None:
    found = headline(preset="quick", epoch_durations_s=[])
    assert found is not None
    assert found.basis == "estimate"
    assert found.median_s == pytest.approx(5.5)


def test_too_few_steps_are_no_estimate() -> None:
    assert headline(preset="quick", step_durations_s=[0.01] * 9) is None
    assert headline(preset="quick", step_durations_s=[0.01] * 10) is not None


def test_epochs_that_were_cut_are_never_an_epochs_time() -> None:
    assert headline(steps=499) is None
    assert headline(steps=500) is not None


def test_a_run_without_epochs_has_no_headline() -> None:
    assert headline(epoch_durations_s=[]) is None
