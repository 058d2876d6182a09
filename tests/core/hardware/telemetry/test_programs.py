"""Names of the programs that keep the CPU busy."""

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from app.core.hardware.telemetry.programs import NAME_LIMIT, busiest, busy_programs
from app.core.plain_text import one_line
from tests.waiting import wait_until

Used = dict[tuple[int, str], float]
BROWSER = {(1, "browser"): 10.0, (2, "browser"): 5.0, (3, "editor"): 90.0, (4, "backup"): 1.0}
LATER = BROWSER | {(1, "browser"): 10.3, (2, "browser"): 5.4, (4, "backup"): 1.5}


@pytest.mark.parametrize(
    ("before", "after", "names"),
    [
        # Processes of one name are one program.
        (BROWSER, LATER, ("browser", "backup")),
        # One that started in between, or has another's number, does not count with its past.
        ({(1, "old"): 100.0}, {(1, "new"): 50.0, (2, "young"): 3.0}, ()),
        ({(1, "clock"): 0.0}, {(1, "clock"): 0.19}, ()),
        ({(1, "clock"): 0.0}, {(1, "clock"): 0.2}, ("clock",)),
        ({(1, "x\ty" * 20): 0.0}, {(1, "x\ty" * 20): 1.0}, (one_line("x\ty" * 20, NAME_LIMIT),)),
    ],
)
def test_the_busiest_programs_are_named(before: Used, after: Used, names: tuple[str, ...]) -> None:
    assert busiest(before, after, 1.0) == names


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="uses a shell under another name")
def test_a_busy_program_is_found_unless_it_is_our_own(tmp_path: Path) -> None:
    shell = tmp_path / "epochmark-busy"
    shell.symlink_to("/bin/sh")
    work = "while :; do :; done"
    with subprocess.Popen([shell, "-c", work]) as own:
        assert shell.name not in busy_programs(0.3)
        own.kill()
    # The parent ends, so that the subshell isn't a descendant of this process.
    parent = subprocess.run([shell, "-c", f"({work}) >&- & echo $!"], stdout=subprocess.PIPE, check=True)
    try:
        wait_until(lambda: shell.name in busy_programs(0.3))
    finally:
        os.kill(int(parent.stdout), signal.SIGKILL)


def test_a_watch_ends_early_if_it_is_stopped() -> None:
    stop = threading.Event()
    stop.set()
    busy_programs(3_600, stop)
