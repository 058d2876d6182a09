"""Which of the user's own runs are chosen, and what they are called."""

from dataclasses import replace
from typing import Any

import pytest

from app.core.analysis.own_runs import best_and_latest, best_first, run_name, runs_like
from app.core.records import RunSummary
from tests.saying import said
from workloads import CATALOGUE

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
