"""Trains on several computers over links of limited speed, which are network namespaces of this one.

    python -m tests.benchmarks.links [COMPUTERS [STEPS [ENGINE …]]]

Needs Linux, root and the `ip` command. Packets pass through this program, which delays them, because not every
kernel can. For each link, it prints the duration of a step, and what the arithmetic says: the duration without a
limit, plus the time in which the link carries the gradients and the delay of one exchange. Engines may exchange
gradients while they still compute, or each array by itself: JAX waits for the delay about 14 times a step.
"""

import contextlib
import fcntl
import heapq
import itertools
import os
import re
import select
import shlex
import statistics
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from app.core.storage.database import Database
from app.core.storage.runs import load_run
from tests.benchmarks.attacks.clusters import ENGINES_FOLDER
from tests.benchmarks.attacks.report import until
from tests.conftest import ROOT, command
from workloads.engines.registry import ENGINES

WORKLOAD = "mnist_mlp"
OPTIONS = ("--device", "cpu", "--data", "synthetic", "--threads", "1", "--epochs", "1", "--trust-network")
PATIENCE_S = 300
_TUNSETIFF, _TUN_WITHOUT_HEADER = 0x400454CA, 0x1001
# Large packets, because Python handles only some ten thousand a second.
_MTU_BYTES = 60_000


@dataclass(frozen=True)
class Link:
    """What limits the packets that a computer sends. `bits_per_s` is None for no limit."""

    name: str
    bits_per_s: float | None
    delay_s: float

    def exchange_s(self, count: int, parameters: int) -> float:
        """Return how long a ring of computers takes to add up the gradients."""
        sent_bytes = 2 * (count - 1) / count * 4 * parameters
        turns = 2 * (count - 1)
        return (8 * sent_bytes / self.bits_per_s if self.bits_per_s else 0.0) + turns * self.delay_s


LINKS = (
    Link("no limit", None, 0.0),
    Link("10 Gbit/s, 0.1 ms", 10e9, 0.1e-3),
    Link("1 Gbit/s, 0.1 ms", 1e9, 0.1e-3),
    Link("1 Gbit/s, 5 ms", 1e9, 5e-3),
)


class Switch:
    """Carries packets between namespaces, as a switch with one slow cable to each would."""

    def __init__(self, link: Link, ports: dict[bytes, int]) -> None:
        self._link, self._ports = link, ports
        self._due: list[tuple[float, int, int, bytes]] = []
        self._free_s = dict.fromkeys(ports.values(), 0.0)
        self._numbers = itertools.count()
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._carry, daemon=True)
        self._thread.start()

    def end(self) -> None:
        """Stop carrying packets."""
        self._is_over.set()
        self._thread.join()

    def _carry(self) -> None:
        while not self._is_over.is_set():
            wait_s = max(0.0, self._due[0][0] - time.monotonic()) if self._due else 0.05
            ready, _, _ = select.select(list(self._ports.values()), [], [], min(wait_s, 0.05))
            for port in ready:
                self._accept(port, os.read(port, _MTU_BYTES + 100))
            while self._due and self._due[0][0] <= time.monotonic():
                _, _, target, packet = heapq.heappop(self._due)
                with contextlib.suppress(OSError):
                    os.write(target, packet)

    def _accept(self, port: int, packet: bytes) -> None:
        target = self._ports.get(packet[16:20])
        if target is None:
            return
        rate = self._link.bits_per_s
        sent_s = max(time.monotonic(), self._free_s[port]) + (8 * len(packet) / rate if rate else 0.0)
        self._free_s[port] = sent_s
        heapq.heappush(self._due, (sent_s + self._link.delay_s, next(self._numbers), target, packet))


def main() -> int:
    """Measure all links with the engines that the arguments name."""
    arguments = sys.argv[1:]
    count, steps = int(arguments[0]) if arguments else 2, int(arguments[1]) if arguments[1:] else 150
    for engine in arguments[2:] or ENGINES:
        base_s = None
        for link in LINKS:
            with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
                step_s, parameters = _measured(Path(folder), link, count, steps, engine)
            base_s = base_s or step_s
            expected_s = base_s + link.exchange_s(count, parameters)
            print(
                f"{engine}, {count} computers, {link.name}: {1000 * step_s:.1f} ms a step"
                f" (arithmetic: {1000 * expected_s:.1f}), {100 * base_s / step_s:.0f} % of the unlimited speed",
                flush=True,
            )
    return 0


def _measured(folder: Path, link: Link, count: int, steps: int, engine: str) -> tuple[float, int]:
    """Return the typical duration of a step in seconds, and the number of parameters."""
    with _namespaces(link, count) as addresses:
        hosts = folder / "hosts"
        hosts.write_text("\n".join(addresses), encoding="utf-8")
        words = ("cluster", "run", WORKLOAD, "--engine", engine, "--steps", str(steps), *OPTIONS)
        with ExitStack() as stack:
            first = stack.enter_context(_started(folder, 0, *words, "--hosts", str(hosts)))
            until(lambda: (folder / "0.txt").read_text().count("--key") == count - 1)
            shown = re.findall(r" (run .*--key \w+)", (folder / "0.txt").read_text())
            for number, line in enumerate(shown, 1):
                stack.enter_context(_started(folder, number, *shlex.split(line)))
            if first.wait(PATIENCE_S) != 0:
                raise RuntimeError((folder / "0.txt").read_text()[-2000:])
    with Database(folder / "home0" / "data" / "runs.sqlite3") as database:
        run = load_run(database, 1, with_peak=False)
    durations_s = [each for block in run.steps if block.phase == "measure" for each in block.durations_s]
    assert run.model is not None
    return statistics.median(durations_s[len(durations_s) // 3 :]), run.model.parameters_count


@contextmanager
def _started(folder: Path, number: int, *words: str) -> Iterator["subprocess.Popen[bytes]"]:
    home = folder / f"home{number}"
    (home / "data").mkdir(parents=True)
    if ENGINES_FOLDER.is_dir():
        (home / "data" / "engines").symlink_to(ENGINES_FOLDER, target_is_directory=True)
    with (folder / f"{number}.txt").open("wb") as out:
        process = subprocess.Popen(
            ["ip", "netns", "exec", _name(number), *command(*words)],
            env={**os.environ, "EPOCHMARK_HOME": str(home), "PYTHONPATH": str(ROOT)},
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
        )
        try:
            yield process
            process.wait(30)
        finally:
            process.kill()
            process.wait()


@contextmanager
def _namespaces(link: Link, count: int) -> Iterator[list[str]]:
    """Connect new network namespaces, and return their addresses."""
    addresses = [f"10.77.0.{number + 1}" for number in range(count)]
    with ExitStack() as stack:
        ports = {}
        for number, address in enumerate(addresses):
            _ip("netns", "add", _name(number))
            stack.callback(_ip, "netns", "delete", _name(number))
            port = os.open("/dev/net/tun", os.O_RDWR)
            stack.callback(os.close, port)
            fcntl.ioctl(port, _TUNSETIFF, struct.pack("16sH", _name(number).encode(), _TUN_WITHOUT_HEADER))
            _ip("link", "set", _name(number), "netns", _name(number))
            inside = ("-n", _name(number))
            _ip(*inside, "address", "add", f"{address}/24", "dev", _name(number))
            _ip(*inside, "link", "set", _name(number), "mtu", str(_MTU_BYTES), "up")
            _ip(*inside, "link", "set", "lo", "up")
            ports[bytes(map(int, address.split(".")))] = port
        switch = Switch(link, ports)
        stack.callback(switch.end)
        yield addresses


def _name(number: int) -> str:
    return f"epochmark{number}"


def _ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True)


if __name__ == "__main__":
    sys.exit(main())
