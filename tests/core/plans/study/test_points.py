"""A stored study as it stands: points, intervals, what is left to run."""

import random
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.errors import UsageError
from app.core.plans.study.planning import plan_axes, plan_preset
from app.core.plans.study.points import followed, list_studies, load_study
from app.core.records import Plan, Study
from app.core.runs.runner import Runner
from app.core.storage.database import Database
from app.core.storage.queries import trash_runs
from tests.core.plans.study.storing_studies import Outcome, Store, store_point
from tests.saying import said
from tests.sure import sure
from workloads import CATALOGUE
from workloads.protocol.machine import Machine
from workloads.protocol.spec import RunSpec

CIFAR = CATALOGUE["cifar10_keras_cnn"]


@pytest.fixture
def plan(runner: Runner) -> Plan:
    return plan_axes(CIFAR.default_spec("quick"), {"batch_size": (50, 100, 200, 400)}, runner, rounds=2)


def seconds(spec: RunSpec) -> Outcome:
    return 4_000.0 / spec.batch_size


def left_of(database: Database, group_id: int) -> Counter[int]:
    result = load_study(database, group_id)
    return Counter(planned.spec.batch_size for planned in result.left)


def test_a_point_has_the_median_of_its_rounds_and_its_speed(stored: Store, plan: Plan) -> None:
    result = stored(plan, seconds)
    point = result.points[1]
    assert (point.place, point.state, point.value) == (("100",), "done", 40.0)
    assert point.rounds == (40.0, 40.0)
    assert sure(point.rate).value == pytest.approx(50_000 / 40)
    assert result.is_finished


def test_the_interval_of_a_single_run_is_its_own_turned_into_speed(runner: Runner, stored: Store) -> None:
    plan = plan_axes(CIFAR.default_spec("quick"), {"batch_size": (100,)}, runner)
    rate = sure(stored(plan, seconds).points[0].rate)
    assert rate.low == pytest.approx(50_000 / 40.8)
    assert rate.high == pytest.approx(50_000 / 39.2)


def test_what_is_finished_is_never_run_again(stored: Store, plan: Plan) -> None:
    for runs in range(len(plan.runs()) + 1):
        result = stored(plan, seconds, runs=runs)
        left = result.left
        begun = Counter(planned.spec.batch_size for planned in plan.runs()[:runs])
        both = begun + Counter(planned.spec.batch_size for planned in left)
        assert both == Counter({50: 2, 100: 2, 200: 2, 400: 2})


def test_cancelled_failed_and_deleted_runs_are_run_again_but_not_those_out_of_memory(
    stored: Store, database: Database, eight_cores: Machine, plan: Plan
) -> None:
    outcomes: dict[int, Outcome] = {50: None, 100: "crashed", 200: "out_of_memory", 400: 10.0}
    result = stored(plan, lambda spec: outcomes[spec.batch_size])
    states = {point.spec.batch_size: point.state for point in result.points}
    assert states == {50: "waiting", 100: "failed", 200: "out_of_memory", 400: "done"}
    assert left_of(database, result.group.id) == Counter({50: 2, 100: 2})
    trash_runs(database, [result.points[3].runs[0].id])
    assert left_of(database, result.group.id) == Counter({50: 2, 100: 2, 400: 1})
    number = next(planned.number for planned in plan.runs() if planned.spec == plan.specs[0])
    store_point(database, eight_cores, plan.specs[0], result.group.id, 80.0, number)
    assert left_of(database, result.group.id) == Counter({50: 1, 100: 2, 400: 1})


def test_an_invalid_run_is_finished_but_gives_no_result(stored: Store, plan: Plan) -> None:
    result = stored(plan, seconds, verdict="invalid")
    assert {point.state for point in result.points} == {"failed"}
    assert all(said("studies.invalid_run").is_in(point.reason) for point in result.points)
    assert result.is_finished


def test_refused_points_come_last_with_the_reason(runner: Runner, stored: Store) -> None:
    plan = plan_axes(CIFAR.default_spec("quick"), {"batch_size": (100, 60_000)}, runner)
    result = stored(plan, seconds)
    assert [(point.spec.batch_size, point.state) for point in result.points] == [
        (100, "done"),
        (60_000, "refused"),
    ]
    assert "60,000" in result.points[1].reason or "60000" in result.points[1].reason


def test_other_groups_and_damaged_plans_are_no_studies(stored: Store, database: Database, runner: Runner) -> None:
    good = stored(plan_preset("batch", runner), seconds)
    bad = stored(plan_preset("batch", runner), seconds)
    with database.transaction() as connection:
        connection.execute("UPDATE groups SET plan = 'nonsense' WHERE id = ?", (bad.group.id,))
    assert [each.group.id for each in list_studies(database)] == [good.group.id]
    with pytest.raises(UsageError, match=said("studies.no_study", group_id=bad.group.id).pattern):
        load_study(database, bad.group.id)


@given(st.lists(st.lists(st.booleans(), max_size=8), max_size=5), st.integers(1, 3), st.randoms())
def test_every_run_is_followed_by_its_number(sittings: list[list[bool]], times: int, order: random.Random) -> None:
    """Several sittings, each of which runs some of what is left, in any order; some runs fail."""
    specs = tuple(CIFAR.default_spec("quick", batch_size=batch) for batch in (50, 100, 200))
    plan = Plan(
        kind="study",
        order="shuffled",
        survives_failures=True,
        specs=specs,
        rounds=times,
        study=Study(axes=("batch_size",), seed=times),
    )
    begun: list[tuple[int, RunSpec, bool]] = []
    final: set[int] = set()
    for sitting in sittings:
        left, _ = followed(plan, begun)
        assert {each.number for each in left} == {each.number for each in plan.runs()} - final
        shuffled = order.sample(left, len(left))
        for planned, is_done in zip(shuffled, sitting, strict=False):
            begun.append((planned.number, planned.spec, is_done))
            final |= {planned.number} if is_done else set()
    _, rounds = followed(plan, begun)
    assert rounds == [(number - 1) // len(specs) for number, _, _ in begun]


@pytest.mark.parametrize("number", [0, -1, 7, 10**9, 2])
def test_a_number_that_cannot_be_is_not_believed(plan: Plan, number: int) -> None:
    small = Plan(
        kind="study",
        order="shuffled",
        survives_failures=True,
        specs=plan.specs[:2],
        rounds=2,
        study=Study(axes=("batch_size",)),
    )
    first, second = small.runs()[:2]
    assert first.spec != second.spec
    assert followed(small, [(number, first.spec, True)]) == (tuple(small.runs()), [None])


def test_a_deleted_run_leaves_its_round_empty(stored: Store, database: Database, runner: Runner) -> None:
    plan = plan_axes(CIFAR.default_spec("quick"), {"batch_size": (50, 100)}, runner, rounds=2)
    result = stored(plan, seconds)
    gone = next(point for point in result.points if point.spec == plan.runs()[0].spec)
    trash_runs(database, [gone.runs[0].id])
    after = next(point for point in load_study(database, result.group.id).points if point.spec == gone.spec)
    assert after.rounds == (None, gone.rounds[1])
