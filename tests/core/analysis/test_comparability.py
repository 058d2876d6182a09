"""Which results are comparable, what differs between them, and in which unit published ones are compared."""

from dataclasses import replace
from typing import Any

import pytest

from app.core.analysis.ab import is_usable
from app.core.analysis.bars import bars
from app.core.analysis.comparability import (
    differences,
    left_out,
    left_out_imports,
    row_refusal,
    run_refusal,
    unusual_settings,
)
from app.core.analysis.conversion import converted
from app.core.analysis.published import comparable_rows
from app.core.messages import sentence
from app.core.records import RunSummary
from tests.core.analysis.test_bars import STANDARD, imported
from tests.saying import Saying, said


def other(theirs: str, mine: str) -> str:
    return sentence("compare.other_setting", theirs=theirs, mine=mine)


AS_USUAL = sentence("compare.as_usual")


def other_batch(theirs: int, mine: int) -> str:
    return other(f"batch {theirs}", f"batch {mine}")


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({}, None),
        ({"batch_size": 32}, other_batch(100, 32)),
        ({"precision": "mixed_float16"}, other("float32", "mixed_float16")),
    ],
)
def test_another_batch_or_precision_is_refused_with_its_reason(
    summary: RunSummary, changes: dict[str, object], reason: str | None
) -> None:
    run = replace(summary, **changes)  # type: ignore[arg-type]
    assert {row_refusal(run, row) for row in comparable_rows(STANDARD)} == {reason}
    reasons = [(row.short_name, reason) for row in comparable_rows(STANDARD)]
    assert left_out(run) == (reasons if reason else [])
    drawn = [bar for bar in bars(STANDARD, run) if bar.kind == "reference"]
    assert len(drawn) == (0 if reason else 7)


def test_a_row_without_batch_or_precision_is_assumed_to_be_usual(summary: RunSummary) -> None:
    row = replace(comparable_rows(STANDARD)[0], batch_size=None, precision="")
    assert row_refusal(summary, row) is None
    assert row_refusal(replace(summary, batch_size=1), row) == other_batch(100, 1)
    assert row_refusal(summary, replace(row, precision="framework default")) == other(
        "framework default", "float32"
    )


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"workload": "demo"}, sentence("compare.other_workload", theirs="demo", mine=STANDARD)),
        ({"workload_version": 2}, sentence("compare.other_workload_version", theirs="2", mine="1")),
        ({"batch_size": 32}, other_batch(32, 100)),
        ({"precision": "mixed_float16"}, other("mixed_float16", "float32")),
        ({"samples_per_epoch": 1000}, sentence("compare.other_samples_per_epoch", theirs="1000", mine="50000")),
        ({"engine_version": "2.20.0", "jit": True, "threads": 1, "cpu_name": "Other"}, None),
    ],
)
def test_own_runs_are_drawn_together_like_for_like(
    summary: RunSummary, changes: dict[str, object], reason: str | None
) -> None:
    past = replace(summary, id=8, **changes)  # type: ignore[arg-type]
    assert run_refusal(summary, past) == reason
    own = [bar.run for bar in bars(STANDARD, summary, [summary, past]) if bar.kind == "own"]
    assert own == ([] if reason else [past])


@pytest.mark.parametrize("with_run", [True, False])
@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"batch_size": 32}, other_batch(32, 100)),
        ({"precision": "mixed_float16"}, other("mixed_float16", "float32")),
        ({"variant": "width=2"}, sentence("compare.other_variant", theirs="width=2", mine=AS_USUAL)),
        ({"workload_version": 2}, sentence("compare.other_workload_version", theirs="2", mine="1")),
        ({"samples_per_epoch": 1000}, sentence("compare.other_samples_per_epoch", theirs="1000", mine="50000")),
        ({"metric": "images_per_s"}, said("compare.other_metric")),
        ({"settings": "from_tomorrow=1"}, said("compare.unknown_settings")),
        ({"settings": "devices=2"}, None),
        ({"basis": "first_epoch"}, None),
    ],
)
def test_an_imported_result_of_other_work_is_refused_with_its_reason(
    summary: RunSummary, changes: dict[str, Any], reason: str | Saying | None, with_run: bool
) -> None:
    run, found = summary if with_run else None, imported(replace(summary, **changes))
    drawn = [bar.imported for bar in bars(STANDARD, run, imported=[found]) if bar.imported]
    refused = left_out_imports(STANDARD, run, [found])
    if reason is None:
        assert (drawn, refused) == ([found], [])
        return
    ((name, why),) = refused
    assert (drawn, name) == ([], found.label)
    assert why == reason if isinstance(reason, str) else reason.is_all_of(why)


@pytest.mark.parametrize(
    ("reasons", "usable"), [("divided_cpu drift", True), ("loss_out_of_band divided_cpu", False), (None, False)]
)
def test_runs_on_a_divided_cpu_are_compared_only_with_each_other(
    summary: RunSummary, reasons: str | None, usable: bool
) -> None:
    run = replace(summary, settings="devices=2", verdict="invalid", reasons=reasons)
    assert is_usable(run) == usable


def test_runs_on_other_cards_or_without_tf32_are_comparable_and_differ(summary: RunSummary) -> None:
    assert run_refusal(summary, without := replace(summary, settings="tf32=off")) is None
    assert differences(summary, without) == ("without TF32",)
    run = replace(summary, device="gpu:0", device_name="RTX 4070", settings="devices=2")
    apart = replace(run, settings="devices=2 gpus=0,2")
    assert run_refusal(run, apart) is None
    assert (differences(run, apart), differences(apart, apart)) == (("RTX 4070",), ())
    several = sentence("setting_value.devices", count=2, value=2)
    assert unusual_settings(run) == [several]
    assert unusual_settings(apart) == [several, sentence("setting_value.gpus", value="0, 2")]
    invalid = replace(run, settings="devices=2 gpus=2,0")
    assert run_refusal(run, invalid) == sentence("compare.unknown_settings", settings=["gpus=2,0"])


@pytest.mark.parametrize(
    ("given", "value", "wanted", "expected"),
    [
        ("s_per_minibatch", 0.1, "seconds_per_batch_s", 0.1),
        ("s_per_minibatch", 0.1, "images_per_s", 1_000.0),
        ("s_per_minibatch", 0.1, "seconds_per_epoch_s", 50.0),
        ("s_per_epoch", 50.0, "seconds_per_batch_s", 0.1),
        ("s_per_epoch", 50.0, "images_per_s", 1_000.0),
        ("images_per_s", 1_000.0, "seconds_per_epoch_s", 50.0),
        ("images_per_s", 1_000.0, "seconds_per_batch_s", 0.1),
        ("images_per_s", 1_000.0, "words_per_s", None),
    ],
)
def test_a_published_number_is_converted_where_that_is_exact(
    given: str, value: float, wanted: str, expected: float | None
) -> None:
    # 50,000 images an epoch and no validation, 100 a batch: 500 batches an epoch.
    row = replace(comparable_rows(STANDARD)[0], workload="resnet_56", batch_size=100, metric=given, value=value)
    answer = converted(row, wanted)
    assert (answer and answer[0]) == (None if expected is None else pytest.approx(expected))
    units = {
        "s_per_minibatch": "s per mini-batch",
        "s_per_epoch": "s per epoch",
        "images_per_s": "images per second",
    }
    remark = "" if value == expected else sentence("compare.converted", unit=units[given])
    assert answer is None or answer[1] == remark
    with_validation = converted(replace(row, workload=STANDARD), "seconds_per_epoch_s")
    assert (with_validation is None) == (given != "s_per_epoch")
