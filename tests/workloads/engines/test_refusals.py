"""What an engine can't do is said before the run: nothing falls back silently."""

import shutil
from dataclasses import replace
from typing import Any

import pytest

from app.core.errors import UsageError
from app.core.hardware.gpu.usable import usable_gpus
from app.core.paths import Paths
from app.core.runs.runner import Runner, checked_workload
from tests.conftest import pretend_installed
from tests.saying import said
from workloads import CATALOGUE
from workloads.engines.registry import ENGINES, engine_named
from workloads.protocol.machine import Gpu, Machine
from workloads.protocol.spec import RunSpec

GPUS = {
    vendor: Gpu(name, vendor)
    for vendor, name in {
        "nvidia": "GeForce RTX 5070",
        "amd": "Radeon RX 7800 XT",
        "intel": "Arc B580",
        "apple": "Apple M3",
    }.items()
}


def asked(workload: str, engine: str, **changes: Any) -> RunSpec:
    return CATALOGUE[workload].default_spec(engine=engine, **changes)


def test_jax_compiles_without_being_asked_and_cannot_do_without() -> None:
    assert asked("mnist_mlp", "jax").jit
    checked_workload(asked("mnist_mlp", "jax"))
    with pytest.raises(UsageError, match=said("engine.compiles_always", compiler="XLA", engine="JAX").pattern):
        checked_workload(asked("mnist_mlp", "jax", jit=False))
    assert not asked("mnist_mlp", "torch").jit


def test_pytorch_compiles_only_with_a_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(UsageError, match=said("engine.no_compiler", engine="PyTorch").pattern):
        checked_workload(asked("mnist_mlp", "torch", jit=True))
    monkeypatch.setattr(shutil, "which", lambda name: f"/usr/bin/{name}")
    checked_workload(asked("mnist_mlp", "torch", jit=True))


def test_jax_has_no_onednn_setting() -> None:
    with pytest.raises(UsageError, match=said("engine.without_setting", setting="onednn", engine="JAX").pattern):
        checked_workload(asked("mnist_mlp", "jax", onednn=True))


@pytest.mark.parametrize("engine", ENGINES)
def test_a_fused_lstm_needs_a_gpu_that_the_engine_can_use(engine: str, paths: Paths, machine: Machine) -> None:
    if engine != "tensorflow":
        pretend_installed(engine, paths, {"torch": "cuda", "jax": "cuda13"}[engine])
    fused = asked("imdb_bidirectional_lstm", engine, parameters={"lstm": "fused"})
    with_gpu = replace(machine, os_name="Linux 6.1", gpus=(GPUS["nvidia"],))
    Runner(paths, with_gpu).check(fused)
    on_cpu = asked("imdb_bidirectional_lstm", engine, parameters={"lstm": "fused"}, device="cpu")
    for computer, spec in ((machine, fused), (with_gpu, on_cpu)):
        with pytest.raises(UsageError, match=f"Without a GPU, {engine_named(engine).title} computes an LSTM step"):
            Runner(paths, computer).check(spec)


@pytest.mark.parametrize("engine", ["torch", "jax"])
def test_a_build_for_the_processor_has_no_gpu(engine: str, paths: Paths, machine: Machine) -> None:
    pretend_installed(engine, paths, "cpu")
    with_gpu = replace(machine, os_name="Linux 6.1", gpus=(GPUS["nvidia"],))
    with pytest.raises(UsageError, match=said("engine.fused_needs_gpu").pattern):
        Runner(paths, with_gpu).check(asked("imdb_bidirectional_lstm", engine, parameters={"lstm": "fused"}))


@pytest.mark.parametrize("workload", ["mnist_mlp", "lstm_ptb_32", "vgg16_inference"])
def test_pytorch_has_float16_only_on_a_gpu(workload: str, paths: Paths, machine: Machine) -> None:
    for engine in ("torch", "jax"):
        pretend_installed(engine, paths)
    runner = Runner(paths, replace(machine, memory_bytes=10**12))
    for engine, precision in (
        ("tensorflow", "mixed_float16"),
        ("jax", "mixed_float16"),
        ("torch", "mixed_bfloat16"),
    ):
        runner.check(asked(workload, engine, precision=precision, device="cpu"))
    with pytest.raises(UsageError, match=said("engine.float16_needs_gpu", engine="PyTorch").pattern):
        runner.check(asked(workload, "torch", precision="mixed_float16", device="cpu"))


def test_only_jax_compiles_a_fused_lstm(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda program: program)  # as where there is a compiler
    for engine in ("tensorflow", "torch"):
        with pytest.raises(UsageError, match=said("engine.not_fused_and_compiled").pattern):
            checked_workload(asked("lstm_ptb_32", engine, parameters={"lstm": "fused"}, jit=True))
    checked_workload(asked("lstm_ptb_32", "jax", parameters={"lstm": "fused"}))


@pytest.mark.parametrize(
    ("engine", "os_name", "vendors"),
    [
        ("tensorflow", "Linux 6.1 (Debian GNU/Linux 12)", {"nvidia"}),
        ("tensorflow", "Windows 11", set()),
        ("tensorflow", "macOS 15.1", set()),
        ("torch", "Linux 6.1 (Debian GNU/Linux 12)", {"nvidia", "amd", "intel"}),
        ("torch", "Windows 11", {"nvidia", "amd", "intel"}),
        ("torch", "macOS 15.1", {"apple"}),
        ("jax", "Linux 6.1 (Debian GNU/Linux 12)", {"nvidia"}),
        ("jax", "Windows 11", set()),
        ("jax", "macOS 15.1", set()),
    ],
)
def test_each_engine_uses_the_gpus_that_its_makers_name(
    engine: str, os_name: str, vendors: set[str], machine: Machine
) -> None:
    computer = replace(machine, os_name=os_name, gpus=tuple(GPUS.values()))
    assert {gpu.vendor for gpu in usable_gpus(computer, engine)} == vendors
