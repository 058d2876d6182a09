"""Training on two computers, which are two processes here, with each engine: the same as on one."""

import sys
from typing import Any

import pytest

from app.core.paths import Paths
from app.core.records import Run
from app.core.runs.agreement import joint_spec
from tests.core.cluster.meeting import LOCAL
from tests.core.cluster.together import finished, together
from tests.real_engines import small_worker
from tests.waiting import wait_until
from tests.workloads.engines.test_several_devices import ENDLESS, TOLERANCE, carried_out, spec_on
from workloads import CATALOGUE
from workloads.engines.registry import ENGINES
from workloads.protocol.machine import Machine


@pytest.mark.parametrize("engine", ENGINES)
def test_several_devices_and_computers_do_the_work_of_one(
    engine: str, installed_engines: Paths, machine: Machine
) -> None:
    one_device, two_devices = (
        spec_on(count, engine=engine, steps=4, batch_size=256, threads=1) for count in (1, 2)
    )
    alone = carried_out(one_device, installed_engines, machine)
    does_the_work_of(alone, carried_out(two_devices, installed_engines, machine), "devices=2")
    assert joint_spec(two_devices, 2).settings["devices"] == 4
    for spec, settings in ((one_device, "devices=2 machines=2"), (two_devices, "devices=4 machines=2")):
        with together(spec, installed_engines, machine, command=small_worker) as sides:
            runs = finished(installed_engines, *sides)
        for run in runs:
            does_the_work_of(alone, run, settings)
        assert runs[0].summary.value == runs[1].summary.value
        assert (runs[0].metrics["predict_s"] or 0) > 0


def does_the_work_of(alone: Run, run: Run, settings: str) -> None:
    assert run.summary.status == "completed", run.summary.error_message
    assert alone.epochs[0].loss is not None
    assert run.epochs[0].loss == pytest.approx(alone.epochs[0].loss, rel=TOLERANCE)
    assert run.epochs[0].val_loss == pytest.approx(alone.epochs[0].val_loss, rel=TOLERANCE)
    for name in ("updates_done", "examples_done", "examples_distinct"):
        assert run.metrics[name] == alone.metrics[name], name
    assert (run.summary.settings, run.summary.device) == (settings, "cpu")


# With PyTorch, the leader decides in the same way as on one computer.
@pytest.mark.parametrize(
    ("engine", "workload", "changes"),
    [
        ("tensorflow", "mnist_mlp", {"preset": "quick", "duration_s": 5.0, "data": "synthetic"}),
        ("jax", "mnist_mlp", {"preset": "quick", "duration_s": 5.0, "data": "synthetic"}),
        ("jax", "all_reduce", {"steps": 40}),
    ],
)
def test_rank_0_decides_when_all_stop(
    engine: str, workload: str, changes: dict[str, Any], installed_engines: Paths, machine: Machine
) -> None:
    spec = CATALOGUE[workload].default_spec(**changes, engine=engine, device="cpu", threads=1)
    with together(spec, installed_engines, machine, command=small_worker) as sides:
        runs = finished(installed_engines, *sides)
    assert [run.summary.status for run in runs] == ["completed"] * 2, runs[0].summary.error_message
    assert runs[0].summary.value == runs[1].summary.value
    if spec.preset == "quick":
        assert runs[0].metrics["examples_done"] == runs[0].metrics["examples_asked"]


# Only on Linux has the loopback interface more than one address.
OWN = "127.0.0.5" if sys.platform == "linux" else LOCAL


# PyTorch chooses an interface rather than an address, and uses its first one between steps. TensorFlow's server
# listens on all of them.
@pytest.mark.parametrize(
    ("engine", "rank", "allowed"),
    [("tensorflow", 0, None), ("tensorflow", 1, None), ("torch", 0, {OWN, LOCAL}), ("jax", 1, {OWN})],
)
def test_a_killed_worker_that_listened_on_its_own_address_ends_the_run_on_both(
    engine: str, rank: int, allowed: set[str] | None, installed_engines: Paths, machine: Machine
) -> None:
    spec = spec_on(1, engine=engine, epochs=ENDLESS, threads=1)
    with together(spec, installed_engines, machine, local=OWN, command=small_worker) as sides:
        wait_until(lambda: all(side.steps() for side in sides))
        if allowed is not None:
            connections = sides[0].worker().net_connections()
            listening = {each.laddr.ip.removeprefix("::ffff:") for each in connections if each.status == "LISTEN"}
            assert OWN in listening
            assert listening <= allowed
        sides[rank].worker().kill()
        finished(installed_engines, *sides)
    assert sides[rank].said.code.startswith("run.crashed")
    assert (sides[1 - rank].said.code, sides[1 - rank].said.arguments["rank"]) == ("cluster.ended", rank)
