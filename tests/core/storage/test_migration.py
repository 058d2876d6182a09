"""A file of format 12 becomes one of today, whole or not at all. What its runs give is in test_database."""

import contextlib
import gzip
import sqlite3
from pathlib import Path

import pytest

from app.core.storage import migration
from app.core.storage.database import Database, DatabaseError, backup_path
from app.core.storage.queries import restore_runs
from app.core.storage.runs import load_run
from app.core.storage.schema import FORMAT
from tests.build import begin
from tests.core.storage import figures
from workloads.protocol.machine import Machine


@pytest.fixture
def old(tmp_path: Path) -> Path:
    path = tmp_path / "runs.sqlite3"
    path.write_bytes(gzip.decompress((figures.DATABASES / "format_12.sqlite3.gz").read_bytes()))
    return path


def shape(path: Path) -> list[tuple[str, ...]]:
    with contextlib.closing(sqlite3.connect(path)) as connection:
        return connection.execute("SELECT type, name, sql FROM sqlite_master ORDER BY name").fetchall()


def names(path: Path) -> set[tuple[str, ...]]:
    """Return tables with their columns, and indexes."""
    sql = (
        "SELECT sqlite_master.name, info.name FROM sqlite_master"
        " LEFT JOIN pragma_table_xinfo(sqlite_master.name) AS info"
    )
    with contextlib.closing(sqlite3.connect(path)) as connection:
        return set(connection.execute(sql))


def test_it_has_the_tables_of_a_new_file_and_nothing_is_lost(old: Path, machine: Machine, tmp_path: Path) -> None:
    with contextlib.closing(sqlite3.connect(old)) as before:
        trashed = [3, 4]
        before.execute("UPDATE runs SET deleted_at = '2026-11-29T00:00:00Z' WHERE id IN (3, 4)")
        last = before.execute("SELECT seq FROM sqlite_sequence WHERE name = 'runs'").fetchone()[0]
        begun = before.execute("SELECT id, begun FROM groups").fetchall()
        before.execute("DELETE FROM runs WHERE id = ?", (last,))
        before.commit()
    with Database(old) as database:
        connection = database.connection
        assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
        assert connection.execute("PRAGMA integrity_check").fetchone()[0] == "ok"
        assert [tuple(row) for row in connection.execute("SELECT id, begun FROM plans")] == begun
        assert restore_runs(database, trashed) == len(trashed)
        assert all(load_run(database, run_id).damage == () for run_id in trashed)
        assert begin(database, machine) == last + 1, "the number of a deleted run isn't used again"
        connection.execute("DELETE FROM runs")
        assert connection.execute("SELECT count(*) FROM epochs").fetchone()[0] == 0
    Database(tmp_path / "new.sqlite3").close()
    assert names(old) == names(tmp_path / "new.sqlite3")


def test_a_failure_leaves_the_file_as_it_was(old: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = shape(old)

    def full(_: sqlite3.Connection) -> None:
        raise sqlite3.OperationalError("database or disk is full")

    with monkeypatch.context() as patch:
        patch.setattr(migration, "convert_imports", full)
        with pytest.raises(DatabaseError):
            Database(old)
    assert shape(old) == before
    with Database(old) as database:
        assert database.connection.execute("PRAGMA user_version").fetchone()[0] == FORMAT


def test_a_file_of_today_with_the_old_number_is_damaged_and_replaced_by_its_backup(
    tmp_path: Path, machine: Machine
) -> None:
    path = tmp_path / "runs.sqlite3"
    with Database(path) as database:
        run_id = begin(database, machine)
    backup_path(path).write_bytes(path.read_bytes())
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute(f"PRAGMA user_version = {migration.OLD_FORMAT}")
    with Database(path) as database:
        assert load_run(database, run_id).summary.status == "running"
    assert list(tmp_path.glob("runs.damaged-*"))
