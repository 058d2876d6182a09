"""The file of results: made, damaged, replaced by its backup, and stored ones of earlier versions."""

import contextlib
import gzip
import json
import os
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from app.core.errors import UsageError
from app.core.paths import Paths
from app.core.storage import database as module
from app.core.storage.database import Database, DatabaseError, back_up, backup_path
from app.core.storage.runs import list_runs
from app.core.storage.schema import FORMAT
from tests.build import make_many, store
from tests.conftest import ROOT
from tests.core.storage import figures
from tests.saying import said
from tests.sure import sure
from workloads.protocol.machine import Machine

ADD_PLAN = "INSERT INTO plans (uid, created_at, kind, plan) VALUES (?, '2026-11-29', 'repeat', ?)"


def test_a_new_file_has_the_newest_format_and_survives_a_crash(database: Database) -> None:
    pragma = {
        name: database.connection.execute(f"PRAGMA {name}").fetchone()[0]
        for name in ("user_version", "journal_mode", "foreign_keys")
    }
    assert pragma == {"user_version": FORMAT, "journal_mode": "wal", "foreign_keys": 1}


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
        connection.executemany(ADD_PLAN, [(f"{number}", f"{number}" * 3000) for number in range(50)])
    content = bytearray(paths.database.read_bytes())
    content[-40_000:] = b"\xff" * 40_000
    paths.database.write_bytes(content)
    with (
        Database(paths.database) as database,
        pytest.raises(DatabaseError, match=said("database.damaged").pattern) as refused,
        database.complaints(),
    ):
        database.connection.execute("SELECT max(length(plan)) FROM plans").fetchone()
    assert said("database.try_again_to_repair").is_all_of(refused.value.advice_text)


def test_a_newer_file_is_refused_and_left_alone(paths: Paths) -> None:
    with Database(paths.database) as database:
        database.connection.execute(f"PRAGMA user_version = {FORMAT + 1}")
    before = paths.database.read_bytes()
    with pytest.raises(DatabaseError, match=said("database.too_new").pattern) as refused:
        Database(paths.database)
    assert said("database.update").is_all_of(refused.value.advice_text)
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
        assert said("database.close_other_program").is_all_of(refused.value.advice_text)
        first.connection.execute("ROLLBACK")
        with second.transaction() as connection:
            connection.execute(ADD_PLAN, ("a", "{}"))
        assert first.connection.execute("SELECT count(*) FROM plans").fetchone()[0] == 1


def test_a_transaction_is_all_or_nothing(database: Database) -> None:
    def write_and_fail(database: Database) -> None:
        with database.transaction() as connection:
            connection.execute(ADD_PLAN, ("a", "{}"))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_and_fail(database)
    assert database.connection.execute("SELECT count(*) FROM plans").fetchone()[0] == 0


def test_a_full_disk_is_reported_in_a_sentence(database: Database) -> None:
    pages = database.connection.execute("PRAGMA page_count").fetchone()[0]
    database.connection.execute(f"PRAGMA max_page_count = {pages}")
    with (
        pytest.raises(DatabaseError, match=said("database.disk_full").pattern),
        database.transaction() as connection,
    ):
        connection.execute(ADD_PLAN, ("a", "x" * 100_000))


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="needs a file system that nobody can write to")
def test_an_unwritable_folder_is_reported_in_a_sentence() -> None:
    not_created = said("folders.not_created", folder="/proc/epochmark")
    with pytest.raises(UsageError, match=not_created.pattern) as refused:
        Database(Path("/proc/epochmark/runs.sqlite3"))
    assert "EPOCHMARK_HOME" in (refused.value.advice_text or "")


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


@pytest.fixture(scope="module")
def expected() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(gzip.decompress(figures.EXPECTED.read_bytes()))
    return found


@pytest.mark.slow
@pytest.mark.parametrize("name", figures.formats())
def test_a_stored_database_gives_its_runs_plans_and_imports(
    name: str, expected: dict[str, Any], tmp_path: Path
) -> None:
    found = figures.stored(name, tmp_path)
    for part in ("read", "again"):
        for run_id, run in expected[name][part].items():
            for field, value in run.items():
                assert found[part][run_id][field] == value, (part, run_id, field)
    assert found == expected[name]


@pytest.mark.slow
def test_the_recorded_run_gives_the_same_numbers_in_every_preset(expected: dict[str, Any], tmp_path: Path) -> None:
    assert figures.recorded(tmp_path) == expected["recorded"]


def test_recorded_steps_give_the_same_estimates(expected: dict[str, Any]) -> None:
    assert figures.traces() == expected["traces"]


DAY_S = 86_400


@pytest.fixture
def ids(paths: Paths, machine: Machine) -> list[int]:
    """Some runs that are backed up, in a file without a log beside it."""
    with Database(paths.database) as database:
        found = [store(database, machine, 3.0, 2.0, 2.0 + number) for number in range(12)]
        back_up(paths.database)
        database.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return found


def listed(paths: Paths) -> list[int]:
    module.looked_through.clear()  # as another process does for itself
    with Database(paths.database) as database:
        return sorted(run.id for run in list_runs(database))


def damage(path: Path) -> bytes:
    """Overwrite the middle of a file; return its contents."""
    content = bytearray(path.read_bytes())
    content[4_096 : len(content) // 2] = b"\xff" * (len(content) // 2 - 4_096)
    path.write_bytes(content)
    return bytes(content)


def aside(paths: Paths) -> list[Path]:
    return list(paths.data.glob("runs.damaged-*.sqlite3"))


def test_a_damaged_file_is_kept_and_its_backup_opened(
    paths: Paths, machine: Machine, ids: list[int], caplog: pytest.LogCaptureFixture
) -> None:
    with Database(paths.database) as database:
        store(database, machine, 3.0)  # after the backup
        database.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    damaged = damage(paths.database)
    assert listed(paths) == ids
    (kept,) = aside(paths)
    assert kept.read_bytes() == damaged, "the damaged file is evidence"
    assert said("database.restored", kept=kept.name).is_in(caplog.text)
    assert backup_path(paths.database).exists()


@pytest.mark.parametrize("is_backup_damaged", [False, True])
def test_without_a_sound_backup_the_file_begins_anew(
    paths: Paths, ids: list[int], is_backup_damaged: bool, caplog: pytest.LogCaptureFixture
) -> None:
    backup = backup_path(paths.database)
    if is_backup_damaged:
        damage(backup)
    else:
        backup.unlink()
    damage(paths.database)
    assert listed(paths) == []
    assert said("database.begun_anew", kept=aside(paths)[0].name).is_in(caplog.text)


def test_a_backup_is_made_once_a_day_and_never_of_a_damaged_file(
    paths: Paths, machine: Machine, ids: list[int]
) -> None:
    backup = backup_path(paths.database)
    with Database(paths.database) as database:
        later = store(database, machine, 3.0)
        database.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    before = backup.read_bytes()
    back_up(paths.database)
    assert backup.read_bytes() == before, "it is of today"
    made_s = backup.stat().st_mtime
    os.utime(backup, (made_s - 2 * DAY_S, made_s - 2 * DAY_S))
    sound = paths.database.read_bytes()
    damage(paths.database)
    back_up(paths.database)
    assert backup.read_bytes() == before, "the file is damaged"
    paths.database.write_bytes(sound)
    back_up(paths.database)
    backup.replace(paths.database)
    assert listed(paths) == [*ids, later]
    assert [path.name for path in paths.data.glob("*.sqlite3*") if "backup" in path.name] == []


def test_a_large_file_is_checked_once_it_has_shown_damage(
    paths: Paths, ids: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "LOOKED_THROUGH_BYTES", 0)
    with Database(paths.database) as database:
        make_many(database, ids[0], 200)
        database.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    content = paths.database.read_bytes()
    paths.database.write_bytes(content[:-40_000] + b"\xff" * 40_000)  # rows only
    with Database(paths.database) as database, pytest.raises(DatabaseError) as failed:
        list(list_runs(database))
    assert said("database.try_again_to_repair").is_all_of(failed.value.advice_text)
    assert listed(paths) == ids
    assert not list(paths.data.glob("*.suspect"))
