import contextlib
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from app.core.errors import UsageError
from app.core.paths import Paths
from app.core.storage import database as module
from app.core.storage.database import Database, DatabaseError
from app.core.storage.queries import Query, find_ids, set_comment
from app.core.storage.runs import list_runs, load_run, machine_text
from app.core.storage.schema import MIGRATIONS
from tests.conftest import ROOT
from tests.saying import said
from tests.sure import sure
from workloads.protocol.machine import Machine


def test_a_new_file_has_the_newest_format_and_survives_a_crash(database: Database) -> None:
    pragma = {
        name: database.connection.execute(f"PRAGMA {name}").fetchone()[0]
        for name in ("user_version", "journal_mode", "foreign_keys")
    }
    assert pragma == {"user_version": len(MIGRATIONS), "journal_mode": "wal", "foreign_keys": 1}


@pytest.mark.parametrize("is_torn", [False, True])
def test_a_torn_file_or_one_that_is_no_database_is_set_aside_and_replaced(
    paths: Paths, caplog: pytest.LogCaptureFixture, is_torn: bool
) -> None:
    content = bytearray(b"this is no database" * 1000)
    if is_torn:
        Database(paths.database).close()
        content = bytearray(paths.database.read_bytes())
        content[100:4096] = b"\xff" * 3996
    paths.database.write_bytes(content)
    with Database(paths.database) as database:
        assert database.connection.execute("SELECT count(*) FROM runs").fetchone()[0] == 0
    (aside,) = paths.data.glob("runs.damaged-*.sqlite3")
    assert aside.read_bytes() == bytes(content)
    assert aside.name in caplog.text


def test_damage_found_later_is_reported_in_a_sentence(paths: Paths) -> None:
    with Database(paths.database) as database, database.transaction() as connection:
        connection.executemany(
            "INSERT INTO machines (machine) VALUES (?)", [(f"{number}" * 3000,) for number in range(50)]
        )
    content = bytearray(paths.database.read_bytes())
    content[-40_000:] = b"\xff" * 40_000
    paths.database.write_bytes(content)
    with (
        Database(paths.database) as database,
        pytest.raises(DatabaseError, match=said("database.damaged").pattern) as refused,
        database.complaints(),
    ):
        database.connection.execute("SELECT max(length(machine)) FROM machines").fetchone()
    assert said("database.try_again_to_repair").is_all_of(refused.value.advice)


def test_a_newer_file_is_refused_and_left_alone(paths: Paths) -> None:
    with Database(paths.database) as database:
        database.connection.execute(f"PRAGMA user_version = {len(MIGRATIONS) + 1}")
        database.connection.execute("UPDATE format SET version = version + 1")
    before = paths.database.read_bytes()
    with pytest.raises(DatabaseError, match=said("database.too_new").pattern) as refused:
        Database(paths.database)
    assert said("database.update").is_all_of(refused.value.advice)
    assert paths.database.read_bytes() == before


def test_another_programs_database_is_refused_and_left_alone(paths: Paths) -> None:
    with contextlib.closing(sqlite3.connect(paths.database)) as other:
        other.execute("CREATE TABLE theirs (x)")
    before = paths.database.read_bytes()
    with pytest.raises(DatabaseError, match=said("database.of_another_program").pattern):
        Database(paths.database)
    assert paths.database.read_bytes() == before


def test_a_locked_file_is_reported_in_a_sentence_and_nothing_is_half_written(paths: Paths) -> None:
    with Database(paths.database) as first, Database(paths.database, busy_timeout_s=0.05) as second:
        first.connection.execute("BEGIN IMMEDIATE")
        refusal = pytest.raises(DatabaseError, match=said("database.locked").pattern)
        with refusal as refused, second.transaction():
            pass
        assert said("database.close_other_program").is_all_of(refused.value.advice)
        first.connection.execute("ROLLBACK")
        with second.transaction() as connection:
            connection.execute("INSERT INTO machines (machine) VALUES ('{}')")
        assert first.connection.execute("SELECT count(*) FROM machines").fetchone()[0] == 1


def test_a_transaction_is_all_or_nothing(database: Database) -> None:
    def write_and_fail(database: Database) -> None:
        with database.transaction() as connection:
            connection.execute("INSERT INTO machines (machine) VALUES ('{}')")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_and_fail(database)
    assert database.connection.execute("SELECT count(*) FROM machines").fetchone()[0] == 0


def test_a_full_disk_is_reported_in_a_sentence(database: Database) -> None:
    pages = database.connection.execute("PRAGMA page_count").fetchone()[0]
    database.connection.execute(f"PRAGMA max_page_count = {pages}")
    with (
        pytest.raises(DatabaseError, match=said("database.disk_full").pattern),
        database.transaction() as connection,
    ):
        connection.execute("INSERT INTO machines (machine) VALUES (?)", ("x" * 100_000,))


@pytest.mark.skipif(sys.platform == "win32", reason="limits the size of files")
@pytest.mark.slow
@pytest.mark.parametrize("room_bytes", [0, 4_096, 40_000])
def test_a_disk_that_is_full_at_the_start_is_not_called_a_lack_of_rights(tmp_path: Path, room_bytes: int) -> None:
    code = f"""
import resource, sys
from pathlib import Path
from app.core.storage.database import Database, DatabaseError
resource.setrlimit(resource.RLIMIT_FSIZE, ({room_bytes}, {room_bytes}))
try:
    Database(Path(sys.argv[1]) / "runs.sqlite3")
except DatabaseError as error:
    print(error.said.code)
"""
    command = [sys.executable, "-c", code, str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == "database.disk_full\n"


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="needs a file system that nobody can write to")
def test_an_unwritable_folder_is_reported_in_a_sentence() -> None:
    not_created = said("folders.not_created", folder="/proc/epochmark")
    with pytest.raises(UsageError, match=not_created.pattern) as refused:
        Database(Path("/proc/epochmark/runs.sqlite3"))
    assert "EPOCHMARK_HOME" in (refused.value.advice or "")


def test_a_read_only_file_is_reported_in_a_sentence(database: Database) -> None:
    database.connection.execute("PRAGMA query_only = ON")
    refusal = pytest.raises(DatabaseError, match=said("database.no_access").pattern)
    with refusal as refused, database.transaction() as connection:
        connection.execute("INSERT INTO machines (machine) VALUES ('{}')")
    assert said("database.check_permissions").is_all_of(refused.value.advice)


def test_migrating_keeps_a_copy_and_the_rows(paths: Paths, monkeypatch: pytest.MonkeyPatch) -> None:
    with Database(paths.database) as database, database.transaction() as connection:
        connection.execute("INSERT INTO machines (machine) VALUES ('{}')")
    later = (
        *MIGRATIONS,
        "ALTER TABLE machines ADD COLUMN note TEXT;\nUPDATE machines SET note = 'new; format';\n",
    )
    monkeypatch.setattr(module, "MIGRATIONS", later)
    with Database(paths.database) as database:
        assert database.connection.execute("SELECT note FROM machines").fetchone()[0] == "new; format"
    copy = paths.data / f"runs.before-format-{len(later)}.sqlite3"
    with contextlib.closing(sqlite3.connect(copy)) as connection:
        assert connection.execute("SELECT count(*) FROM machines").fetchone()[0] == 1
        assert connection.execute("PRAGMA user_version").fetchone()[0] == len(MIGRATIONS)


def make_first_format(path: Path, machine: Machine, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Make the file that the first version made, with two runs in it."""
    with monkeypatch.context() as patch:
        patch.setattr(module, "MIGRATIONS", MIGRATIONS[:1])
        with Database(path) as database:
            machine_id = database.connection.execute(
                "INSERT INTO machines (machine) VALUES (?)", (machine_text(machine),)
            ).lastrowid
            values = {"workload": "cifar10_keras_cnn", "preset": "standard", "precision": "float32", "spec": "{}"}
            values |= {"started_at": "2026-01-02T03:04:05Z", "status": "running", "engine": "tensorflow"}
            values |= {"machine_id": str(machine_id), "app_version": "0.1.0", "batch_size": "100"}
            numbers = ["workload_version", "epochs", "steps_per_epoch", "samples_per_epoch", "jit", "seed"]
            values |= dict.fromkeys(numbers, "1")
            names = ", ".join(values)
            marks = ", ".join("?" * len(values))
            sql = f"INSERT INTO runs ({names}) VALUES ({marks})"
            ids = [database.connection.execute(sql, tuple(values.values())).lastrowid or 0 for _ in range(2)]
            sql = "INSERT INTO epochs (run_id, idx, duration_s, train_s) VALUES (?, ?, ?, 0)"
            database.connection.executemany(sql, [(ids[0], 0, 90), (ids[0], 1, 60)])
            database.connection.execute(
                "UPDATE runs SET status = 'completed', seconds_per_epoch_s = 60, epochs_done = 2 WHERE id = ?",
                ids[:1],
            )
    return ids


def test_a_file_of_the_first_format_keeps_its_runs_and_migrates_once(
    paths: Paths, machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = make_first_format(paths.database, machine, monkeypatch)
    with Database(paths.database) as database:
        runs = {run.id: run for run in list_runs(database)}
        assert sorted(runs) == ids
        assert (runs[ids[0]].epochs_done, runs[ids[0]].comment) == (2, None)
        assert (runs[ids[0]].metric, runs[ids[0]].value, runs[ids[0]].variant) == ("seconds_per_epoch_s", 60, "")
        assert [epoch.duration_s for epoch in load_run(database, ids[0]).epochs] == [90, 60]
        set_comment(database, ids[1], "from before")
        assert find_ids(database, Query("before")) == ids[1:]
        assert database.connection.execute("PRAGMA integrity_check").fetchone()[0] == "ok"
    copy = paths.data / f"runs.before-format-{len(MIGRATIONS)}.sqlite3"
    with contextlib.closing(sqlite3.connect(copy)) as earlier:
        assert earlier.execute("PRAGMA user_version").fetchone()[0] == 1
        assert [row[0] for row in earlier.execute("SELECT id FROM runs")] == ids
        assert "comment" not in [row[1] for row in earlier.execute("PRAGMA table_info(runs)")]
    before = copy.stat().st_mtime_ns
    Database(paths.database).close()
    assert copy.stat().st_mtime_ns == before
    assert set(paths.data.glob("*.sqlite3")) == {copy, paths.database}


def test_a_migration_that_fails_changes_nothing(paths: Paths, monkeypatch: pytest.MonkeyPatch) -> None:
    with Database(paths.database):
        pass
    monkeypatch.setattr(module, "MIGRATIONS", (*MIGRATIONS, "CREATE TABLE later (x);\nNONSENSE;\n"))
    with pytest.raises(DatabaseError):
        Database(paths.database)
    monkeypatch.setattr(module, "MIGRATIONS", MIGRATIONS)
    with Database(paths.database) as database:
        names = [row[0] for row in database.connection.execute("SELECT name FROM sqlite_master")]
    assert "later" not in names


@pytest.mark.parametrize("before", ["PRAGMA application_id", "PRAGMA user_version", "SELECT count(*)"])
def test_a_file_that_another_makes_while_it_is_looked_at_is_not_called_newer(
    paths: Paths, monkeypatch: pytest.MonkeyPatch, before: str
) -> None:
    others: list[None] = []

    class Looking(sqlite3.Connection):
        def execute(self, sql: str, *values: Any) -> sqlite3.Cursor:
            if sql.startswith(before) and not others:
                others.append(None)
                Database(paths.database).close()
            return super().execute(sql, *values)

    connect = sqlite3.connect
    monkeypatch.setattr(sqlite3, "connect", lambda *given, **how: connect(*given, **how, factory=Looking))
    with Database(paths.database) as database:
        assert list(list_runs(database)) == []
    assert others


@pytest.mark.slow
def test_many_may_make_the_file_at_once(paths: Paths) -> None:
    code = (
        "import sys; from pathlib import Path; from app.core.storage.database import Database\n"
        "for path in sys.stdin: Database(Path(path.strip())).close(); print(path, end='', flush=True)"
    )
    makers = [
        subprocess.Popen([sys.executable, "-c", code], cwd=ROOT, stdin=-1, stdout=-1, stderr=-1, text=True)
        for _ in range(4)
    ]
    # All are up and waiting before each round begins, so that they meet.
    for number in range(15):
        for maker in makers:
            sure(maker.stdin).write(f"{paths.data / f'{number}.sqlite3'}\n")
            sure(maker.stdin).flush()
        answers = [maker.stdout.readline() for maker in makers if maker.stdout is not None]
        assert "" not in answers
    assert [maker.communicate()[1] for maker in makers] == [""] * 4
