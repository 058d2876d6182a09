"""Starts the additional processes of a run whose engine trains with one process per device.

These processes are workers with the same command line and job as the first one, and end when it closes their
standard input or exits. RANK, LOCAL_RANK and WORLD_SIZE are the variables of PyTorch's own launcher.
"""

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress

from workloads.protocol import events
from workloads.protocol.errors import WorkloadError
from workloads.protocol.folders import temporary_folder
from workloads.protocol.messages import message
from workloads.protocol.reporter import Cancelled
from workloads.protocol.spec import ComputerPlace

RANK, LOCAL_RANK, WORLD_SIZE = "RANK", "LOCAL_RANK", "WORLD_SIZE"
# The processes find each other through a file, or on several computers at rank 0's address. TensorFlow needs the
# addresses of all computers.
STORE, HOST, WORKERS = "EPOCHMARK_STORE", "EPOCHMARK_HOST", "EPOCHMARK_WORKERS"
COMPUTER, OWN_ADDRESS = "EPOCHMARK_COMPUTER", "EPOCHMARK_ADDRESS"
# The processes of a run communicate only through the computer's own loopback interface.
_LOOPBACK = {"linux": "lo", "darwin": "lo0"}
_ENDS_WITHIN_S, _LOOKS_EVERY_S = 5.0, 1.0


def rank() -> int:
    """Return the number of this process in its run, counting from 0."""
    return int(os.environ.get(RANK, "0"))


def local_rank() -> int:
    """Return the number of this process on its computer, counting from 0."""
    return int(os.environ.get(LOCAL_RANK, "0"))


def host() -> str:
    """Return rank 0's address for the engine ("host:port"). Empty on a single computer."""
    return os.environ.get(HOST, "")


def not_connected(error: Exception) -> WorkloadError:
    """Return the error for an engine that can't connect to the other computers."""
    address, _, port = host().rpartition(":")
    reason = " ".join(str(error).split())[:300]
    said = message("engine.not_connected", address=address.strip("[]"), port=int(port), reason=reason)
    return WorkloadError("device_unavailable", said)


@contextmanager
def peers(
    line: bytes, count: int, lost: Callable[[WorkloadError], object], place: ComputerPlace | None = None
) -> Iterator[None]:
    """Start a run's other processes on this computer, and end them when the context exits.

    Args:
        line: The job, as read from standard input.
        count: Number of processes on this computer, including this one. No process is started if this is 1, or if
            this process was itself started in this way.
        lost: Called in a thread if another process is suspended or stuck, or if another process has failed (for
            example, before joining) and this process is still waiting for it a few seconds later.
        place: This computer's place among several; None for a single computer.

    Raises:
        WorkloadError: One of the other processes failed or was terminated.
    """
    if RANK in os.environ or (count == 1 and place is None):
        yield
        return
    with temporary_folder() as folder, ExitStack() as stack:
        os.environ |= _variables(count, place) | {STORE: str(folder / "store")}
        others = [_Peer(number, line, lost) for number in range(1, count)]
        for other in others:
            stack.callback(other.end)
        try:
            yield
        except (Cancelled, WorkloadError):
            raise
        except Exception:
            for other in others:
                other.check()
            raise
        for other in others:
            other.finish()


def _variables(count: int, place: ComputerPlace | None) -> dict[str, str]:
    """Return the environment variables of a computer's first process."""
    interface = _LOOPBACK.get(sys.platform) if place is None else place.interface
    names = {} if interface is None else {"GLOO_SOCKET_IFNAME": interface}
    if place is None:
        return names | {RANK: "0", LOCAL_RANK: "0", WORLD_SIZE: str(count)}
    if interface is not None:
        names["NCCL_SOCKET_IFNAME"] = interface
    first, size = place.rank * count, place.count * count
    names |= {HOST: str(place.host), OWN_ADDRESS: place.address, WORKERS: ",".join(map(str, place.workers))}
    return names | {COMPUTER: str(place.rank), RANK: str(first), LOCAL_RANK: "0", WORLD_SIZE: str(size)}


class _Peer:
    """One of a run's other processes, which receives its job immediately."""

    def __init__(self, number: int, line: bytes, lost: Callable[[WorkloadError], object]) -> None:
        self._number, self._lost = number, lost
        self._is_over = threading.Event()
        self._process = subprocess.Popen(
            sys.orig_argv,
            env=os.environ | {RANK: str(rank() + number), LOCAL_RANK: str(number)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        self._error: events.Error | None = None
        self._silent_s, self._patience_s = 0.0, events.LOADS_S
        self._reading = threading.Thread(target=self._read, daemon=True)
        self._reading.start()
        threading.Thread(target=self._watch, daemon=True).start()
        assert self._process.stdin is not None
        with suppress(OSError):  # it has ended already, which the threads report
            self._process.stdin.write(line + b"\n")
            self._process.stdin.flush()

    def check(self) -> None:
        """Raise WorkloadError if the process has ended, with its own error if it reported one."""
        self._is_over.set()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(_ENDS_WITHIN_S)
        if self._process.returncode is not None:
            self._reading.join(_ENDS_WITHIN_S)
            raise self._reason()

    def _reason(self) -> WorkloadError:
        if self._error is not None and self._error.said is not None:
            return WorkloadError(self._error.code, self._error.said)
        said = message("worker.peer_ended", device=self._number + 1, code=self._process.returncode)
        return WorkloadError("crashed", said)

    def finish(self) -> None:
        """Wait a few seconds for the process to end, because it may still send results to another computer."""
        self._is_over.set()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(_ENDS_WITHIN_S)

    def end(self) -> None:
        self._is_over.set()
        self._process.kill()
        self._process.wait()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._silent_s = 0.0
            with suppress(events.DamagedEventError):
                event = events.decode(line)
                if isinstance(event, events.Error):
                    self._error = event
                elif isinstance(event, events.Environment):  # the engine has been imported
                    self._patience_s = events.HUNG_S
        if self._process.wait() and not self._is_over.wait(_ENDS_WITHIN_S):
            self._lost(self._reason())

    def _watch(self) -> None:
        looked_s = time.monotonic()
        while not self._is_over.wait(_LOOKS_EVERY_S) and self._process.poll() is None:
            now_s = time.monotonic()
            # A long wait means that this process itself was suspended.
            self._silent_s += min(now_s - looked_s, 2 * _LOOKS_EVERY_S)
            looked_s = now_s
            if self._silent_s > self._patience_s:
                said = message("worker.peer_hung", device=self._number + 1, silent_s=self._silent_s)
                self._lost(WorkloadError("hung", said))
