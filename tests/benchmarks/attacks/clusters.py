"""Kills and pauses of random processes of a run on two computers: the other one names what is lost, soon."""

import random
import re
import shlex
import signal
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

import psutil

from tests.benchmarks.attacks.processes import complaints, ended, left, start, workers
from tests.benchmarks.attacks.report import until
from tests.conftest import ROOT
from tests.saying import said
from workloads.engines.registry import ENGINES

LOCAL = "127.0.0.1"
NAMED_WITHIN_S = 30.0
ENGINES_FOLDER = ROOT / ".engines" / "data" / "engines"
# Without an engine, and with those that the tests have installed (`start.py test --all`).
DEMO = ("demo", "--epochs", "1000", "--set", "step_s=0.05")
SHORT = ("--device", "cpu", "--data", "synthetic", "--threads", "1", "--epochs", "99", "--trust-network")
TRAINING = tuple(("mnist_mlp", "--engine", engine, *SHORT) for engine in ENGINES)


@dataclass
class _Computer:
    folder: Path
    rank: int
    command: "subprocess.Popen[bytes]"

    def shown(self) -> str:
        return "".join((self.folder / name).read_text(errors="replace") for name in ("out", "err"))

    def worker(self) -> psutil.Process:
        return workers(self.command)[0]


def kill(folder: Path, chance: random.Random, number: int, words: tuple[str, ...] = DEMO) -> list[str]:
    """Kill the command or the worker of one of the computers at a random moment."""
    return _disturb(folder, chance, signal.SIGKILL, words)


def pause(folder: Path, chance: random.Random, number: int, words: tuple[str, ...] = DEMO) -> list[str]:
    """Pause the command or the worker of one of the computers at a random moment, until the others have ended."""
    return _disturb(folder, chance, signal.SIGSTOP, words)


def kill_training(folder: Path, chance: random.Random, number: int) -> list[str]:
    """The same as `kill`, with one engine after another."""
    return kill(folder, chance, number, TRAINING[number % len(TRAINING)])


def pause_training(folder: Path, chance: random.Random, number: int) -> list[str]:
    """The same as `pause`, with one engine after another."""
    return pause(folder, chance, number, TRAINING[number % len(TRAINING)])


def _disturb(folder: Path, chance: random.Random, how: signal.Signals, words: tuple[str, ...]) -> list[str]:
    computers = _started(folder, words)
    heading = said("column.seconds")
    if not until(lambda: all(heading.is_in(each.shown()) for each in computers)):
        return ["the computers didn't meet", *(f"rank {each.rank}: {each.shown()[-400:]!r}" for each in computers)]
    trained = [computer.worker() for computer in computers]
    time.sleep(chance.uniform(0.0, 5.0))
    hit, other = chance.sample(computers, 2)
    is_command = chance.random() < 0.5
    target = psutil.Process(hit.command.pid) if is_command else hit.worker()
    what = f"{how.name} of the {'command' if is_command else 'worker'} of rank {hit.rank}"
    target.send_signal(how)
    begin_s = time.monotonic()
    code = ended(other.command, 2 * NAMED_WITHIN_S)
    took_s = time.monotonic() - begin_s
    if how is signal.SIGSTOP and is_command:
        target.resume()
    problems = [] if took_s <= NAMED_WITHIN_S else [f"it took {took_s:.0f} s"]
    problems += [] if code == 1 else [f"the other one ended with {code}: {other.shown()[-300:]!r}"]
    problems += [] if _names(other.shown(), hit.rank, is_command, how) else [f"it said {other.shown()[-400:]!r}"]
    if ended(hit.command, NAMED_WITHIN_S) is None:
        problems.append("the command hangs")
    problems += left(trained) + complaints(other.folder)
    return [f"{what}: {problem}" for problem in problems]


def _names(shown: str, rank: int, is_command: bool, how: signal.Signals) -> bool:
    """Return whether the sentence is the right one for what happened at a rank."""
    if not is_command:
        reason = said("run.hung" if how is signal.SIGSTOP else "exit.killed")
        return reason.is_in(shown) and said("cluster.ended", rank=rank, address=LOCAL).is_in(shown)
    code = "cluster.lost_silent" if how is signal.SIGSTOP else "cluster.lost_gone"
    return said(code, rank=rank, address=LOCAL).is_in(shown)


def _started(folder: Path, words: tuple[str, ...]) -> list[_Computer]:
    """Return two computers that are about to train together, or only the first one if it shows no command."""
    hosts = folder / "hosts"
    hosts.write_text(f"{LOCAL}\n{LOCAL}\n", encoding="utf-8")
    first = _computer(folder / "0", 0, "cluster", "run", *words, "--hosts", str(hosts))
    pattern = re.compile(r" (run .*--key \w+)")
    until(lambda: pattern.search(first.shown()) is not None)
    command = pattern.search(first.shown())
    if command is None:
        return [first]
    second = _computer(folder / "1", 1, *shlex.split(command[1]))
    computers = [first, second]
    until(lambda: all(workers(each.command) for each in computers))
    return computers


def _computer(folder: Path, rank: int, *words: str) -> _Computer:
    (folder / "home" / "data").mkdir(parents=True)
    if ENGINES_FOLDER.is_dir():
        (folder / "home" / "data" / "engines").symlink_to(ENGINES_FOLDER, target_is_directory=True)
    return _Computer(folder, rank, start(folder, *words))
