"""Names of the programs that keep the CPU busy."""

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.hardware.telemetry.programs import COUNT, NAME_LIMIT, busiest, busy_programs
from app.core.plain_text import one_line
from tests.waiting import wait_until


def test_processes_of_one_name_are_one_program() -> None:
    before = {(1, "browser"): 10.0, (2, "browser"): 5.0, (3, "editor"): 90.0, (4, "backup"): 1.0}
    after = {(1, "browser"): 10.3, (2, "browser"): 5.4, (3, "editor"): 90.1, (4, "backup"): 1.5}
    assert busiest(before, after, 1.0) == ("browser", "backup")


def test_a_program_that_started_in_between_or_shares_a_reused_number_does_not_count_with_its_past() -> None:
    assert busiest({(1, "old"): 100.0}, {(1, "new"): 50.0, (2, "young"): 3.0}, 1.0) == ()


def test_programs_that_hardly_work_are_not_named() -> None:
    assert busiest({(1, "clock"): 0.0}, {(1, "clock"): 0.19}, 1.0) == ()


@given(st.dictionaries(st.tuples(st.integers(1, 99), st.text(min_size=1)), st.floats(0, 1e6), max_size=8))
def test_names_are_safe_to_show(after: dict[tuple[int, str], float]) -> None:
    names = busiest(dict.fromkeys(after, 0.0), after, 1.0)
    assert len(names) <= COUNT
    assert all(len(name) <= NAME_LIMIT and one_line(name, NAME_LIMIT) == name for name in names)


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
