"""Which claimed speeds a device can reach."""

import csv
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from app.core.analysis.credibility import is_possible, with_credible_verdict
from app.core.analysis.published import PublishedRow, comparable_rows, published_peak, read_rows, reference_rows
from app.core.paths import RESOURCES
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


def test_the_table_of_peaks_has_only_what_the_rows_do_not_say() -> None:
    with (RESOURCES / "reference" / "peaks.csv").open(encoding="utf-8", newline="") as file:
        peaks = list(csv.DictReader(file))
    rows = [row for row in reference_rows() if row.workload == "matmul"]
    for peak in peaks:
        assert (published_peak(peak["device"], peak["precision"]) or 0.0) >= float(peak["flop_per_s"])
        alike = [row.value for row in rows if row.device == peak["device"] and is_alike(row, peak["precision"])]
        assert float(peak["flop_per_s"]) > max(alike, default=0.0)
    for row in rows:
        assert row.value <= (published_peak(row.device, row.precision) or 0.0)


def is_alike(row: PublishedRow, precision: str) -> bool:
    kinds = {"float32": "fp32", "tf32": "tf32"}
    return row.precision == kinds[precision] if precision in kinds else row.precision in ("fp16", "bf16")


@pytest.mark.parametrize(
    ("device", "precision", "flop_per_s"),
    [
        ("NVIDIA GeForce RTX 5070", "mixed_float16", 6.745e13),  # in bfloat16
        ("RTX 5070", "float32", 3.378e13),  # with TF32
        ("NVIDIA GeForce RTX 5080 Laptop GPU", "amp_bf16", 7.807e13),
        ("B200", "bf16", 1.745e15),  # of another shape
        ("AMD Radeon RX 7900 XTX", "mixed_float16", 1.0543e14),
        ("RTX 5090", "fp8", 2 * 2.4218e14),
        ("RTX 5090", "fp8 base", 2.4218e14),
        (None, "float32", None),
    ],
)
def test_the_peak_of_a_card_by_any_of_its_names(
    device: str | None, precision: str, flop_per_s: float | None
) -> None:
    assert published_peak(device, precision) == flop_per_s


def test_fine_tuning_of_each_size_is_compared_with_its_own_arithmetic() -> None:
    rows = [row for row in reference_rows() if row.workload == "lora_qwen3" and row.precision == "bf16"]
    assert {row.variant for row in rows} == {"", "size=1.7B", "size=4B", "size=8B"}
    assert [row.id for row in rows if not row.is_credible] == []
    large = [row for row in rows if row.variant == "size=8B" and row.device == "RTX 5090"]
    assert [replace(row, value=2 * row.value).is_credible for row in large] == [False] * 3
    assert [replace(row, value=2 * row.value, variant="").is_credible for row in large] == [True] * 3


def test_a_value_that_a_card_cannot_reach_is_not_compared() -> None:
    row = next(row for row in comparable_rows("gpt_mini") if published_peak(row.device, row.precision))
    assert not replace(row, value=20 * row.value).is_credible
    assert replace(row, device="Unheard-of", value=20 * row.value).is_credible


GPT: dict[str, Any] = {"workload": "gpt_mini", "precision": "mixed_float16"}
GPT |= {"device": "gpu:0", "device_name": "NVIDIA GeForce RTX 5060 Ti"}
LORA = GPT | {"workload": "lora_qwen3", "precision": "mixed_bfloat16", "device_name": "NVIDIA GeForce RTX 5090"}
LONG = "sequence=8192 micro_batch=1"


@pytest.mark.parametrize(
    ("base", "tokens_per_s", "changes", "possible"),
    [
        (GPT, 5e4, {}, True),
        (GPT, 9e6, {}, False),  # 1,076 TFLOP/s
        (GPT, 9e6, {"device_name": "RTX 5060 Ti"}, False),
        (GPT, 9e6, {"device_name": "Unheard-of"}, True),
        (GPT, 9e6, {"device": "cpu", "device_name": None}, True),
        (GPT, 9e6, {"variant": "width=1"}, True),
        (GPT, 9e6, {"settings": "devices=64"}, True),
        (LORA, 7e4, {}, True),
        (LORA, 1e5, {}, False),
        (LORA, 7e3, {"variant": "size=8B"}, True),
        (LORA, 7e4, {"variant": "size=8B"}, False),
        (LORA, 4e4, {"variant": LONG}, True),
        (LORA, 1e5, {"variant": LONG}, False),
    ],
)
def test_a_result_from_elsewhere_is_compared_with_its_card(
    summary: RunSummary, base: dict[str, Any], tokens_per_s: float, changes: dict[str, Any], possible: bool
) -> None:
    run = replace(summary, metric="tokens_per_s", value=tokens_per_s, **base | changes)
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
