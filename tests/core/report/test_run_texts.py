"""Sentences: headlines and their notes, how far a number can be trusted, advice, and a result as text."""

import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from app.core.messages import Message, message, sentence, text
from app.core.messages.english import ENGLISH
from app.core.metrics import metric_lines
from app.core.records import Run, RunSummary
from app.core.report.run_texts import (
    certainty_text,
    error_advice,
    estimate_basis,
    headline,
    headline_note,
    interval_text,
    measured_text,
    result_text,
    verdict_chip,
    verdict_line,
)
from app.core.titles import cores_title, level_title
from app.core.verdict.bottleneck import bottleneck_text
from app.core.verdict.judged_run import JudgedRun
from app.core.verdict.rules import RULES, judge
from tests.build import machine_of, telemetry_of
from tests.conftest import ROOT
from tests.saying import Saying, said
from tests.sure import sure
from workloads.protocol import events

ESTIMATE: dict[str, Any] = {"basis": "estimate", "preset": "quick", "epochs": 1, "epochs_done": 0}
FIRST: dict[str, Any] = {"basis": "first_epoch", "epochs_done": 1, "spread_pct": None}
SHORT: dict[str, Any] = {"value": None, "basis": None, "steps": 10, "spread_pct": None}
NOTHING: dict[str, Any] = {"value": None, "basis": None, "epochs_done": 0, "spread_pct": None}


def changed(run: Run, changes: dict[str, Any], **parts: Any) -> Run:
    cut = [
        msgspec.structs.replace(block, durations_s=block.durations_s[: changes.get("steps")])
        for block in run.steps
    ]
    return replace(run, **({"steps": tuple(cut)} | parts), summary=replace(run.summary, **changes))


MEDIAN, NO_INTERVAL = message("result.median_of_epochs", last=10), message("result.no_interval")
SPREAD, FIRST_S = (
    message("result.spread_of_epochs", spread_pct=0.4),
    message("result.first_epoch", duration="68.9"),
)
ALL_STEPS: dict[str, Any] = {"steps": 10, "steps_per_epoch": 500}


@pytest.mark.parametrize(
    ("changes", "value", "notes"),
    [
        ({}, "66.3 s per epoch", [MEDIAN, NO_INTERVAL, SPREAD, FIRST_S]),
        (
            {"value_low": 66.0, "value_high": 66.7, "confidence_pct": 95.0, "value_mean": 66.4},
            "66.3 s per epoch",
            [MEDIAN, message("result.interval", low="66.0", high="66.7", half_pct=0.6), SPREAD, FIRST_S],
        ),
        (
            {"epochs_done": 2, "spread_pct": None},
            "66.3 s per epoch",
            [message("result.second_epoch"), NO_INTERVAL, FIRST_S],
        ),
        (FIRST, "66.3 s per epoch", [message("result.first_epoch_only")]),
        (
            ESTIMATE,
            message("result.about", value="66.3 s per epoch"),
            [message("result.estimated"), NO_INTERVAL, message("result.spread_of_parts", spread_pct=0.4)],
        ),
        (
            SHORT,
            message("result.step_rate", step_ms=131.0, examples_per_s=763),
            [message("note.short_run", **ALL_STEPS)],
        ),
        (
            SHORT | {"step_median_s": 67.9},
            message("result.step_rate_s", step_s=67.9, examples_per_s=1.47),
            [message("note.short_run", **ALL_STEPS)],
        ),
        (NOTHING, message("verdict.no_epoch"), []),
        (SHORT | {"step_median_s": None}, message("verdict.no_epoch"), []),
    ],
)
def test_a_headline_has_its_basis(
    summary: RunSummary, changes: dict[str, Any], value: str | Message, notes: list[Message]
) -> None:
    run = replace(summary, **changes)
    note = " · ".join(map(text, notes))
    assert headline_note(run) == note
    value = text(value) if isinstance(value, Message) else value
    assert headline(run) == (f"{value}\n{note}" if note else value)


def test_a_single_half_width_is_shown_only_if_it_describes_both_ends(summary: RunSummary, stored_run: Run) -> None:
    run = replace(summary, value=174.0, value_low=154.0, value_high=222.0, confidence_pct=95.0)
    assert interval_text(run) == sentence("result.uneven_interval", low="154", high="222")
    assert "±" not in result_text(JudgedRun(replace(stored_run, summary=run))).splitlines()[0]
    even = replace(run, value_low=126.0)
    assert said("result.interval", half_pct="± 28 %").is_all_of(interval_text(even))


def test_the_interval_of_a_disturbed_run_is_of_this_run_only(summary: RunSummary) -> None:
    run = replace(summary, value=174.0, value_low=154.0, value_high=194.0, confidence_pct=95.0, basis="estimate")
    for codes, interval in (
        (None, "result.interval"),
        ("other_load spread", "result.interval_of_run"),
        ("spread", "result.interval"),
        ("other_load shared_host", "result.interval"),  # includes other runs
    ):
        assert said(interval).is_all_of(interval_text(replace(run, reasons=codes)))
    assert certainty_text(run) == sentence("share.estimate_within", half_pct=11.49)


def test_there_is_advice_for_every_error_that_a_run_can_end_with() -> None:
    assert error_advice("another", "tensorflow") is None
    for code in events.ErrorCode.__args__:  # type: ignore[attr-defined]
        advice = sure(error_advice(code, "tensorflow"))
        assert advice.endswith(".")
        assert " --" not in advice.replace("start.py --repair", "")


OF_EPOCHS, REAL, NO_EPOCH = said("verdict.spread_of_epochs"), said("note.real_data"), said("verdict.no_epoch")
AFTER_NONE, ALL_EPOCHS = {"epochs_done": "0", "epochs": "10"}, {"epochs_done": "10", "epochs": "10"}


def notes_of(run: Run) -> list[SimpleNamespace]:
    reasons = JudgedRun(run).verdict.reasons
    return [
        SimpleNamespace(kind="fact" if reason.level == "fact" else "caution", text=reason.text)
        for reason in reasons
    ]


@pytest.mark.parametrize(
    ("changes", "cautions", "facts"),
    [
        ({}, [], [said("verdict.spread_of_epochs", spread_pct="0.4"), REAL]),
        ({"spread_pct": 5.0}, [], [said("verdict.spread_of_epochs", spread_pct="5.0"), REAL]),
        ({"spread_pct": 5.1}, [said("verdict.spread_of_epochs", spread_pct="5.1")], [REAL]),
        (
            ESTIMATE | {"value_low": 66.0, "value_high": 67.0},
            [],
            [said("note.estimate"), said("verdict.spread_of_parts"), REAL],
        ),
        (FIRST, [said("verdict.first_epoch")], [REAL]),
        (SHORT, [said("note.short_run", **ALL_STEPS)], [REAL]),
        (NOTHING | {"status": "failed"}, [said("verdict.failed_after", **AFTER_NONE), NO_EPOCH], [REAL]),
        (
            {"status": "cancelled", "epochs_done": 3},
            [said("verdict.cancelled_after", epochs_done="3", epochs="10")],
            [OF_EPOCHS, REAL],
        ),
        ({"status": "interrupted"}, [said("verdict.interrupted_after", **ALL_EPOCHS)], [OF_EPOCHS, REAL]),
        (NOTHING | {"status": "running"}, [said("verdict.running"), NO_EPOCH], [REAL]),
        ({"data_source": "synthetic"}, [], [OF_EPOCHS, said("note.synthetic_data")]),
        ({"data_source": None}, [], [OF_EPOCHS]),
        ({"workload": "demo"}, [said("verdict.demo")], [OF_EPOCHS, REAL]),
        ({"workload": "of another version"}, [], [OF_EPOCHS, REAL]),
    ],
)
def test_notes_on_a_number_list_cautions_first(
    stored_run: Run, changes: dict[str, Any], cautions: list[Saying], facts: list[Saying]
) -> None:
    notes = notes_of(changed(stored_run, changes))
    assert [note.kind for note in notes] == ["caution"] * len(cautions) + ["fact"] * len(facts)
    for note, saying in zip(notes, [*cautions, *facts], strict=True):
        assert saying.is_all_of(note.text)


def test_warnings_steal_and_a_virtual_machine_are_noted(stored_run: Run) -> None:
    samples = tuple(
        events.TelemetryEvent(t_s=1.0, telemetry=telemetry_of({"steal_pct": value} if value else {}))
        for value in (12.0, None, 2.0)
    )
    warning = events.Warn(code="gpu_not_used", message="TensorFlow cannot use the GPU.")
    virtual = machine_of(stored_run, virtual_machine=True, virtualization="docker in kvm")
    notes = notes_of(replace(stored_run, telemetry=samples, warnings=(warning,), machine=virtual))
    shared, stolen, warned = (note.text for note in notes if note.kind == "caution")
    assert said("verdict.shared_at_least", half_pct="9").is_all_of(shared)
    assert said("verdict.host_steal", share_pct="7").is_all_of(stolen)
    assert warned == warning.message
    assert said("note.virtual_machine_by", kind="kvm").is_all_of(notes[-1].text)


def reasons(level: Any, *codes: str, **figures: float) -> tuple[events.Reason, ...]:
    return tuple(
        events.Reason(code=code, level=level, text="", said=message(f"verdict.{code}", **figures))
        for code in codes
    )


def test_a_verdict_in_one_line() -> None:
    facts = reasons("fact", "real_data")
    cautions = reasons("caution", "on_battery", "other_load", share_pct=12.0)
    assert verdict_line(events.Judged(level="valid", reasons=facts)) == "Valid"
    for measured_s, code, shown in (
        (31.2, "short.valid_for_s", {"duration_s": 31}),
        (119.0, "short.valid_for_s", {"duration_s": 119}),
        (444.0, "short.valid_for_min", {"duration_min": 7}),
    ):
        valid = events.Judged(level="valid", measured_s=measured_s)
        assert (verdict_chip(valid), measured_text(valid)) == (("Valid",), sentence(code, **shown))
    caution = events.Judged(level="caution", reasons=(*cautions, *facts))
    load = sentence("short.verdict.other_load", share_pct=12.0)
    assert verdict_line(caution) == f"Caution: on battery; {load}", "a code without few words is shown itself"
    invalid = reasons("invalid", "suspended", slept_s=60.0)
    judged = events.Judged(level="invalid", reasons=(*invalid, *cautions))
    assert verdict_line(judged) == f"Invalid: {sentence('short.suspended')}"


@pytest.mark.parametrize(
    ("code", "said", "short"),
    [
        ("interval_wide", message("verdict.interval_wide", half_pct=3.1), "short.verdict.interval_wide"),
        ("spread", message("verdict.spread_of_epochs", spread_pct=5.1), "short.verdict.spread_of_epochs"),
        ("host_steal", message("verdict.host_steal", share_pct=7.0), "short.verdict.host_steal"),
        ("drift", message("verdict.faster", gained_pct=4.0), "short.verdict.faster"),
        ("other_load", None, "short.other_load"),
        ("other_load", message("verdict.other_load"), "short.other_load"),
        ("gpu_not_used", None, "short.gpu_not_used"),
        ("leftovers", None, "short.leftovers"),
        ("of_another_version", None, None),
        ("{of_another} version", None, None),
    ],
)
def test_a_reason_in_a_few_words(code: str, said: Message | None, short: str | None) -> None:
    one = events.Reason(code=code, level="caution", text="", said=said)
    words = code.replace("_", " ") if short is None else sentence(short, **(said.arguments if said else {}))
    assert verdict_line(events.Judged(level="caution", reasons=(one, one))) == f"Caution: {words}"


def test_every_rule_has_few_words(stored_run: Run) -> None:
    for rule in RULES:
        line = verdict_line(events.Judged(level="caution", reasons=reasons("caution", rule.code)))
        assert len(line) < 60
        assert not {"_", "{"} & set(line)


def test_a_result_as_text_is_few_lines_for_strangers(stored_run: Run) -> None:
    batch, certainty = sentence("share.batch", batch_size=100), sentence("result.no_interval")
    cores = cores_title(4, 8)
    machine = f"Intel Core i7-1165G7 · {cores} · 15 GB · Test OS 1"
    engine = {"engine": "TensorFlow 2.21.0", "device": "cpu", "precision": "float32", "compiler": "XLA"}
    assert result_text(JudgedRun(stored_run)).splitlines() == [
        f"66.3 s per epoch · {certainty} · CIFAR-10 CNN, {batch}, float32, CPU",
        JudgedRun(stored_run).position,
        sentence("result.text_verdict", verdict="Valid"),
        sentence("result.text_machine", machine=machine),
        sentence("result.text_engine", engine=message("result.engine_without_xla", **engine)),
        sentence("result.text_data", data="real data", seed=0),
        bottleneck_text(stored_run),
        sentence("result.text_footer", version="0.1.0", date="2026-11-20"),
    ]


def test_its_first_line_says_how_certain_it_is_and_on_what(stored_run: Run) -> None:
    certain = {"value_low": 62.7, "value_high": 69.9, "confidence_pct": 95.0, "device": "gpu:0"}
    run = changed(stored_run, ESTIMATE | certain | {"device_name": "NVIDIA GeForce RTX 4090"})
    shown = result_text(JudgedRun(run))
    value = sentence("result.about", value="66.3 s per epoch")
    within = sentence("share.estimate_within", half_pct=5.4)
    what = f"CIFAR-10 CNN, {sentence('share.batch', batch_size=100)}, float32, RTX 4090"
    assert shown.splitlines()[0] == f"{value} · {within} · {what}"


@pytest.mark.parametrize("changes", [SHORT, NOTHING | {"status": "failed"}, {"workload": "demo"}])
def test_a_result_that_cannot_be_compared_has_no_rank(stored_run: Run, changes: dict[str, Any]) -> None:
    lines = result_text(JudgedRun(changed(stored_run, changes))).splitlines()
    assert not [line for line in lines if "×" in line]
    assert said("result.text_footer", date="2026-11-20", version="0.1.0").is_all_of(lines[-1])


def test_a_text_has_each_caution_once_and_names_nobody(stored_run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Path, "home", lambda: Path("/home/anna"))
    warning = events.Warn(code="leftovers", message="Files in /home/anna/x\nwere in memory.")
    run = changed(stored_run, FIRST | {"status": "cancelled", "comment": "Anna's"}, warnings=(warning,))
    shown = result_text(JudgedRun(run))
    causes = "; ".join(sentence(f"short.{code}") for code in ("cancelled", "first_epoch", "leftovers"))
    verdict = sentence("result.text_verdict_because", verdict="Caution", causes=causes)
    assert verdict in shown.splitlines()
    assert "anna" not in shown.casefold()


def test_an_estimate_names_the_steps_that_it_is_based_on(stored_run: Run) -> None:
    """Not the first one, which compiles; below 20 steps their number says more than their seconds."""
    assert estimate_basis(judge(stored_run)) == ""
    for step_s, count in ((0.5, 9), (0.5, 40)):
        durations_s = (9.0, *[step_s] * count)
        timed = events.Steps(t_s=20.0, phase="measure", epoch=0, first_index=0, durations_s=durations_s)
        changes = ESTIMATE | {"value": 10.0, "preset": "quick"}
        estimate = replace(stored_run, summary=replace(stored_run.summary, **changes), steps=(timed,), epochs=())
        judged = judge(estimate)
        assert judged.measured_s == pytest.approx(step_s * count, rel=0.2)
        of_seconds = sentence("result.estimated_from", measured_s=judged.measured_s)
        assert (estimate_basis(judged) == of_seconds) == (count == 40)


def test_figures_are_listed_folder_by_folder_and_then_compared() -> None:
    metrics = {
        "folder2_write_difference_pct": 12.34,
        "folder8_infer_cache_difference_pct": -0.55,
        "folder2_write_images_per_s": 1_123.4,
        "images_per_s": 365.2,
        "folder1_train_tfrecord_images_per_s": 1_000.0,
        "folder1_preprocess_bytes_per_s": 40_200_000.0,
        "folder1_write_images_per_s": 1_000.0,
    }
    assert metric_lines(metrics) == [
        ("Images per second", "365"),
        ("Folder 1: write JPEGs", "1000 images/s"),
        ("Folder 1: preprocess, data", "40.2 MB/s"),
        ("Folder 1: train from TFRecords", "1000 images/s"),
        ("Folder 2: write JPEGs", "1123 images/s"),
        ("Folder 2 vs. folder 1: write JPEGs", "+12.3 %"),
        ("Folder 8 vs. folder 1: predict from memory", "-0.6 %"),
    ]


def test_every_warning_has_a_short_name() -> None:
    codes = set()
    for path in (*(ROOT / "app").rglob("*.py"), *(ROOT / "workloads").rglob("*.py")):
        code = path.read_text(encoding="utf-8")
        codes |= set(re.findall(r'\b(?:warn\(\s*|Warn\(code=)"([a-z_]+)"', code))
    assert {"silent_worker", "loss_out_of_band"} <= codes
    assert not [code for code in codes if f"short.{code}" not in ENGLISH]


def test_a_chip_has_the_verdict_and_its_first_cause() -> None:
    given = reasons("caution", "other_load", "spread", "interval_wide")
    judged = events.Judged(level="caution", reasons=(*reasons("fact", "estimate"), *given))
    level = level_title("caution")
    first = sentence("result.verdict_because", verdict=level, causes=sentence("plain.other_load"))
    assert verdict_chip(judged) == (first, level)
    assert measured_text(judged) == ""
