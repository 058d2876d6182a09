"""A few of each of the attacks in tests/tools/attacks, with seeds that stay the same."""

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.tools.attacks import inputs, records
from tests.tools.attacks.report import Attack, carry_out

pytestmark = pytest.mark.long

processes = pytest.importorskip("tests.tools.attacks.processes", reason="POSIX signals")
files = pytest.importorskip("tests.tools.attacks.files", reason="POSIX limits")
faults = pytest.importorskip("tests.tools.attacks.faults", reason="POSIX limits")
crowds = pytest.importorskip("tests.tools.attacks.crowds", reason="POSIX limits")


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


# Takes its time: each try starts commands and ends them at random moments, which have to come.
@pytest.mark.parametrize(
    ("attack", "count"),
    [
        (records.break_cell, 80),
        (records.damage_file, 15),
        (inputs.log, 300),
        (files.damaged_file, 5_000),
        (inputs.command_line, 12),
        (processes.kill_worker, 3),
        (processes.kill_command, 4),
        (processes.stop_worker, 3),
        (processes.storm, 5),
        (faults.driver_library, 4),
        (faults.no_room, 2),
        (faults.flood, 2),
        (crowds.crowd, 1),
        (crowds.resumes, 1),
        (crowds.imports, 1),
    ],
    ids=lambda value: value.__name__ if callable(value) else "",
)
def test_an_attack_finds_nothing(attack: Attack, count: int, tmp_path: Path) -> None:
    report = carry_out(attack, tmp_path, count, seed=2026)
    assert report.tried == count
    assert report.failed == []
