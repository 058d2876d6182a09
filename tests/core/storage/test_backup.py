"""Backups, and damaged files, which are set aside unchanged and replaced by the last backup."""

import os
from pathlib import Path

import pytest

from app.core.paths import Paths
from app.core.storage import database as module
from app.core.storage.database import Database, DatabaseError, back_up, backup_path
from app.core.storage.runs import list_runs
from tests.build import make_many, store
from tests.saying import said
from workloads.protocol.machine import Machine

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
