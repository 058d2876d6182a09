"""Results on network folders, which have no shared mappings, no locks of some files, or no locks at all."""

import contextlib
import errno
import os
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from app.core.paths import Paths
from app.core.storage import journal
from app.core.storage.database import Database, back_up, backup_path
from app.core.storage.runs import list_runs
from tests.build import store
from tests.conftest import PATIENCE_S, ROOT
from tests.saying import said
from workloads.protocol.machine import Machine

KINDS = [("mappings", 0), ("shm_locks", errno.ENOLCK)]


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library that makes the home folder of any program a network folder."""
    compiler = shutil.which("cc")
    if not sys.platform.startswith("linux") or compiler is None:
        pytest.skip("needs Linux with a C compiler")
    path = tmp_path_factory.mktemp("library") / "network_folder.so"
    source = ROOT / "tests" / "data" / "network_folder.c"
    subprocess.run([compiler, "-shared", "-fPIC", "-o", str(path), str(source), "-ldl"], check=True, timeout=60)
    return path


def start(library: Path, home: Path, kind: str, error: int, *arguments: str) -> "subprocess.Popen[str]":
    environment = {"EPOCHMARK_HOME": str(home), "NETWORK_FOLDER": kind, "LOCK_ERROR": str(error)}
    command = [sys.executable, "-P", "-m", "app", *arguments]
    environment = {**os.environ, **environment, "LD_PRELOAD": str(library)}
    return subprocess.Popen(command, cwd=ROOT, env=environment, stdout=-1, stderr=-1, text=True)


def home_of(paths: Paths) -> Path:
    return paths.data.parent


def mode_of(paths: Paths) -> str:
    with contextlib.closing(sqlite3.connect(paths.database)) as connection:
        return str(connection.execute("PRAGMA journal_mode").fetchone()[0])


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "error"), KINDS)
def test_several_programs_at_once_lose_nothing(kind: str, error: int, library: Path, paths: Paths) -> None:
    run, look = ("run", "demo", "--preset", "quick"), ("results", "list")
    programs = [start(library, home_of(paths), kind, error, *words) for words in (run, look, run, look, run)]
    said_last = [(*program.communicate(timeout=PATIENCE_S), program.returncode) for program in programs]
    assert [code for _, _, code in said_last] == [0] * 5, said_last
    assert mode_of(paths) == journal.ROLLBACK
    assert backup_path(paths.database).exists()
    with Database(paths.database) as database:
        assert [run.status for run in list_runs(database)] == ["completed"] * 3
    assert mode_of(paths) == journal.WAL, "the folder is this computer's again"


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "error"), KINDS)
def test_a_file_moved_from_this_computers_disk_keeps_what_is_in_its_log(
    kind: str, error: int, library: Path, paths: Paths, machine: Machine, tmp_path: Path
) -> None:
    with Database(paths.database) as database:
        store(database, machine, 3.0)
        shutil.copytree(home_of(paths), tmp_path / "network")
    shown = start(library, tmp_path / "network", kind, error, "results", "show", "1")
    assert shown.communicate(timeout=PATIENCE_S)[1] == ""
    assert shown.returncode == 0


@pytest.mark.slow
def test_a_folder_without_locks_is_named(library: Path, paths: Paths) -> None:
    refused = start(library, home_of(paths), "locks", errno.ENOLCK, "results", "list")
    answer = refused.communicate(timeout=PATIENCE_S)[1]
    assert said("database.no_locks", folder=str(paths.data)).is_in(answer)
    assert refused.returncode == 2
    assert not list(paths.data.glob(".journal-*"))


def test_a_folder_of_several_computers_has_no_log_that_one_alone_can_read(
    paths: Paths, machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Database(paths.database) as database:
        store(database, machine, 3.0)
    assert mode_of(paths) == journal.WAL
    monkeypatch.setattr(journal, "is_shared_folder", lambda _: True)
    with Database(paths.database) as database, Database(paths.database) as other:
        store(database, machine, 3.0)
        assert len(list(list_runs(other))) == 2
        assert other.connection.execute("PRAGMA synchronous").fetchone()[0] == 2  # FULL
        back_up(paths.database)
    assert mode_of(paths) == journal.ROLLBACK
    with Database(backup_path(paths.database)) as database:
        assert len(list(list_runs(database))) == 2
