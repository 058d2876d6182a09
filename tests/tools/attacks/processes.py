"""Kills and signals at random moments: reported results are kept, and nothing is left running."""

import contextlib
import json
import os
import random
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import psutil

from app.core.paths import default_paths
from app.core.records import RunSummary
from app.core.storage.database import Database
from app.core.storage.outcomes import recover_runs
from app.core.storage.runs import list_runs, load_run
from tests.conftest import ROOT, command
from tests.tools.attacks.report import until

DEMO = ("run", "demo", "--json", "--epochs", "400", "--set", "step_s=0.002")
_ENDED = ("completed", "cancelled", "failed", "interrupted")


def start(folder: Path, *arguments: str, **options: Any) -> "subprocess.Popen[bytes]":
    """Start a command in folders of its own; its output goes to files, so that nobody has to read it."""
    with (folder / "out").open("wb") as out, (folder / "err").open("wb") as err:
        return subprocess.Popen(
            command(*arguments),
            env={**os.environ, "EPOCHMARK_HOME": str(folder / "home"), "PYTHONPATH": str(ROOT)},
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            **options,
        )


def ended(process: "subprocess.Popen[bytes]", patience_s: float = 120) -> int | None:
    """Return a command's exit code; None if it hangs, and is killed."""
    try:
        return process.wait(patience_s)
    except subprocess.TimeoutExpired:
        process.kill()
        return None


def told(folder: Path) -> list[dict[str, Any]]:
    """Return the events that were reported in whole lines."""
    *lines, _ = (folder / "out").read_bytes().split(b"\n")
    return [json.loads(line) for line in lines]


def workers(process: "subprocess.Popen[bytes]") -> list[psutil.Process]:
    """Return the worker that a command has started, if it has; not what keeps the computer awake meanwhile."""
    children: list[psutil.Process] = []
    with contextlib.suppress(psutil.Error):
        children = psutil.Process(process.pid).children(recursive=True)
    return [child for child in children if _is_worker(child)]


def left(found: list[psutil.Process]) -> list[str]:
    """Say which processes are still there; they have a moment to go."""

    def gone(process: psutil.Process) -> bool:
        try:
            return not process.is_running() or process.status() == psutil.STATUS_ZOMBIE
        except psutil.Error:
            return True

    until(lambda: all(map(gone, found)), 10)
    names = [f"process {process.pid} is left" for process in found if not gone(process)]
    for process in found:
        if not gone(process):
            process.kill()
    return names


def stored(folder: Path) -> list[RunSummary]:
    """Return the runs, after the recovery that each start does."""
    with Database(default_paths({"EPOCHMARK_HOME": str(folder / "home")}).database) as database:
        recover_runs(database)
        return list(list_runs(database))


def kept(folder: Path) -> list[str]:
    """Describe which reported epochs are not stored, and whether the run has an end."""
    epochs = [event["index"] for event in told(folder) if event["type"] == "epoch"]
    runs = stored(folder)
    if not runs:
        return [f"{len(epochs)} epochs were told, and there is no run"] if epochs else []
    found = [f"the run is {run.status}" for run in runs if run.status not in _ENDED]
    with Database(default_paths({"EPOCHMARK_HOME": str(folder / "home")}).database) as database:
        there = {epoch.index for epoch in load_run(database, runs[0].id).epochs}
    if missing := set(epochs) - there:
        found.append(f"{len(missing)} of {len(epochs)} told epochs are not stored")
    return found


def complaints(folder: Path) -> list[str]:
    """Describe anything printed that users should not see."""
    text = (folder / "err").read_text(errors="replace")
    words = ("Traceback", "Exception ignored", "itself failed", "Fatal Python error", "No module named")
    return [f"{word} was printed: {text[-300:]!r}" for word in words if word in text]


def kill_worker(folder: Path, chance: random.Random, number: int) -> list[str]:
    """Kill the worker at a random moment: the run fails, with its epochs."""
    process = start(folder, *DEMO)
    until(lambda: bool(workers(process)) or process.poll() is not None)
    found = workers(process)
    time.sleep(chance.uniform(0, 1.2))
    for worker in found:
        worker.send_signal(chance.choice((signal.SIGKILL, signal.SIGKILL, signal.SIGSEGV, signal.SIGTERM)))
    if (code := ended(process, 60)) is None:
        return ["the command hangs"]
    problems = [] if code == 1 else [f"it ended with {code}"]
    return problems + left(found) + kept(folder) + complaints(folder)


def kill_command(folder: Path, chance: random.Random, number: int) -> list[str]:
    """Kill the command at a random moment: its worker goes too, and the next start finds the epochs."""
    process = start(folder, *DEMO)
    found: list[psutil.Process] = []
    if chance.random() < 0.7:
        until(lambda: bool(workers(process)) or process.poll() is not None)
    time.sleep(chance.uniform(0, 1.0))
    found = workers(process)
    process.kill()
    process.wait()
    return left(found) + kept(folder)


def _is_worker(process: psutil.Process) -> bool:
    try:
        return "workloads" in process.cmdline()
    except psutil.Error:
        return False


def stop_worker(folder: Path, chance: random.Random, number: int) -> list[str]:
    """Stop the worker in its first moments, then kill the command: it must not outlive it.

    It is stopped once it is a program of its own: for some microseconds before it is a copy of the command.
    """
    process = start(folder, *DEMO)
    until(lambda: any(map(_is_worker, workers(process))) or process.poll() is not None)
    time.sleep(chance.uniform(0, 0.15))
    found = workers(process)
    for worker in found:
        worker.suspend()
    process.kill()
    process.wait()
    return left(found) + kept(folder)


_VERBS = (
    DEMO,
    ("run", "demo", "--epochs", "400", "--set", "step_s=0.002"),
    ("run", "demo", "--epochs", "50", "--set", "step_s=0.002", "--repeat", "3"),
    ("ab", "demo", "--epochs", "50", "--a", "seed=1", "--b", "seed=2", "--pairs", "2"),
    ("run", "demo", "--json", "--epochs", "400", "--set", "outcome=hang"),
)


def storm(folder: Path, chance: random.Random, number: int) -> list[str]:
    """Send many signals in quick succession at a random moment: it ends soon, silently, and loses nothing."""
    arguments = _VERBS[number % len(_VERBS)]
    process = start(folder, *arguments)
    time.sleep(chance.uniform(0, 2.0))
    found = workers(process)
    for _ in range(chance.randrange(2, 40)):
        if process.poll() is not None:
            break
        process.send_signal(chance.choice((signal.SIGINT, signal.SIGTERM)))
        time.sleep(chance.choice((0, 0, 0.0005, 0.01)))
    found += workers(process)
    if (code := ended(process, 30)) is None:
        return [f"{' '.join(arguments)} hangs", *left(found)]
    problems = [] if code in (130, 0, -signal.SIGINT, -signal.SIGTERM) else [f"it ended with {code}"]
    if "--json" in arguments:
        problems += kept(folder)
    else:
        problems += [f"a run is {run.status}" for run in stored(folder) if run.status not in _ENDED]
    return problems + left(found) + complaints(folder)
