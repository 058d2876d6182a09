"""Statistics: the headline from raw durations, worked out by hand and by properties."""

import math
import random
import statistics
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.analysis.headline import half_interval_pct
from app.core.analysis.stats import (
    DurationStatistics,
    epoch_statistics,
    estimate_epoch,
    run_statistics,
    sustained_pct,
)
from app.core.analysis.timed_steps import StepTimes, step_times
from app.core.records import Run
from app.core.report.run_texts import interval_text
from app.core.report.share import share_card
from app.core.verdict.judged_run import JudgedRun
from app.core.verdict.rules import judge
from tests.build import quiet_run, with_steps
from tests.core.verdict.changes import QUICK, metrics, summarised
from tests.saying import said
from tests.sure import sure
from workloads.protocol.events import Steps
from workloads.training.medians import median_interval, related_interval

durations = st.floats(0.001, 10_000)


def steps(*epochs_s: list[float]) -> StepTimes:
    return step_times(
        Steps(phase="measure", epoch=epoch, first_index=0, durations_s=tuple(durations_s))
        for epoch, durations_s in enumerate(epochs_s)
    )


def headline(**changes: object) -> DurationStatistics | None:
    asked = {
        "preset": "standard",
        "steps": None,
        "steps_per_epoch": 500,
        "epoch_durations_s": [9.0, 4.0, 6.0, 5.0],
        "timed_steps": steps([0.01] * 61),
        "rest_s": 0.5,
    }
    return run_statistics(**(asked | changes))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("durations_s", "expected"),
    [
        (
            [99.0, 4.0, 6.0, 5.0],
            DurationStatistics("later_epochs", 3, 5.0, 4.0, 6.0, 20.0, 99.0, 4.0, 6.0, 75.0, mean_s=5.0),
        ),
        ([99.0], DurationStatistics("first_epoch", 1, 99.0, 99.0, 99.0, None, 99.0, mean_s=99.0)),
        ([99.0, 5.0], DurationStatistics("later_epochs", 1, 5.0, 5.0, 5.0, None, 99.0, mean_s=5.0)),
        ([], None),
    ],
)
def test_the_headline_is_the_median_of_the_epochs_after_the_first(
    durations_s: list[float], expected: DurationStatistics | None
) -> None:
    assert epoch_statistics(durations_s) == expected


# By Conover's table: the ranks that cover a median with 95 % or a little more.
@pytest.mark.parametrize(
    ("count", "low", "high", "confidence_pct"),
    [
        (2, 1, 2, 50),
        (5, 1, 5, 93.75),
        (6, 1, 6, 96.875),
        (9, 2, 8, 96.09),
        (20, 6, 15, 95.86),
        (49, 18, 32, 95.56),
    ],
)
def test_the_interval_of_a_median_by_the_book(count: int, low: int, high: int, confidence_pct: float) -> None:
    values = [float(number) for number in range(count, 0, -1)]
    *ends, confidence = median_interval(values)
    assert ends == [low, high]
    assert confidence == pytest.approx(confidence_pct, abs=0.005)


def test_an_estimate_scales_the_typical_step_and_adds_the_rest_of_an_epoch() -> None:
    found = steps([9.0] + [0.02] * 100)
    found.add(Steps(phase="start", epoch=0, first_index=0, durations_s=(7.0,)))
    found.add(Steps(phase="validate", epoch=0, first_index=0, durations_s=(8.0, 0.1, 0.1)))
    for epoch, start_s in ((1, 0.32), (2, 6.0)):  # the second one was disturbed
        found.add(Steps(phase="start", epoch=epoch, first_index=0, durations_s=(start_s,)))
        found.add(Steps(phase="validate", epoch=epoch, first_index=0, durations_s=(0.25, 0.1, 0.1)))
    estimate = sure(estimate_epoch(found, 500, validation_batches=10, rest_s=0.5))
    assert (estimate.basis, estimate.first_s) == ("estimate", None)
    assert estimate.median_s == pytest.approx(500 * 0.02 + 0.3 + (0.25 + 9 * 0.1) + 0.5)
    assert estimate.spread_pct == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize(
    ("epochs_s", "steps_per_epoch", "median_s"),
    [
        ([[500.0] + [0.02] * 100], 500, 10.0),  # the first step of all traces, and counts nowhere
        (
            [[9.0] + [0.02] * 9, *[[0.52] + [0.02] * 9] * 9],
            10,
            10 * 0.02 + 0.5,
        ),  # those of later epochs count once
        ([[9.0], *[[0.5]] * 20], 1, 0.5),
        ([[]], 500, None),
    ],
)
def test_first_steps_count_as_often_as_they_occur(
    epochs_s: list[list[float]], steps_per_epoch: int, median_s: float | None
) -> None:
    found = estimate_epoch(steps(*epochs_s), steps_per_epoch)
    assert (found and found.median_s) == (None if median_s is None else pytest.approx(median_s))


def test_a_validation_batch_during_which_the_computer_froze_does_not_move_the_estimate() -> None:
    found = steps([9.0] + [0.02] * 100)
    for epoch in range(3):
        batches_s = [0.1] * 20
        batches_s[7] = 5.0
        found.add(Steps(phase="validate", epoch=epoch, first_index=0, durations_s=tuple(batches_s)))
    assert found.pass_s(100) == pytest.approx(10.0)


def test_a_step_during_which_the_computer_froze_does_not_move_the_estimate() -> None:
    calm = estimate_epoch(steps([0.02] * 101), 500)
    frozen = sure(estimate_epoch(steps([0.02] * 51 + [30.0] + [0.02] * 50), 500))
    assert frozen.median_s == pytest.approx(sure(calm).median_s)
    assert frozen.mean_s == pytest.approx(500 * (30 + 100 * 0.02) / 101), "the plain mean hides nothing"


@given(st.lists(durations, min_size=2, max_size=200), st.integers(1, 1000))
def test_an_estimate_lies_between_its_minimum_and_maximum(steps_s: list[float], steps_per_epoch: int) -> None:
    found = sure(estimate_epoch(steps(steps_s), steps_per_epoch))
    tiny = 1e-9 * found.median_s
    assert found.minimum_s - tiny <= found.median_s <= found.maximum_s + tiny
    assert math.isfinite(found.median_s)
    assert found.low_s is None or found.high_s is None or found.low_s <= found.median_s <= found.high_s


def test_the_loss_in_sustained_is_given_in_percent() -> None:
    assert sustained_pct(steps([9.0] + [0.10] * 100 + [0.11] * 100 + [0.125] * 100)) == pytest.approx(80, abs=2)
    assert sustained_pct(steps([9.0] + [0.10] * 200 + [7.0] + [0.10] * 100)) == pytest.approx(100)
    assert sustained_pct(steps([9.0] + [0.1] * 20)) is None


@pytest.mark.parametrize(
    ("changes", "basis", "median_s"),
    [
        ({}, "later_epochs", 5.0),
        ({"steps": 500}, "later_epochs", 5.0),
        ({"steps": 499}, None, None),  # epochs that were cut
        ({"epoch_durations_s": []}, None, None),
        ({"preset": "sustained"}, "later_epochs", 5.0),
        ({"preset": "sustained", "epoch_durations_s": [9.0]}, "estimate", 5.0),
        ({"preset": "quick", "epoch_durations_s": []}, "estimate", 5.5),
        ({"preset": "quick", "timed_steps": steps([0.01] * 4)}, "estimate", 5.5),
        ({"preset": "quick", "timed_steps": steps([0.01] * 3)}, None, None),
        ({"preset": "quick", "rest_s": None}, None, None),
    ],
)
def test_each_preset_is_summarised_from_its_epochs_or_its_steps(
    changes: dict[str, Any], basis: str | None, median_s: float | None
) -> None:
    found = headline(**changes)
    assert (found and found.basis) == basis
    assert (found and found.median_s) == (None if median_s is None else pytest.approx(median_s))


@pytest.mark.parametrize("count", [9, 30])
@pytest.mark.parametrize("share", [0.0, 0.3, 0.7])
def test_the_interval_of_epochs_holds_their_median_as_often_as_it_says(count: int, share: float) -> None:
    noise, held, stated_pct = random.Random(11), 0, []
    for _ in range(1_000):
        value, values = noise.gauss(), []
        for _ in range(count):
            value = share * value + math.sqrt(1 - share * share) * noise.gauss()
            values.append(50 + value)
        low, high, confidence_pct = related_interval(values)
        held += sure(low) <= 50 <= sure(high)
        stated_pct.append(sure(confidence_pct))
    assert held / 10 >= statistics.fmean(stated_pct) - 4
    if share == 0:
        assert statistics.fmean(stated_pct) > 90, "independent epochs are mostly seen as such"


def test_epochs_that_resemble_the_ones_before_say_less() -> None:
    rising, mixed = [50.0 + number for number in range(9)], [50.0, 54.0, 51.0, 57.0, 52.0, 58.0, 53.0, 55.0, 56.0]
    assert related_interval(rising) == (50.0, 58.0, 50.0)
    low, high, confidence_pct = related_interval(mixed)
    assert (low, high) == median_interval(mixed)[:2]
    assert confidence_pct == pytest.approx(96.1, abs=0.1)


@pytest.mark.parametrize(
    ("metric", "ends", "half_pct"),
    [
        ("seconds_per_epoch_s", (97.0, 102.0), 3.0),
        ("seconds_per_epoch_s", (99.0, 104.0), 4.0),  # the farther end counts
        # A step that is known to ± 3 % is a rate between 97.1 and 103.1: no less certain.
        ("images_per_s", (100 / 1.03, 100 / 0.97), 3.0),
        ("images_per_s", (100 / 1.05, 100.0), 5.0),
        ("seconds_per_epoch_s", (0.0, 103.0), None),
        ("images_per_s", (None, 103.0), None),
    ],
)
def test_it_is_the_farther_end_in_time(
    metric: str, ends: tuple[float | None, float | None], half_pct: float | None
) -> None:
    assert half_interval_pct(metric, 100.0, *ends) == (None if half_pct is None else pytest.approx(half_pct))
    assert half_interval_pct(metric, None, *ends) is None


@pytest.mark.parametrize("half_pct", [2.94, 2.96, 3.0, 3.04, 3.049, 3.06, 3.1])
def test_what_is_shown_as_three_percent_is_within_three_percent(stored_run: Run, half_pct: float) -> None:
    ends = {"value_low": 100.0 - half_pct, "value_high": 100.0 + half_pct, "confidence_pct": 95.0}
    run = summarised(**QUICK, **ends)(quiet_run(stored_run, 0))
    shown = f"± {half_pct:.1f} %"
    is_within = round(half_pct, 1) <= 3.0
    assert said("result.interval", half_pct=shown).is_all_of(interval_text(run.summary))
    assert said("share.estimate_within", half_pct=shown).is_all_of(share_card(JudgedRun(run)).notes[0])
    codes = [reason.code for reason in judge(run).reasons]
    assert ("interval_wide" in codes) != is_within
    texts = [reason.text for reason in judge(run).reasons if reason.code == "interval_wide"]
    assert all(said("verdict.interval_wide", half_pct=shown).begins(text) for text in texts)


@pytest.mark.parametrize(
    ("warmup_s", "ends", "is_by_warmup"),
    [
        (6.0, (99.0, 106.0), True),
        (4.0, (99.0, 106.0), False),  # too short to be why
        (6.0, (95.0, 106.0), False),  # wide on both sides: noise
    ],
)
def test_a_long_warmup_is_named_as_the_reason(
    stored_run: Run, warmup_s: float, ends: tuple[float, float], is_by_warmup: bool
) -> None:
    steps_s = (1.0, *[warmup_s / 10] * 10, *[0.1] * 600)
    changes = QUICK | {"value_low": ends[0], "value_high": ends[1], "warmup_steps": 10}
    run = metrics(updates_done=611.0, updates_asked=611.0)(with_steps(quiet_run(stored_run, 0), steps_s))
    for metric in ("seconds_per_epoch_s", "images_per_s"):
        if metric == "images_per_s":
            changes |= {"value_low": 1e4 / ends[1], "value_high": 1e4 / ends[0]}
        judged = judge(replace(run, summary=replace(run.summary, **changes, metric=metric)))
        wide = next(reason for reason in judged.reasons if reason.code == "interval_wide")
        assert (said("verdict.interval_wide_by_warmup").is_in(wide.text)) == is_by_warmup
        assert (said("advice.whole_run").is_in(wide.advice)) == is_by_warmup
