"""Which of the user's runs stand for a setup that is about to be run."""

from dataclasses import replace
from typing import Any

import pytest

from app.core.analysis.own_runs import best_first, runs_like
from app.core.records import RunSummary
from workloads import CATALOGUE

WORKLOAD = CATALOGUE["cifar10_keras_cnn"]
CPU = "Intel Core i7-1165G7"


def ids(runs: list[RunSummary], **changes: Any) -> list[int]:
    spec = WORKLOAD.default_spec(**changes)
    return [run.id for run in runs_like(runs, spec, "cpu", CPU)]


def made(summary: RunSummary, *changes: dict[str, Any]) -> list[RunSummary]:
    """Return runs like one, newest first, numbered from the oldest."""
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
