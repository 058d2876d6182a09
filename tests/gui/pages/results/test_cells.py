"""The texts of the results table's cells, for each kind of run."""

from dataclasses import replace
from typing import Any

import pytest

from app.core.paths import Paths
from app.core.records import RunSummary
from app.core.storage.database import Database
from app.core.storage.runs import list_runs
from app.gui.pages.results.cells import cell_text, reasons_text
from tests.core.storage.storing import store
from workloads.protocol.machine import Machine


@pytest.fixture
def run(paths: Paths, machine: Machine) -> RunSummary:
    """A run of three epochs out of ten, as it is listed."""
    with Database(paths.database) as database:
        return next(list_runs(database, ids=[store(database, machine, 90.0, 60.0, 62.0)]))


@pytest.mark.parametrize(
    ("key", "changes", "expected"),
    [
        ("value", {}, "61.0 s/epoch"),
        ("value", {"basis": "estimate"}, "≈ 61.0 s/epoch"),
        ("value", {"basis": "first_epoch"}, "1st: 61.0 s/epoch"),
        ("value", {"metric": "flop_per_s", "value": 2.5e12}, "2.50 TFLOP/s"),
        ("value", {"value": None}, "n/a"),
        ("workload", {"workload": "mnist_mlp"}, "MNIST MLP"),
        ("workload", {"workload": "of another version"}, "of another version"),
        ("spread_pct", {"spread_pct": 2.345}, "2.3 %"),
        ("spread_pct", {"spread_pct": None}, "n/a"),
        ("epochs_done", {}, "3 of 10"),
        ("epochs_done", {"preset": "quick"}, "quick"),
        ("epochs_done", {"workload": "matmul"}, "–"),
        ("device", {"device": "gpu:0", "device_name": "NVIDIA GeForce RTX 4090"}, "RTX 4090"),
        ("comment", {}, ""),
        ("verdict", {"verdict": None}, "n/a"),
        ("batch_size", {}, "100"),
    ],
)
def test_each_cell(run: RunSummary, key: str, changes: dict[str, Any], expected: str) -> None:
    assert cell_text(replace(run, **changes), key) == expected


def test_reasons_are_shown_in_words(run: RunSummary) -> None:
    assert reasons_text(replace(run, reasons="on_battery other_load")) == "on battery, other load"
    assert reasons_text(replace(run, reasons=None)) == ""
