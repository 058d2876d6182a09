"""Whether a result is normal for its card."""

import re
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest

from app.core.analysis.band import Band, band, band_message
from app.core.analysis.bars import bars, one_each, shortlist
from app.core.analysis.credibility import is_possible
from app.core.analysis.position import position, position_message
from app.core.analysis.published import PublishedRow, comparable_rows, short_name
from app.core.messages import Message, message, text
from app.core.records import RunSummary
from tests.sure import sure

PRECISIONS = {"fp32": "float32", "tf32": "float32", "fp16": "mixed_float16", "bf16": "mixed_bfloat16"}
CARD = {"device": "gpu:0", "device_name": "NVIDIA GeForce RTX 5070"}
LOW, HIGH = 6.201e13, 6.744e13  # on five computers, in float16


def products(summary: RunSummary, **changes: Any) -> RunSummary:
    usual: dict[str, Any] = {"workload": "matmul", "workload_version": 1, "metric": "flop_per_s", "value": 6.6e13}
    usual |= {"samples_per_epoch": 0, "batch_size": 1, "precision": "mixed_float16", "verdict": "valid"}
    return replace(summary, **usual | CARD | changes)


def run_of(row: PublishedRow, summary: RunSummary) -> RunSummary:
    settings = {"tf32": "tf32=on", "fp32": "tf32=off"}.get(row.precision, "")
    precision = PRECISIONS[row.precision]
    return products(
        summary, value=row.value, precision=precision, settings=settings, device_name=f"NVIDIA {row.device}"
    )


def codes(said: Message) -> list[str]:
    inner = said.arguments.get("said")
    return [said.code, *(codes(inner) if isinstance(inner, Message) else [])]


CARDS = [row for row in comparable_rows("matmul") if row.hardware_kind == "gpu"]
WITH_BAND = [row for row in CARDS if band("matmul", row.device, row.precision)]


def test_fourteen_cards_have_a_band() -> None:
    assert len({row.device for row in WITH_BAND}) == 14
    assert band("matmul", "NVIDIA GeForce RTX 5070", "mixed_float16") == Band(
        "RTX 5070", "flop_per_s", LOW, HIGH, 5
    )
    # A card in a laptop is another one.
    assert sure(band("matmul", "NVIDIA GeForce RTX 5080 Laptop GPU", "float16")).device == "RTX 5080 Laptop"
    assert band("matmul", "NVIDIA GeForce RTX 5080", "float16") is None


def test_each_computer_of_a_band_is_another_one() -> None:
    for device, precision in {(row.device, row.precision) for row in WITH_BAND}:
        rows = [row for row in WITH_BAND if (row.device, row.precision) == (device, precision)]
        stems = {re.sub(r"-(float32|float16|bfloat16|tf32)(-best)?$", "", row.id) for row in rows}
        alone = [row for row in rows if "perhaps the same card" not in row.notes]
        assert len(stems) == len(rows)
        assert sure(band("matmul", device, precision)).computers == len(alone)


@pytest.mark.parametrize(
    "changes",
    [
        {"device_name": "NVIDIA GeForce RTX 5080"},  # on one computer
        {"device_name": None, "device": "cpu"},
        {"value": None},
        {"verdict": "invalid"},
        {"settings": "devices=2"},
        {"workload": "gpt_mini", "metric": "tokens_per_s"},
        {"workload": "memory_bandwidth", "metric": "bytes_per_s"},
    ],
    ids=str,
)
def test_what_has_no_band(changes: dict[str, Any], summary: RunSummary) -> None:
    assert band_message(products(summary, **changes)) is None


AT_150_W = {"power_limit_w": 150.0, "power_default_w": 250.0}
AT_300_W = {"power_limit_w": 300.0, "power_default_w": 250.0}
BELOW: dict[str, Any] = {"value": 5e13}
ABOVE: dict[str, Any] = {"value": 8e13}


@pytest.mark.parametrize(
    ("changes", "expected", "cause"),
    [
        ({"value": LOW}, "band.normal", None),
        ({"value": HIGH}, "band.normal", None),
        ({"value": 0.997 * LOW}, "band.normal", None),
        ({"value": 0.97 * LOW}, "band.near_below", None),
        ({"value": 1.03 * HIGH}, "band.near_above", None),
        ({"value": LOW, "reasons": "throttled"}, "band.normal", None),
        (BELOW, "band.unexplained", None),
        (ABOVE, "band.unexplained", None),
        (BELOW | {"reasons": "spread interval_wide"}, "band.unexplained", None),
        (BELOW | {"reasons": "spread other_load throttled"}, "band.cause", "short.throttled"),
        (ABOVE | {"reasons": "throttled"}, "band.unexplained", None),
        (BELOW | AT_300_W, "band.unexplained", None),
        (ABOVE | AT_150_W, "band.unexplained", None),
        (BELOW | AT_150_W | {"reasons": "throttled"}, "band.cause", "band.power_limit"),
        (ABOVE | AT_300_W, "band.cause", "band.power_limit"),
    ],
    ids=str,
)
def test_where_a_result_is_and_why(
    changes: dict[str, Any], expected: str, cause: str | None, summary: RunSummary
) -> None:
    said = sure(band_message(products(summary, **changes)))
    assert said.code == expected
    assert ("cause" in said.arguments and said.arguments["cause"].code) == (cause or False)


def test_the_sentence_says_how_many_computers_and_by_how_much(summary: RunSummary) -> None:
    said = sure(band_message(products(summary, **BELOW)))
    below = said.arguments["said"]
    assert below.code == "band.below"
    assert below.arguments["outside_pct"] == pytest.approx(100 * (1 - 5e13 / LOW))
    of = below.arguments["said"].arguments
    told = [of[name] for name in ("device", "low", "high", "count")]
    assert told == ["RTX 5070", "62.0", "67.4", 5]


@pytest.mark.parametrize(
    ("precision", "settings", "kind"),
    [
        ("mixed_float16", "", "band.in_16_bits"),
        ("mixed_bfloat16", "", "band.in_16_bits"),
        ("float32", "tf32=off", "band.in_float32"),
        ("float32", "tf32=on", "band.in_tf32"),
    ],
)
def test_each_arithmetic_has_its_own_band(precision: str, settings: str, kind: str, summary: RunSummary) -> None:
    said = sure(band_message(products(summary, precision=precision, settings=settings)))
    while "said" in said.arguments:
        said = said.arguments["said"]
    assert said.arguments["kind"] == message(kind)


def ids(rows: Iterable[PublishedRow]) -> list[str]:
    return [row.id for row in rows]


@pytest.mark.parametrize("row", WITH_BAND, ids=ids(WITH_BAND))
def test_each_published_result_is_normal_for_its_card(row: PublishedRow, summary: RunSummary) -> None:
    run = run_of(row, summary)
    normal = sure(band(run.workload, run.device_name, row.precision))
    is_counted = "perhaps the same card" not in row.notes
    assert normal.low <= row.value <= normal.high or not is_counted
    said = sure(position_message(run))
    assert said.code in ("band.normal", "band.near_below", "band.near_above")[: 1 if is_counted else 3]
    assert is_possible(run)


@pytest.mark.parametrize("row", WITH_BAND[::20], ids=ids(WITH_BAND[::20]))
def test_the_bar_of_a_card_is_inside_its_band(row: PublishedRow, summary: RunSummary) -> None:
    run = run_of(row, summary)
    chart = bars(run.workload, run)
    drawn = next(bar for bar in one_each(chart) if bar.row is not None and bar.name == row.short_name)
    normal = sure(band(run.workload, run.device_name, row.precision))
    assert drawn.is_like
    assert normal.device == short_name(row.device) == drawn.name
    assert normal.low <= drawn.value <= normal.high
    far = replace(run, value=2 * normal.high)
    assert row.short_name in [bar.name for bar in shortlist(bars(far.workload, far), 6)]
    # With a baseline, the question is another one.
    assert codes(sure(position_message(run, "RTX 3060", chart)))[0].startswith("position.")
    assert position(run) == text(band_message(run))
