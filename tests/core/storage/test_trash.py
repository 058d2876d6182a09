"""The trash: what is in it is nowhere to be seen, comes back as it was, or goes for good."""

import sqlite3
from collections.abc import Callable

import pytest

from app.core.errors import UsageError
from app.core.paths import Paths
from app.core.storage.database import Database
from app.core.storage.queries import Query, find_ids, own_runs, purge_trash, restore_runs, set_comment, trash_runs
from app.core.storage.runs import all_ids, delete_runs, list_runs, load_run, rows_for_export
from tests.core.storage.storing import begin, make_many, store
from tests.saying import said
from workloads.protocol.machine import Machine


def test_a_run_in_the_trash_is_nowhere_to_be_seen(database: Database, machine: Machine) -> None:
    kept, gone = store(database, machine, 90, 60), store(database, machine, 91, 61, 62)
    set_comment(database, gone, "first")
    trash_runs(database, [gone])
    assert find_ids(database, Query()) == all_ids(database) == [kept]
    assert find_ids(database, Query("first")) == find_ids(database, Query("2")) == []
    assert [run.id for run in list_runs(database)] == [kept]
    assert list(list_runs(database, ids=[gone])) == []
    assert [row[0] for row in rows_for_export(database, [gone, kept])] == [kept]
    assert [run.id for run in own_runs(database, "cifar10_keras_cnn", 9)] == [kept]
    acts: list[Callable[[], object]] = [
        lambda: load_run(database, gone),
        lambda: delete_runs(database, [gone]),
        lambda: trash_runs(database, [kept, gone]),
        lambda: set_comment(database, gone, "x"),
    ]
    for act in acts:
        with pytest.raises(UsageError, match=said("runs.unknown", run_ids=gone).pattern):
            act()
    assert all_ids(database) == [kept]


def test_a_run_comes_back_from_the_trash_as_it_was(database: Database, machine: Machine) -> None:
    ids = [store(database, machine, 90, 60, columns={"comment": "Night"}) for _ in range(3)]
    before = [load_run(database, run_id) for run_id in ids]
    trash_runs(database, ids[:2])
    assert restore_runs(database, [*ids, 77]) == 2
    assert [load_run(database, run_id) for run_id in ids] == before
    assert restore_runs(database, ids) == 0


def test_all_runs_go_into_the_trash_or_none(database: Database, machine: Machine) -> None:
    over, running = store(database, machine, 90, 60), begin(database, machine)
    with pytest.raises(UsageError, match=said("runs.still_running", run_id=running).pattern):
        trash_runs(database, [over, running])
    with pytest.raises(UsageError, match=said("runs.unknown", run_ids="77").pattern):
        trash_runs(database, [over, 77])
    assert all_ids(database) == [over, running]


def test_purging_removes_all_of_the_trash_and_nothing_else(database: Database, machine: Machine) -> None:
    kept, first, second = (store(database, machine, 90, 60) for _ in range(3))
    trash_runs(database, [first, second])
    assert purge_trash(database, [kept, first, 77]) == 1
    assert restore_runs(database, [first, second]) == 1
    trash_runs(database, [second])
    assert purge_trash(database, []) == 0
    assert purge_trash(database) == 1
    assert all_ids(database) == [kept]
    rows = database.connection.execute("SELECT DISTINCT run_id FROM epochs").fetchall()
    assert [row[0] for row in rows] == [kept]
    assert purge_trash(database) == 0


def test_purging_keeps_what_was_recently_deleted(database: Database, machine: Machine) -> None:
    old, new = store(database, machine), store(database, machine)
    trash_runs(database, [old, new])
    database.connection.execute("UPDATE runs SET deleted_at = '2020-01-01T00:00:00Z' WHERE id = ?", (old,))
    assert purge_trash(database, [new], older_than_s=3600) == 0
    assert purge_trash(database, older_than_s=3600) == 1
    assert restore_runs(database, [old, new]) == 1
    assert all_ids(database) == [new]


def test_a_clock_that_was_set_back_keeps_no_trash(database: Database, machine: Machine) -> None:
    run_id = store(database, machine)
    trash_runs(database, [run_id])
    database.connection.execute("UPDATE runs SET deleted_at = '2999-01-01T00:00:00Z'")
    assert purge_trash(database) == 1


@pytest.mark.long
@pytest.mark.slow
def test_many_thousands_of_runs_go_and_come_back_in_one_go(database: Database, machine: Machine) -> None:
    # More than SQLite takes as single values.
    ids = make_many(database, store(database, machine), 40_000)
    trash_runs(database, ids)
    assert find_ids(database, Query()) == []
    assert restore_runs(database, ids) == 40_000
    assert len(list(list_runs(database, ids=ids[::1000]))) == 40
    trash_runs(database, ids)
    assert purge_trash(database, ids[1:]) == 39_999
    assert restore_runs(database, ids) == 1


def test_what_is_deleted_is_gone_from_the_file_with_every_sqlite(
    paths: Paths, machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Debian's SQLite overwrites what is deleted unless told otherwise, python.org's leaves it in the file."""
    really_connect = sqlite3.connect

    def connect(*arguments: object, **options: object) -> sqlite3.Connection:
        connection = really_connect(*arguments, **options)  # type: ignore[call-overload]
        connection.execute("PRAGMA secure_delete = OFF")
        return connection  # type: ignore[no-any-return]

    monkeypatch.setattr(sqlite3, "connect", connect)
    with Database(paths.database) as database:
        run_id = store(database, machine, 90, 60, columns={"comment": "my secret project"})
        delete_runs(database, [run_id])
        database.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    assert b"my secret project" not in paths.database.read_bytes()
