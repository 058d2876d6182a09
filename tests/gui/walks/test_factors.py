"""Bars and their factors in the window and the terminal: which there are, and which there are not."""

import argparse
import json
from collections.abc import Callable
from dataclasses import replace

import pytest

from app.cli.machine import compare
from app.core.analysis.bars import bars, find_baseline
from app.core.errors import UsageError
from app.core.messages import sentence
from app.core.metrics import headline_kind
from app.core.paths import Paths
from app.core.records import Run
from app.core.storage.database import Database
from app.core.storage.runs import load_run
from app.gui.charts.bars import value_texts
from tests.build import set_fields, store
from tests.saying import said
from workloads import STANDARD
from workloads.protocol.machine import Machine

Compared = Callable[..., str]


@pytest.fixture
def stored_run(paths: Paths, machine: Machine) -> Run:
    with Database(paths.database) as database:
        run_id = store(database, machine, 70.0, 66.3, columns={"device": "cpu"})
        return load_run(database, run_id)


@pytest.fixture
def compared(paths: Paths, capsys: pytest.CaptureFixture[str]) -> Compared:
    def print_bars(**asked: object) -> str:
        usual = {"workload": None, "baseline": None, "json": False, "several_gpus": False, "efficiency": False}
        assert compare(argparse.Namespace(**(usual | asked)), paths) == 0
        return capsys.readouterr().out

    return print_bars


def test_an_invalid_result_has_no_factor(stored_run: Run, paths: Paths, compared: Compared) -> None:
    invalid = replace(stored_run, summary=replace(stored_run.summary, verdict="invalid"))
    drawn = bars(STANDARD, invalid.summary)
    you = next(bar for bar in drawn if bar.kind == "you")
    assert value_texts(you, find_baseline(drawn, None, STANDARD)) == ("66.3 s",)
    with pytest.raises(UsageError, match=said("baseline.unknown").pattern):
        find_baseline(drawn, you.name, STANDARD)
    with Database(paths.database) as database:
        set_fields(database, verdict="invalid")
    assert "4.8×" not in compared()
    times = {bar["name"]: bar["times_baseline"] for bar in json.loads(compared(json=True))["bars"]}
    assert times[you.name] is None
    assert times["GTX 1060"] == pytest.approx(320 / 9)


def test_the_terminal_ranks_by_efficiency(stored_run: Run, paths: Paths, compared: Compared) -> None:
    assert compared(efficiency=True).strip() == sentence("cli.no_energy", workload=STANDARD)
    with Database(paths.database) as database:
        set_fields(database, work_per_j=12.5)
    assert headline_kind("examples_per_j").label_within in compared(efficiency=True)
    (bar,) = json.loads(compared(efficiency=True, json=True))["bars"]
    assert (bar["run_id"], bar["metric"], bar["value"]) == (stored_run.summary.id, "examples_per_j", 12.5)


def test_the_terminal_says_how_to_see_results_of_several_gpus(compared: Compared) -> None:
    shown = compared(workload="resnet_50")
    assert "8 × Tesla P100" not in shown
    assert said("cli.several_not_drawn", workload="resnet_50", count="18").is_in(shown)
    shown = compared(workload="resnet_50", several_gpus=True)
    assert "8 × Tesla P100" in shown
    assert not said("cli.several_not_drawn").is_in(shown)


def test_the_terminal_tells_of_a_table_that_disagrees(compared: Compared) -> None:
    speeds = {"slow_gflop_per_s": "37", "fast_gflop_per_s": "328"}
    told = said("compare.table_disagrees", slow="i5-8250U", fast="i7-9700K", **speeds)
    assert len(told.pattern.findall(compared())) == 1
