"""The table of a comparison of engines: order, ties, missing results, and what a screen reader says."""

from collections.abc import Mapping
from dataclasses import replace

import pytest
from app.gui.run.engine_table import EngineTable
from pytestqt.qtbot import QtBot

from app.core.messages import sentence
from app.core.plans.engines import WorkloadRow, engine_rows
from app.core.records import Group, Plan, Run, RunSummary
from app.core.titles import workload_title
from app.gui.style.theme import Theme
from tests.gui.driving import added
from tests.recording import recorded_run
from tests.saying import said
from tests.sure import sure
from workloads import CATALOGUE

ENGINES = ("tensorflow", "torch", "jax")
VALUES = {"tensorflow": (10.0, 10.1, 10.0), "torch": (20.1, 20.0, 20.2), "jax": (10.1, 9.95, 10.1)}


def rows_of(
    run: RunSummary, workloads: tuple[str, ...], values: Mapping[str, tuple[float, ...]]
) -> tuple[WorkloadRow, ...]:
    specs = tuple(CATALOGUE[name].default_spec(engine=engine) for name in workloads for engine in ENGINES)
    plan = Plan(kind="engines", order="there_and_back", survives_failures=True, specs=specs, rounds=3)
    left = {(name, engine): list(values.get(engine, ())) for name in workloads for engine in ENGINES}
    runs = []
    for planned in plan.runs():
        several = left[planned.spec.workload, planned.spec.engine]
        value = several.pop(0) if several else None
        status = "failed" if value is None else "completed"
        changes = {"workload": planned.spec.workload, "engine": planned.spec.engine, "status": status}
        runs.append(replace(run, id=planned.number, value=value, **changes))  # type: ignore[arg-type]
    return engine_rows(Group(id=1, created_at="", plan=plan, runs=tuple(runs)))


@pytest.fixture
def stored_run() -> Run:
    run = recorded_run()
    return replace(run, summary=replace(run.summary, verdict="valid"))


@pytest.fixture
def table(application_theme: Theme, qtbot: QtBot) -> EngineTable:
    return added(qtbot, EngineTable())


def texts(table: EngineTable) -> list[list[str]]:
    rows = range(table.rowCount())
    columns = [column for column in range(table.columnCount()) if not table.isColumnHidden(column)]
    return [[item.text() if (item := table.item(row, column)) else "" for column in columns] for row in rows]


def test_engines_of_one_workload_stand_in_order_with_their_distance(table: EngineTable, stored_run: Run) -> None:
    table.show_rows(rows_of(stored_run.summary, ("mnist_mlp",), VALUES))
    first, second, third = texts(table)
    assert first == ["TensorFlow", "10.0", sentence("engine_page.fastest")]
    assert second[:2] == ["JAX", "10.1"]
    assert said("engine_page.level").begins(second[2])
    assert third[:2] == ["PyTorch", "20.1"]
    assert third[2].startswith("2.00× (")
    heading = sure(table.horizontalHeaderItem(2))
    assert heading.text() == "s / epoch"
    tip = sure(table.item(2, 2))
    assert said("engine_page.rounds", values="20.1, 20.0, 20.2").is_in(tip.toolTip())
    assert said("engines_table.level", engines="TensorFlow, JAX", workload="mnist_mlp").is_all_of(
        table.accessibleDescription()
    )


def test_an_engine_without_a_result_comes_last(table: EngineTable, stored_run: Run) -> None:
    table.show_rows(rows_of(stored_run.summary, ("mnist_mlp",), {"jax": (5.0, 5.1, 5.0)}))
    assert texts(table)[0] == ["JAX", "5.00", sentence("engine_page.fastest")]
    assert sorted(texts(table)[1:]) == [
        ["PyTorch", sentence("cli.no_result"), ""],
        ["TensorFlow", sentence("cli.no_result"), ""],
    ]


def test_several_workloads_have_a_column_and_their_name_once(table: EngineTable, stored_run: Run) -> None:
    table.show_rows(rows_of(stored_run.summary, ("mnist_mlp", "fcn_r"), VALUES))
    names = [row[0] for row in texts(table)]
    titles = [workload_title(name) for name in ("mnist_mlp", "fcn_r")]
    assert names == [titles[0], "", "", titles[1], "", ""]
