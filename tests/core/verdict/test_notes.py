"""Facts about a number: how long an epoch takes where the headline is another number, and burst speed."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from app.core.messages import message
from app.core.records import Run, RunSummary
from app.core.verdict.notes import derived_epoch
from app.core.verdict.rules import judge
from tests.core.verdict.changes import quick, summarised
from tests.core.verdict.records import measured, quiet_run, with_telemetry
from tests.saying import said

EPOCH = 50_000


@pytest.mark.parametrize(
    ("changes", "duration_s"),
    [
        ({"metric": "images_per_s", "value": 1_000.0, "seconds_per_epoch_s": None}, 50.0),
        ({"metric": "images_per_s", "value": 1_000.0, "seconds_per_epoch_s": 52.0}, 52.0),
        ({"metric": "seconds_per_batch_s", "value": 0.1, "seconds_per_epoch_s": 99.9}, 99.9),
        ({"metric": "seconds_per_batch_s", "value": 0.1, "seconds_per_epoch_s": 100.0}, 100.0),
    ],
)
def test_how_long_an_epoch_takes(summary: RunSummary, changes: dict[str, Any], duration_s: float) -> None:
    code = "note.epoch_takes_long" if duration_s >= 100 else "note.epoch_takes"
    expected = message(code, samples=EPOCH, duration_s=duration_s)
    assert derived_epoch(replace(summary, **changes)) == expected


@pytest.mark.parametrize(
    "changes",
    [
        {},  # it is the headline
        {"metric": "images_per_s", "value": 1_000.0, "samples_per_epoch": 0},
        {"metric": "images_per_s", "value": None, "seconds_per_epoch_s": None},
        {"metric": "words_per_s", "value": 1_000.0, "seconds_per_epoch_s": None},  # an example has many words
    ],
)
def test_without_an_epoch_there_is_no_note(summary: RunSummary, changes: dict[str, Any]) -> None:
    assert derived_epoch(replace(summary, **changes)) is None


def told(run: Run, *, preset: str = "quick", **curves: Callable[[int], float]) -> list[str]:
    """What is said of burst speed if the telemetry of the measurement follows these curves, second by second."""
    run = summarised(preset=preset)(quick(quiet_run(run, 0)))
    for second, at in enumerate(measured(run)):
        run = with_telemetry(run, [at], **{name: curve(second) for name, curve in curves.items()})
    return [reason.text for reason in judge(run).reasons if reason.code == "burst"]


def test_a_quick_run_on_a_machine_that_is_still_warming_up_is_burst_speed(stored_run: Run) -> None:
    (burst,) = told(stored_run, cpu_temperature_c=lambda second: 50.0 + 0.2 * second)
    assert said("note.still_warming", device="CPU").is_all_of(burst)
    assert not told(stored_run, cpu_temperature_c=lambda second: min(70.0, 50.0 + 2 * second))
    assert not told(stored_run, cpu_temperature_c=lambda second: 70.0 + second % 3)
    assert not told(stored_run, preset="standard", cpu_temperature_c=lambda second: 50.0 + 0.2 * second)


def test_a_quick_run_whose_clock_is_still_falling_is_burst_speed(stored_run: Run) -> None:
    (burst,) = told(stored_run, cpu_clock_mhz=lambda second: 4_500.0 - 5 * second)
    assert said("note.boost_ending", device="CPU").is_all_of(burst)
    assert not told(stored_run, cpu_clock_mhz=lambda second: 4_000.0 + 30 * (second % 2))
