"""Facts about a number: how long an epoch takes where the headline is another number."""

from dataclasses import replace
from typing import Any

import pytest

from app.core.messages import message
from app.core.records import RunSummary
from app.core.verdict.notes import derived_epoch

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
