"""What a comparison of engines runs, and what it leaves out."""

import pytest

from app.core.errors import UsageError
from app.core.messages import message
from app.core.paths import Paths
from app.core.plans.engines import engine_specs
from app.core.runs.runner import Runner
from tests.conftest import pretend_installed
from tests.saying import has_at_its_core, said
from workloads.protocol.machine import Machine


def test_every_workload_runs_on_every_engine_that_is_there(paths: Paths, machine: Machine) -> None:
    pretend_installed("jax", paths)
    specs, refusals = engine_specs(["demo", "mnist_mlp", "demo"], "quick", {}, Runner(paths, machine))
    assert [(spec.workload, spec.engine, spec.jit) for spec in specs] == [
        ("demo", "tensorflow", False),
        ("demo", "jax", True),
        ("mnist_mlp", "tensorflow", False),
        ("mnist_mlp", "jax", True),
    ]
    assert refusals == ()


def test_with_a_single_engine_there_is_nothing_to_compare(paths: Paths, machine: Machine) -> None:
    with pytest.raises(UsageError, match=said("engines_table.nothing_to_compare").pattern):
        engine_specs(["demo"], "quick", {}, Runner(paths, machine))


def test_an_engine_that_is_damaged_is_left_out_with_the_reason(paths: Paths, machine: Machine) -> None:
    pretend_installed("jax", paths)
    stamp = pretend_installed("torch", paths).parent / "engine.json"
    stamp.write_text("{")
    specs, refusals = engine_specs(["demo"], "quick", {}, Runner(paths, machine))
    assert {spec.engine for spec in specs} == {"tensorflow", "jax"}
    (refusal,) = refusals
    assert has_at_its_core(refusal, message("engines.damaged", title="PyTorch"))


def test_a_workload_that_nothing_else_can_run_is_left_out(paths: Paths, machine: Machine) -> None:
    pretend_installed("jax", paths)
    with pytest.raises(UsageError, match=said("workload.unknown").pattern):
        engine_specs(["nowhere"], "quick", {}, Runner(paths, machine))
