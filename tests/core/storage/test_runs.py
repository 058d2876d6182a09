import dataclasses
import os
import sqlite3
from collections.abc import Callable
from typing import Any, get_type_hints

import psutil
import pytest

from app.core.errors import UsageError
from app.core.messages import message, text
from app.core.paths import Paths
from app.core.records import DAMAGED, EpochColumns, RunSummary
from app.core.storage.database import Database, DatabaseError
from app.core.storage.documents import as_json
from app.core.storage.outcomes import recover_runs
from app.core.storage.owners import Owner
from app.core.storage.queries import Query, find_ids, own_runs, purge_trash, restore_runs, set_comment, trash_runs
from app.core.storage.recording import RunWriter
from app.core.storage.runs import all_ids, delete_runs, list_runs, load_run, rows_for_export
from tests.build import add_epochs, begin, block, record, set_fields, store
from tests.saying import said
from workloads.protocol import events
from workloads.protocol.machine import Gpu, Machine


def test_the_headline_is_the_median_of_the_later_epochs(database: Database, machine: Machine) -> None:
    summary = load_run(database, store(database, machine, 90, 60, 64, 62)).summary
    assert (summary.value, summary.first_epoch_s, summary.basis) == (62, 90, "later_epochs")
    assert (summary.minimum_s, summary.maximum_s) == (60, 64)


def test_warnings_and_errors_are_stored_as_messages(database: Database, machine: Machine) -> None:
    silent, crashed = message("run.silent", silent_s=120.0), message("run.crashed", exit="code 1")
    run_id = begin(database, machine)
    writer = RunWriter(database, run_id)
    writer.add(events.Warn(seq=1, code="silent_worker", message=text(silent), said=silent))
    writer.add(events.Warn(seq=2, code="other", message="As it came."))
    writer.finish("failed", events.Error(code="crashed", message=text(crashed), said=crashed))
    run = load_run(database, run_id)
    assert [(each.message, each.said) for each in run.warnings] == [
        (text(silent), silent),
        ("As it came.", message("verdict.as_stored", text="As it came.")),
    ]
    assert (run.summary.error_message, run.summary.error_said) == (text(crashed), crashed)


def test_a_short_run_has_no_epoch_time(database: Database, machine: Machine) -> None:
    epochs = [events.Epoch(seq=index, index=index, duration_s=1, train_s=1) for index in range(3)]
    summary = load_run(database, record(database, machine, block(0.5, 0.1, 0.1), *epochs, steps=10)).summary
    assert (summary.value, summary.step_median_s) == (None, 0.1)


def test_a_quick_run_is_an_estimate_that_holds_the_validation_pass(database: Database, machine: Machine) -> None:
    seen = [block(9.0, *[0.1] * 50), block(0.4, phase="start", epoch=1, seq=1)]
    seen += [block(0.1, 0.1, phase="validate", epoch=epoch, seq=2 + epoch) for epoch in (0, 1)]
    rest = [events.Metric(key="validation_batches", value=5), events.Metric(key="epoch_rest_s", value=0.25)]
    summary = load_run(database, record(database, machine, *seen, *rest, preset="quick")).summary
    assert summary.basis == "estimate"
    assert summary.value == pytest.approx(500 * 0.1 + 0.3 + 0.5 + 0.25)
    assert (summary.value_low, summary.value_high) == (summary.value, summary.value), "steps that are all alike"
    assert (summary.warmup_steps, summary.interruptions, summary.interruptions_s) == (0, 0, 0.0)


def test_a_quick_run_cut_before_its_validation_has_no_estimate(database: Database, machine: Machine) -> None:
    run_id = record(database, machine, block(*[0.1] * 50), status="cancelled", preset="quick")
    assert load_run(database, run_id).summary.value is None


def test_a_quick_run_of_few_large_batches_still_has_an_estimate(database: Database, machine: Machine) -> None:
    rest = events.Metric(key="epoch_rest_s", value=0.0)
    run_id = record(database, machine, block(*[4.0] * 5), rest, preset="quick", batch_size=10_000)
    assert load_run(database, run_id).summary.value == pytest.approx(20)


def test_an_epoch_told_twice_does_not_hold_up_the_rest(database: Database, machine: Machine) -> None:
    run_id = begin(database, machine)
    writer = RunWriter(database, run_id)
    add_epochs(writer, 90, 60)
    add_epochs(writer, 91, 61, 62)
    writer.finish("completed", None)
    run = load_run(database, run_id)
    assert [epoch.duration_s for epoch in run.epochs] == [90, 60, 62]
    assert (run.summary.status, run.summary.epochs_done) == ("completed", 3)


def test_what_could_not_be_written_is_written_later(paths: Paths, machine: Machine) -> None:
    with Database(paths.database, busy_timeout_s=0.05) as database, Database(paths.database) as other:
        run_id = begin(database, machine)
        writer = RunWriter(database, run_id)
        other.connection.execute("BEGIN IMMEDIATE")
        add_epochs(writer, 90, 60)
        assert writer.trouble is not None
        with pytest.raises(DatabaseError, match=said("database.locked").pattern):
            writer.finish("completed", None)
        other.connection.execute("ROLLBACK")
        writer.finish("completed", None)
        assert [epoch.duration_s for epoch in load_run(database, run_id).epochs] == [90, 60]


def test_a_run_without_process_is_interrupted_and_keeps_its_epochs(database: Database, machine: Machine) -> None:
    gone, mine, reused = (begin(database, machine) for _ in range(3))
    add_epochs(RunWriter(database, gone), 90, 60)
    set_fields(database, f"id = {gone}", owner=as_json(Owner(pid=2_000_000_000)))
    # The same number, but a process that began at another time.
    started_s = psutil.Process(os.getpid()).create_time() - 1000
    set_fields(database, f"id = {reused}", owner=as_json(Owner(pid=os.getpid(), started_s=started_s)))
    assert sorted(recover_runs(database)) == [gone, reused]
    assert load_run(database, mine).summary.status == "running"
    summary = load_run(database, gone).summary
    assert (summary.status, summary.epochs_done, summary.value) == ("interrupted", 2, 60)


def test_runs_are_listed_newest_first(database: Database, machine: Machine) -> None:
    first, second = begin(database, machine), begin(database, machine)
    demo = begin(database, machine, workload="demo")
    assert [run.id for run in list_runs(database)] == [demo, second, first]
    assert [run.id for run in list_runs(database, limit=2)] == [demo, second]
    run = next(iter(list_runs(database)))
    assert (run.cpu_name, run.virtual_machine, run.jit) == ("Test CPU", False, False)


def test_deleting_takes_everything_of_a_run_and_nothing_of_others(database: Database, machine: Machine) -> None:
    seen = (events.Epoch(index=0, duration_s=90, train_s=80), events.Warn(code="x", message="y", seq=9))
    ids = [record(database, machine, *seen) for _ in range(2)]
    delete_runs(database, ids[:1])
    for table in ("epochs", "warnings"):
        rows = database.connection.execute(f"SELECT DISTINCT run_id FROM {table}").fetchall()
        assert [row[0] for row in rows] == ids[1:]
    with pytest.raises(UsageError, match=said("runs.unknown", run_ids="77").pattern):
        delete_runs(database, [ids[1], 77])
    assert [run.id for run in list_runs(database)] == ids[1:]


def test_a_running_run_is_not_deleted(database: Database, machine: Machine) -> None:
    run_id = begin(database, machine)
    with pytest.raises(UsageError, match=said("runs.still_running").pattern):
        delete_runs(database, [run_id])


def exported(database: Database, *ids: int) -> list[dict[str, Any]]:
    names = [field.name for field in dataclasses.fields(EpochColumns)]
    rows = rows_for_export(database, list(ids))
    return [run.as_dict() | dict(zip(names, cells, strict=True)) for run, cells in rows]


def test_rows_for_export_are_complete_and_in_the_order_of_the_fields(database: Database, machine: Machine) -> None:
    ids = [store(database, machine, *(100 - index for index in range(12)))]
    ids += [begin(database, machine) for _ in range(2)]
    rows = exported(database)
    assert [row["id"] for row in exported(database, *ids[1:])] == ids[1:]
    assert [row["id"] for row in rows] == ids
    assert [float(text) for text in rows[0]["epoch_durations_s"].split()] == [100.0 - index for index in range(12)]
    assert rows[0]["cpu_name"] == "Test CPU"
    assert rows[1]["epoch_durations_s"] is None


def test_an_export_gives_each_run_its_epochs_whatever_is_in_trash(database: Database, machine: Machine) -> None:
    ids = [store(database, machine, 90 + number, 60) for number in range(3)]
    ids += [begin(database, machine), store(database, machine, 99)]
    trash_runs(database, [ids[0], ids[2]])
    durations = {row["id"]: row["epoch_durations_s"] for row in exported(database)}
    assert durations == {ids[1]: "91.0 60.0", ids[3]: None, ids[4]: "99.0"}
    assert {row["id"]: row["epoch_durations_s"] for row in exported(database, *ids[:2])} == {ids[1]: "91.0 60.0"}


def test_an_unknown_run_is_a_usage_error(database: Database) -> None:
    with pytest.raises(UsageError, match=said("runs.unknown", run_ids="5").pattern):
        load_run(database, 5)


def test_changing_facts_do_not_make_another_machine(database: Database, machine: Machine) -> None:
    card = Gpu("NVIDIA GeForce RTX 4070", "nvidia", 12_000_000_000, "580.65.06", "8.9")
    docked = dataclasses.replace(card, drives_display=True, power_limit_w=80.0)
    machines = [
        dataclasses.replace(machine, gpus=(card,), cpu_boost_mhz=4400.0),
        dataclasses.replace(machine, gpus=(docked, Gpu("Intel UHD", "intel", source="sysfs")), file_system="ext4"),
    ]
    runs = [load_run(database, begin(database, each)) for each in machines]
    rows = database.connection.execute("SELECT count(DISTINCT machine_key) FROM runs").fetchone()
    assert rows[0] == 1
    assert [run.machine.file_system for run in runs] == [None, "ext4"], "each run has what was found for it"
    assert [len(run.machine.gpus) for run in runs] == [1, 2]


def test_a_run_in_the_trash_is_nowhere_to_be_seen(database: Database, machine: Machine) -> None:
    kept, gone = store(database, machine, 90, 60), store(database, machine, 91, 61, 62)
    set_comment(database, gone, "first")
    trash_runs(database, [gone])
    assert find_ids(database, Query()) == all_ids(database) == [kept]
    assert find_ids(database, Query("first")) == find_ids(database, Query("2")) == []
    assert [run.id for run in list_runs(database)] == [kept]
    assert list(list_runs(database, ids=[gone])) == []
    assert [run.id for run, _ in rows_for_export(database, [gone, kept])] == [kept]
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


@pytest.mark.parametrize("value", [True, False])
def test_every_switch_of_a_run_comes_back_as_it_was_stored(
    database: Database, machine: Machine, value: bool
) -> None:
    switches = {name for name, hint in get_type_hints(RunSummary).items() if hint in (bool, bool | None)}
    assert {"jit", "on_battery"} < switches
    run_id = store(database, machine, 70.0, columns=dict.fromkeys(switches - {"virtual_machine"}, value))
    run = load_run(database, run_id)
    assert run.damage == ()
    assert {getattr(run.summary, name) for name in switches - {"virtual_machine"}} == {value}
    assert next(list_runs(database)).status != DAMAGED
