"""Sentence, rank, factor and neighbours of a run are those of the bars that are drawn, for every workload."""

import math
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.analysis.compare import (
    Bar,
    bars,
    baseline_name,
    find_baseline,
    one_each,
    place,
    rank_text,
    shortlist,
)
from app.core.analysis.conversion import converted
from app.core.analysis.published import comparable_rows, says_precision
from app.core.messages import Message, text
from app.core.metrics import format_ratio
from app.core.records import RunSummary
from tests.saying import said
from workloads import CATALOGUE

PUBLISHED = [name for name in CATALOGUE if comparable_rows(name)]
PRECISIONS = ("float32", "mixed_float16", "mixed_bfloat16")
LIMITS = st.integers(4, 40)


def drawn_for(run: RunSummary, limit: int) -> list[Bar]:
    return shortlist(bars(run.workload, run), limit)


def core_of(found: Message) -> Message:
    """Return the innermost sentence, which has the figures."""
    inner = found.arguments.get("said")
    return core_of(inner) if isinstance(inner, Message) else found


@st.composite
def changes(draw: st.DrawFn) -> dict[str, Any]:
    """What makes a run one of any workload with published results: among, above, below or level with them."""
    name = draw(st.sampled_from(PUBLISHED))
    rows = comparable_rows(name)
    usual = CATALOGUE[name].batch_size
    metric = CATALOGUE[name].metric
    values = sorted(value[0] for row in rows if (value := converted(row, metric)) is not None)
    between = st.floats(math.log(values[0] / 3), math.log(values[-1] * 3)).map(math.exp)
    return {
        "workload": name,
        "metric": metric,
        "precision": draw(st.sampled_from(PRECISIONS)),
        "batch_size": draw(st.sampled_from(sorted({usual, *(row.batch_size or usual for row in rows)}))),
        "value": draw(st.sampled_from(values) | between),
    }


@given(changed=changes(), limit=LIMITS)
def test_the_sentence_speaks_of_the_bars_that_are_drawn(
    changed: dict[str, Any], limit: int, summary: RunSummary
) -> None:
    run = replace(summary, **changed)
    drawn, found = drawn_for(run, limit), place(run)
    like = [bar for bar in drawn if bar.is_like]
    published = [bar for bar in like if bar.kind == "reference"]
    if not published:
        assert found is None or found.code == "position.none_like"
        return
    assert found is not None
    you = next(bar for bar in drawn if bar.kind == "you")
    base = find_baseline(drawn, None, run.workload)
    assert base in published
    core = core_of(found)
    assert text(core.arguments["baseline"]) == baseline_name(base)
    assert core.arguments["ratio"] == format_ratio(you.times_as_fast(base))
    at = like.index(you)
    faster = [bar.name for bar in like[:at] if bar.value != you.value]
    slower = [bar.name for bar in like[at:] if bar.value != you.value]
    if core.code == "position.between":
        assert (core.arguments["faster"], core.arguments["slower"]) == (faster[-1], slower[0])
    elif core.code == "position.fastest":
        assert slower
        assert not faster
    elif core.code == "position.slowest":
        assert faster
        assert not slower
    else:
        assert core.arguments["other"] in [bar.name for bar in published if bar.value == you.value]


@given(changed=changes(), limit=LIMITS)
def test_a_device_has_one_bar_and_one_place(changed: dict[str, Any], limit: int, summary: RunSummary) -> None:
    run = replace(summary, **changed)
    everything = bars(run.workload, run)
    each, drawn = one_each(everything), shortlist(everything, limit)
    names = [bar.row.short_name for bar in each if bar.row is not None]
    assert len(set(names)) == len(names)
    assert [bar for bar in each if bar in drawn] == drawn
    assert shortlist(drawn, limit) == drawn
    like = [bar for bar in each if bar.is_like]
    if len(like) > 1:
        rank = 1 + [bar.kind for bar in like].index("you")
        assert rank_text(everything) == rank_text(each)
        assert said("compare.rank", rank=str(rank), count=str(len(like))).is_all_of(rank_text(each))


@given(changed=changes())
def test_only_like_is_ranked_with_like(changed: dict[str, Any], summary: RunSummary) -> None:
    run = replace(summary, **changed)
    everything = bars(run.workload, run)
    flags = [bar.is_like for bar in everything]
    assert flags == sorted(flags, reverse=True), "what is unlike stands below"
    for bar in everything:
        if bar.row is None or not says_precision(run.workload):
            assert bar.is_like
            continue
        is_half = bar.row.precision not in ("", "fp32")
        if is_half == (run.precision == "float32"):
            assert not bar.is_like


@pytest.mark.parametrize(
    ("precision", "batch_size", "code"),
    [
        ("float32", 16, "position.none_like"),  # all published results are in float16
        ("mixed_float16", 16, "position.among"),
    ],
)
def test_a_run_of_gpt_mini_is_ranked_in_its_own_precision(
    precision: str, batch_size: int, code: str, summary: RunSummary
) -> None:
    asked = {"workload": "gpt_mini", "metric": "tokens_per_s", "precision": precision, "batch_size": batch_size}
    found = place(replace(summary, **asked))  # type: ignore[arg-type]
    assert found is not None
    assert found.code == code
    if code == "position.among":
        assert "float16 autocast" in found.arguments["conditions"]
