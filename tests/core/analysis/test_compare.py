"""Comparison: what may be drawn together."""

from dataclasses import replace
from typing import Any

import pytest

from app.core.analysis.ab import is_usable
from app.core.analysis.comparability import differences, run_refusal, unusual_settings
from app.core.analysis.compare import (
    Bar,
    bars,
    by_work,
    find_baseline,
    left_out,
    left_out_imports,
    refusal,
)
from app.core.analysis.conversion import converted
from app.core.analysis.own_runs import best_and_latest, best_first, run_name, runs_like
from app.core.analysis.power import work_metric
from app.core.analysis.published import comparable_rows, reference_rows
from app.core.clock import local_time
from app.core.errors import UsageError
from app.core.external_results import EPOCH_LOG, ImportedResult
from app.core.formats import format_ratio
from app.core.messages import sentence
from app.core.metrics import HEADLINES
from app.core.records import RunSummary
from tests.saying import Saying, said
from tests.sure import sure
from workloads import CATALOGUE

STANDARD = "cifar10_keras_cnn"
SEVEN = ["GTX 1080 Ti", "GTX 1060", "Colab GPU", "i7-9700K", "MX150", "i5-8250U", "Colab TPU"]


def names(found: list[Bar]) -> list[str]:
    return [bar.name for bar in found]


def test_the_published_machines_alone_come_fastest_first() -> None:
    found = bars(STANDARD, None)
    assert sorted(names(found)) == sorted(SEVEN)
    values = [bar.value for bar in found]
    assert values == [4, 9, 16, 36, 36, 320, 382]
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


def test_the_software_of_every_published_row_is_short_and_there() -> None:
    for workload in {row.workload for row in reference_rows()}:
        for bar in bars(workload, None):
            (software,) = {sure(bar.row).software_parts[0]} & set(bar.remarks)
            assert 0 < len(software) <= 40
            assert sure(bar.row).software.startswith(software.removesuffix("...").partition(", ")[0])


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
    assert {refusal(run, row) for row in comparable_rows(STANDARD)} == {reason}
    reasons = [(row.short_name, reason) for row in comparable_rows(STANDARD)]
    assert left_out(run) == (reasons if reason else [])
    drawn = [bar for bar in bars(STANDARD, run) if bar.kind == "reference"]
    assert len(drawn) == (0 if reason else 7)


def test_a_row_without_batch_or_precision_is_assumed_to_be_usual(summary: RunSummary) -> None:
    row = replace(comparable_rows(STANDARD)[0], batch_size=None, precision="")
    assert refusal(summary, row) is None
    assert refusal(replace(summary, batch_size=1), row) == other_batch(100, 1)
    assert refusal(summary, replace(row, precision="framework default")) == other("framework default", "float32")


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


def imported(summary: RunSummary) -> ImportedResult:
    names = {"digest": "67d0963f", "label": run_name(summary), "source": "x.png"}
    return ImportedResult(
        id=5, uid="abcdefghij", plan_uid=None, imported_at="2026-11-23T00:00:00Z", summary=summary, **names
    )


@pytest.mark.parametrize("with_run", [True, False])
@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"batch_size": 32}, other_batch(32, 100)),
        ({"batch_size": 32, "app_version": EPOCH_LOG}, other_batch(32, 100)),
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


@pytest.mark.parametrize(
    ("reasons", "usable"), [("divided_cpu drift", True), ("loss_out_of_band divided_cpu", False), (None, False)]
)
def test_runs_on_a_divided_cpu_are_compared_only_with_each_other(
    summary: RunSummary, reasons: str | None, usable: bool
) -> None:
    run = replace(summary, settings="devices=2", verdict="invalid", reasons=reasons)
    assert is_usable(run) == usable


@pytest.mark.parametrize("workload", sorted({row.workload for row in reference_rows()}))
def test_every_baseline_has_a_title_of_its_own_by_which_it_is_found(workload: str) -> None:
    chart = bars(workload, None, with_several=True)
    titles = [bar.title.casefold() for bar in chart]
    assert len(set(titles)) == len(titles)
    assert all(find_baseline(chart, bar.title, workload) is bar for bar in chart)


def test_own_runs_without_a_headline_are_left_out(summary: RunSummary) -> None:
    other = replace(summary, id=8, value=None)
    assert len(bars(STANDARD, summary, [other])) == 8


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


def test_the_best_and_the_latest_are_chosen_among_those_that_compare(summary: RunSummary) -> None:
    def run(run_id: int, value: float, **changes: Any) -> RunSummary:
        return replace(summary, id=run_id, value=value, **changes)

    runs = [run(5, 66.0), run(4, 60.0), run(3, 40.0, verdict="invalid"), run(2, 30.0, batch_size=7), run(1, 50.0)]
    assert [each.id for each in best_and_latest(runs)] == [5, 4, 1]
    rates = [replace(each, metric="images_per_s") for each in runs]
    assert [each.id for each in best_and_latest(rates)] == [5, 4]
    assert best_and_latest([]) == []
    study = [run(9, 20.0, settings="cpus=2", group_id=1), run(8, 30.0, settings="cpus=1", group_id=1)]
    assert [each.id for each in best_and_latest([*study, *runs])] == [5, 4, 1]
    alone = run(10, 25.0, settings="cpus=2")
    assert [each.id for each in best_and_latest([alone, *study, *runs])] == [10, 5, 4, 1]
    assert [each.id for each in best_and_latest(study)] == [9, 8]
    assert best_and_latest(runs[:1]) == runs[:1]


def test_a_run_is_named_after_what_it_ran_on(summary: RunSummary) -> None:
    gpu = replace(summary, device="gpu:0", device_name="NVIDIA GeForce RTX 4090")
    assert run_name(gpu) == "RTX 4090"
    assert said("compare.several_devices", count="4", name="RTX 4090").is_all_of(
        run_name(replace(gpu, settings="devices=4 machines=2"))
    )
    assert run_name(replace(summary, settings="devices=2")) == run_name(summary), "parts of one CPU"
    assert run_name(replace(summary, settings="devices=2 machines=2")) != run_name(summary)
    assert run_name(replace(summary, cpu_name=None)) == "cpu"
    assert said("compare.this_computer").is_all_of(run_name(replace(summary, cpu_name=None, device=None)))


@pytest.mark.parametrize(
    ("asked", "workload", "name"),
    [
        (None, STANDARD, "i5-8250U"),
        (None, "another", "Colab TPU"),  # the slowest
        ("MX150", STANDARD, "MX150"),
        ("gtx 1060", STANDARD, "GTX 1060"),
        ("9700", STANDARD, "i7-9700K"),
    ],
)
def test_a_baseline_is_the_usual_one_or_found_by_its_name(asked: str | None, workload: str, name: str) -> None:
    assert sure(find_baseline(bars(STANDARD, None), asked, workload)).name == name
    assert find_baseline([], None, workload) is None


def test_a_whole_name_comes_before_names_that_hold_it() -> None:
    both = [Bar(name, "reference", 4) for name in ("GTX 1080 Ti", "GTX 1080")]
    assert sure(find_baseline(both, "gtx 1080", STANDARD)).name == "GTX 1080"


@pytest.mark.parametrize(
    ("asked", "words"),
    [("GeForce", said("baseline.ambiguous")), ("Cray-1", said("baseline.unknown", name="Cray-1"))],
)
def test_a_baseline_that_fits_none_or_several_is_refused_with_the_names(asked: str, words: Saying) -> None:
    with pytest.raises(UsageError, match=words.pattern) as refused:
        find_baseline(bars(STANDARD, None), asked, STANDARD)
    assert "GTX 1060" in str(refused.value)


def test_a_baseline_among_nothing_is_refused() -> None:
    with pytest.raises(UsageError, match=said("baseline.nothing").pattern):
        find_baseline([], "MX150", STANDARD)


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


WORKLOAD = CATALOGUE["cifar10_keras_cnn"]
CPU = "Intel Core i7-1165G7"


def ids(runs: list[RunSummary], **changes: Any) -> list[int]:
    spec = WORKLOAD.default_spec(**changes)
    return [run.id for run in runs_like(runs, spec, "cpu", CPU)]


def made(summary: RunSummary, *changes: dict[str, Any]) -> list[RunSummary]:
    count = len(changes)
    usual = {"verdict": "valid", "workload_version": WORKLOAD.version}
    return [replace(summary, **{"id": count - number, **usual, **each}) for number, each in enumerate(changes)]


def test_the_best_and_the_latest_stand_for_a_setup(summary: RunSummary) -> None:
    runs = made(summary, {"value": 60.0}, {"value": 70.0}, {"value": 50.0}, {"value": 55.0})
    assert ids(runs) == [2, 4]
    assert ids(runs[2:]) == [2]
    rates = made(summary, *({"value": value, "metric": "images_per_s"} for value in (60.0, 70.0, 50.0)))
    assert ids(rates) == [2, 3]
    assert ids([]) == []


def test_valid_runs_come_before_doubtful_and_these_before_invalid_ones(summary: RunSummary) -> None:
    runs = made(summary, {"verdict": "invalid"}, {"verdict": "caution"}, {"verdict": None, "value": 40.0}, {})
    assert ids(runs) == [1]
    assert ids(runs[:3]) == [2, 3]
    assert ids(runs[:1]) == [4]


@pytest.mark.parametrize(
    "change",
    [
        {"batch_size": 64},
        {"precision": "mixed_float16"},
        {"engine": "torch"},
        {"device": "gpu:0"},
        {"jit": True},
        {"threads": 1},
        {"variant": "lstm=fused"},
        {"workload_version": 99},
        {"cpu_name": "Another"},
        {"settings": "onednn=off"},
        {"value": None},
    ],
    ids=lambda change: next(iter(change)),
)
def test_a_run_under_other_conditions_does_not(summary: RunSummary, change: dict[str, Any]) -> None:
    assert ids(made(summary, change)) == []


def test_it_does_where_the_setup_asks_for_those(summary: RunSummary) -> None:
    runs = made(summary, {"batch_size": 64, "threads": 1, "precision": "mixed_bfloat16"})
    assert ids(runs, batch_size=64, threads=1, precision="mixed_bfloat16") == [1]


@pytest.mark.parametrize(
    ("changes", "first"),
    [
        (({"verdict": "caution", "value": 497.0}, {"value": 182.0}, {"value": 190.0}), 2),
        (({"value": 190.0}, {"value": 100.0, "verdict": "invalid"}, {"value": 150.0, "verdict": "caution"}), 3),
        (({"verdict": "caution", "value": 190.0}, {"verdict": None, "value": 180.0}), 1),
        (({"value": 190.0}, {"value": 20.0, "device": "gpu:0"}, {"value": 20.0, "batch_size": 64}), 3),
        (({"value": 190.0}, {"value": 20.0, "cpu_name": "Another"}), 2),
        (({"value": 7.0, "metric": "images_per_s"}, {"value": 9.0, "metric": "images_per_s"}), 1),
        (({"value": 7.0}, {"value": 7.0}), 2),
        (({"value": 20.0, "settings": "cpus=2"}, {"value": 190.0}), 1),
        (({"value": 190.0, "settings": "cpus=1"}, {"value": 20.0, "settings": "cpus=2"}), 2),
        ((), None),
    ],
)
def test_the_best_trustworthy_run_like_the_newest_stands_for_this_computer(
    summary: RunSummary, changes: tuple[dict[str, Any], ...], first: int | None
) -> None:
    runs = made(summary, *changes)
    found = best_first(runs)
    assert next((run.id for run in found), None) == first
    assert [run for run in runs if run.id != first] == found[1:]


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


def test_runs_on_other_cards_are_comparable_and_differ(summary: RunSummary) -> None:
    run = replace(summary, device="gpu:0", device_name="RTX 4070", settings="devices=2")
    apart = replace(run, settings="devices=2 gpus=0,2")
    assert run_refusal(run, apart) is None
    assert (differences(run, apart), differences(apart, apart)) == (("RTX 4070",), ())
    several = sentence("setting_value.devices", count=2, value=2)
    assert unusual_settings(run) == [several]
    assert unusual_settings(apart) == [several, sentence("setting_value.gpus", value="0, 2")]
    invalid = replace(run, settings="devices=2 gpus=2,0")
    assert run_refusal(run, invalid) == sentence("compare.unknown_settings", settings=["gpus=2,0"])
