"""Groups in the database: stored, listed, and still readable when some or all of their runs are deleted."""

import pytest

from app.core.errors import UsageError
from app.core.messages import sentence
from app.core.records import Plan, PlanPlace, Side
from app.core.storage.database import Database, DatabaseError
from app.core.storage.groups import begin_group, group_places, list_groups, load_group
from app.core.storage.queries import purge_trash, restore_runs, trash_runs
from app.core.storage.recording import begin_run
from app.core.storage.runs import delete_runs, list_runs
from tests.saying import said
from workloads import CATALOGUE
from workloads.protocol.machine import Machine

DEMO = CATALOGUE["demo"]


def add(database: Database, machine: Machine, group_id: int, *sides: Side | None) -> list[int]:
    spec = DEMO.default_spec()
    ids = [
        begin_run(database, spec, DEMO, machine, place=PlanPlace(group_id, number, side))
        for number, side in enumerate(sides, 1)
    ]
    database.connection.execute("UPDATE runs SET status = 'completed'")
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
    sql = "UPDATE groups SET plan = json_set(plan, '$.axis', 'batch', '$.specs[0].axis', 1, '$.rounds', -1)"
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
    database.connection.execute("UPDATE runs SET status = 'completed'")
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


def test_a_missing_group_is_reported(database: Database, machine: Machine) -> None:
    with pytest.raises(UsageError, match=said("groups.unknown", group_id="7").pattern):
        load_group(database, 7)
    with pytest.raises(DatabaseError):
        add(database, machine, 7, "A")
    assert list(list_runs(database)) == []
