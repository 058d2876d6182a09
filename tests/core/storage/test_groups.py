"""The history: groups as rows, what was stored of them, and what surrounded a run."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from app.core.messages import sentence
from app.core.paths import Paths, default_paths
from app.core.records import Plan, PlanPlace, Side
from app.core.storage.database import Database
from app.core.storage.groups import begin_group, group_places, list_groups, load_group
from app.core.storage.past_runs import past_runs
from app.core.storage.queries import Query, find_history, find_ids, purge_trash, restore_runs, trash_runs
from app.core.storage.recording import RunWriter, begin_run
from app.core.storage.runs import delete_runs, list_runs
from tests.build import set_fields, store, telemetry_of
from tests.conftest import MACHINE
from workloads import CATALOGUE
from workloads.protocol import events
from workloads.protocol.machine import Gpu, Machine

SPEC = CATALOGUE["cifar10_keras_cnn"].default_spec()


@pytest.fixture(scope="module")
def grouped(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    """Thirty runs: each third in one of three groups, which are mixed, one in a group that isn't stored."""
    paths: Paths = default_paths({"EPOCHMARK_HOME": str(tmp_path_factory.mktemp("history"))})
    with Database(paths.database) as database:
        groups = [begin_group(database, Plan(kind="repeat", specs=(SPEC,), rounds=3)) for _ in range(3)]
        for number in range(30):
            columns = {
                "group_id": None if number % 3 else groups[number // 3 % 3],
                "value": 50.0 + number * 7 % 11,
            }
            workload, status = (
                "mnist_mlp" if number == 29 else SPEC.workload,
                ["completed", "failed"][number % 5 % 2],
            )
            store(database, MACHINE, 1.0, workload=workload, status=status, columns=columns)
        database.connection.execute("PRAGMA foreign_keys = OFF")
        database.connection.execute("UPDATE runs SET plan_id = 99 WHERE id = 2")
        yield database


def test_runs_of_a_group_are_one_row_where_its_first_run_is(grouped: Database) -> None:
    history = find_history(grouped, Query())
    assert history.ids == find_ids(grouped, Query())
    assert history.rows[:4] == [30, 29, -1, 27]  # run 28 is the newest of the first group
    assert history.groups[1] == [28, 19, 10, 1]
    assert 2 in history.rows
    assert history.total == 30
    assert history.workloads == {"mnist_mlp", "cifar10_keras_cnn"}


def test_deleted_runs_leave_their_group(paths: Paths) -> None:
    with Database(paths.database) as database:
        group_id = begin_group(database, Plan(kind="repeat", specs=(SPEC,), rounds=2))
        ids = [store(database, MACHINE, 1.0, columns={"group_id": group_id}) for _ in range(2)]
        trash_runs(database, ids[:1])
        history = find_history(database, Query())
        assert (history.rows, history.groups) == ([-group_id], {group_id: ids[1:]})
        trash_runs(database, ids[1:])
        history = find_history(database, Query())
        assert (history.rows, history.groups, history.total) == ([], {}, 0)


WORKLOAD = "cifar10_keras_cnn"


def test_what_surrounded_a_run_is_read(database: Database) -> None:
    machine = replace(MACHINE, kernel="6.1.0", bios_version="F12", gpus=(Gpu("RTX", "nvidia", driver="560.2"),))
    first = store(database, machine, 2.0, 2.0)
    writer = RunWriter(database, first)
    for plan, on_battery in (("balanced", True), ("performance", False)):
        telemetry = telemetry_of({"power_plan": plan, "on_battery": on_battery})
        writer.add(events.TelemetryEvent(t_s=1.0, telemetry=telemetry))
    writer.flush()
    second = store(database, MACHINE, 2.0, 2.0)
    store(database, MACHINE, 2.0, workload="mnist_mlp")
    store(database, MACHINE, status="failed")
    new, old = past_runs(database, WORKLOAD)
    assert (old.run.id, old.gpu_driver, old.kernel) == (first, "560.2", "6.1.0")
    assert (old.bios_version, new.bios_version) == ("F12", None)
    assert (old.power_plan, old.on_battery) == ("balanced", True)
    assert (new.run.id, new.gpu_driver, new.kernel, new.power_plan, new.on_battery) == (second, *[None] * 4)


DEMO = CATALOGUE["demo"]


def add(database: Database, machine: Machine, group_id: int, *sides: Side | None) -> list[int]:
    spec = DEMO.default_spec()
    ids = [
        begin_run(database, spec, DEMO, machine, place=PlanPlace(group_id, number, side))
        for number, side in enumerate(sides, 1)
    ]
    set_fields(database, status="completed")
    return ids


def places(database: Database) -> dict[int, str]:
    return group_places(database, list_runs(database))


def test_a_group_is_loaded_as_it_was_stored(database: Database, machine: Machine) -> None:
    specs = (DEMO.default_spec(), DEMO.default_spec(seed=1))
    plan = Plan(kind="ab", order="pairs", specs=specs, rounds=2, label_a="one", label_b="two", by_hand=True)
    group_id = begin_group(database, plan)
    assert (load_group(database, group_id).runs, load_group(database, group_id).not_begun) == ((), 4)
    ids = add(database, machine, group_id, "A", "B", "B", "A")
    group = load_group(database, group_id)
    assert (group.kind, group.plan, group.planned, group.labels) == ("ab", plan, 4, ("one", "two"))
    assert [(run.id, run.side, run.group_id) for run in group.runs] == [
        (run_id, side, group_id) for run_id, side in zip(ids, "ABBA", strict=True)
    ]
    assert group.workload == "demo"


def test_the_readable_part_of_another_versions_plan_is_kept(database: Database, machine: Machine) -> None:
    group_id = begin_group(database, Plan(kind="sweep", specs=(DEMO.default_spec(),), rounds=2))
    (run_id,) = add(database, machine, group_id, None)
    sql = "UPDATE plans SET plan = json_set(plan, '$.axis', 'batch', '$.specs[0].axis', 1, '$.rounds', -1)"
    database.connection.execute(sql)
    group = load_group(database, group_id)
    assert (group.kind, group.workload, group.planned, group.numbers) == ("sweep", "demo", 1, {run_id: 1})


def test_which_run_of_the_plan_each_is_stays_known(database: Database, machine: Machine) -> None:
    group_id = begin_group(
        database,
        Plan(kind="study", order="shuffled", survives_failures=True, specs=(DEMO.default_spec(),), rounds=4),
    )
    first, second = (
        begin_run(database, DEMO.default_spec(), DEMO, machine, place=PlanPlace(group_id, number))
        for number in (3, 2)
    )
    assert load_group(database, group_id).numbers == {first: 3, second: 2}
    set_fields(database, status="completed")
    trash_runs(database, [first])
    assert load_group(database, group_id).numbers == {second: 2}
    for broken in (None, 0, -1, "three", 2.5):
        database.connection.execute("UPDATE runs SET plan_number = ?", (broken,))
        assert load_group(database, group_id).numbers == {second: 2}


def test_deleting_runs_leaves_the_group_readable_with_what_is_left(database: Database, machine: Machine) -> None:
    group_id = begin_group(database, Plan(kind="repeat", rounds=3))
    ids = add(database, machine, group_id, None, None, None)
    trash_runs(database, ids[:1])
    assert [run.id for run in load_group(database, group_id).runs] == ids[1:]
    restore_runs(database, ids[:1])
    assert [run.id for run in load_group(database, group_id).runs] == ids
    trash_runs(database, ids[:1])
    purge_trash(database)
    delete_runs(database, ids[1:2])
    group = load_group(database, group_id)
    assert ([run.id for run in group.runs], group.deleted, group.not_begun) == (ids[2:], 2, 0)
    assert places(database) == {ids[2]: sentence("groups.run_of", number=3, planned=3, group_id=group_id)}
    delete_runs(database, ids[2:])
    assert load_group(database, group_id).runs == ()
    assert list_groups(database) == []


def test_groups_are_listed_newest_first_and_by_kind(database: Database, machine: Machine) -> None:
    made = [begin_group(database, Plan(kind=kind)) for kind in ("ab", "repeat", "ab", "ab")]
    for group_id in made[:3]:
        add(database, machine, group_id, None)
    assert [group.id for group in list_groups(database)] == [made[2], made[1], made[0]]
    assert [group.id for group in list_groups(database, "ab")] == [made[2], made[0]]
    assert [group.id for group in list_groups(database, "ab", limit=1)] == [made[2]]
    assert [len(group.runs) for group in list_groups(database)] == [1, 1, 1]


def test_each_run_says_its_place(database: Database, machine: Machine) -> None:
    repeat = begin_group(database, Plan(kind="repeat", rounds=5))
    ab = begin_group(database, Plan(kind="ab", order="pairs"))
    first, second = add(database, machine, repeat, None, None)
    a, b = add(database, machine, ab, "A", "B")
    begin_run(database, DEMO.default_spec(), DEMO, machine)
    assert places(database) == {
        first: sentence("groups.run_of", number=1, planned=5, group_id=repeat),
        second: sentence("groups.run_of", number=2, planned=5, group_id=repeat),
        a: sentence("groups.side", side="A", group_id=ab),
        b: sentence("groups.side", side="B", group_id=ab),
    }
