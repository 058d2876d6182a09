"""Rank and peers from the variables of Slurm, torchrun and MPI."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.cluster.launchers import Launch, key_of, launch_of
from app.core.errors import UsageError
from app.core.messages import Message

SLURM = {
    "SLURM_PROCID": "1",
    "SLURM_NTASKS": "2",
    "SLURM_LOCALID": "0",
    "SLURM_JOB_NODELIST": "node[03-04]",
}
TORCHRUN = {"RANK": "0", "WORLD_SIZE": "4", "LOCAL_RANK": "0", "MASTER_ADDR": "10.0.0.1", "MASTER_PORT": "29500"}
OPEN_MPI = {
    "OMPI_COMM_WORLD_RANK": "2",
    "OMPI_COMM_WORLD_SIZE": "3",
    "OMPI_COMM_WORLD_LOCAL_RANK": "0",
    "MASTER_ADDR": "node1",
}
PMI = {"PMI_RANK": "1", "PMI_SIZE": "2", "MASTER_ADDR": "node1"}


@pytest.mark.parametrize(
    ("environment", "launch"),
    [
        (SLURM, Launch(1, 2, "node03")),
        (SLURM | {"SLURM_JOB_NODELIST": "gpu1,gpu2"}, Launch(1, 2, "gpu1")),
        (SLURM | {"SLURM_JOB_NODELIST": "rack[1,4]-n,x"}, Launch(1, 2, "rack1-n")),
        (SLURM | {"SLURM_JOB_NODELIST": "a-[1-2],b"}, Launch(1, 2, "a-1")),
        (SLURM | {"SLURM_STEP_NODELIST": "node04"}, Launch(1, 2, "node04")),
        (SLURM | {"SLURM_STEP_NUM_TASKS": "8"}, Launch(1, 8, "node03")),
        (SLURM | {"MASTER_ADDR": "10.1.1.1"}, Launch(1, 2, "10.1.1.1")),
        (TORCHRUN, Launch(0, 4, "10.0.0.1")),
        (TORCHRUN | SLURM, Launch(0, 4, "10.0.0.1")),
        (OPEN_MPI, Launch(2, 3, "node1")),
        (PMI, Launch(1, 2, "node1")),
        ({}, None),
        (SLURM | {"SLURM_NTASKS": "1", "SLURM_PROCID": "0"}, None),
        ({"RANK": "0"}, None),
    ],
)
def test_the_place_is_read_from_variables(environment: dict[str, str], launch: Launch | None) -> None:
    assert launch_of(environment) == launch


@pytest.mark.parametrize(
    ("environment", "code"),
    [
        (TORCHRUN | {"LOCAL_RANK": "1"}, "cluster.launched_several"),
        (TORCHRUN | {"RANK": "4"}, "cluster.launched_unreadable"),
        (TORCHRUN | {"RANK": "x"}, "cluster.launched_unreadable"),
        (TORCHRUN | {"WORLD_SIZE": "65"}, "cluster.launched_unreadable"),
        (TORCHRUN | {"MASTER_ADDR": ""}, "cluster.no_address"),
        (SLURM | {"SLURM_JOB_NODELIST": "[]"}, "cluster.no_address"),
    ],
)
def test_what_cannot_be_used_is_said(environment: dict[str, str], code: str) -> None:
    with pytest.raises(UsageError) as caught:
        launch_of(environment)
    assert isinstance(caught.value.message, Message)
    assert caught.value.message.code == code


@given(st.dictionaries(st.sampled_from([*SLURM, *TORCHRUN, *OPEN_MPI, *PMI]), st.text(max_size=20)))
def test_any_variables_are_a_place_or_refused(environment: dict[str, str]) -> None:
    try:
        launch = launch_of(environment)
    except UsageError:
        return
    assert launch is None or (0 <= launch.rank < launch.count <= 64 and launch.address)


def test_a_launcher_needs_a_key_that_cannot_be_guessed() -> None:
    assert key_of({"EPOCHMARK_KEY": "k" * 16}) == "k" * 16
    for environment in ({}, {"EPOCHMARK_KEY": "short"}):
        with pytest.raises(UsageError):
            key_of(environment)
