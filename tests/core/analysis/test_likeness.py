"""Which published results a run is ranked with."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.core.analysis.bars import bars, find_baseline, one_each
from app.core.analysis.likeness import arithmetic, is_like_row
from app.core.analysis.position import position_message
from app.core.analysis.published import PublishedRow, comparable_rows, reference_rows
from app.core.records import RunSummary
from tests.core.analysis.test_band import PRECISIONS, products
from tests.sure import sure

CARD: dict[str, Any] = {"device": "gpu:0", "device_name": "NVIDIA GeForce RTX 5070", "engine": "torch"}
OLD_CARD = {"device_name": "Tesla T4"}


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, "float32"),
        ({"settings": "tf32=on"}, "tf32"),
        ({"settings": "tf32=off"}, "float32"),
        ({"engine": "tensorflow"}, "tf32"),
        ({"engine": "jax"}, "tf32"),
        ({"engine": "tensorflow", "settings": "tf32=off"}, "float32"),
        ({"engine": "tensorflow", **OLD_CARD}, "float32"),
        ({"engine": "tensorflow", "device_name": "NVIDIA GeForce RTX 2080 Ti"}, "float32"),
        ({"engine": "tensorflow", "device_name": "NVIDIA RTX 2000 Ada Generation"}, "tf32"),
        ({"engine": "tensorflow", "device_name": "AMD Radeon RX 7900 XTX"}, "float32"),
        ({"engine": "tensorflow", "device_name": None, "device": "cpu"}, "float32"),
        ({"precision": "mixed_float16"}, "float16"),
        ({"precision": "mixed_bfloat16", "engine": "tensorflow"}, "bfloat16"),
    ],
)
def test_the_arithmetic_of_a_run(changes: dict[str, Any], expected: str, summary: RunSummary) -> None:
    run = replace(summary, **({"settings": "", "precision": "float32"} | CARD | changes))
    assert arithmetic(run) == expected


@pytest.mark.parametrize(
    ("workload", "precision", "like"),
    [
        ("matmul", "float32", {"fp32"}),
        ("matmul", "tf32", {"tf32"}),
        ("matmul", "mixed_float16", {"fp16"}),
        ("matmul", "bfloat16", {"bf16"}),
        # Networks: 16 bits are 16 bits, and nothing has fewer.
        ("gpt_mini", "float32", {"fp32", "tf32"}),
        ("gpt_mini", "tf32", {"fp32", "tf32"}),
        ("gpt_mini", "mixed_bfloat16", {"fp16", "bf16"}),
        ("lora_qwen3", "mixed_float16", {"fp16", "bf16"}),
    ],
)
def test_like_is_ranked_with_like(workload: str, precision: str, like: set[str]) -> None:
    row = replace(reference_rows()[0], workload=workload, batch_size=None)
    words = {each.precision for each in reference_rows() if each.workload in ("matmul", "lora_qwen3")}
    assert {word for word in words if is_like_row(replace(row, precision=word), precision, 1)} == like


def test_of_several_computers_with_a_card_the_middle_one_is_its_bar() -> None:
    cards = [row for row in comparable_rows("matmul") if row.device == "RTX 5090" and row.precision == "fp32"]
    values = sorted(row.value for row in cards)
    chart = bars("matmul", None)
    drawn = next(bar for bar in one_each(chart) if bar.name == "RTX 5090")
    assert drawn.value == values[len(values) // 2]
    assert find_baseline(chart, "RTX 5090", "matmul") is drawn


def runs_of_rows() -> Iterator[PublishedRow]:
    """Yield a row of each device and precision: those are where a run is ranked."""
    seen = set()
    for row in comparable_rows("matmul"):
        if row.hardware_kind == "gpu" and (row.short_name, row.precision) not in seen:
            seen.add((row.short_name, row.precision))
            yield row


@settings(max_examples=30)
@given(row=st.sampled_from(tuple(runs_of_rows())))
def test_a_limit_is_ranked_among_all_cards_in_its_own_arithmetic(row: PublishedRow, summary: RunSummary) -> None:
    changes: dict[str, Any] = CARD | {"device_name": "Unheard-of", "precision": PRECISIONS[row.precision]}
    changes |= {"settings": "tf32=on" if row.precision == "tf32" else "tf32=off"}
    run = products(summary, value=row.value, **changes)
    chart = bars("matmul", run)
    each = one_each(chart)
    ranked = [bar for bar in each if bar.is_like and bar.row is not None]
    assert {bar.row.precision for bar in ranked if bar.row is not None} == {row.precision}
    place = sure(position_message(run, chart=chart))
    faster = sum(bar.value > row.value for bar in ranked)
    inner = place.arguments["place"]
    assert inner.code == {"float32": "position.in_float32"}.get(run.precision, "position.in_16_bits").replace(
        "float32", "tf32" if row.precision == "tf32" else "float32"
    )
    inner = inner.arguments["place"]
    assert inner.arguments["count"] == 1 + len(ranked)
    assert inner.arguments.get("place", 1 + len(ranked)) == 1 + faster
