"""Engines against each other: the order of runs, ties, what is missing, and their table."""

from dataclasses import replace

from app.core.messages import message, sentence
from app.core.paths import Paths
from app.core.plans.engines import engine_rows, engine_specs, specs_with
from app.core.plans.experiments import report_of
from app.core.records import Group, Plan, RunSummary
from app.core.runs.runner import Runner
from app.core.titles import workload_title
from tests.build import ask
from tests.conftest import pretend_installed
from tests.saying import has_at_its_core, said
from tests.sure import sure
from workloads import CATALOGUE
from workloads.protocol.machine import Machine

ENGINES = ("tensorflow", "torch", "jax")
VALUES: tuple[list[float | None], ...] = ([10.0, 10.1, 10.0], [20.1, 20.0, 20.2], [10.1, 9.95, 10.1])


def plan(*workloads: str, times: int = 3) -> Plan:
    specs = tuple(CATALOGUE[name].default_spec("quick", engine=engine) for name in workloads for engine in ENGINES)
    return Plan(kind="engines", order="there_and_back", survives_failures=True, specs=specs, rounds=times)


def group(summary: RunSummary, *values: list[float | None], asked: Plan | None = None) -> Group:
    """Return a stored comparison, with the values of each engine; None is a run that failed."""
    asked = asked or plan("mnist_mlp")
    left = {engine: iter(several) for engine, several in zip(ENGINES, values, strict=True)}
    runs = []
    for planned in asked.runs():
        value = next(left[planned.spec.engine], None)
        changes = {"id": planned.number, "workload": planned.spec.workload, "engine": planned.spec.engine}
        status = "completed" if value is not None else "failed"
        runs.append(replace(summary, **changes, value=value, status=status))  # type: ignore[arg-type]
    return Group(id=1, created_at="", plan=asked, runs=tuple(runs), numbers={run.id: run.id for run in runs})


def test_neighbours_change_places_and_workloads_stay_together() -> None:
    runs = [(run.spec.workload, run.spec.engine) for run in plan("mnist_mlp", "fcn_r", times=2).runs()]
    there, back = [("mnist_mlp", name) for name in ENGINES], [("mnist_mlp", name) for name in ENGINES[::-1]]
    assert runs[:6] == [*there, *back]
    assert {workload for workload, _ in runs[6:]} == {"fcn_r"}
    assert plan("mnist_mlp", "fcn_r", times=2).count == len(runs) == 12


def test_the_fastest_is_named_with_how_far_the_others_are(summary: RunSummary) -> None:
    stored = group(summary, *VALUES)
    (row,) = engine_rows(stored)
    assert [(cell.engine, cell.median, cell.is_fastest, cell.is_level) for cell in row.cells] == [
        ("tensorflow", 10.0, True, False),
        ("torch", 20.1, False, False),
        ("jax", 10.1, False, True),
    ]
    level = said("engines_table.level", engines="TensorFlow, JAX", workload="mnist_mlp")
    assert level.is_all_of(report_of(stored).sentence)
    ratio = row.cells[1].against_fastest
    assert 0.48 < sure(ratio.low) < 0.5 < sure(ratio.high) < 0.52
    assert report_of(stored).remarks() == []


def test_a_clear_winner_is_said_with_intervals(summary: RunSummary) -> None:
    stored = group(summary, [10.0, 10.0, 10.1], [20.0, 20.1, 20.0], [5.0, 5.0, 5.05])
    told = report_of(stored).sentence
    assert said("engines_table.fastest", workload="mnist_mlp", engine="JAX").is_all_of(told)
    interval = message("engines_table.interval", times=3.99, low=3.92, high=4.07)
    assert sentence("engines_table.times", engine="PyTorch", times=interval) in told
    assert said("engines_table.times", engine="TensorFlow").is_in(told)


def test_for_rates_more_is_faster(summary: RunSummary) -> None:
    rates = replace(summary, metric="images_per_s")
    stored = group(rates, [100.0] * 3, [50.0] * 3, [25.0, 25.1, 25.0])
    (row,) = engine_rows(stored)
    assert [cell.is_fastest for cell in row.cells] == [True, False, False]
    assert said("engines_table.times", engine="PyTorch").is_in(report_of(stored).sentence)


def test_a_run_that_failed_leaves_the_others(summary: RunSummary) -> None:
    stored = group(summary, [10.0, 10.1, 10.0], [None] * 3, [20.0, None, 20.2])
    (row,) = engine_rows(stored)
    assert [cell.median for cell in row.cells] == [10.0, None, 20.1]
    assert said("engines_table.times", engine="JAX").is_in(report_of(stored).sentence)
    failed = said("group.run_not_completed", run_id="2", status="Failed")
    assert failed.is_in(report_of(stored).remarks()[0])
    nothing = group(summary, [], [], [])
    assert report_of(nothing).sentence == sentence("engines_table.no_result", workload="mnist_mlp")


def test_a_deleted_run_is_missed_in_its_round_only(summary: RunSummary) -> None:
    whole = group(summary, [1.0, 2.0, 3.0], [2.0, 4.0, 6.0], [9.0, 9.0, 9.0])
    stored = replace(whole, runs=tuple(run for run in whole.runs if run.id != 1))
    (row,) = engine_rows(stored)
    assert row.cells[0].values == (None, 2.0, 3.0)
    assert row.cells[1].against_fastest.pairs == 2


def test_the_fastest_engines_typical_run_stands_for_all(summary: RunSummary) -> None:
    stored = group(summary, [10.0, 11.0, 10.4], [20.1, 20.0, 20.2], [])
    typical = sure(report_of(stored).summary)
    assert (typical.engine, typical.value) == ("tensorflow", 10.4)
    assert (typical.value_low, typical.value_high) == (10.0, 11.0)
    assert (typical.confidence_pct or 0.0) < 95
    assert ask("summary", group(summary, [1.0] * 6, [], [], asked=plan("mnist_mlp", "fcn_r"))) is None
    assert ask("summary", group(summary, [], [], [])) is None


def test_the_worst_verdict_of_the_runs_that_count_stands_for_all(summary: RunSummary) -> None:
    stored = group(summary, [10.0, 11.0, 10.4], [], [])
    verdicts = ("valid", "caution", "invalid")  # invalid runs don't count
    whole = [run for run in stored.runs if run.status == "completed"]
    judged = tuple(replace(run, verdict=verdict) for run, verdict in zip(whole, verdicts, strict=True))
    assert ask("worst_verdict", replace(stored, runs=judged)) == ("caution", 1)
    assert ask("worst_verdict", replace(stored, runs=())) == ("valid", 0)
    never_judged = tuple(
        replace(run, verdict=verdict) for run, verdict in zip(whole, ("valid", None, None), strict=True)
    )
    assert ask("worst_verdict", replace(stored, runs=never_judged)) == ("caution", 2), (
        "what nobody judged isn't valid"
    )


def test_every_workload_runs_on_every_engine_that_is_there(paths: Paths, machine: Machine) -> None:
    pretend_installed("jax", paths)
    specs, refusals = engine_specs(["demo", "mnist_mlp", "demo"], "quick", {}, Runner(paths, machine))
    assert [(spec.workload, spec.engine, spec.jit) for spec in specs] == [
        ("demo", "tensorflow", False),
        ("demo", "jax", True),
        ("mnist_mlp", "tensorflow", False),
        ("mnist_mlp", "jax", True),
    ]
    assert refusals == ()


def test_an_engine_that_is_damaged_is_left_out_with_the_reason(paths: Paths, machine: Machine) -> None:
    pretend_installed("jax", paths)
    stamp = pretend_installed("torch", paths).parent / "engine.json"
    stamp.write_text("{")
    specs, refusals = engine_specs(["demo"], "quick", {}, Runner(paths, machine))
    assert {spec.engine for spec in specs} == {"tensorflow", "jax"}
    (refusal,) = refusals
    assert has_at_its_core(refusal, message("engines.damaged", title="PyTorch"))


def test_each_engine_uses_its_own_first_cards() -> None:
    spec = CATALOGUE["mnist_mlp"].default_spec(device="gpu:0", devices=2, gpus="0,2")
    specs = specs_with(spec, ("tensorflow", "torch"))
    assert [(each.engine, each.device, each.settings) for each in specs] == [
        ("tensorflow", "auto", {"devices": 2}),
        ("torch", "auto", {"devices": 2}),
    ]


def test_engines_of_one_workload_stand_in_order_with_their_distance(summary: RunSummary) -> None:
    table = report_of(group(summary, *VALUES)).table()
    first, second, third = table.rows
    assert first == ("TensorFlow", "10.0", sentence("engine_page.fastest"))
    assert second[:2] == ("JAX", "10.1")
    assert said("engine_page.level").begins(second[2])
    assert third[:2] == ("PyTorch", "20.1")
    assert third[2].startswith("2.00× (")
    assert table.headings[1] == "s / epoch"
    assert table.is_best == (True, True, False), "the difference of the first two isn't shown"
    best, *others = report_of(group(summary, [], [], [5.0, 5.1, 5.0])).table().rows
    assert best == ("JAX", "5.00", sentence("engine_page.fastest"))
    no_result = sentence("cli.no_result")
    assert sorted(others) == [("PyTorch", no_result, ""), ("TensorFlow", no_result, "")]


def test_several_workloads_have_a_column_and_their_name_once(summary: RunSummary) -> None:
    whole = group(summary, *([*each, *each] for each in VALUES), asked=plan("mnist_mlp", "fcn_r"))
    titles = [workload_title(name) for name in ("mnist_mlp", "fcn_r")]
    assert [row[0] for row in report_of(whole).table().rows] == [titles[0], "", "", titles[1], "", ""]
