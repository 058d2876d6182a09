"""What groups come to: against printed tables, simulated runs with known truth, and whatever hypothesis finds."""

import math
import random
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from app.core.analysis.ab import PairResult, between_runs, compare_pairs, judge_pairs, judge_repeats, pairs_of
from app.core.analysis.student_t import t_limit
from app.core.messages import Message, message, sentence, text
from app.core.plans.experiments import report_of
from app.core.records import Group, Plan, RunSummary
from tests.build import ask
from tests.saying import said
from tests.sure import sure

VALUES = st.floats(min_value=1e-6, max_value=1e9)


@given(st.lists(st.tuples(VALUES, VALUES), min_size=2, max_size=20))
def test_which_side_is_called_a_changes_nothing(pairs: list[tuple[float, float]]) -> None:
    a, b = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    result, turned = compare_pairs(a, b, is_rate=False), compare_pairs(b, a, is_rate=False)
    low, ratio, high = sure(result.low), sure(result.ratio), sure(result.high)
    assert [sure(turned.ratio), sure(turned.low)] == pytest.approx([1 / ratio, 1 / high])
    assert low <= ratio <= high
    assert result.is_shown == turned.is_shown
    assert compare_pairs(b, a, is_rate=True).ratio == pytest.approx(ratio), "more is faster instead of less"
    if result.is_shown:
        assert result.sentence("x", "y")[0] == turned.sentence("y", "x")[0], "the faster one comes first"


def simulated(random_: random.Random, ratio: float) -> tuple[list[float], list[float]]:
    a, b = ([10 * random_.lognormvariate(0, 0.01) for _ in range(6)] for _ in "ab")
    return a, [each / ratio for each in b]


@pytest.mark.parametrize(("ratio", "shown"), [(1.07, (0.99, 1.0)), (1.0, (0.0, 0.07))])
def test_the_interval_holds_the_truth_as_often_as_it_says(ratio: float, shown: tuple[float, float]) -> None:
    random_ = random.Random(20260)
    results = [compare_pairs(*simulated(random_, ratio), is_rate=False) for _ in range(2_000)]
    inside = sum(sure(each.low) <= ratio <= sure(each.high) for each in results)
    assert 0.93 <= inside / 2_000 <= 0.97
    assert shown[0] <= sum(each.is_shown for each in results) / 2_000 <= shown[1]


@pytest.mark.parametrize(
    ("a", "b", "code", "figures", "more"),
    [
        ([2.0, 2.02, 2.0], [1.6, 1.6, 1.6], "difference", ("B", "A", "1.25", "1.24", "1.27"), False),
        ([1.6, 1.6, 1.6], [2.0, 2.02, 2.0], "difference", ("A", "B", "1.25", "1.24", "1.27"), False),
        ([1, 1.1, 1], [1, 1.08, 1.02], "no_difference", ("B", "A", "", "0.95", "1.05"), False),
        ([2.0], [1.0], "only_pair", ("B", "A", "2.00"), True),
        ([2.0, 2.0], [1.0, 1.5], "no_difference", ("B", "A", "", "0.12", "21.5"), True),
        ([2.0, 2.0], [1.0, 1.001], "difference", ("B", "A", "2.00", "1.99", "2.01"), True),
        ([1.0] * 3, [0.999, 0.9991, 0.9989], "difference", ("B", "A", "1.0010", "1.0008", "1.0012"), False),
        ([], [], "no_pair", (), False),
        ([None, 2.0], [1.0, None], "no_pair", (), False),
    ],
)
def test_sentences(
    a: list[float | None], b: list[float | None], code: str, figures: tuple[str, ...], more: bool
) -> None:
    named = dict(zip(("first", "second", "times", "low", "high"), figures, strict=False)) | {"pairs": len(a)}
    core = message(f"ab.{code}", **named, b="B", a="A")
    wanted = sentence("ab.more_pairs", said=core) if more else text(core)
    assert compare_pairs(a, b, is_rate=False).sentence() == wanted


@pytest.mark.parametrize(
    ("a", "b", "code", "figures", "short", "more"),
    [
        ([1.0, 1.1, 1.0], [1.0, 1.08, 1.02], "check", {"smallest": "6.6"}, "check_shortly", False),
        ([1.0, 1.0], [1.0, 1.0002], "check", {"smallest": "0.2"}, "check_shortly", True),
        (
            *([2.0, 2.02, 2.0], [1.6, 1.6, 1.6]),
            *("check_differs", {"low": "1.24", "high": "1.27"}, "check_differs_shortly", False),
        ),
        ([1.0], [2.0], "check_once", {}, "check_once", True),
        ([], [], "no_pair", {}, "no_pair", False),
    ],
)
def test_equal_sides_show_how_small_a_difference_can_be_shown(
    a: list[float], b: list[float], code: str, figures: dict[str, str], short: str, more: bool
) -> None:
    result = compare_pairs(a, b, is_rate=False)
    core = message(f"ab.{code}", **figures, pairs=len(a))
    assert result.check_sentence() == (sentence("ab.more_pairs", said=core) if more else text(core))
    assert result.check_headline() == sentence(f"ab.{short}", **figures)


@given(st.lists(st.floats(0.9, 1.1), min_size=3, max_size=12), st.floats(1.5, 3))
def test_a_difference_larger_than_the_smallest_is_shown(ratios: list[float], times: float) -> None:
    """Pairs like those of equal sides, moved by some times the smallest difference, exclude that there is none."""
    equal = compare_pairs([1.0] * len(ratios), ratios, is_rate=True)
    centre, smallest = sure(equal.ratio), sure(equal.smallest_pct) / 100
    assume(1e-6 < smallest < 0.3)
    moved = compare_pairs(
        [1.0] * len(ratios), [each / centre * (1 + times * smallest) for each in ratios], is_rate=True
    )
    assert moved.is_shown


@pytest.mark.parametrize("pairs", [3, 5, 10])
def test_the_smallest_difference_is_found_four_times_in_five(pairs: int) -> None:
    """With a spread that is known, as the mean of many checks shows it."""
    chance, spread, found, rounds = random.Random(11), 0.01, 0, 1_000
    ones: list[float | None] = [1.0] * pairs
    margin = t_limit(pairs - 1) * spread / math.sqrt(pairs)
    smallest = sure(PairResult((), 1.0, 1 - margin, 1 + margin).smallest_pct) / 100
    for _ in range(rounds):
        moved: list[float | None] = [math.exp(chance.gauss(smallest, spread)) for _ in range(pairs)]
        found += compare_pairs(ones, moved, is_rate=True).is_shown
    assert 0.75 < found / rounds < 0.9


def test_labels_stand_in_the_sentence_and_those_with_spaces_are_quoted() -> None:
    told = compare_pairs([2.0, 2.02, 2.0], [1.6, 1.6, 1.6], is_rate=False).sentence("as usual", "threads=2")
    assert said("ab.difference", first="threads=2", second="“as usual”").is_all_of(told)


@given(st.lists(VALUES, min_size=1, max_size=40), st.lists(st.one_of(st.none(), VALUES), max_size=5))
def test_repetitions_lie_between_their_ends(values: list[float], within: list[float | None]) -> None:
    result = between_runs(values, within)
    assert result.count == len(values)
    if len(values) > 1:
        assert min(values) <= sure(result.low) <= sure(result.median) <= sure(result.high) <= max(values)
        assert (result.confidence_pct or 0) >= (95 if len(values) > 5 else 50)


@pytest.mark.slow
def test_the_median_lies_in_its_interval_as_often_as_it_says() -> None:
    random_ = random.Random(20263)
    for count in (4, 9, 17):
        inside, said = 0, 0.0
        for _ in range(2_000):
            result = between_runs([random_.lognormvariate(0, 1) for _ in range(count)], [])
            inside += (result.low or 0) <= 1 <= (result.high or 0)
            said = result.confidence_pct or 0
        assert 100 * inside / 2_000 == pytest.approx(said, abs=2)


def test_a_sentence_distinguishes_the_spreads() -> None:
    unit = "seconds_per_epoch_s"
    result = between_runs([66.1, 67.0, 66.5, 66.2, 66.3], [0.4, 0.5, None])
    spreads = said("repeat.spreads", within_pct="0.5", between_pct="0.5", value="66.3 s per epoch", runs="5")
    assert spreads.is_all_of(result.sentence(unit))
    assert said("repeat.limits", confidence_pct="94", high="67.0", low="66.1").is_all_of(result.limits(unit))
    assert between_runs([66.3, 66.3], []).limits(unit) == ""
    assert said("repeat.only_run", value="66.1 s per epoch").is_all_of(between_runs([66.1], [0.4]).sentence(unit))
    assert said("repeat.no_result").is_all_of(between_runs([], []).sentence("images_per_s"))


CANCELLED = message("group.run_not_completed", run_id=9, status=sentence("status.cancelled"))
INVALID = message("group.run_invalid", run_id=9)
HALF = message("compare.other_setting", theirs="mixed_float16", mine="float32")
OTHER_BATCH = message("compare.other_setting", theirs="batch 200", mine="batch 100")
FUSED = message("compare.other_variant", theirs="lstm=fused", mine=message("compare.as_usual"))


def ab(*runs: RunSummary, times: int = 2, begun: int | None = None) -> Group:
    plan, numbers = Plan(kind="ab", order="pairs", rounds=times), {run.id: run.id for run in runs} if begun else {}
    return Group(id=1, created_at="", plan=plan, runs=runs, begun=begun, numbers=numbers)


def repeat(*runs: RunSummary, times: int | None = None) -> Group:
    return Group(id=1, created_at="", plan=Plan(kind="repeat", rounds=times or len(runs)), runs=runs)


def test_pairs_stay_pairs_when_a_run_is_deleted(summary: RunSummary) -> None:
    a1, b1, b2, a2 = (
        replace(summary, id=number, side=side, value=value)
        for number, (side, value) in enumerate([("A", 8.0), ("B", 4.0), ("B", 2.0), ("A", 6.0)], 1)
    )
    assert judge_pairs(ab(a1, b1, b2, a2)).ratios == pytest.approx((2.0, 3.0))
    left = ab(a1, b2, a2, begun=4)
    assert [(pair.a, pair.b) for pair in pairs_of(left)] == [(a1, None), (a2, b2)]
    assert judge_pairs(left).ratios == pytest.approx((3.0,))
    alone, deleted = message("group.run_alone", run_id=1), message("group.runs_deleted", count=1)
    assert report_of(left).remarks() == [sentence("group.not_counted", runs=[deleted, alone])]
    assert said("ab.no_pair").is_all_of(ask("sentence", ab(begun=4)))


def test_only_completed_runs_with_a_value_count_and_the_others_are_named(summary: RunSummary) -> None:
    changes: tuple[dict[str, Any], ...] = (
        {},
        {"value": 70.0},
        {"value": 1.0, "status": "cancelled"},
        {"value": None},
        {"value": 1.0, "verdict": "invalid"},
    )
    group = repeat(*(replace(summary, id=7 + at, **each) for at, each in enumerate(changes)), times=6)
    assert judge_repeats(group).count == 2
    assert judge_repeats(group).median == pytest.approx(68.15)
    assert report_of(group).remarks() == [
        sentence("repeat.limits", low="66.3", high="70.0", confidence_pct=50),
        sentence(
            "group.not_counted",
            runs=[
                CANCELLED,
                message("group.run_without_result", run_id=10),
                message("group.run_invalid", run_id=11),
            ],
        ),
        sentence("group.not_begun", count=1, planned=6),
    ]


@pytest.mark.parametrize(
    ("changes", "left_out"), [({"status": "cancelled"}, CANCELLED), ({"verdict": "invalid"}, INVALID)]
)
def test_a_pair_with_a_side_that_does_not_count_is_none(
    summary: RunSummary, changes: dict[str, Any], left_out: Message
) -> None:
    group = ab(replace(summary, side="A"), replace(summary, id=9, side="B", value=1.0, **changes), times=1)
    assert judge_pairs(group).pairs == 0
    alone = message("group.run_alone", run_id=7)
    assert report_of(group).remarks() == [sentence("group.not_counted", runs=[alone, left_out])]


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"cpu_name": "Another CPU"}, "Another CPU"),
        ({"device": "gpu:0", "device_name": "GTX 1060"}, "GTX 1060"),
        ({"engine_version": "2.30.0"}, "TensorFlow 2.30.0"),
        ({"precision": "mixed_float16"}, HALF),
        ({"engine": "other"}, "other 2.21.0"),
    ],
)
def test_repetitions_that_are_not_alike_say_so(
    summary: RunSummary, changes: dict[str, Any], reason: str | Message
) -> None:
    runs = [summary, replace(summary, id=8), replace(summary, id=9, **changes)]
    remark = sentence("group.changed", run_id=9, first_id=summary.id, reason=reason)
    assert remark in ask("remarks", repeat(*runs))
    assert not said("group.changed").is_in(ask("remarks", repeat(*runs[:2])))


@pytest.mark.parametrize(
    ("changes", "code", "reason"),
    [
        ({"batch_size": 200}, "group.other_work", OTHER_BATCH),
        ({"variant": "lstm=fused"}, "group.other_work", FUSED),
        ({"precision": "mixed_float16"}, "group.other_precision", HALF),
        ({"threads": 2}, None, None),
        ({"engine": "other"}, None, None),
        ({"settings": "onednn=off"}, None, None),
        ({"settings": "future=1"}, None, None),
    ],
)
def test_differing_sides_are_reported(
    summary: RunSummary, changes: dict[str, object], code: str | None, reason: Message | None
) -> None:
    b = replace(summary, id=8, side="B", **changes)  # type: ignore[arg-type]
    remarks = ask("remarks", ab(replace(summary, side="A"), b, times=1))
    assert remarks == ([sentence(code, reason=reason)] if code else [])


@pytest.mark.parametrize(
    ("ratio", "low", "high", "code", "figures"),
    [
        (1.073, 1.061, 1.085, "faster_within", {"faster": "7.3", "half": "1.2"}),
        (1 / 1.073, 1 / 1.085, 1 / 1.061, "faster_within", {"faster": "7.3", "half": "1.2"}),
        (1.0004, 1.0003, 1.0005, "faster_within", {"faster": "0.04", "half": "0.01"}),
        (1.3, 1.02, 1.66, "faster_range", {"faster": "30.0", "low": "2.0", "high": "66.0"}),
        (1.05, 1.0002, 1.1025, "faster_range", {"faster": "5.0", "low": "0.0", "high": "10.3"}),
        (6.2, 6.0, 6.4, "times_range", {"times": "6.20", "low": "6.00", "high": "6.40"}),
        (1.02, 0.99, 1.05, "level", {}),
        (1.25, None, None, "faster_once", {"faster": "25.0"}),
        (0.2, None, None, "times_once", {"times": "5.00"}),
        (None, None, None, "no_pair", {}),
    ],
)
def test_a_headline_says_how_much_faster_with_an_interval_that_is_true(
    ratio: float | None, low: float | None, high: float | None, code: str, figures: dict[str, str]
) -> None:
    first, second = "BA" if (ratio or 1) > 1 else "AB"
    headline = sentence(f"ab.{code}", first=first, second=second, **figures)
    assert PairResult((), ratio, low, high).headline() == headline
