"""Results in earlier formats open, and come to the same numbers, to the last digit."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from app.core.storage.schema import FORMAT, MIGRATIONS
from tests.core.storage import figures


@pytest.fixture(scope="module")
def expected() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(gzip.decompress(figures.EXPECTED.read_bytes()))
    return found


def test_each_format_has_its_database() -> None:
    assert {int(name.split("_")[1]) for name in figures.formats()} == set(MIGRATIONS)
    assert set(MIGRATIONS) == set(range(min(MIGRATIONS), FORMAT))


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
