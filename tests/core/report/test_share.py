"""The share picture's texts: what was measured on what, and a code that changes with the record alone."""

from dataclasses import replace
from typing import Any

import pytest

from app.core.analysis.compare import bars
from app.core.analysis.published import reference_rows
from app.core.errors import UsageError
from app.core.messages import sentence
from app.core.records import Group, Plan, Run
from app.core.report.result_records import result_of
from app.core.report.share import share_card
from app.core.report.wording import result_text
from app.core.result_file.canonical import short_code
from tests.saying import said

INTERVAL: dict[str, Any] = {"value_low": 65.8, "value_high": 66.7, "confidence_pct": 95.0}


FACTS = "763 examples/s · real data"


def changed(run: Run, **changes: Any) -> Run:
    return replace(run, summary=replace(run.summary, **changes))


def test_a_card_says_what_was_measured_and_where(stored_run: Run) -> None:
    card = share_card(stored_run)
    assert card.title == "CIFAR-10 CNN · Keras · batch 100 · float32"
    assert (card.value, card.unit, card.certainty) == ("66.3", "seconds per epoch", sentence("result.no_interval"))
    assert share_card(changed(stored_run, basis="estimate")).value == "≈ 66.3", "as in the window"
    assert card.machine == "Intel Core i7-1165G7"
    assert card.details == ("4 cores · 15 GB · Test OS 1 · CPU run", "TensorFlow 2.21.0 · Keras 3.15.1", FACTS)
    assert (card.badge, card.level) == (
        ("Valid for 2 min · 10 epochs", sentence("short.valid_for_min", duration_min=2), "Valid"),
        "valid",
    )
    assert card.bars == tuple(bars("cifar10_keras_cnn", stored_run.summary))
    assert card.axis == "seconds per epoch (lower is better), log scale · references from 2019"
    position = "4.8× the i5-8250U on 2019 software, between MX150 and i5-8250U"
    assert (
        card.footer
        == f"{position} · 2026-11-20 · Epochmark 0.1.0 · result {short_code(result_of(stored_run).digest or '')}"
    )


def test_a_gpu_run_names_the_gpu_first_and_the_cpu_beside_its_cores(stored_run: Run) -> None:
    card = share_card(
        changed(stored_run, device="gpu:0", device_name="NVIDIA GeForce RTX 4090", jit=True, threads=1)
    )
    assert card.machine == "NVIDIA GeForce RTX 4090"
    assert card.details == (
        "i7-1165G7 · 4 cores · 15 GB · Test OS 1 · GPU run",
        "TensorFlow 2.21.0 · Keras 3.15.1 · XLA · 1 thread",
        FACTS,
    )


def test_what_is_not_known_is_left_out(stored_run: Run) -> None:
    unknown = dict.fromkeys(
        ("cpu_name", "physical_cores", "memory_bytes", "os_name", "device", "data_source", "spread_pct")
    )
    card = share_card(replace(changed(stored_run, **unknown, workload="of another version"), environment=None))
    assert (card.title, card.machine) == (
        "of another version · batch 100 · float32",
        sentence("share.unknown_device"),
    )
    assert card.details == (sentence("share.cpu_run"), "TensorFlow 2.21.0")
    assert (card.badge[0], card.certainty) == ("Valid for 2 min · 10 epochs", sentence("result.no_interval"))
    assert card.axis == "seconds per epoch (lower is better), log scale"
    assert card.footer == "2026-11-20 · Epochmark 0.1.0", "no result file can hold it, so it has no code"


@pytest.mark.parametrize(
    ("changes", "certainty", "badge", "level"),
    [
        (
            {"basis": "estimate", "epochs_done": 0} | INTERVAL,
            sentence("share.estimate_within", half_pct=0.8),
            sentence("short.valid_for_min", duration_min=2),
            "valid",
        ),
        ({"basis": "estimate"}, sentence("share.estimate_without_interval"), "Caution: no interval", "caution"),
        (
            {"basis": "first_epoch", "epochs_done": 1},
            sentence("compare.first_epoch_only"),
            "Caution: first epoch only",
            "caution",
        ),
        (
            {"status": "cancelled", "epochs_done": 7} | INTERVAL,
            "± 0.8 % (95 %)",
            "Caution: cancelled early",
            "caution",
        ),
        # Fewer epochs than six have a range only; their spread says something else.
        (
            INTERVAL | {"confidence_pct": 50.0},
            sentence("result.no_interval"),
            "Valid for 2 min · 10 epochs",
            "valid",
        ),
        (
            {"spread_pct": 7.25},
            sentence("result.no_interval"),
            sentence("cli.found_caution", reason=sentence("short.verdict.spread_of_epochs", spread_pct=7.2)),
            "caution",
        ),
        (
            {"virtual_machine": True, "data_source": "synthetic"} | INTERVAL,
            "± 0.8 % (95 %)",
            "Valid for 2 min · 10 epochs",
            "valid",
        ),
    ],
)
def test_the_badge_is_the_verdict_with_its_cause(
    stored_run: Run, changes: dict[str, Any], certainty: str, badge: str, level: str
) -> None:
    card = share_card(changed(stored_run, **changes))
    assert (card.certainty, card.badge[0], card.level) == (certainty, badge, level)


@pytest.mark.parametrize(
    ("os_name", "shown"),
    [
        ("Linux 6.18.44 (Debian GNU/Linux 12)", "Debian GNU/Linux 12"),
        ("Linux 6.18.44", "Linux 6.18.44"),
        ("Windows 11 Pro (build 26100)", "Windows 11 Pro (build 26100)"),
        ("macOS 15.1", "macOS 15.1"),
    ],
)
def test_the_system_is_called_as_people_call_it(stored_run: Run, os_name: str, shown: str) -> None:
    run = changed(stored_run, os_name=os_name, virtual_machine=True, data_source="synthetic")
    details = share_card(run).details
    assert details[0] == f"4 cores · 15 GB · {shown} · CPU run"
    assert details[2].endswith("synthetic data · virtual machine")


def test_a_picture_of_repetitions_shows_their_median(stored_run: Run) -> None:
    plan = Plan(kind="repeat", specs=(stored_run.spec,), times=3)
    values = ((7, 66.3, "valid"), (8, 70.1, "caution"), (9, 65.0, "valid"))
    runs = tuple(
        replace(stored_run.summary, id=run_id, value=value, verdict=verdict) for run_id, value, verdict in values
    )
    group = Group(id=1, created_at="", kind="repeat", plan=plan, run_ids=(7, 8, 9), runs=runs)
    last = replace(stored_run, summary=runs[2])
    card = share_card(last, group)
    assert (card.value, card.level) == ("66.3", "caution")
    assert card.badge == ("Caution · 1 of 3 runs", "Caution")
    assert next(bar.value for bar in card.bars if bar.kind == "you") == 66.3
    quiet = replace(group, runs=tuple(replace(run, verdict="valid") for run in runs))
    assert share_card(last, quiet).badge[0] == "Valid · median of 3 runs"
    text = result_text(last, group)
    assert text.startswith("66.3 s per epoch (lower is better) · CIFAR-10 CNN, batch 100, float32, CPU\n")
    assert "\nVerdict: caution\n" in text
    assert "\nMeasured: median of 3 runs · 65.0 to 70.1 (75 %) · spread between runs 4.0 %\n" in text


def test_the_axis_names_the_years_that_are_really_there(stored_run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    row = reference_rows()[0]
    for years, words in (
        ((2019, 2017, 2019), ", log scale · references from 2017, 2019"),
        ((2015, 2016, 2020, 2024), ", log scale · references from 2015–2024"),
        ((2019, None), " · references from 2019, some of unknown year"),
        ((None,), ", log scale · references of unknown year"),
    ):
        rows = [replace(row, year=year) for year in years]
        monkeypatch.setattr("app.core.analysis.compare.comparable_rows", lambda workload, rows=rows: rows)
        assert share_card(stored_run).axis == f"seconds per epoch (lower is better){words}"


def test_a_run_without_an_epoch_time_has_no_picture(stored_run: Run) -> None:
    with pytest.raises(UsageError, match=said("share.no_result", run_id="7").pattern):
        share_card(changed(stored_run, value=None))
