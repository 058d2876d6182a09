"""Which bars there are, how they are named and sorted, and which one is the baseline."""

from dataclasses import replace
from typing import Any

import pytest

from app.core.analysis.bars import Bar, around, bars, by_work, find_baseline
from app.core.analysis.comparability import left_out
from app.core.analysis.own_runs import run_name
from app.core.analysis.power import work_metric
from app.core.analysis.published import reference_rows
from app.core.clock import local_time
from app.core.errors import UsageError
from app.core.external_results import ImportedResult
from app.core.formats import format_ratio
from app.core.messages import sentence
from app.core.metrics import HEADLINES
from app.core.records import RunSummary
from tests.saying import Saying, said
from tests.sure import sure
from workloads import CATALOGUE

STANDARD = "cifar10_keras_cnn"
SEVEN_S = {"GTX 1080 Ti": 4, "GTX 1060": 9, "Colab GPU": 16, "i7-9700K": 36, "MX150": 36}
SEVEN_S |= {"i5-8250U": 320, "Colab TPU": 382}


def names(found: list[Bar]) -> list[str]:
    return [bar.name for bar in found]


def test_the_published_machines_alone_come_fastest_first() -> None:
    found = bars(STANDARD, None)
    assert {bar.name: bar.value for bar in found} == SEVEN_S
    assert [bar.value for bar in found] == sorted(SEVEN_S.values())
    assert {bar.kind for bar in found} == {"reference"}


def test_you_stand_among_the_published_machines(summary: RunSummary) -> None:
    found = bars(STANDARD, summary)
    assert [bar.kind for bar in found] == ["reference"] * 5 + ["you"] + ["reference"] * 2
    you = found[5]
    assert (you.name, you.value, you.run) == (sentence("compare.you"), 66.3, summary)
    assert you.remarks == ("TensorFlow 2.21.0",)


def test_differences_are_shown_beside_the_bar(summary: RunSummary) -> None:
    run = replace(summary, basis="estimate", jit=True, data_source="synthetic", threads=2, status="cancelled")
    (you,) = [bar for bar in bars(STANDARD, run) if bar.kind == "you"]
    assert you.remarks == (
        "TensorFlow 2.21.0",
        sentence("compare.estimate"),
        "compiled",
        "2 threads",
        sentence("status.cancelled"),
    )
    first = replace(summary, basis="first_epoch")
    assert said("short.first_epoch").is_in(next(bar for bar in bars(STANDARD, first) if bar.kind == "you").remarks)


def test_published_rows_keep_their_year_their_software_and_their_doubts_in_view() -> None:
    remarks = {bar.name: bar.remarks for bar in bars(STANDARD, None)}
    assert remarks["GTX 1060"] == ("2019", "Keras / tf.keras on TensorFlow 1.x")
    assert remarks["Colab TPU"] == ("2019", sentence("compare.likely_cpu"), "Keras / tf.keras on TensorFlow 1.x")
    doubtful = [row for row in reference_rows() if row.is_doubtful]
    assert {row.hardware_kind for row in doubtful} == {"tpu"}  # whose doubt the remark puts into words


def imported(summary: RunSummary) -> ImportedResult:
    names = {"digest": "67d0963f", "label": run_name(summary), "source": "x.png"}
    return ImportedResult(
        id=5, uid="abcdefghij", plan_uid=None, imported_at="2026-11-23T00:00:00Z", summary=summary, **names
    )


@pytest.mark.parametrize(
    ("changes", "remark"),
    [
        ({"settings": "devices=2"}, "2 devices"),
        ({"device": "gpu:0", "settings": "devices=4 machines=2"}, "4 devices"),
        ({"basis": "first_epoch"}, sentence("short.first_epoch")),
        ({"workload": "resnet50_224", "metric": "images_per_s", "batch_size": 7}, "batch 7"),
        ({"workload": "gpt_mini", "metric": "tokens_per_s", "precision": "mixed_float16"}, "mixed float16"),
    ],
)
def test_an_imported_result_names_what_differs_from_published_ones(
    summary: RunSummary, changes: dict[str, Any], remark: str
) -> None:
    workload = CATALOGUE[changes.get("workload", STANDARD)]
    usual = {"batch_size": workload.batch_size, "samples_per_epoch": workload.samples_per_epoch}
    found = imported(replace(summary, **(usual | {"workload_version": workload.version} | changes)))
    (drawn,) = [bar for bar in bars(workload.id, None, imported=[found]) if bar.imported]
    assert remark in drawn.remarks
    assert drawn.name.startswith(run_name(found.summary))


@pytest.mark.parametrize("workload", sorted({row.workload for row in reference_rows()}))
def test_every_baseline_has_a_title_of_its_own_by_which_it_is_found(workload: str) -> None:
    chart = bars(workload, None, with_several=True)
    titles = [bar.title.casefold() for bar in chart]
    assert len(set(titles)) == len(titles)
    assert all(find_baseline(chart, bar.title, workload) is bar for bar in chart)


@pytest.mark.parametrize(("device", "at"), [("NVIDIA GeForce RTX 5070", 2), ("B200", 0), ("Unheard-of", None)])
def test_bars_around_a_card_have_it_in_their_middle(device: str, at: int | None) -> None:
    chart = [bar for bar in bars("matmul", None) if bar.row is not None and bar.row.precision == "fp16"]
    shown, card = around(chart, device, 5)
    assert len(shown) == 5
    assert (card and shown.index(card)) == at
    assert card is None or card.name in device


HERE = sentence("compare.you")


def test_a_stored_run_has_its_name_computer_or_device_and_its_date(summary: RunSummary) -> None:
    before: dict[str, Any] = {"started_at": "2026-11-18T12:00:00Z"}
    others = [
        replace(summary, id=8, **before),
        replace(summary, id=9, comment="overclocked", **before),
        replace(summary, id=10, cpu_name="AMD EPYC", **before),
        replace(summary, id=11, device="gpu:0", device_name="NVIDIA GeForce RTX 4070", **before),
    ]
    found = {bar.name: bar.brief for bar in bars(STANDARD, summary, others) if bar.kind == "own"}
    day = local_time(before["started_at"])[:10]
    assert found == {
        sentence("compare.own_here", computer=HERE, date=day): day,
        f"overclocked · {day}": "overclocked",
        f"EPYC · {day}": day,
        f"RTX 4070 · {day}": day,
    }


def test_runs_of_one_day_have_the_time_and_those_of_one_minute_their_numbers(summary: RunSummary) -> None:
    later = replace(summary, id=8, started_at="2026-11-20T12:08:59Z")
    assert local_time(later.started_at)[:10] == local_time(summary.started_at)[:10]
    name = sentence("compare.own_here", computer=HERE, date=local_time(later.started_at))
    assert [bar.name for bar in bars(STANDARD, summary, [later]) if bar.kind == "own"] == [name]
    alike = names(bars(STANDARD, summary, [later, replace(later, id=10)]))
    numbered = {sentence("compare.own_numbered", name=name, run_id=number) for number in (8, 10)}
    assert numbered <= set(alike)


PUBLISHED = bars(STANDARD, None)
TWO_ALIKE = [Bar(name, "reference", 4) for name in ("GTX 1080 Ti", "GTX 1080")]


@pytest.mark.parametrize(
    ("chart", "asked", "workload", "name"),
    [
        (PUBLISHED, None, STANDARD, "i5-8250U"),
        (PUBLISHED, None, "another", "Colab TPU"),  # the slowest
        (PUBLISHED, "MX150", STANDARD, "MX150"),
        (PUBLISHED, "gtx 1060", STANDARD, "GTX 1060"),
        (PUBLISHED, "9700", STANDARD, "i7-9700K"),
        (TWO_ALIKE, "gtx 1080", STANDARD, "GTX 1080"),  # a whole name comes before names that hold it
    ],
)
def test_a_baseline_is_the_usual_one_or_found_by_its_name(
    chart: list[Bar], asked: str | None, workload: str, name: str
) -> None:
    assert sure(find_baseline(chart, asked, workload)).name == name
    assert find_baseline([], None, workload) is None


@pytest.mark.parametrize(
    ("asked", "words"),
    [("GeForce", said("baseline.ambiguous")), ("Cray-1", said("baseline.unknown", name="Cray-1"))],
)
def test_a_baseline_that_fits_none_or_several_is_refused_with_the_names(asked: str, words: Saying) -> None:
    with pytest.raises(UsageError, match=words.pattern) as refused:
        find_baseline(bars(STANDARD, None), asked, STANDARD)
    assert "GTX 1060" in str(refused.value)


@pytest.mark.parametrize(
    ("ratio", "text"),
    [
        (4.83, "4.8×"),
        (53.4, "53×"),
        (0.268, "0.27×"),
        (160.0, "160×"),
        (9.97, "10×"),
        (0.998, "1.0×"),
        (0.0043, "0.0043×"),
    ],
)
def test_ratios_have_two_telling_digits(ratio: float, text: str) -> None:
    assert format_ratio(ratio) == text


def test_results_with_energy_are_ranked_by_their_work(summary: RunSummary) -> None:
    mine = replace(summary, work_per_j=3.0)
    others = [replace(summary, id=8, work_per_j=5.0, comment="capped"), replace(summary, id=9)]
    found = by_work(bars(STANDARD, mine, others))
    assert [(bar.value, bar.metric) for bar in found] == [(5.0, "examples_per_j"), (3.0, "examples_per_j")]
    assert found[0].times_as_fast(found[1]) == pytest.approx(5 / 3)
    assert by_work(bars(STANDARD, summary)) == []


@pytest.mark.parametrize(
    ("metric", "of_work"),
    [
        ("seconds_per_epoch_s", "examples_per_j"),
        ("seconds_per_batch_s", "examples_per_j"),
        ("images_per_s", "images_per_j"),
        ("tokens_per_s", "tokens_per_j"),
        ("words_per_s", "words_per_j"),
        ("something_of_tomorrow", "examples_per_j"),
    ],
)
def test_work_is_counted_as_the_headline_counts_it(metric: str, of_work: str) -> None:
    assert work_metric(metric) == of_work
    assert of_work in HEADLINES


@pytest.mark.parametrize(
    ("variant", "sizes", "is_ranked"),
    [
        ("", {""}, True),
        ("size=8B", {"size=8B"}, True),
        ("sequence=256 micro_batch=1", {""}, False),
        ("size=8B checkpointing=True", {"size=8B"}, False),
    ],
)
def test_fine_tuning_is_ranked_with_the_same_model_and_settings(
    summary: RunSummary, variant: str, sizes: set[str], is_ranked: bool
) -> None:
    changes: dict[str, Any] = {
        "workload": "lora_qwen3",
        "metric": "tokens_per_s",
        "value": 9_000.0,
        "batch_size": 8,
    }
    changes |= {"samples_per_epoch": 0, "settings": "", "precision": "mixed_bfloat16", "variant": variant}
    drawn = [bar for bar in bars("lora_qwen3", replace(summary, **changes)) if bar.row is not None]
    assert {bar.row.variant for bar in drawn if bar.row is not None} == sizes
    ranked = [bar for bar in drawn if bar.is_like]
    assert bool(ranked) == is_ranked
    assert {bar.row.precision for bar in ranked if bar.row is not None} == ({"bf16"} if is_ranked else set())


@pytest.mark.parametrize(("device", "name"), [("NVIDIA GeForce RTX 5070", "RTX 5070"), ("Unheard-of", "RTX 3060")])
def test_a_limit_is_compared_with_the_same_card(summary: RunSummary, device: str, name: str) -> None:
    changes: dict[str, Any] = {"workload": "matmul", "metric": "flop_per_s", "value": 6.6e13, "batch_size": 1}
    changes |= {"samples_per_epoch": 0, "settings": "", "precision": "mixed_float16", "device": "gpu:0"}
    chart = bars("matmul", replace(summary, **changes, device_name=device))
    assert sure(find_baseline(chart, None, "matmul")).name == name


@pytest.mark.parametrize("variant", ["", "size=8B", "sequence=256"])
def test_other_models_are_neither_drawn_nor_left_out(summary: RunSummary, variant: str) -> None:
    changes: dict[str, Any] = {"workload": "lora_qwen3", "metric": "tokens_per_s", "value": 9_000.0}
    changes |= {"samples_per_epoch": 0, "settings": "", "precision": "mixed_bfloat16", "variant": variant}
    assert left_out(replace(summary, **changes), with_several=True) == []
