"""Several computers: all processes decide as rank 0 does, do the work of one, and end together."""

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest

from app.core.messages import sentence
from app.core.paths import Paths
from app.core.records import Run
from app.core.storage.database import Database
from app.core.storage.runs import all_ids, load_run
from app.core.verdict.rules import judge
from tests.conftest import command
from tests.waiting import wait_until
from tests.workloads.engines.test_peers import TOLERANCE, carried_out, spec_on
from workloads.engines.computers import Decisions
from workloads.engines.peers import RANK
from workloads.engines.registry import ENGINES
from workloads.protocol.machine import Machine


class Memory:
    """A store in this process, whose values are there before anybody waits for them."""

    def __init__(self) -> None:
        self.values: dict[str, str] = {}

    def put(self, key: str, value: str) -> None:
        assert key not in self.values
        self.values[key] = value

    def wait_for(self, key: str, timeout_s: float) -> str:
        assert timeout_s > 0
        return self.values[key]

    def drop(self, key: str) -> None:
        del self.values[key]


def test_others_get_the_decisions_of_rank_0_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    store = Memory()
    first, other = Decisions(store), Decisions(store)
    for number, decision in enumerate([False, False, True, False, True] * 20):
        monkeypatch.setenv(RANK, "0")
        assert first.agreed(decision) == decision
        if number % 5 == 3:
            continue  # two decisions without a step between them
        monkeypatch.setenv(RANK, "1")
        for _ in range(2 if number % 5 == 4 and number else 1):
            last = other.agreed(not decision)
        assert last == decision
    assert len(store.values) < 5


LOCAL = "127.0.0.1"
# The paused computer is noticed by PyTorch only after 100 s.
PATIENCE_S = 200
WORDS = ("--device", "cpu", "--data", "synthetic", "--threads", "1")


@dataclass
class Computer:
    """A command in progress, and the file with what it shows."""

    process: "subprocess.Popen[bytes]"
    output: Path

    @property
    def shown(self) -> str:
        return self.output.read_text(encoding="utf-8", errors="replace")

    def worker(self) -> psutil.Process:
        def found() -> list[psutil.Process]:
            children = psutil.Process(self.process.pid).children(recursive=True)
            return [child for child in children if "workloads" in " ".join(child.cmdline())]

        wait_until(lambda: bool(found()))
        return found()[0]

    def finish(self) -> int:
        return self.process.wait(PATIENCE_S)


def free_ports(count: int) -> list[int]:
    with ExitStack() as stack:
        return [stack.enter_context(socket.create_server((LOCAL, 0))).getsockname()[1] for _ in range(count)]


@contextmanager
def two_computers(
    engine: str,
    environment: dict[str, str],
    folder: Path,
    *options: str,
    workload: str = "mnist_mlp",
    second: tuple[str, ...] = (),
    torchrun: bool = False,
) -> Iterator[list[Computer]]:
    """Start a run on two computers, as by hand or with torchrun. At the end, no process may be left."""
    port, *workers = free_ports(3)
    shared = environment | {"WORLD_SIZE": "2", "MASTER_ADDR": LOCAL, "MASTER_PORT": str(port)}
    if engine == "tensorflow":
        shared["TF_CONFIG"] = f'{{"cluster": {{"worker": ["{LOCAL}:{workers[0]}", "{LOCAL}:{workers[1]}"]}}}}'
    with ExitStack() as stack:
        computers = []
        for rank, more in enumerate(((), second)):
            words = command("run", workload, "--engine", engine, "--distributed", *WORDS, *options, *more)
            own = shared | {"RANK": str(rank)}
            if torchrun:
                words, own = with_torchrun(words, rank, port, environment)
            output = folder / f"rank-{rank}.txt"
            with output.open("wb") as file:
                process = subprocess.Popen(words, env=own, stdout=file, stderr=subprocess.STDOUT)
            computers.append(Computer(process, output))
            stack.callback(end, process)
        yield computers
    wait_until(lambda: not any("workloads" in name for name in running_children()))


def with_torchrun(
    words: list[str], rank: int, port: int, environment: dict[str, str]
) -> tuple[list[str], dict[str, str]]:
    packages = Path(environment["EPOCHMARK_HOME"]) / "data" / "engines" / "torch" / "packages"
    place = ["--nnodes=2", f"--node-rank={rank}", f"--master-addr={LOCAL}", f"--master-port={port}", "--no-python"]
    launcher = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node=1", *place]
    return [*launcher, "env", "-u", "PYTHONPATH", *words], environment | {"PYTHONPATH": str(packages)}


def running_children() -> Iterator[str]:
    for child in psutil.Process().children(recursive=True):
        try:
            yield " ".join(child.cmdline())
        except psutil.Error:
            continue


def end(process: "subprocess.Popen[bytes]") -> None:
    if process.poll() is None:
        for child in psutil.Process(process.pid).children(recursive=True):
            child.kill()
        process.kill()
    process.wait()


def stored(paths: Paths) -> list[Run]:
    with Database(paths.database) as database:
        return [load_run(database, run_id) for run_id in sorted(all_ids(database))]


@pytest.mark.parametrize(("engine", "torchrun"), [("tensorflow", False), ("torch", True), ("jax", False)])
def test_two_computers_do_the_work_of_one_and_rank_0_stores_it(
    engine: str, torchrun: bool, installed_engines: Paths, environment: dict[str, str], tmp_path: Path
) -> None:
    # Without dropout, and with batches in a fixed order.
    workload, options = "fcn_r", ("--epochs", "1", "--steps", "4", "--batch", "256", "--seed", "3")
    alone = command("run", workload, "--engine", engine, *WORDS, *options)
    subprocess.run(alone, env=environment, check=True, capture_output=True, timeout=PATIENCE_S)
    (one,) = stored(installed_engines)
    with two_computers(engine, environment, tmp_path, *options, workload=workload, torchrun=torchrun) as computers:
        assert [computer.finish() for computer in computers] == [0, 0], computers[0].shown
        assert sentence("computers.follows", rank=1, count=2) in computers[1].shown
    _, run = stored(installed_engines)
    assert run.summary.settings == "devices=2 machines=2"
    assert "several_computers" in {reason.code for reason in judge(run).reasons}
    assert one.epochs[0].loss is not None
    assert run.epochs[0].loss == pytest.approx(one.epochs[0].loss, rel=TOLERANCE)
    assert run.epochs[0].val_loss == pytest.approx(one.epochs[0].val_loss, rel=TOLERANCE)
    for name in ("updates_done", "examples_done", "examples_distinct"):
        assert run.metrics[name] == one.metrics[name], name


@pytest.mark.parametrize("engine", ENGINES)
def test_several_devices_and_computers_do_the_work_of_one(
    engine: str, installed_engines: Paths, machine: Machine
) -> None:
    specs = [spec_on(count, engine=engine, steps=4, batch_size=256, threads=1) for count in (1, 2)]
    alone, divided = (carried_out(spec, installed_engines, machine) for spec in specs)
    assert alone.epochs[0].loss is not None
    assert divided.epochs[0].loss == pytest.approx(alone.epochs[0].loss, rel=TOLERANCE)


# With another number of devices, the engines' processes would wait for each other in vain.
@pytest.mark.parametrize(
    ("engine", "fact", "values", "here", "there"),
    [
        ("tensorflow", "seed", ("3", "4"), "4", "3"),
        ("torch", "devices", ("1", "2"), "4", "2"),
        ("jax", "devices", ("1", "2"), "4", "2"),
    ],
)
def test_what_differs_is_named_on_both(
    engine: str,
    fact: str,
    values: tuple[str, str],
    here: str,
    there: str,
    installed_engines: Paths,
    environment: dict[str, str],
    tmp_path: Path,
) -> None:
    first, second = ((f"--{fact}", value) for value in values)
    with two_computers(engine, environment, tmp_path, *first, second=second) as computers:
        assert [computer.finish() for computer in computers] == [1, 1]
        differs = sentence("computers.differs", fact=fact, there=there, here=here, rank=1)
        assert differs in computers[1].shown
        assert sentence("computers.ended", rank=1, reason=differs) in computers[0].shown


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such signals")
@pytest.mark.parametrize("engine", ENGINES)
def test_a_run_that_is_cancelled_on_one_computer_ends_on_both(
    engine: str, installed_engines: Paths, environment: dict[str, str], tmp_path: Path
) -> None:
    with two_computers(engine, environment, tmp_path, "--epochs", "1000", "--steps", "10") as computers:
        wait_until(lambda: "1/1000 " in computers[0].shown, PATIENCE_S)
        computers[1].process.send_signal(signal.SIGTERM)
        assert [computer.finish() for computer in computers] == [1, 130]
        reason = sentence("computers.cancelled")
        assert sentence("computers.ended", rank=1, reason=reason) in computers[0].shown


@pytest.mark.skipif(os.name == "nt", reason="Windows suspends no process like this")
@pytest.mark.parametrize(
    ("engine", "how", "rank"), [("tensorflow", "SIGKILL", 0), ("torch", "SIGSTOP", 1), ("jax", "SIGKILL", 1)]
)
def test_a_lost_computer_ends_the_run_on_the_other(
    engine: str, how: str, rank: int, installed_engines: Paths, environment: dict[str, str], tmp_path: Path
) -> None:
    with two_computers(engine, environment, tmp_path, "--epochs", "1000", "--steps", "10") as computers:
        wait_until(lambda: "1/1000 " in computers[0].shown, PATIENCE_S)
        computers[rank].worker().send_signal(signal.Signals[how])
        other = computers[1 - rank]
        assert other.finish() == 1
        codes = ("computers.lost", "computers.aborted")
        starts = [sentence(code, reason="\n").partition("\n")[0] for code in codes]
        assert any(start in other.shown for start in starts), other.shown
