"""The history as the table shows it: groups closed, each where its first run is."""

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.paths import Paths, default_paths
from app.core.records import Plan
from app.core.storage.database import Database
from app.core.storage.groups import begin_group
from app.core.storage.queries import SORT_KEYS, Query, find_history, find_ids, trash_runs
from tests.conftest import MACHINE
from tests.core.storage.storing import store
from workloads import CATALOGUE

SPEC = CATALOGUE["cifar10_keras_cnn"].default_spec()


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
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
        database.connection.execute("UPDATE runs SET group_id = 99 WHERE id = 2")
        yield database


def test_runs_of_a_group_are_one_row_where_its_first_run_is(database: Database) -> None:
    history = find_history(database, Query())
    assert history.ids == find_ids(database, Query())
    assert history.rows[:4] == [30, 29, -1, 27]  # run 28 is the newest of the first group
    assert history.groups[1] == [28, 19, 10, 1]
    assert 2 in history.rows
    assert history.total == 30
    assert history.workloads == {"mnist_mlp", "cifar10_keras_cnn"}


@given(
    st.sampled_from(SORT_KEYS),
    st.booleans(),
    st.sampled_from([None, "completed", "failed"]),
    st.sampled_from(["", "2", "failed", "mnist"]),
)
def test_nothing_is_lost_or_shown_twice(
    database: Database, sort: str, descending: bool, status: str | None, text: str
) -> None:
    query = Query(text=text, status=status, sort=sort, descending=descending)
    history = find_history(database, query)
    assert history.ids == find_ids(database, query)
    opened = [run_id for row in history.rows for run_id in ([row] if row > 0 else history.groups[-row])]
    assert sorted(opened) == sorted(history.ids)
    order = {run_id: place for place, run_id in enumerate(history.ids)}
    firsts = [order[row if row > 0 else history.groups[-row][0]] for row in history.rows]
    assert firsts == sorted(firsts)
    for runs in history.groups.values():
        assert [order[run_id] for run_id in runs] == sorted(order[run_id] for run_id in runs)
    assert history.total == 30


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
