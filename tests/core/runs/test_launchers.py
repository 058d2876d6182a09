"""The place among several computers, from the variables of torchrun, Slurm and MPI."""

import socket
from typing import Any

import pytest

from app.core.errors import UsageError
from app.core.messages import Message
from app.core.paths import Paths
from app.core.runs.launchers import joint_spec, place_of
from app.core.runs.runner import Runner, check_spec
from workloads import CATALOGUE
from workloads.protocol.machine import Machine
from workloads.protocol.spec import RunSpec

SLURM = {"SLURM_PROCID": "1", "SLURM_NTASKS": "2", "SLURM_LOCALID": "0", "SLURM_JOB_NODELIST": "node[03-04]"}
TORCHRUN = {"RANK": "0", "WORLD_SIZE": "4", "LOCAL_RANK": "0", "MASTER_ADDR": "10.0.0.1", "MASTER_PORT": "29501"}
OPEN_MPI = {
    "OMPI_COMM_WORLD_RANK": "2",
    "OMPI_COMM_WORLD_SIZE": "3",
    "OMPI_COMM_WORLD_LOCAL_RANK": "0",
    "MASTER_ADDR": "node1",
}
PMI = {"PMI_RANK": "1", "PMI_SIZE": "2", "MASTER_ADDR": "node1"}
TF_CONFIG = {"TF_CONFIG": '{"cluster": {"worker": ["10.0.0.1:29502", "[fe80::1]:2"]}}'}


@pytest.fixture(autouse=True)
def names(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let all names belong to this computer, for which no name server is asked."""
    address = (socket.AF_INET, socket.SOCK_DGRAM, 17, "", ("127.0.0.1", 29_500))
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: [address])


@pytest.mark.parametrize(
    ("environment", "engine", "rank", "count", "host"),
    [
        (SLURM, "torch", 1, 2, "node03:29500"),
        (SLURM | {"SLURM_JOB_NODELIST": "gpu1,gpu2"}, "jax", 1, 2, "gpu1:29500"),
        (SLURM | {"SLURM_JOB_NODELIST": "rack[1,4]-n,x"}, "torch", 1, 2, "rack1-n:29500"),
        (SLURM | {"SLURM_STEP_NODELIST": "node04"}, "torch", 1, 2, "node04:29500"),
        (SLURM | {"SLURM_STEP_NUM_TASKS": "8"}, "torch", 1, 8, "node03:29500"),
        (SLURM | {"MASTER_ADDR": "10.1.1.1"}, "torch", 1, 2, "10.1.1.1:29500"),
        (TORCHRUN, "torch", 0, 4, "10.0.0.1:29501"),
        (TORCHRUN | {"TORCHELASTIC_USE_AGENT_STORE": "True"}, "torch", 0, 4, "10.0.0.1:29502"),
        (TORCHRUN | SLURM, "torch", 0, 4, "10.0.0.1:29501"),
        (TORCHRUN | {"WORLD_SIZE": "1"} | SLURM, "torch", 1, 2, "10.0.0.1:29501"),
        (OPEN_MPI, "torch", 2, 3, "node1:29500"),
        (PMI, "torch", 1, 2, "node1:29500"),
        (PMI | TF_CONFIG, "tensorflow", 1, 2, "10.0.0.1:29500"),
    ],
)
def test_the_place_is_read_from_variables(
    environment: dict[str, str], engine: str, rank: int, count: int, host: str
) -> None:
    place = place_of(environment, engine)
    assert (place.rank, place.count, str(place.host)) == (rank, count, host)
    assert place.address == "127.0.0.1"


@pytest.mark.parametrize(
    ("environment", "workers"),
    [
        (PMI | TF_CONFIG, ["10.0.0.1:29502", "[fe80::1]:2"]),
        (SLURM, ["node03:29500", "node04:29500"]),
        (SLURM | {"SLURM_NTASKS": "4", "SLURM_JOB_NODELIST": "a[08,10]b,c[9-10]"}, ["a08b", "a10b", "c9", "c10"]),
    ],
)
def test_tensorflow_gets_the_addresses_of_all(environment: dict[str, str], workers: list[str]) -> None:
    found = [str(worker) for worker in place_of(environment, "tensorflow").workers]
    assert found == [worker if ":" in worker else f"{worker}:29500" for worker in workers]


@pytest.mark.parametrize(
    ("environment", "engine", "code"),
    [
        ({}, "torch", "no_launcher"),
        (SLURM | {"SLURM_NTASKS": "1", "SLURM_PROCID": "0"}, "torch", "no_launcher"),
        ({"RANK": "0"}, "torch", "no_launcher"),
        (SLURM | {"SLURM_JOB_NODELIST": "n[1-2-3]"}, "tensorflow", "no_tf_config"),
        (SLURM | {"SLURM_JOB_NODELIST": f"n[{'9' * 5_000}]"}, "tensorflow", "no_tf_config"),
        (TORCHRUN | {"LOCAL_RANK": "1"}, "torch", "several_processes"),
        (TORCHRUN | {"RANK": "4"}, "torch", "unreadable"),
        (TORCHRUN | {"RANK": "x"}, "torch", "unreadable"),
        (TORCHRUN | {"WORLD_SIZE": "65"}, "torch", "unreadable"),
        (TORCHRUN | {"MASTER_PORT": "70000"}, "torch", "unreadable"),
        (TORCHRUN | {"MASTER_ADDR": ""}, "torch", "no_address"),
        (SLURM | {"SLURM_JOB_NODELIST": "[]"}, "torch", "no_address"),
        (TORCHRUN, "tensorflow", "no_tf_config"),
        (TORCHRUN | TF_CONFIG, "tensorflow", "unreadable"),
        (PMI | {"TF_CONFIG": "[" * 5_000}, "tensorflow", "unreadable"),
    ],
)
def test_what_cannot_be_used_is_said(environment: dict[str, str], engine: str, code: str) -> None:
    with pytest.raises(UsageError) as caught:
        place_of(environment, engine)
    assert code_of(caught.value) == f"computers.{code}"


@pytest.mark.parametrize(
    ("workload", "count", "changes", "code"),
    [
        ("mnist_mlp", 3, {"engine": "torch"}, "workload.batch_not_divisible"),
        ("matmul", 2, {"engine": "torch"}, "workload.one_device"),
        ("mnist_mlp", 65, {"engine": "torch"}, "parameter.not_int"),
        ("demo", 2, {}, "workload.one_device"),
    ],
)
def test_what_several_computers_cannot_do_is_refused(
    workload: str, count: int, changes: dict[str, Any], code: str
) -> None:
    spec = CATALOGUE[workload].default_spec(**changes)
    with pytest.raises(UsageError) as caught:
        check_spec(joint_spec(spec, count))
    assert code_of(caught.value) == code


@pytest.mark.parametrize(
    ("spec", "code"),
    [
        (joint_spec(CATALOGUE["mnist_mlp"].default_spec(), 2), "run.needs_computers"),
        (
            RunSpec(workload="mnist_mlp", settings={"machines": 2, "devices": 3}, batch_size=30),
            "workload.devices_not_divisible",
        ),
    ],
)
def test_a_stored_run_on_several_computers_is_not_repeated_on_one(
    spec: RunSpec, code: str, paths: Paths, machine: Machine
) -> None:
    with pytest.raises(UsageError) as caught:
        Runner(paths, machine).check(spec)
    assert code_of(caught.value) == code


def code_of(error: UsageError) -> str:
    assert isinstance(error.message, Message)
    return error.message.code
