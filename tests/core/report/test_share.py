"""The share picture's texts: what was measured on what, and a code that changes with the record alone."""

import re
from dataclasses import replace
from typing import Any

import msgspec
import pytest

from app.core.analysis.compare import bars
from app.core.analysis.published import reference_rows
from app.core.errors import UsageError
from app.core.records import Run
from app.core.report.share import result_code, share_card
from app.core.storage.reading import sorted_json
from workloads.protocol import events

INTERVAL: dict[str, Any] = {"value_low": 65.8, "value_high": 66.7, "confidence_pct": 95.0}


def changed(run: Run, **changes: Any) -> Run:
    return replace(run, summary=replace(run.summary, **changes))


def test_a_card_says_what_was_measured_and_where(stored_run: Run) -> None:
    card = share_card(stored_run)
    assert card.title == "CIFAR-10 CNN · Keras · batch 100 · float32"
    assert (card.value, card.unit, card.certainty) == ("66.3", "seconds per epoch", "no 95 % interval")
    assert card.machine == "Intel Core i7-1165G7"
    assert card.details == ("4 cores · 16 GB · Test OS 1 · CPU run", "TensorFlow 2.21.0 · Keras 3.15.1 · no XLA")
    assert (card.badge, card.level) == ("10 epochs · real data", "valid")
    assert card.bars == tuple(bars("cifar10_keras_cnn", stored_run.summary))
    assert card.axis == "seconds per epoch, log scale · published results: 2019 software"
    position = "4.8× the i5-8250U on 2019 software, between MX150 and i5-8250U"
    assert card.footer == f"{position} · 2026-11-20 · result {result_code(stored_run)}"


def test_a_gpu_run_names_the_gpu_first_and_the_cpu_beside_its_cores(stored_run: Run) -> None:
    card = share_card(
        changed(stored_run, device="gpu:0", device_name="NVIDIA GeForce RTX 4090", jit=True, threads=1)
    )
    assert card.machine == "NVIDIA GeForce RTX 4090"
    assert card.details == (
        "i7-1165G7 · 4 cores · 16 GB · Test OS 1 · GPU run",
        "TensorFlow 2.21.0 · Keras 3.15.1 · XLA · 1 thread",
    )


def test_what_is_not_known_is_left_out(stored_run: Run) -> None:
    unknown = dict.fromkeys(
        ("cpu_name", "physical_cores", "memory_bytes", "os_name", "device", "data_source", "spread_pct")
    )
    card = share_card(replace(changed(stored_run, **unknown, workload="of another version"), environment=None))
    assert (card.title, card.machine) == ("of another version · batch 100 · float32", "unknown device")
    assert card.details == ("CPU run", "TensorFlow 2.21.0 · no XLA")
    assert (card.badge, card.certainty) == ("10 epochs", "no 95 % interval")
    assert card.axis == "seconds per epoch, log scale"
    assert card.footer == f"2026-11-20 · result {result_code(replace(stored_run, environment=None))}"


@pytest.mark.parametrize(
    ("changes", "certainty", "badge", "level"),
    [
        (
            {"basis": "estimate", "epochs_done": 0} | INTERVAL,
            "estimate ± 0.8 % (95 %)",
            "timed steps · real data",
            "valid",
        ),
        ({"basis": "estimate"}, "estimate, no 95 % interval", "timed steps · real data", "caution"),
        ({"basis": "first_epoch", "epochs_done": 1}, "first epoch only", "1 epoch · real data", "caution"),
        (
            {"status": "cancelled", "epochs_done": 7} | INTERVAL,
            "± 0.8 % (95 %)",
            "7 epochs · cancelled · real data",
            "caution",
        ),
        # Fewer epochs than six have a range only; their spread says something else.
        (INTERVAL | {"confidence_pct": 50.0}, "no 95 % interval", "10 epochs · real data", "valid"),
        ({"spread_pct": 7.25}, "no 95 % interval", "10 epochs · real data", "caution"),
        (
            {"virtual_machine": True, "data_source": "synthetic"} | INTERVAL,
            "± 0.8 % (95 %)",
            "10 epochs · synthetic data · virtual machine",
            "valid",
        ),
    ],
)
def test_the_badge_shows_facts_and_the_verdicts_level(
    stored_run: Run, changes: dict[str, Any], certainty: str, badge: str, level: str
) -> None:
    card = share_card(changed(stored_run, **changes))
    assert (card.certainty, card.badge, card.level) == (certainty, badge, level)


def test_the_axis_names_the_years_that_are_really_there(stored_run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    row = reference_rows()[0]
    for years, words in (
        ((2019, 2017, 2019), "2017, 2019 software"),
        ((2015, 2016, 2020, 2024), "2015–2024 software"),
        ((2019, None), "2019 software, some of unknown year"),
        ((None,), "software of unknown year"),
    ):
        rows = [replace(row, year=year) for year in years]
        monkeypatch.setattr("app.core.analysis.compare.comparable_rows", lambda workload, rows=rows: rows)
        assert share_card(stored_run).axis == f"seconds per epoch, log scale · published results: {words}"


def test_a_run_without_an_epoch_time_has_no_picture(stored_run: Run) -> None:
    with pytest.raises(UsageError, match="Run 7 has no result"):
        share_card(changed(stored_run, value=None))


def test_the_code_is_that_of_the_record_whatever_the_run_is_called(stored_run: Run) -> None:
    block = events.Steps(seq=5, t_s=11.5, phase="measure", epoch=0, first_index=0, durations_s=(0.2, 0.1))
    stored_run = replace(stored_run, steps=(block,))
    code = result_code(stored_run)
    assert re.fullmatch("[0-9A-F]{4}-[0-9A-F]{4}", code)
    assert code == "E740-8E13", "codes that were published must stay true"
    assert result_code(changed(stored_run, id=99, comment="other")) == code
    epochs = tuple(msgspec.structs.replace(epoch, seq=1, t_s=0.0) for epoch in stored_run.epochs)
    assert result_code(replace(stored_run, epochs=epochs)) == code


@pytest.mark.parametrize("part", ["stored_spec", "stored_environment", "epochs", "steps"])
def test_the_code_changes_with_every_part_of_the_record(stored_run: Run, part: str) -> None:
    changes: dict[str, Any] = {
        "stored_spec": stored_run.stored_spec.replace("auto", "cpu"),
        "stored_environment": "null",
        "epochs": stored_run.epochs[:1],
        "steps": (events.Steps(phase="measure", epoch=0, first_index=0, durations_s=(0.2, 0.1000001)),),
    }
    assert result_code(replace(stored_run, **{part: changes[part]})) != result_code(stored_run)


def test_the_order_of_fields_does_not_change_the_code() -> None:
    assert sorted_json('{"b": 1, "a": {"d": 0.1, "c": null}}', "") == '{"a":{"c":null,"d":0.1},"b":1}'
    assert (sorted_json(None, "null"), sorted_json("[1]", "{}"), sorted_json(b"\xff", "{}")) == (
        "null",
        "{}",
        "{}",
    )
