"""Which claimed speeds a device can reach."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from app.core.analysis.credibility import is_possible, published_peak, with_credible_verdict
from app.core.analysis.published import comparable_rows, read_rows, reference_rows
from app.core.records import RunSummary

DATA = Path(__file__).parents[2] / "data" / "published"


def test_published_values_that_no_card_can_reach_are_all_found() -> None:
    rows = read_rows(DATA / "not_credible.csv")
    assert len(rows) == 11
    assert [row.id for row in rows if row.is_credible] == []


def test_no_published_value_that_a_card_can_reach_is_doubted() -> None:
    rows = read_rows(DATA / "fine_tuning.csv")
    assert len(rows) > 200
    assert [row.id for row in rows if not row.is_credible] == []
    assert [row.id for row in reference_rows() if row.match in ("exact", "close") and not row.is_credible] == []


def test_a_value_that_a_card_cannot_reach_is_not_compared() -> None:
    row = next(row for row in comparable_rows("gpt_mini") if published_peak(row.device, row.precision))
    assert not replace(row, value=20 * row.value).is_credible
    assert replace(row, device="Unheard-of", value=20 * row.value).is_credible


@pytest.mark.parametrize(
    ("changes", "possible"),
    [
        ({}, True),
        ({"value": 9e6}, False),  # tokens per second: 1,076 TFLOP/s
        ({"value": 9e6, "device_name": "RTX 5060 Ti"}, False),
        ({"value": 9e6, "device_name": "Unheard-of"}, True),
        ({"value": 9e6, "device": "cpu", "device_name": None}, True),
        ({"value": 9e6, "variant": "width=1"}, True),
        ({"value": 9e6, "settings": "devices=64"}, True),
    ],
)
def test_a_result_from_elsewhere_is_compared_with_its_card(
    summary: RunSummary, changes: dict[str, Any], possible: bool
) -> None:
    usual: dict[str, Any] = {
        "workload": "gpt_mini",
        "metric": "tokens_per_s",
        "value": 5e4,
        "device": "gpu:0",
        "device_name": "NVIDIA GeForce RTX 5060 Ti",
        "precision": "mixed_float16",
    }
    run = replace(summary, **(usual | {"variant": "", "settings": ""} | changes))
    assert is_possible(run) == possible


@pytest.mark.parametrize(
    ("changes", "reasons"),
    [
        ({"device": "cpu", "settings": "devices=2"}, "divided_cpu spread"),
        ({"device": "cpu", "settings": "devices=2", "reasons": "divided_cpu"}, "divided_cpu"),
        ({"device": "cpu", "settings": "devices=4 machines=2"}, "divided_cpu spread"),
        ({"device": "cpu", "settings": "devices=2 machines=2"}, None),
        ({"device": "gpu:0", "settings": "devices=2"}, None),
    ],
)
def test_a_divided_cpu_from_elsewhere_is_only_for_testing(
    summary: RunSummary, changes: dict[str, Any], reasons: str | None
) -> None:
    run = replace(summary, **({"reasons": "spread", "verdict": "valid"} | changes))
    judged = with_credible_verdict(run)
    assert (judged.verdict, judged.reasons) == (("valid", "spread") if reasons is None else ("invalid", reasons))
