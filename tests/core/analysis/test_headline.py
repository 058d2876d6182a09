"""Headlines that are no seconds per epoch: from raw steps to the bar beside published rows."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from app.core.analysis.bars import Bar, bars, find_baseline, one_each, shortlist
from app.core.analysis.comparability import left_out, row_refusal, run_refusal
from app.core.analysis.conversion import converted
from app.core.analysis.position import position
from app.core.analysis.published import PublishedRow, comparable_rows, reference_rows
from app.core.analysis.stats import step_statistics
from app.core.analysis.timed_steps import StepTimes, step_times
from app.core.messages import message, sentence, text
from app.core.metrics import format_value
from app.core.records import RunSummary
from app.core.report.run_texts import headline
from app.core.storage.database import Database
from app.core.storage.runs import load_run
from app.core.verdict.notes import derived_epoch
from tests.build import block, record
from tests.saying import said
from tests.sure import sure
from tests.tools.workload_page import PAGE, page
from workloads import CATALOGUE
from workloads.protocol import events
from workloads.protocol.machine import Machine

PUBLISHED = {row.workload for row in reference_rows() if row.match in ("exact", "close")}


Of = Callable[..., RunSummary]


@pytest.fixture
def run_of(database: Database, machine: Machine) -> Of:
    def store(workload: str, *epochs_s: list[float], **asked: Any) -> RunSummary:
        seen: list[events.Event] = []
        for epoch, each_s in enumerate(epochs_s):
            seen.append(block(*each_s, epoch=epoch, seq=epoch))
            seen.append(events.Epoch(index=epoch, duration_s=sum(each_s), train_s=sum(each_s)))
        asked = {"epochs": len(epochs_s), "steps": len(epochs_s[-1])} | asked
        return load_run(database, record(database, machine, *seen, workload=workload, **asked)).summary

    return store


def timed_epochs(*epochs_s: list[float]) -> StepTimes:
    return step_times(block(*each_s, epoch=epoch) for epoch, each_s in enumerate(epochs_s))


FROZEN = [0.1] * 19 + [30.0]


@pytest.mark.parametrize(
    ("epochs_s", "is_estimate", "basis", "median_s", "mean_s"),
    [
        ([[9.0, 1.0], [0.2, 0.25]], False, "later_epochs", 0.225, 0.225),
        ([[9.0, 1.0, 1.2]], False, "first_epoch", 1.1, 1.1),  # without its first step
        ([[9.0, 1.0]], True, "estimate", 1.0, 1.0),
        ([[1.0], FROZEN], False, "later_epochs", 0.1, 31.9 / 20),
    ],
)
def test_the_first_round_warms_up(
    epochs_s: list[list[float]], is_estimate: bool, basis: str, median_s: float, mean_s: float
) -> None:
    found = sure(step_statistics(timed_epochs(*epochs_s), is_estimate=is_estimate))
    assert found.basis == basis
    assert [found.median_s, found.mean_s] == pytest.approx([median_s, mean_s])


def test_a_first_step_alone_is_no_result() -> None:
    assert step_statistics(timed_epochs([9.0])) is None
    assert step_statistics(timed_epochs()) is None


def test_the_ends_of_a_headline_are_of_what_counts() -> None:
    found = sure(step_statistics(timed_epochs([9.0, 1.0], [0.2, 0.25])))
    assert (found.count, found.minimum_s, found.maximum_s) == (2, 0.2, 0.25)


def test_the_interval_of_a_rate_has_its_lower_end_first(run_of: Of) -> None:
    steps_s = [0.5 + 0.01 * (number % 7) for number in range(70)]
    run = run_of("resnet_50", [4.0] * 3, steps_s)
    assert sure(run.value_low) < sure(run.value) < sure(run.value_high)
    assert run.confidence_pct == 95


def batch(size: int) -> str:
    return sentence("share.batch", batch_size=size)


def test_seconds_per_mini_batch_keep_the_epoch_beside_them(run_of: Of) -> None:
    run = run_of("fcn_r", [0.9] * 59, [0.5] * 59, [0.5] * 59, steps=None)
    assert (run.metric, run.basis) == ("seconds_per_batch_s", "later_epochs")
    assert run.value == pytest.approx(0.5)
    assert run.seconds_per_epoch_s == pytest.approx(29.5)
    basis = sentence("result.later_steps", part=sentence("result.epoch"))
    interval = sentence("result.interval", low="0.500", high="0.500", half_pct=0)
    limits = sentence("result.step_range", low_ms=500, high_ms=500)
    assert headline(run).startswith(f"0.500 s per mini-batch\n{basis} · {interval} · {limits}")
    assert said("note.epoch_takes", duration_s="29.5", samples="60,000").is_all_of(text(derived_epoch(run)))


def test_images_per_second_are_the_batch_over_its_step(run_of: Of) -> None:
    run = run_of("resnet_50", [4.0] * 3, [0.32] * 3)
    assert run.metric == "images_per_s"
    assert run.value == pytest.approx(200)
    assert run.seconds_per_epoch_s is None
    # 1,281,167 images of ImageNet
    assert said("note.epoch_takes_long", duration_s="about 1 h 46 min", samples="1,281,167").is_all_of(
        text(derived_epoch(run))
    )
    assert headline(run).startswith("200 images per second")
    chart = bars("resnet_50", run)
    assert [bar.value for bar in chart] == sorted((bar.value for bar in chart), reverse=True)
    assert all(bar.row is None or bar.row.batch_size == 64 for bar in chart)
    at = [bar.kind for bar in chart].index("you")
    assert chart[at - 1].value > 200 > chart[at + 1].value
    place = said("position.place", place="4", count="5")
    assert said("position.faster", place=place, ratio="3.9×", baseline="Tesla K80 (2017)").is_all_of(position(run))
    other_batch = said("compare.other_setting", theirs="batch 128", mine="batch 64")
    assert any(other_batch.is_in(reason) for _, reason in left_out(run))


def test_tokens_count_each_token_of_a_sequence_also_of_a_variant(run_of: Of) -> None:
    rounds = [[9.0] * 3, [0.5] * 3]
    run = run_of("gpt_mini", *rounds)
    assert run.metric == "tokens_per_s"
    assert run.value == pytest.approx(16 * 512 / 0.5)
    short = run_of("gpt_mini", *rounds, parameters={"sequence": 64})
    assert short.value == pytest.approx(16 * 64 / 0.5)
    assert run_refusal(run, short) is not None
    assert [bar.kind for bar in bars("gpt_mini", short)] == ["you"]


def test_a_float32_run_stands_below_faster_cards_with_autocast_and_is_not_ranked_with_them(run_of: Of) -> None:
    run = run_of("gpt_mini", [9.0] * 3, [0.1] * 3)
    chart = bars("gpt_mini", run)
    assert [bar.speed for bar in chart] == sorted((bar.speed for bar in chart), reverse=True)
    assert [bar.name for bar in chart if bar.kind == "reference"] == [
        *("A100 80GB SXM4", "RTX 4090", "RTX 3090", "Tesla V100", "Tesla P100", "GTX Titan X")
    ]
    assert all("float16 autocast" in bar.remarks for bar in chart if bar.row is not None)
    assert "float32" in next(bar for bar in chart if bar.kind == "you").remarks
    assert said("position.none_like").is_all_of(position(run))
    # A table with results at forty batches is one line for each card.
    reasons = dict(left_out(run))
    assert len(left_out(run)) == 6
    other_batch = message("compare.other_setting", theirs="batch 1", mine="batch 16")
    assert reasons["RTX 4090"] == sentence("compare.refused_several", reason=other_batch, count=13)
    # Networks of the studies stay apart: half precision beside single is refused.
    study = run_of("resnet_50", [9.0] * 3, [0.1] * 3)
    other = next(row for row in comparable_rows("resnet_50") if row.precision == "mixed fp16")
    half = said("compare.other_setting", theirs="mixed_float16", mine="float32")
    assert half.is_in(str(row_refusal(study, replace(other, batch_size=64))))


def test_milliseconds_of_a_step_are_tokens_per_second() -> None:
    row = next(row for row in comparable_rows("nanogpt_char") if row.metric == "ms_per_step")
    value, remark = converted(row, "tokens_per_s") or (0.0, "")
    assert value == pytest.approx(64 * 256 / 0.067)
    assert said("compare.converted", unit="ms per step").is_all_of(remark)
    assert converted(row, "seconds_per_epoch_s") is None


def test_words_count_each_word_of_an_example(run_of: Of, monkeypatch: pytest.MonkeyPatch) -> None:
    workload = CATALOGUE["ptb_lstm_mxnet"]
    monkeypatch.setattr(workload, "units_per_example", 20, raising=False)
    run = run_of("ptb_lstm_mxnet", [4.0] * 3, [0.5] * 3)
    assert run.metric == "words_per_s"
    assert run.value == pytest.approx(20 * workload.batch_size / 0.5)


def test_a_headline_measured_by_the_workload_comes_first(database: Database, machine: Machine) -> None:
    peak = events.Metric(key="flop_per_s", value=2.5e12)
    run = load_run(database, record(database, machine, block(0.1, 0.1), peak, workload="matmul")).summary
    assert (run.value, run.basis, headline(run)) == (2.5e12, "repetitions", "2.50 TFLOP/s")


@pytest.mark.parametrize("workload", sorted(PUBLISHED & set(CATALOGUE)))
def test_every_published_row_is_drawn_or_cannot_be_converted(workload: str) -> None:
    drawn = {bar.row.id for bar in bars(workload, None, with_several=True) if bar.row}
    rows = comparable_rows(workload)
    assert rows
    for row in rows:
        exact = converted(row, CATALOGUE[workload].metric)
        # Of GPTs, only those that a run with the usual batch will stand beside.
        is_beside = not workload.startswith("gpt_") or row.batch_size == CATALOGUE[workload].batch_size
        assert (row.id in drawn) == (exact is not None and is_beside and not row.variant)
        if exact is None:
            assert (row.metric, workload) == ("images_per_s", "cifar10_cnn")


def row_of(**changes: Any) -> PublishedRow:
    return replace(comparable_rows("resnet_50_s")[0], **changes)


def test_what_the_source_does_not_say_cannot_be_converted() -> None:
    assert converted(row_of(metric="images_per_s", value=64.0, batch_size=None), "seconds_per_batch_s") is None
    assert converted(row_of(metric="ratio", value=3.0), "images_per_s") is None
    # Study 000 validates 10,000 images of CIFAR-10 at the end of an epoch, and nothing of its text generation.
    row = row_of(workload="cifar10_cnn", metric="images_per_s", value=500.0, batch_size=32)
    assert converted(row, "seconds_per_epoch_s") is None
    row = row_of(workload="lstm_text_generation", metric="images_per_s", value=1000.0)
    assert sure(converted(row, "seconds_per_epoch_s"))[0] == pytest.approx(200.285)


def test_a_device_is_shown_by_a_result_of_exactly_the_same_work() -> None:
    (row,) = (bar.row for bar in one_each(bars("vgg16", None)) if bar.row and bar.row.short_name == "RTX 3090")
    assert row.match == "exact"


def test_a_shortlist_has_each_device_once_and_in_the_best_known_form() -> None:
    chart = bars("cifar10_cnn", None)
    assert len(chart) == 25
    short = shortlist(chart, 12)
    assert len({bar.name for bar in short}) == len(short) == 9
    assert {bar.name for bar in short} >= {"Tesla K80", "Tesla P100", "Tesla M60", "GTX 1080 Ti"}
    assert {f"Xeon Skylake, {count} vCPU" for count in (8, 16, 32, 64)} <= {bar.name for bar in short}
    assert all("TensorFlow" in bar.row.software for bar in short if bar.row)
    assert [bar.value for bar in short] == sorted(bar.value for bar in short)
    assert len(shortlist(chart, 4)) == 4
    assert shortlist(chart[:3], 12) == chart[:3]


def test_a_shortlist_keeps_you_and_those_next_to_you() -> None:
    others = [Bar(f"Other {number}", "reference", 1.2**number) for number in range(40)]
    chart = sorted([*others, Bar("You", "you", 1.2**20.5)], key=lambda bar: bar.value)
    assert [bar.name for bar in shortlist(chart, 3)] == ["Other 20", "You", "Other 21"]


@pytest.mark.parametrize(
    ("key", "value", "text"),
    [
        ("seconds_per_epoch_s", 66.34, "66.3"),
        ("images_per_s", 12_345.6, "12,346"),
        ("flop_per_s", 2.123e11, "0.212"),
        ("bytes_per_s", 3.4e10, "34.0"),
        ("images_per_s", None, "n/a"),
        ("of_another_version", 2.0, "2.00"),
    ],
)
def test_a_headline_has_three_telling_digits(key: str, value: float | None, text: str) -> None:
    assert format_value(key, value) == text


def test_the_page_of_workloads_says_what_the_catalogue_says() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "run: python3 -m tests.tools.workload_page"


def test_fused_networks_stand_beside_fused_ones(summary: RunSummary) -> None:
    usual = replace(summary, workload="imdb_bidirectional_lstm", batch_size=32)
    fused = replace(usual, variant="lstm=fused")
    names = {kind: [bar for bar in bars("imdb_bidirectional_lstm", run) if bar.row] for kind, run in
             (("usual", usual), ("fused", fused))}  # fmt: skip
    assert len(names["usual"]) == 23
    assert len(names["fused"]) == 2
    assert all("CuDNNLSTM" in bar.row.notes for bar in names["fused"] if bar.row)
    reason = sentence("compare.other_variant", theirs="lstm=fused", mine=sentence("compare.as_usual"))
    assert reason in [each for _, each in left_out(usual)]


def test_a_device_with_several_software_is_one_baseline_and_one_machine(summary: RunSummary) -> None:
    run = replace(summary, workload="lstm_ptb_32", batch_size=128, metric="seconds_per_batch_s", value=1e6)
    chart = bars("lstm_ptb_32", run)
    assert len({bar.name for bar in chart if bar.row}) < len([bar for bar in chart if bar.row])
    assert "TensorFlow" in sure(sure(find_baseline(chart, "GTX Titan X", "lstm_ptb_32")).row).software
    assert said("position.last").is_in(str(position(run)))
