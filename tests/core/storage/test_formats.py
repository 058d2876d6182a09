"""Results in earlier formats open, and come to the same numbers, to the last digit."""

import contextlib
import gzip
import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from app.core.paths import Paths
from app.core.result_file.canonical import digest_of
from app.core.storage.database import Database
from app.core.storage.imported_results import list_results, load_result
from app.core.storage.salvage import salvage
from app.core.storage.schema import FORMAT, MIGRATIONS
from tests.core.storage import figures


@pytest.fixture(scope="module")
def expected() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(gzip.decompress(figures.EXPECTED.read_bytes()))
    return found


def test_each_format_has_its_database() -> None:
    assert {int(name.split("_")[1]) for name in figures.formats()} == set(MIGRATIONS)
    assert set(MIGRATIONS) == set(range(min(MIGRATIONS), FORMAT))


LAPTOP = ("cifar10_keras_cnn", "A laptop", "2026-11-25T17:31:44Z", "log 1", 44.2, [45.2, 44.1, 44.3])
# As they were listed and drawn while logs had a table of their own.
LOGS = {
    "format_8": [LAPTOP],
    "format_9": [
        LAPTOP,
        (
            *("cifar10_keras_cnn", "Tesla K80 é", "2026-11-25T11:30:00Z", "log 2", 41.48827099800109),
            [61.123456789012344, 41.48827099800109, 40.1, 43.7],
        ),
        ("cifar10_keras_cnn", "one epoch", "2026-11-25T12:30:00Z", "log 3", 12.25, [12.25]),
        (
            *("mnist_mlp", "totals", "2026-11-25T13:30:00Z", "log 4", 5.100000000000001),
            [5.1, 5.1, 5.100000000000001, 5.100000000000001],
        ),
        ("mnist_mlp", "twice", "2026-11-25T14:30:00Z", "log 6", 3.375, [9.0, 3.25, 3.5]),
        # A result can't hold epochs of more than a year.
        ("mnist_mlp", "longer than a year", "2026-11-25T16:30:00Z", "log 8", 42_500_000.0, None),
        ("a_workload_of_old", "Old", "2026-11-25T17:30:00Z", "log 20", 1.5, [2.0, 1.5]),
    ],
    "format_8_real": [],
}


def logs(database: Database) -> list[tuple[object, ...]]:
    found: list[tuple[object, ...]] = []
    for each in reversed([each for each in list_results(database) if each.is_log]):
        result = load_result(database, each.id)
        epochs_s = result.epochs and [epoch.duration_s for epoch in result.epochs]
        assert each.digest == result.digest == digest_of(result)
        found.append(
            (each.summary.workload, each.label, each.imported_at, each.source, each.summary.value, epochs_s)
        )
    return found


@pytest.mark.parametrize("name", figures.formats())
def test_logs_of_each_format_become_imported_results(name: str, paths: Paths) -> None:
    paths.database.write_bytes(gzip.decompress((figures.DATABASES / f"{name}.sqlite3.gz").read_bytes()))
    with Database(paths.database) as database:
        assert logs(database) == LOGS[name]


@pytest.mark.parametrize("name", figures.formats())
def test_a_file_that_another_program_packed_and_spells_otherwise_opens(name: str, paths: Paths) -> None:
    paths.database.write_bytes(gzip.decompress((figures.DATABASES / f"{name}.sqlite3.gz").read_bytes()))
    with contextlib.closing(sqlite3.connect(paths.database, isolation_level=None)) as other:
        count = other.execute("SELECT count(*) FROM runs").fetchone()[0]
        other.execute("DROP INDEX runs_by_workload")
        other.execute('CREATE INDEX "runs_by_workload" on "runs"("workload")')
        other.execute("VACUUM")
    with Database(paths.database) as database:
        assert database.connection.execute("SELECT count(*) FROM runs").fetchone()[0] == count
    assert not list(paths.data.glob("*damaged*"))


def test_a_log_that_is_damaged_is_left_out_and_stops_nothing(paths: Paths) -> None:
    file = gzip.decompress((figures.DATABASES / "format_9.sqlite3.gz").read_bytes())
    for column in ("imported_at", "workload", "name", "durations_s", "seconds_per_epoch_s"):
        for value in (b"\xff", "\x1b[2J", "", "[]", "[-1]", '["a"]', "[1e999]", "[" * 5_000, 0, -1.5):
            paths.database.write_bytes(file)
            with contextlib.closing(sqlite3.connect(paths.database)) as broken:
                text = "CAST(? AS TEXT)" if isinstance(value, bytes) else "?"
                broken.execute(f"UPDATE logs SET {column} = {text} WHERE id = 6", (value,))
                broken.commit()
            with Database(paths.database) as database:
                found = {each.source: each for each in list_results(database)}
            assert {"log 1", "log 2", "log 3", "log 20"} < set(found), (column, value)


def test_logs_of_a_damaged_file_are_kept(paths: Paths) -> None:
    content = gzip.decompress((figures.DATABASES / "format_9.sqlite3.gz").read_bytes())
    fresh = paths.database.with_name("fresh.sqlite3")
    old = paths.database.with_name("old.sqlite3")
    old.write_bytes(content)
    salvage(old, fresh)
    with Database(fresh) as database:
        assert logs(database) == LOGS["format_9"]


@pytest.mark.slow
@pytest.mark.parametrize("name", figures.formats())
def test_a_database_of_each_format_gives_its_numbers(name: str, expected: dict[str, Any], tmp_path: Path) -> None:
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
