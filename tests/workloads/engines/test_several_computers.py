"""Training on two computers, which are two processes here, with each engine: the same as on one."""

import sys
from typing import Any

import pytest

from app.core.paths import Paths
from app.core.runs.agreement import joint_spec
from tests.core.cluster.meeting import LOCAL
from tests.core.cluster.together import finished, together
from tests.waiting import wait_until
from tests.workloads.engines.test_several_devices import TOLERANCE, carried_out, spec_on
from workloads import CATALOGUE
from workloads.engines.registry import ENGINES
from workloads.protocol.machine import Machine


@pytest.mark.parametrize("engine", ENGINES)
def test_two_computers_do_the_work_of_one(engine: str, installed_engines: Paths, machine: Machine) -> None:
    spec = spec_on(1, engine=engine, steps=4, batch_size=256, threads=1)
    alone = carried_out(spec, installed_engines, machine)
    with together(spec, installed_engines, machine) as sides:
        runs = finished(installed_engines, *sides)
    for run in runs:
        assert run.summary.status == "completed", run.summary.error_message
        assert run.epochs[0].loss == pytest.approx(alone.epochs[0].loss, rel=TOLERANCE)
        assert run.epochs[0].val_loss == pytest.approx(alone.epochs[0].val_loss, rel=TOLERANCE)
        for name in ("updates_done", "examples_done", "operations_per_example", "examples_distinct"):
            assert run.metrics[name] == alone.metrics[name], name
        assert run.summary.settings == "devices=2 machines=2"
    assert runs[0].summary.value == runs[1].summary.value


@pytest.mark.parametrize("engine", ENGINES)
def test_two_computers_with_two_devices_each(engine: str, installed_engines: Paths, machine: Machine) -> None:
    spec = spec_on(2, engine=engine, steps=4, batch_size=256, threads=1)
    assert joint_spec(spec, 2).settings["devices"] == 4
    with together(spec, installed_engines, machine) as sides:
        runs = finished(installed_engines, *sides)
    assert [run.summary.status for run in runs] == ["completed"] * 2
    assert runs[0].summary.settings == "devices=4 machines=2"


# With PyTorch, the leader decides in the same way as on one computer.
@pytest.mark.parametrize(
    ("engine", "workload", "changes"),
    [
        ("tensorflow", "mnist_mlp", {"preset": "quick", "duration_s": 8.0, "data": "synthetic"}),
        ("jax", "mnist_mlp", {"preset": "quick", "duration_s": 8.0, "data": "synthetic"}),
        ("jax", "all_reduce", {"steps": 40}),
    ],
)
def test_rank_0_decides_when_all_stop(
    engine: str, workload: str, changes: dict[str, Any], installed_engines: Paths, machine: Machine
) -> None:
    spec = CATALOGUE[workload].default_spec(**changes, engine=engine, device="cpu", threads=1)
    with together(spec, installed_engines, machine) as sides:
        runs = finished(installed_engines, *sides)
    assert [run.summary.status for run in runs] == ["completed"] * 2, runs[0].summary.error_message
    assert runs[0].summary.value == runs[1].summary.value
    if spec.preset == "quick":
        assert runs[0].metrics["examples_done"] == runs[0].metrics["examples_asked"]


OWN = "127.0.0.5"


@pytest.mark.skipif(sys.platform != "linux", reason="the loopback interface has only one address")
# PyTorch chooses an interface rather than an address, and uses its first one between steps.
@pytest.mark.parametrize(("engine", "allowed"), [("torch", {OWN, LOCAL}), ("jax", {OWN})])
def test_an_engine_listens_only_on_the_address_of_the_run(
    engine: str, allowed: set[str], installed_engines: Paths, machine: Machine
) -> None:
    spec = spec_on(1, engine=engine, epochs=50, threads=1)
    with together(spec, installed_engines, machine, local=OWN) as sides:
        wait_until(lambda: all(side.steps() for side in sides))
        connections = sides[0].worker().net_connections()
        listening = {each.laddr.ip.removeprefix("::ffff:") for each in connections if each.status == "LISTEN"}
        assert OWN in listening
        assert listening <= allowed
        sides[0].session.cancel()
        finished(installed_engines, *sides)


@pytest.mark.parametrize(("engine", "rank"), [("tensorflow", 0), ("tensorflow", 1), ("torch", 0), ("jax", 1)])
def test_a_killed_worker_ends_the_run_on_both(
    engine: str, rank: int, installed_engines: Paths, machine: Machine
) -> None:
    spec = spec_on(1, engine=engine, epochs=50, threads=1)
    with together(spec, installed_engines, machine) as sides:
        wait_until(lambda: all(side.steps() for side in sides))
        sides[rank].worker().kill()
        finished(installed_engines, *sides)
    assert sides[rank].said.code.startswith("run.crashed")
    assert (sides[1 - rank].said.code, sides[1 - rank].said.arguments["rank"]) == ("cluster.ended", rank)
