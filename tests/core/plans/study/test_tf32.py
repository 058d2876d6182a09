"""TensorFloat-32 as a setting: refused where there is none, and a point of its own where there is."""

import io
from dataclasses import replace

import pytest

from app.core.analysis.comparability import differences, run_refusal
from app.core.errors import UsageError
from app.core.messages import sentence
from app.core.paths import Paths
from app.core.plans.study.axes import axis_text
from app.core.plans.study.planning import plan_preset
from app.core.records import RunSummary
from app.core.runs.runner import Runner, checked_workload
from tests.saying import said
from workloads import CATALOGUE
from workloads.engines import setup
from workloads.engines.engine import Engine, Started
from workloads.engines.registry import ENGINES
from workloads.protocol.errors import WorkloadError
from workloads.protocol.machine import Gpu, Machine
from workloads.protocol.reporter import Emitter, Reporter

CARDS = {"8.9": True, "12.0": True, "8.0": True, "7.5": False, None: False, "new": False}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("tf32", [True, False])
def test_a_processor_has_none(engine: str, tf32: bool) -> None:
    workload = CATALOGUE["mnist_mlp"]
    with pytest.raises(UsageError, match=said("engine.tf32_needs_gpu").pattern):
        checked_workload(workload.default_spec(engine=engine, device="cpu", tf32=tf32))
    checked_workload(workload.default_spec(engine=engine, device="gpu:0", tf32=tf32))
    checked_workload(workload.default_spec(engine=engine, device="cpu"))


class WithoutGpu(Engine):
    name = title = backend = "without"

    def start(self, spec: object) -> Started:
        return Started(version="1", device="cpu")


def test_what_the_engine_starts_on_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(setup, "engine_named", lambda _: WithoutGpu())
    reporter = Reporter(Emitter(io.BytesIO()))
    with pytest.raises(WorkloadError, match="tf32_needs_gpu") as caught:
        setup.start_engine(CATALOGUE["mnist_mlp"].default_spec(tf32=True), reporter)
    assert caught.value.code == "device_unavailable"


@pytest.mark.parametrize(("capability", "has_tf32"), CARDS.items())
def test_the_study_of_precisions_has_it_where_it_exists(
    paths: Paths, machine: Machine, capability: str | None, has_tf32: bool
) -> None:
    gpu = Gpu("NVIDIA GeForce", "nvidia", memory_bytes=12 * 10**9, compute_capability=capability)
    runner = Runner(paths, replace(machine, os_name="Linux 6.1", gpus=(gpu,), memory_bytes=64 * 10**9))
    specs = plan_preset("precision", runner).specs
    names = [axis_text("precision", spec, specs) for spec in specs]
    both = ["float32", sentence("studies.with_tf32", precision="float32")] if has_tf32 else ["float32"]
    assert names == [*both, "mixed_float16", "mixed_bfloat16"]
    on_cpu = plan_preset("precision", runner, choice={"device": "cpu"}).specs
    assert all("tf32" not in spec.settings for spec in on_cpu)


def test_runs_with_and_without_are_compared_with_a_remark(summary: RunSummary) -> None:
    without, usual = replace(summary, settings="tf32=off"), replace(summary, settings="")
    assert run_refusal(usual, without) is None
    assert differences(usual, without) == ("without TF32",)
