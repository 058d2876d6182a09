"""Reads this computer's place in a run on several computers from the variables of torchrun, Slurm and MPI."""

import json
import re
import socket
from collections.abc import Mapping
from dataclasses import dataclass

import msgspec
import psutil

from app.core.errors import UsageError
from app.core.messages import message
from workloads.protocol import typed
from workloads.protocol.spec import ComputerPlace, Endpoint, RunSpec

# PyTorch's own.
DEFAULT_PORT = 29_500
COMPUTERS_LIMIT = 64
_DIGITS = 6
# A name in a list such as "node[03-07,9],gpu1", and the numbers in its brackets.
_NODES = re.compile(r"([^\[\],\s]+)(?:\[([0-9,-]+)\]([^\[\],\s]*))?")
_RANGE = re.compile(r"([0-9]{1,9})(?:-([0-9]{1,9}))?")


@dataclass(frozen=True, slots=True)
class _Launcher:
    """The variables of a launcher: rank, number of processes, and the process's number on its computer."""

    title: str
    rank: str
    count: str
    local_rank: str


# torchrun and Open MPI may run in a Slurm job. torchrun's variables can also be set by hand.
_LAUNCHERS = (
    _Launcher("torchrun", "RANK", "WORLD_SIZE", "LOCAL_RANK"),
    _Launcher("Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK"),
    _Launcher("Slurm", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID"),
    _Launcher("Slurm", "SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID"),
    _Launcher("MPI", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID"),
)


def place_of(environment: Mapping[str, str], engine: str) -> ComputerPlace:
    """Return this process's place among the computers of a run.

    Args:
        environment: Variables of a launcher, or RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT set by hand.
        engine: Name of the engine. TensorFlow needs the addresses of all computers, from Slurm or from TF_CONFIG.

    Raises:
        UsageError: A variable is missing or can't be used.
    """
    for launcher in _LAUNCHERS:
        if launcher.rank in environment and launcher.count in environment:
            rank, count = (_number(environment, name, launcher.title) for name in (launcher.rank, launcher.count))
            if count > 1:  # one, for example, with torchrun on one node of a job
                return _place(environment, launcher, rank, count, engine)
    raise UsageError(message("computers.no_launcher"))


def joint_spec(spec: RunSpec, count: int) -> RunSpec:
    settings = spec.settings | {"machines": count, "devices": count * spec.device_count}
    return msgspec.structs.replace(spec, settings=settings)


def _place(
    environment: Mapping[str, str], launcher: _Launcher, rank: int, count: int, engine: str
) -> ComputerPlace:
    if launcher.local_rank in environment and _number(environment, launcher.local_rank, launcher.title):
        raise UsageError(message("computers.several_processes", launcher=launcher.title))
    if not rank < count <= COMPUTERS_LIMIT:
        raise _unreadable(launcher.title, f"{launcher.rank}={rank}, {launcher.count}={count}")
    workers = _workers(environment, count) if engine == "tensorflow" else ()
    nodes = _nodes(environment)
    name = workers[0].address if workers else environment.get("MASTER_ADDR", "") or (nodes[0] if nodes else "")
    if not name:
        raise UsageError(message("computers.no_address", launcher=launcher.title))
    address = _own_address(name)
    host = _endpoint(name, _port(environment))
    return ComputerPlace(
        rank=rank, count=count, host=host, address=address, interface=_interface_of(address), workers=workers
    )


def _number(environment: Mapping[str, str], name: str, launcher: str) -> int:
    text = environment[name]
    if not (text.isascii() and text.isdecimal() and len(text) <= _DIGITS):
        raise _unreadable(launcher, f"{name}={text[:40]}")
    return int(text)


def _port(environment: Mapping[str, str]) -> int:
    if "MASTER_PORT" not in environment:
        return DEFAULT_PORT
    # torchrun's own store may listen on the port that it announces.
    is_taken = environment.get("TORCHELASTIC_USE_AGENT_STORE", "").lower() in ("true", "1")
    return _number(environment, "MASTER_PORT", "torchrun") + is_taken


def _workers(environment: Mapping[str, str], count: int) -> tuple[Endpoint, ...]:
    """Return TensorFlow's address on each computer, from TF_CONFIG or a Slurm job's nodes."""
    if "TF_CONFIG" not in environment:
        nodes = _nodes(environment)
        if len(nodes) != count:
            raise UsageError(message("computers.no_tf_config"))
        return tuple(_endpoint(node, _port(environment)) for node in nodes)
    try:
        listed = json.loads(environment["TF_CONFIG"])["cluster"]["worker"]
        parts = (str(worker).rpartition(":") for worker in listed)
        workers = tuple(_endpoint(name.strip("[]"), int(port)) for name, _, port in parts)
    except (ValueError, LookupError, TypeError, RecursionError):
        workers = ()
    if len(workers) != count:
        raise _unreadable("TensorFlow", f"TF_CONFIG={environment['TF_CONFIG'][:60]}")
    return workers


def _endpoint(name: str, port: int) -> Endpoint:
    try:
        return typed.convert({"address": name, "port": port}, Endpoint)
    except msgspec.ValidationError as error:
        raise _unreadable("the launcher", f"{name[:60]}:{port}") from error


def _nodes(environment: Mapping[str, str]) -> list[str]:
    """Return the nodes of a Slurm job, in the order of the ranks; empty without Slurm."""
    text = environment.get("SLURM_STEP_NODELIST") or environment.get("SLURM_JOB_NODELIST", "")
    nodes: list[str] = []
    for start, numbers, end in _NODES.findall(text):
        if not numbers:
            nodes.append(start)
        for first, last in _RANGE.findall(numbers):
            stop = min(int(last or first), int(first) + COMPUTERS_LIMIT)
            nodes += [f"{start}{number:0{len(first)}}{end}" for number in range(int(first), stop + 1)]
    return nodes


def _own_address(host: str) -> str:
    """Return this computer's address on the way to another one. Nothing is sent."""
    try:
        family, kind, _, _, address = socket.getaddrinfo(host, DEFAULT_PORT, type=socket.SOCK_DGRAM)[0]
        with socket.socket(family, kind) as way:
            way.connect(address)
            return str(way.getsockname()[0])
    except (OSError, UnicodeError) as error:  # UnicodeError: a part of the name is too long
        reason = getattr(error, "strerror", None) or str(error)
        raise UsageError(message("computers.unknown_address", address=host[:100], reason=reason)) from error


def _interface_of(address: str) -> str | None:
    for name, addresses in psutil.net_if_addrs().items():
        if any(each.address.partition("%")[0] == address for each in addresses):
            return str(name)
    return None


def _unreadable(launcher: str, problem: str) -> UsageError:
    return UsageError(message("computers.unreadable", launcher=launcher, problem=problem))
