"""The table of a comparison of engines: order, ties and missing results."""

from collections.abc import Mapping
from dataclasses import replace

import pytest

from app.core.messages import sentence
from app.core.plans.experiments import report_of
from app.core.records import Group, Plan, RunSummary
from app.core.report.card import Table
from app.core.titles import workload_title
from tests.recording import recorded_run
from tests.saying import said
from workloads import CATALOGUE

ENGINES = ("tensorflow", "torch", "jax")
VALUES = {"tensorflow": (10.0, 10.1, 10.0), "torch": (20.1, 20.0, 20.2), "jax": (10.1, 9.95, 10.1)}


def table_of(run: RunSummary, workloads: tuple[str, ...], values: Mapping[str, tuple[float, ...]]) -> Table:
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
    return report_of(Group(id=1, created_at="", plan=plan, runs=tuple(runs))).table()


@pytest.fixture
def run() -> RunSummary:
    return replace(recorded_run().summary, verdict="valid")


def test_engines_of_one_workload_stand_in_order_with_their_distance(run: RunSummary) -> None:
    table = table_of(run, ("mnist_mlp",), VALUES)
    first, second, third = table.rows
    assert first == ("TensorFlow", "10.0", sentence("engine_page.fastest"))
    assert second[:2] == ("JAX", "10.1")
    assert said("engine_page.level").begins(second[2])
    assert third[:2] == ("PyTorch", "20.1")
    assert third[2].startswith("2.00× (")
    assert table.headings[1] == "s / epoch"
    assert table.is_best == (True, True, False), "the difference of the first two isn't shown"


def test_an_engine_without_a_result_comes_last(run: RunSummary) -> None:
    first, *others = table_of(run, ("mnist_mlp",), {"jax": (5.0, 5.1, 5.0)}).rows
    assert first == ("JAX", "5.00", sentence("engine_page.fastest"))
    assert sorted(others) == [
        ("PyTorch", sentence("cli.no_result"), ""),
        ("TensorFlow", sentence("cli.no_result"), ""),
    ]


def test_several_workloads_have_a_column_and_their_name_once(run: RunSummary) -> None:
    names = [row[0] for row in table_of(run, ("mnist_mlp", "fcn_r"), VALUES).rows]
    titles = [workload_title(name) for name in ("mnist_mlp", "fcn_r")]
    assert names == [titles[0], "", "", titles[1], "", ""]
