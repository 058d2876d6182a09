"""Sentences: headlines and their notes, how far a number can be trusted, advice, and a result as text."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

from app.core.messages import Message, message
from app.core.records import Run, RunSummary
from app.core.report.wording import (
    error_advice,
    estimated_from_s,
    headline,
    headline_note,
    machine_line,
    result_notes,
    result_text,
    verdict_line,
    verdict_texts,
)
from app.core.storage.reading import read_machine
from app.core.verdict.rules import RULES, judge
from tests.saying import said
from tests.sure import sure
from tests.telemetry import machine_of, telemetry_of
from workloads.protocol import events
from workloads.protocol.machine import Machine

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


@pytest.mark.parametrize(
    ("changes", "value", "note"),
    [
        ({}, "66.3 s per epoch", "median of epochs 2 to 10 · no 95 % interval · spread 0.4 % · first epoch 68.9"),
        (
            {"value_low": 66.0, "value_high": 66.7, "confidence_pct": 95.0, "value_mean": 66.4},
            "66.3 s per epoch",
            "median of epochs 2 to 10 · 66.0 to 66.7 (95 %, ± 0.6 %) · mean 66.4 · spread 0.4 %"
            " · first epoch 68.9",
        ),
        (
            {"epochs_done": 2, "spread_pct": None},
            "66.3 s per epoch",
            "epoch 2 · no 95 % interval · first epoch 68.9",
        ),
        (FIRST, "66.3 s per epoch", "first and only epoch, startup included"),
        (ESTIMATE, "about 66.3 s per epoch", "estimated from timed steps · no 95 % interval · spread 0.4 %"),
        (
            SHORT,
            "131.0 ms per step, 763 examples per second",
            "A short run: 10 of 500 steps per epoch, so it has no epoch time.",
        ),
        (NOTHING, "No whole epoch was measured.", ""),
        (SHORT | {"step_median_s": None}, "No whole epoch was measured.", ""),
    ],
)
def test_a_headline_has_its_basis(summary: RunSummary, changes: dict[str, Any], value: str, note: str) -> None:
    run = replace(summary, **changes)
    assert headline_note(run) == note
    assert headline(run) == (f"{value}\n{note}" if note else value)


def test_there_is_advice_for_every_error_that_a_run_can_end_with() -> None:
    assert error_advice("another", "tensorflow") is None
    for code in events.ErrorCode.__args__:  # type: ignore[attr-defined]
        advice = sure(error_advice(code, "tensorflow"))
        assert advice.endswith(".")
        assert " --" not in advice.replace("start.py --repair", "")


def test_repairing_is_advised_for_engines_that_it_repairs(second_engine: str) -> None:
    for code in ("engine_missing", "device_unavailable"):
        assert "--repair" in str(error_advice(code, "tensorflow"))
        assert "Plain NumPy" in str(error_advice(code, second_engine))
        assert "removed_since" in str(error_advice(code, "removed_since"))
        assert "--repair" not in f"{error_advice(code, second_engine)} {error_advice(code, 'removed_since')}"


@pytest.mark.parametrize(
    ("changes", "cautions", "facts"),
    [
        ({}, [], ["epochs after the first have a spread of 0.4 %", "real data"]),
        ({"spread_pct": 5.0}, [], ["spread of 5.0 %", "real data"]),
        ({"spread_pct": 5.1}, ["spread of 5.1 % (standard deviation). Above 5 %, even nine"], ["real data"]),
        (
            ESTIMATE | {"value_low": 66.0, "value_high": 67.0},
            [],
            ["no whole epoch was run", "parts of the measurement have a spread", "real data"],
        ),
        (FIRST, ["Only one epoch was measured, and it includes starting up."], ["real data"]),
        (SHORT, ["A short run: 10 of 500 steps"], ["real data"]),
        (
            NOTHING | {"status": "failed"},
            ["The run failed after 0 of 10 epochs.", "No whole epoch was measured."],
            ["real data"],
        ),
        ({"status": "cancelled", "epochs_done": 3}, ["was cancelled after 3 of 10"], ["spread", "real data"]),
        ({"status": "interrupted"}, ["was interrupted after 10 of 10"], ["spread", "real data"]),
        (NOTHING | {"status": "running"}, ["hasn't finished", "No whole epoch"], ["real data"]),
        ({"data_source": "synthetic"}, [], ["spread", "synthetic data of the same shapes"]),
        ({"data_source": None}, [], ["spread"]),
        ({"workload": "demo"}, ["The demo doesn't train"], ["spread", "real data"]),
        ({"workload": "of another version"}, [], ["spread", "real data"]),
    ],
)
def test_notes_on_a_number_list_cautions_first(
    stored_run: Run, changes: dict[str, Any], cautions: list[str], facts: list[str]
) -> None:
    notes = result_notes(changed(stored_run, changes))
    assert [note.kind for note in notes] == ["caution"] * len(cautions) + ["fact"] * len(facts)
    for note, words in zip(notes, [*cautions, *facts], strict=True):
        assert words in note.text


def test_warnings_steal_and_a_virtual_machine_are_noted(stored_run: Run) -> None:
    samples = tuple(
        events.TelemetryEvent(t_s=1.0, telemetry=telemetry_of({"steal_pct": value} if value else {}))
        for value in (12.0, None, 2.0)
    )
    warning = events.Warn(code="gpu_not_used", message="TensorFlow cannot use the GPU.")
    virtual = machine_of(stored_run, virtual_machine=True, virtualization="docker in kvm")
    notes = result_notes(replace(stored_run, telemetry=samples, warnings=(warning,), machine=virtual))
    shared, stolen, warned = (note.text for note in notes if note.kind == "caution")
    assert said("verdict.shared_at_least", half_pct="8.8").is_all_of(shared)
    assert said("verdict.host_steal", share_pct="7").is_all_of(stolen)
    assert warned == warning.message
    assert said("note.virtual_machine_by", kind="kvm").is_all_of(notes[-1].text)


@pytest.mark.parametrize("steal_pct", [[], [None], [5.0, 5.0], [0.0, 9.0]])
def test_little_or_unknown_stolen_time_is_not_worth_a_word(stored_run: Run, steal_pct: list[float | None]) -> None:
    samples = tuple(
        events.TelemetryEvent(t_s=1.0, telemetry=telemetry_of({"steal_pct": value})) for value in steal_pct
    )
    assert {note.kind for note in result_notes(replace(stored_run, telemetry=samples))} == {"fact"}


def test_notes_are_the_reasons_of_the_verdict(stored_run: Run) -> None:
    samples = (events.TelemetryEvent(t_s=80.0, telemetry=telemetry_of({"suspended_s": 60.0, "on_battery": True})),)
    run = replace(stored_run, telemetry=samples)
    judged = judge(run)
    assert [note.text for note in result_notes(run)] == [reason.text for reason in judged.reasons]
    assert [reason.level for reason in judged.reasons] == ["invalid", "caution", "fact", "fact"]
    assert [note.kind for note in result_notes(run)] == ["caution", "caution", "fact", "fact"]


def reasons(level: Any, *codes: str, **figures: float) -> tuple[events.Reason, ...]:
    return tuple(
        events.Reason(code=code, level=level, text="", said=message(f"verdict.{code}", **figures))
        for code in codes
    )


def test_a_verdict_in_one_line() -> None:
    facts = reasons("fact", "real_data")
    cautions = reasons("caution", "on_battery", "other_load", share_pct=12.0)
    assert verdict_line(events.Judged(level="valid", reasons=facts)) == "Valid"
    for measured_s, shown in ((31.2, "Valid for 31 s"), (119.0, "Valid for 119 s"), (444.0, "Valid for 7 min")):
        assert verdict_texts(events.Judged(level="valid", measured_s=measured_s)) == (shown, "Valid")
    caution = events.Judged(level="caution", reasons=(*cautions, *facts))
    assert verdict_line(caution) == "Caution: on battery; other programs used 12 % of the CPU"
    invalid = reasons("invalid", "suspended", slept_s=60.0)
    assert verdict_line(events.Judged(level="invalid", reasons=(*invalid, *cautions))) == (
        "Invalid: slept during the run"
    )


@pytest.mark.parametrize(
    ("code", "said", "words"),
    [
        ("interval_wide", message("verdict.interval_wide", half_pct=3.1), "uncertain by ± 3.1 %"),
        ("spread", message("verdict.spread_of_epochs", spread_pct=5.1), "5.1 % spread"),
        ("host_steal", message("verdict.host_steal", share_pct=7.0), "7 % CPU steal"),
        ("drift", message("verdict.faster", gained_pct=4.0), "speed rose 4.0 %"),
        ("other_load", None, "other load"),
        ("other_load", message("verdict.other_load"), "other load"),
        ("gpu_not_used", None, "GPU not used"),
        ("data_incomplete", None, "data incomplete"),
        ("{of_another} version", None, "{of another} version"),
    ],
)
def test_a_reason_in_a_few_words(code: str, said: Message | None, words: str) -> None:
    one = events.Reason(code=code, level="caution", text="", said=said)
    assert verdict_line(events.Judged(level="caution", reasons=(one, one))) == f"Caution: {words}"


def test_every_rule_has_few_words(stored_run: Run) -> None:
    for rule in RULES:
        line = verdict_line(events.Judged(level="caution", reasons=reasons("caution", rule.code)))
        assert len(line) < 60
        assert not {"_", "{"} & set(line)


def test_a_result_as_text_is_eight_lines_for_strangers(stored_run: Run) -> None:
    assert result_text(stored_run).splitlines() == [
        "66.3 s per epoch (lower is better) · CIFAR-10 CNN, batch 100, float32, CPU",
        "4.8× the i5-8250U on 2019 software, between MX150 and i5-8250U",
        "Verdict: valid for 2 min",
        "Machine: Intel Core i7-1165G7 · 4 cores / 8 threads · 15 GB · Test OS 1",
        "Engine: TensorFlow 2.21.0 on cpu · float32 · without XLA",
        "Measured: median of epochs 2 to 10 · no 95 % interval · spread 0.4 % · first epoch 68.9",
        "Data: real, seed 0",
        "The run was too short to tell what limited it.",
        "Epochmark 0.1.0, run on 2026-11-20",
    ]


def test_its_first_line_says_how_certain_it_is_and_on_what(stored_run: Run) -> None:
    certain = {"value_low": 62.7, "value_high": 69.9, "confidence_pct": 95.0, "device": "gpu:0"}
    text = result_text(changed(stored_run, ESTIMATE | certain | {"device_name": "NVIDIA GeForce RTX 4090"}))
    line = "about 66.3 s per epoch ± 5.4 % (lower is better) · CIFAR-10 CNN, batch 100, float32, RTX 4090"
    assert text.splitlines()[0] == line


@pytest.mark.parametrize("changes", [SHORT, NOTHING | {"status": "failed"}, {"workload": "demo"}])
def test_a_result_that_cannot_be_compared_has_no_rank(stored_run: Run, changes: dict[str, Any]) -> None:
    lines = result_text(changed(stored_run, changes)).splitlines()
    assert not [line for line in lines if "×" in line]
    assert said("result.text_footer", date="2026-11-20", version="0.1.0").is_all_of(lines[-1])


def test_a_text_has_each_caution_once_and_names_nobody(stored_run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Path, "home", lambda: Path("/home/anna"))
    warning = events.Warn(code="data_incomplete", message="The data in /home/anna/x\nis incomplete.")
    run = changed(stored_run, FIRST | {"status": "cancelled", "comment": "Anna's"}, warnings=(warning,))
    text = result_text(run)
    assert text.count("first and only epoch") == 1
    assert "\nVerdict: caution (cancelled early; first epoch only; data incomplete)\n" in text
    assert "anna" not in text.casefold()


def test_a_machine_from_another_version_is_shown_as_far_as_possible() -> None:
    def stored(text: str) -> Machine:
        return read_machine(text, [])

    old = stored('{"cpu_name": "Old CPU"}')
    assert machine_line(old) == "Old CPU · ? cores / ? threads · n/a · n/a"
    new = stored('{"npu": 1, "gpus": [{"name": "New GPU", "tensor_cores": 9, "memory_bytes": 8000000000}]}')
    assert machine_line(new) == "unknown CPU · ? cores / ? threads · n/a · New GPU · n/a"
    assert stored('{"cpu_name": {}}').cpu_name is None


def test_an_estimate_names_the_seconds_that_it_speaks_of(stored_run: Run) -> None:
    assert estimated_from_s(stored_run) is None
    timed = events.Steps(t_s=20.0, phase="measure", epoch=0, first_index=0, durations_s=(8.0, 8.2))
    blocks = (timed, timed, msgspec.structs.replace(timed, phase="validate"))
    estimate = replace(stored_run, summary=replace(stored_run.summary, **ESTIMATE), steps=blocks)
    assert estimated_from_s(estimate) == pytest.approx(32.4)
    assert estimated_from_s(replace(estimate, steps=())) is None
    assert headline_note(estimate.summary, measured_s=32.4).startswith("estimated from 32 s of steps · ")
    assert "estimated from 32 s of steps · " in result_text(estimate)
