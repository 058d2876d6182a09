"""The sentences that say who is faster, and the scale on which longer is always faster."""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.analysis.bars import bars, find_baseline, one_each, ranked_count, shortlist
from app.core.analysis.position import chart_note, dated_name, friend_answer, position_message
from app.core.analysis.speed_scale import LINEAR_LIMIT, speed_scale
from app.core.external_results import ImportedResult
from app.core.formats import format_ratio
from app.core.messages import Message, sentence
from app.core.records import RunSummary
from tests.core.analysis.test_published import changes
from tests.saying import said
from tests.sure import sure

STANDARD = "cifar10_keras_cnn"
I5 = "i5-8250U (2019)"


def codes_of(found: Message | None) -> tuple[list[str], dict[str, Any]]:
    """Return the codes of a message and those within it, and all arguments."""
    codes: list[str] = []
    arguments: dict[str, Any] = {}
    while isinstance(found, Message):
        codes.append(found.code)
        arguments |= {name: value for name, value in found.arguments.items() if not isinstance(value, Message)}
        found = next((value for value in found.arguments.values() if isinstance(value, Message)), None)
    return codes, arguments


@pytest.mark.parametrize(
    ("changes", "codes", "arguments"),
    [
        ({}, ["position.faster", "position.place"], {"place": 6, "count": 8, "ratio": "4.8×", "baseline": I5}),
        ({"basis": "estimate"}, ["position.faster", "position.place"], {"place": 6}),
        ({"basis": "first_epoch"}, ["position.first_epoch", "position.faster", "position.place"], {"place": 6}),
        (
            {"settings": "devices=2 machines=2"},
            ["position.several", "position.faster", "position.place"],
            {"devices": 2, "place": 6},
        ),
        ({"value": 2.0}, ["position.faster", "position.place"], {"place": 1, "ratio": "160×"}),
        ({"value": 4.0}, ["position.faster", "position.place"], {"place": 1}),  # as fast as the fastest
        ({"value": 36.0}, ["position.faster", "position.place"], {"place": 4}),
        ({"value": 350.0}, ["position.slower", "position.place"], {"place": 7, "ratio": "1.1×", "baseline": I5}),
        ({"value": 382.0}, ["position.slower", "position.place"], {"place": 7, "count": 8}),
        ({"value": 500.0}, ["position.slower", "position.last"], {"count": 8, "ratio": "1.6×"}),
        ({"verdict": "invalid"}, ["position.invalid"], {}),
        ({"settings": "devices=2", "verdict": "invalid", "reasons": "divided_cpu"}, ["position.invalid"], {}),
        ({"value": None}, [], {}),
        ({"workload": "demo"}, [], {}),
        ({"batch_size": 32}, [], {}),
        (
            {"workload": "gpt_mini", "metric": "tokens_per_s", "precision": "float32", "batch_size": 16},
            ["position.none_like"],  # all published results are in float16
            {},
        ),
        (
            {"workload": "gpt_mini", "metric": "tokens_per_s", "precision": "mixed_float16", "batch_size": 16},
            ["position.slower", "position.in_16_bits", "position.last"],
            {"count": 7},
        ),
    ],
)
def test_the_place_of_a_run(
    summary: RunSummary, changes: dict[str, Any], codes: list[str], arguments: dict[str, Any]
) -> None:
    found = codes_of(position_message(replace(summary, **changes)))
    assert found[0] == codes
    assert {name: found[1][name] for name in arguments} == arguments


def test_the_sentence_takes_the_baseline_that_was_asked_for(summary: RunSummary) -> None:
    found = codes_of(sure(position_message(summary, "gtx 1080 ti")))
    assert (found[1]["baseline"], found[1]["ratio"]) == ("GTX 1080 Ti (2019)", "17×")


@given(changed=changes(), limit=st.integers(4, 40))
def test_the_sentence_agrees_with_the_bars_that_are_drawn(
    changed: dict[str, Any], limit: int, summary: RunSummary
) -> None:
    run = replace(summary, **changed)
    everything = bars(run.workload, run)
    drawn, found = shortlist(everything, limit), position_message(run)
    like = [bar for bar in one_each(everything) if bar.is_like]
    if len(like) == 1:
        assert found is None or found.code == "position.none_like"
        return
    you = next(bar for bar in drawn if bar.kind == "you")
    base = sure(find_baseline(drawn, None, run.workload))
    assert base in drawn
    codes, arguments = codes_of(found)
    times = sure(you.times_as_fast(base))
    assert arguments["baseline"] == dated_name(base)
    assert arguments["ratio"] == format_ratio(max(times, 1 / times))
    assert ("position.faster" in codes) == (times >= 1)
    place = next(number for number, bar in enumerate(like, 1) if bar.speed == you.speed)
    assert arguments["place"] == place
    assert ("position.last" in codes) == (all(bar.speed > you.speed for bar in like if bar is not you))
    speeds = [bar.speed for bar in drawn]
    ranked = ranked_count(drawn) or len(drawn)
    for part in (speeds[:ranked], speeds[ranked:]):
        assert part == sorted(part, reverse=True)


def test_what_can_not_be_ranked_is_sorted_among_the_others(summary: RunSummary) -> None:
    run = replace(summary, workload="gpt_mini", metric="tokens_per_s", value=79.6, batch_size=16)
    chart = bars("gpt_mini", run)
    assert chart[-1].kind == "you", "not above an A100"
    assert ranked_count(chart) is None
    assert sentence("compare.not_ranked") in chart_note(chart)


def _friend(summary: RunSummary, **changes: Any) -> ImportedResult:
    names = {"digest": "", "label": "Ben", "source": "ben.png"}
    theirs = replace(summary, **changes)
    return ImportedResult(
        id=3, uid="abcdefghij", plan_uid=None, imported_at="2026-11-28T10:00:00Z", summary=theirs, **names
    )


@pytest.mark.parametrize(
    ("changes", "code", "ratio"),
    [
        ({"value": 44.2}, "compare.friend_faster", "1.5×"),
        ({"value": 132.6}, "compare.friend_slower", "2.0×"),
        ({"value": 44.2, "verdict": "caution"}, "compare.friend_faster", "≈ 1.5×"),
        ({"value": 66.9, "value_low": 66.0, "value_high": 67.8}, "compare.friend_equal", ""),
        ({"verdict": "invalid"}, "compare.friend_invalid", ""),
        ({"value": 44.2, "precision": "mixed_float16"}, "", ""),  # not drawn, and listed with its reason
    ],
)
def test_an_import_is_answered_in_words(
    summary: RunSummary, changes: dict[str, Any], code: str, ratio: str
) -> None:
    summary = replace(summary, verdict="valid")
    chart = bars(STANDARD, summary, imported=[_friend(summary, **changes)])
    answer = friend_answer(chart)
    given = {"ratio": ratio} if ratio else {}
    assert said(code, name="Ben (ben)", **given).is_all_of(answer) if code else answer == ""


SPEEDS = st.lists(st.floats(1e-150, 1e150), min_size=1, max_size=20)


@given(speeds=SPEEDS, unit=st.none() | st.floats(1e-150, 1e150))
def test_longer_is_always_faster(speeds: Sequence[float], unit: float | None) -> None:
    scale = speed_scale(speeds, unit)
    shares = [scale.share(speed) for speed in sorted(speeds)]
    assert shares == sorted(shares)
    assert all(0 <= share <= 1 for share in shares)
    assert shares[-1] == pytest.approx(1)
    assert all(math.isfinite(share) and text for share, text in scale.ticks()) or unit is None


@pytest.mark.parametrize(
    ("speeds", "unit", "is_log", "ticks"),
    [
        ([1.0, 4.0], 1.0, False, ["0", "1×", "2×", "3×", "4×"]),
        ([1.0, LINEAR_LIMIT], 1.0, False, ["0", "10×", "20×", "30×", "40×"]),
        ([1.0, LINEAR_LIMIT + 1.0], 1.0, True, ["1×", "10×"]),
        ([0.001, 100.0], 1.0, True, ["0.001×", "0.01×", "0.1×", "1×", "10×", "100×"][::2]),
        ([0.001, 100.0], None, True, []),
        ([0.0], 1.0, False, ["0", "0.25×", "0.5×", "0.75×", "1×"]),
    ],
)
def test_ticks_are_round_multiples_of_the_baseline(
    speeds: list[float], unit: float | None, is_log: bool, ticks: list[str]
) -> None:
    scale = speed_scale(speeds, unit)
    assert scale.is_log == is_log
    assert [text for _, text in scale.ticks()] == ticks
