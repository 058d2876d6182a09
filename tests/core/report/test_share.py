"""The share picture's texts: what was measured on what, and a code that changes with the record alone."""

from dataclasses import replace
from typing import Any

import pytest

from app.core.analysis.bars import bars
from app.core.analysis.position import chart_note
from app.core.analysis.published import reference_rows
from app.core.errors import UsageError
from app.core.messages import sentence
from app.core.plans.experiments import report_of
from app.core.records import Group, Plan, Run
from app.core.report.card import Bars
from app.core.report.result_records import result_of
from app.core.report.run_texts import result_text
from app.core.report.share import share_card
from app.core.result_file.short_form import short_form
from app.core.verdict.judged_run import JudgedRun
from tests.saying import said
from tests.sure import only, sure

INTERVAL: dict[str, Any] = {"value_low": 65.8, "value_high": 66.7, "confidence_pct": 95.0}


NO_INTERVAL, WITHIN = sentence("result.no_interval"), sentence("share.within", half_pct=0.8)
CORES = sentence("share.cores", count=4)


def caution(cause: str) -> str:
    return sentence("result.verdict_because", verdict="Caution", causes=cause)


def changed(run: Run, **changes: Any) -> Run:
    return replace(run, summary=replace(run.summary, **changes))


def test_a_card_says_what_was_measured_and_where(stored_run: Run) -> None:
    card = share_card(JudgedRun(stored_run))
    assert card.title == sentence("share.training", workload="CIFAR-10 CNN")
    assert (card.headline, card.unit, card.notes) == ("66.3", "seconds per epoch", (NO_INTERVAL,))
    assert share_card(JudgedRun(changed(stored_run, basis="estimate"))).headline == "≈ 66.3", "as in the window"
    assert card.place == JudgedRun(stored_run).position, "as in the window"
    assert card.machine == "Intel Core i7-1165G7"
    assert card.details == (f"{CORES} · 15 GB · Test OS 1", "TensorFlow 2.21.0")
    assert (card.badge, card.level) == (("Valid",), "valid")
    chart = only(Bars, card.chart)
    values = [(bar.kind, bar.value) for bar in bars("cifar10_keras_cnn", stored_run.summary)]
    assert [(bar.kind, bar.value) for bar in chart.bars] == values
    assert sure(chart.baseline).name == "i5-8250U"
    assert card.footer == "2026-11-20"
    assert card.short_form == short_form(result_of(stored_run))


def test_the_title_names_what_differs_from_the_default(stored_run: Run) -> None:
    run = changed(stored_run, batch_size=32, precision="mixed_float16")
    parts = (sentence("share.training", workload="CIFAR-10 CNN"), sentence("share.batch", batch_size=32))
    assert share_card(JudgedRun(run)).title == " · ".join((*parts, "mixed float16"))


@pytest.mark.parametrize(
    ("started_at", "code"),
    [
        ("2026-11-20", "compare.published_older"),
        ("", "compare.published_older"),
        ("2020-01-01", "compare.published"),
    ],
)
def test_a_chart_notes_that_the_software_of_published_results_is_older(
    stored_run: Run, started_at: str, code: str
) -> None:
    chart = only(Bars, share_card(JudgedRun(changed(stored_run, started_at=started_at))).chart)
    assert sentence(code, first=2019, last=2019, count=1) in chart_note(chart.bars).split(" · ")


def test_a_gpu_run_names_the_gpu_first_and_the_cpu_beside_its_cores(stored_run: Run) -> None:
    card = share_card(
        JudgedRun(changed(stored_run, device="gpu:0", device_name="NVIDIA GeForce RTX 4090", jit=True, threads=1))
    )
    assert card.machine == "NVIDIA GeForce RTX 4090"
    assert card.details == (f"i7-1165G7 · {CORES} · 15 GB · Test OS 1", "TensorFlow 2.21.0 · XLA · 1 thread")


@pytest.mark.parametrize(
    ("settings", "machine", "devices"),
    [("", "RTX 3090", 1), ("devices=2", "2 × RTX 3090", 2), ("devices=4 machines=2", "4 × RTX 3090", 4)],
)
def test_a_picture_names_the_number_of_devices(stored_run: Run, settings: str, machine: str, devices: int) -> None:
    card = share_card(JudgedRun(changed(stored_run, device="gpu:0", device_name="RTX 3090", settings=settings)))
    assert card.machine == machine
    assert said("position.several", devices=devices).is_all_of(card.place) == (devices > 1)


def test_what_is_not_known_is_left_out(stored_run: Run) -> None:
    unknown = dict.fromkeys(
        ("cpu_name", "physical_cores", "memory_bytes", "os_name", "device", "data_source", "spread_pct")
    )
    card = share_card(
        JudgedRun(replace(changed(stored_run, **unknown, workload="of another version"), environment=None))
    )
    assert (card.title, card.machine) == ("of another version", sentence("share.unknown_device"))
    assert card.details == ("TensorFlow 2.21.0",)
    assert (card.badge[0], card.notes[0]) == ("Valid", NO_INTERVAL)
    assert (card.place, only(Bars, card.chart).baseline, card.footer) == ("", None, "2026-11-20")


@pytest.mark.parametrize(
    ("changes", "certainty", "badge", "level"),
    [
        (
            {"basis": "estimate", "epochs_done": 0} | INTERVAL,
            sentence("share.estimate_within", half_pct=0.8),
            "Valid",
            "valid",
        ),
        ({"basis": "estimate"}, sentence("share.estimate_without_interval"), caution("no interval"), "caution"),
        (
            {"basis": "first_epoch", "epochs_done": 1},
            sentence("short.first_epoch"),
            caution(sentence("short.first_epoch")),
            "caution",
        ),
        (
            {"status": "cancelled", "epochs_done": 7} | INTERVAL,
            WITHIN,
            caution(sentence("short.cancelled")),
            "caution",
        ),
        # Fewer epochs than six have a range only; their spread says something else.
        (INTERVAL | {"confidence_pct": 50.0}, sentence("result.range", low="65.8", high="66.7"), "Valid", "valid"),
        ({"spread_pct": 7.25}, NO_INTERVAL, caution(sentence("plain.spread")), "caution"),
        ({"virtual_machine": True, "data_source": "synthetic"} | INTERVAL, WITHIN, "Valid", "valid"),
    ],
)
def test_the_badge_is_the_verdict_with_its_cause(
    stored_run: Run, changes: dict[str, Any], certainty: str, badge: str, level: str
) -> None:
    card = share_card(JudgedRun(changed(stored_run, **changes)))
    assert (card.notes[0], card.badge[0], card.level) == (certainty, badge, level)


def test_a_picture_of_repetitions_shows_their_median(stored_run: Run) -> None:
    plan = Plan(kind="repeat", specs=(stored_run.spec,), rounds=3)
    values = ((7, 66.3, "valid"), (8, 70.1, "caution"), (9, 65.0, "valid"))
    runs = tuple(
        replace(stored_run.summary, id=run_id, value=value, verdict=verdict) for run_id, value, verdict in values
    )
    group = Group(id=1, created_at="", plan=plan, runs=runs)
    last = replace(stored_run, summary=runs[2])
    card = share_card(JudgedRun(last), report_of(group).several())
    assert (card.headline, card.level) == ("66.3", "caution")
    assert card.badge == (f"Caution · {sentence('share.of_runs', count=1, planned=3)}", "Caution")
    assert next(bar.value for bar in only(Bars, card.chart).bars if bar.kind == "you") == 66.3
    quiet = replace(group, runs=tuple(replace(run, verdict="valid") for run in runs))
    assert (
        share_card(JudgedRun(last), report_of(quiet).several()).badge[0]
        == f"Valid · {sentence('share.runs', count=3)}"
    )
    text = result_text(JudgedRun(last), report_of(group).several())
    first, *lines = text.splitlines()
    assert first.startswith("66.3 s per epoch · ")
    assert sentence("result.text_verdict", verdict="Caution") in lines
    interval = sentence("group.interval", low="65.0", high="70.1", confidence_pct=75)
    parts = sentence("result.median_of_runs", count=3), interval, sentence("result.spread_between", spread_pct=4.0)
    assert sentence("result.text_measured", note=" · ".join(parts)) in lines


@pytest.mark.parametrize(
    ("years", "note"),
    [
        ((2019, 2017, 2019), {"first": 2017, "last": 2019, "count": 3}),
        ((2015, 2024), {"first": 2015, "last": 2024, "count": 10}),
        ((2019, None), {"first": 2019, "last": 2019, "count": 1}),
        ((None,), None),
    ],
)
def test_the_note_names_the_years_that_are_really_there(
    stored_run: Run, monkeypatch: pytest.MonkeyPatch, years: tuple[int | None, ...], note: dict[str, int] | None
) -> None:
    row = next(row for row in reference_rows() if not row.is_doubtful)
    rows = [replace(row, year=year) for year in years]
    monkeypatch.setattr("app.core.analysis.bars.comparable_rows", lambda workload: rows)
    parts = chart_note(only(Bars, share_card(JudgedRun(stored_run)).chart).bars).split(" · ")
    if note is None:
        assert len(parts) == 2
    else:
        assert sentence("compare.published_older", **note) in parts


def test_a_run_without_an_epoch_time_has_no_picture(stored_run: Run) -> None:
    with pytest.raises(UsageError, match=said("share.no_result", run_id="7").pattern):
        share_card(JudgedRun(changed(stored_run, value=None)))


def test_a_doubtful_result_has_an_asterisk_in_the_picture(stored_run: Run) -> None:
    chart = share_card(JudgedRun(stored_run)).chart
    assert isinstance(chart, Bars)
    marked = [bar.name for bar in chart.bars if bar.name.endswith(" *")]
    assert marked == ["Colab TPU *"]
