"""The computer stays awake during a run: what is asked of the system, and that it ends with the run."""

import ctypes
import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from app.core.paths import Paths
from app.core.runs.awake import stay_awake
from app.core.runs.runner import Runner
from tests.conftest import ROOT
from tests.core.runs.running import start_run
from tests.systems import needs_scripts
from tests.waiting import wait_until
from workloads import CATALOGUE
from workloads.protocol.machine import Machine

HELPER = """#!/bin/sh
echo "$0 $*" >> "{log}"
for last; do :; done
[ "$last" = cat ] && exec cat
exec sleep 60
"""


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What the systems' own programs were asked; they are replaced by one that waits as they do."""
    log, folder = tmp_path / "asked.txt", tmp_path / "bin"
    folder.mkdir()
    for name in ("systemd-inhibit", "caffeinate"):
        program = folder / name
        program.write_text(HELPER.format(log=log))
        program.chmod(0o755)
    monkeypatch.setenv("PATH", str(folder), prepend=os.pathsep)
    return log


def lines(log: Path, count: int) -> list[str]:
    """Return what was asked, once it is this much."""
    wait_until(lambda: log.exists() and len(log.read_text().splitlines()) >= count)
    return log.read_text().splitlines()


def helpers(pid: int | None = None) -> list[psutil.Process]:
    return [each for each in psutil.Process(pid).children() if each.name() in ("cat", "sleep")]


@needs_scripts
@pytest.mark.slow
def test_linux_is_asked_for_two_locks_until_the_block_ends_and_macos_for_one(log: Path) -> None:
    with stay_awake("linux"):
        asked = "\n".join(sorted(lines(log, 2)))
        assert "--what=idle" in asked
        assert "--what=sleep" in asked
        assert asked.count("--mode=block") == asked.count("--who=Epochmark") == 2
        wait_until(lambda: len(helpers()) == 2)  # they write their lines before they wait
    assert helpers() == []
    with stay_awake("darwin"):
        assert lines(log, 3)[2].endswith(f"caffeinate -i -s -w {os.getpid()}")
        wait_until(lambda: len(helpers()) == 1)
    assert helpers() == []


def test_windows_keeps_the_thread_awake_and_lets_it_go(monkeypatch: pytest.MonkeyPatch) -> None:
    states: list[int] = []
    kernel = type("Kernel", (), {"SetThreadExecutionState": staticmethod(states.append)})
    monkeypatch.setattr(ctypes, "windll", type("Dlls", (), {"kernel32": kernel}), raising=False)
    with stay_awake("win32"):
        assert states == [0x80000001]
    assert states == [0x80000001, 0x80000000]


@needs_scripts
@pytest.mark.slow
def test_the_locks_end_with_the_process_however_it_ends(log: Path) -> None:
    code = "import time\nfrom app.core.runs.awake import stay_awake\nwith stay_awake('linux'): time.sleep(60)"
    process = subprocess.Popen([sys.executable, "-c", code], cwd=ROOT)
    lines(log, 2)
    locks = helpers(process.pid)
    assert len(locks) == 2
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    psutil.wait_procs(locks, timeout=10)
    assert not [each for each in locks if each.is_running() and each.status() != psutil.STATUS_ZOMBIE]


@needs_scripts
@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs Linux' locks")
def test_a_run_holds_them_from_its_start_to_its_end(log: Path, paths: Paths, machine: Machine) -> None:
    spec = CATALOGUE["demo"].default_spec(epochs=200, parameters={"outcome": "ok", "step_s": 0.01})
    session = start_run(Runner(paths, machine), spec)
    lines(log, 2)
    assert len(helpers()) == 2
    session.cancel()
    session.wait(60)
    assert helpers() == []
