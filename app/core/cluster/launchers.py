"""Reads this computer's rank and the address of rank 0 from the variables of Slurm, torchrun and MPI."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from app.core.cluster.wire import RANKS
from app.core.errors import UsageError
from app.core.messages import message

_DIGITS = 6
_KEY_LEAST = 16
# The first name of a list such as "node[03-07,9],gpu1", and the first number in its brackets.
_FIRST_NODE = re.compile(r"([^\[\],\s]+)(?:\[([0-9]+)[^\]]*\]([^\[\],\s]*))?")


@dataclass(frozen=True, slots=True)
class Launch:
    """This process, started by a launcher that starts one on each computer.

    Attributes:
        rank: This computer's number, counting from 0.
        count: Number of computers.
        address: Address of rank 0.
    """

    rank: int
    count: int
    address: str


@dataclass(frozen=True, slots=True)
class _Launcher:
    """The variables of a launcher: rank, number of processes, and the process's number on its computer."""

    title: str
    rank: str
    count: str
    local_rank: str


# torchrun and Open MPI may run in a Slurm job.
_LAUNCHERS = (
    _Launcher("torchrun", "RANK", "WORLD_SIZE", "LOCAL_RANK"),
    _Launcher("Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK"),
    _Launcher("Slurm", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID"),
    _Launcher("Slurm", "SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID"),
    _Launcher("MPI", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID"),
)


def launch_of(environment: Mapping[str, str]) -> Launch | None:
    """Return the rank, count and address for this process; None if it is the only one. Raises UsageError."""
    for launcher in _LAUNCHERS:
        if launcher.rank in environment and launcher.count in environment:
            rank, count = (_number(environment, name, launcher.title) for name in (launcher.rank, launcher.count))
            if count == 1:
                continue  # for example, torchrun on one node of a job
            return _launch(environment, launcher, rank, count)
    return None


def _launch(environment: Mapping[str, str], launcher: _Launcher, rank: int, count: int) -> Launch:
    if launcher.local_rank in environment and _number(environment, launcher.local_rank, launcher.title):
        raise UsageError(message("cluster.launched_several", launcher=launcher.title))
    if not rank < count <= RANKS:
        problem = f"{launcher.rank}={rank}, {launcher.count}={count}"
        raise UsageError(message("cluster.launched_unreadable", launcher=launcher.title, problem=problem))
    address = environment.get("MASTER_ADDR", "") or _first_node(environment)
    if not address:
        raise UsageError(message("cluster.no_address", launcher=launcher.title))
    return Launch(rank, count, address)


def _number(environment: Mapping[str, str], name: str, launcher: str) -> int:
    text = environment[name]
    if not (text.isascii() and text.isdecimal() and len(text) <= _DIGITS):
        problem = f"{name}={text[:40]}"
        raise UsageError(message("cluster.launched_unreadable", launcher=launcher, problem=problem))
    return int(text)


def _first_node(environment: Mapping[str, str]) -> str:
    """Return the first node of a Slurm job, which runs the job's first process; "" without Slurm."""
    nodes = environment.get("SLURM_STEP_NODELIST") or environment.get("SLURM_JOB_NODELIST", "")
    first = _FIRST_NODE.match(nodes)
    return "".join(part or "" for part in first.groups()) if first is not None else ""


def key_of(environment: Mapping[str, str]) -> str:
    """Return the key that a launcher has passed to all computers. Raises UsageError if it is missing or short."""
    key = environment.get("EPOCHMARK_KEY", "")
    if len(key) < _KEY_LEAST:
        raise UsageError(message("cluster.key_needed", least=_KEY_LEAST))
    return key
