"""Damaged database files: set aside, never changed, and what can be read of them brought over."""

import logging
import subprocess
import sys
from pathlib import Path

import pytest

from app.core.paths import Paths
from app.core.storage import database as module
from app.core.storage.database import Database, DatabaseError
from app.core.storage.runs import list_runs, load_run
from tests.conftest import ROOT
from tests.core.storage.storing import make_many, store
from tests.saying import said
from workloads.protocol.machine import Machine

PAGE_BYTES = 4_096


@pytest.fixture
def ids(paths: Paths, machine: Machine) -> list[int]:
    """Some runs, in a file without a log beside it."""
    with Database(paths.database) as database:
        found = [store(database, machine, 3.0, 2.0, 2.0 + number) for number in range(12)]
        database.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return found


def listed(paths: Paths) -> list[int]:
    module.looked_through.clear()  # as another process does for itself
    with Database(paths.database) as database:
        return sorted(run.id for run in list_runs(database))


def change(path: Path, old: bytes, new: bytes) -> bytes:
    """Replace bytes that occur once, by as many others; returns what was there before."""
    before = path.read_bytes()
    assert before.count(old) >= 1
    assert len(old) == len(new)
    path.write_bytes(before.replace(old, new, 1))
    return before


LETTERS = [
    (b"REFERENCES runs (id) ON", b"REFERENCES runt (id) ON"),
    (b"loss REAL", b"lors REAL"),
    (b"CREATE INDEX runs_listed", b"CREATE INDEX runs_lirted"),
    (b"indexruns_listedruns", b"indexruns_listedruos"),
]


@pytest.mark.parametrize(("old", "new"), LETTERS)
def test_a_letter_of_the_schema_costs_no_run_if_sqlite_still_reads_it(
    paths: Paths, ids: list[int], old: bytes, new: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    damaged = change(paths.database, old, new).replace(old, new, 1)
    assert listed(paths) == ids
    with Database(paths.database) as database:
        assert [epoch.duration_s for epoch in load_run(database, ids[3]).epochs] == [3.0, 2.0, 5.0]
    (aside,) = paths.data.glob("runs.damaged-*.sqlite3")
    assert aside.read_bytes() == damaged, "the damaged file is evidence"
    assert said("database.repaired", count="12", kept=aside.name).is_in(caplog.text)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"status TEXT NOT NULL", b"statur TEXT NOT NULL"),
        (b"CREATE TABLE runs", b"CREATD TABLE runs"),
        (b"SQLite format 3", b"SQLite formas 3"),
    ],
)
def test_a_file_whose_schema_cannot_be_read_is_kept_and_a_new_one_begun(
    paths: Paths, machine: Machine, ids: list[int], old: bytes, new: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    damaged = change(paths.database, old, new).replace(old, new, 1)
    assert listed(paths) == []
    (aside,) = paths.data.glob("runs.damaged-*.sqlite3")
    assert aside.read_bytes() == damaged
    assert said("database.begun_anew", path=str(paths.database), kept=aside.name).is_in(caplog.text)
    with Database(paths.database) as database:
        stored = store(database, machine, 3.0)
    assert listed(paths) == [stored]


@pytest.mark.parametrize(
    ("at", "value"),
    [(18, 0x09), (20, 0x40), (44, 0xFF), (63, 0x02), (60, 0x7F), (63, 0x46), (71, 0)],
    ids=["write", "reserved", "schema", "older", "far", "newer", "owner"],
)
def test_a_byte_of_the_header_that_sqlite_can_do_without_costs_no_run(
    paths: Paths, ids: list[int], at: int, value: int
) -> None:
    content = bytearray(paths.database.read_bytes())
    content[at] = value
    paths.database.write_bytes(content)
    assert listed(paths) == ids


@pytest.mark.slow
def test_a_lost_page_costs_its_own_rows_only(paths: Paths, ids: list[int]) -> None:
    with Database(paths.database) as database:
        numbers = make_many(database, ids[0], 60)
        database.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        root = database.connection.execute("SELECT rootpage FROM sqlite_master WHERE name = 'runs'").fetchone()[0]
    content = paths.database.read_bytes()
    for page in range(1, len(content) // PAGE_BYTES + 1):
        start = (page - 1) * PAGE_BYTES
        for path in paths.data.glob("runs.*"):
            path.unlink()
        paths.database.write_bytes(content[:start] + bytes(PAGE_BYTES) + content[start + PAGE_BYTES :])
        left = listed(paths)
        # Only the page above all rows and those of the schema cost them all.
        is_schema = page == 1 or b"CREATE " in content[start : start + PAGE_BYTES]
        assert len(left) >= len(numbers) - 10 or page == root or is_schema, page


def test_a_cut_file_keeps_what_is_left_of_it(paths: Paths, ids: list[int]) -> None:
    with Database(paths.database) as database:
        numbers = make_many(database, ids[0], 200)
        database.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    content = paths.database.read_bytes()
    paths.database.write_bytes(content[: len(content) * 3 // 4 + 77])
    assert len(listed(paths)) >= len(numbers) // 2


def test_a_large_file_is_checked_once_it_has_shown_damage(
    paths: Paths, machine: Machine, ids: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "LOOKED_THROUGH_BYTES", 0)
    with Database(paths.database) as database:
        make_many(database, ids[0], 200)
        database.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    content = bytearray(paths.database.read_bytes())
    # Leaves of tables begin with 13, and only runs hold what was asked.
    starts = [at for at in range(0, len(content), PAGE_BYTES) if content[at] == 13]
    leaves = [at for at in starts if b'"batch_size"' in content[at : at + PAGE_BYTES]]
    content[leaves[9] : leaves[9] + PAGE_BYTES] = b"\xff" * PAGE_BYTES
    paths.database.write_bytes(content)
    with (
        Database(paths.database) as database,
        pytest.raises(DatabaseError, match=said("database.damaged").pattern) as failed,
    ):
        list(list_runs(database))
    assert said("database.try_again_to_repair").is_all_of(failed.value.advice_text)
    assert len(listed(paths)) > 150
    assert not list(paths.data.glob("*.suspect"))


def test_a_suspicion_that_was_wrong_changes_nothing(paths: Paths, ids: list[int]) -> None:
    paths.database.with_name("runs.sqlite3.suspect").touch()
    assert listed(paths) == ids
    assert not list(paths.data.glob("*damaged*"))
    assert not list(paths.data.glob("*.suspect"))


def test_a_repaired_file_is_not_set_aside_by_a_latecomer(
    paths: Paths, ids: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A second process saw the damage too, but the first one repaired it before the second acted."""
    change(paths.database, *LETTERS[0])
    assert listed(paths) == ids
    with Database(paths.database) as late:
        late.mend()
    assert listed(paths) == ids
    assert len(list(paths.data.glob("runs.damaged-*.sqlite3"))) == 1


@pytest.mark.slow
def test_many_processes_mend_one_file_once(paths: Paths, ids: list[int]) -> None:
    change(paths.database, *LETTERS[0])
    program = (
        "import sys; from pathlib import Path; from app.core.storage.database import Database;"
        "from app.core.storage.runs import list_runs;"
        "print(len(list(list_runs(Database(Path(sys.argv[1]))))))"
    )
    command = [sys.executable, "-c", program, str(paths.database)]
    started = [subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE) for _ in range(4)]
    told = [int(process.communicate(timeout=100)[0]) for process in started]
    assert told == [len(ids)] * 4
    assert len(list(paths.data.glob("runs.damaged-*.sqlite3"))) == 1


def test_a_file_that_was_packed_is_mended_although_its_tables_have_moved(paths: Paths, ids: list[int]) -> None:
    with Database(paths.database) as database:
        database.connection.execute("INSERT INTO groups (created_at, kind, plan) VALUES ('now', 'repeat', '{}')")
        database.connection.execute("DROP INDEX runs_by_workload")
        database.connection.execute("CREATE INDEX runs_by_workload ON runs (workload)")
        database.connection.execute("VACUUM")
        database.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    change(paths.database, *LETTERS[0])
    assert listed(paths) == ids
    with Database(paths.database) as database:
        assert database.connection.execute("SELECT kind FROM groups").fetchone()[0] == "repeat"


def test_a_sound_file_causes_no_message(paths: Paths, ids: list[int], caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO):
        assert listed(paths) == ids
    assert caplog.text == ""


@pytest.mark.timeout(60)
def test_a_huge_key_neither_hides_others_nor_takes_forever(paths: Paths, ids: list[int]) -> None:
    with Database(paths.database) as database:
        database.connection.execute("PRAGMA foreign_keys = OFF")
        database.connection.execute("UPDATE runs SET id = ? WHERE id = ?", (2**52, ids[-1]))
        database.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    change(paths.database, *LETTERS[0])
    assert listed(paths) == [*ids[:-1], 2**52]
