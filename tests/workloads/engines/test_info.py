"""What each engine can do, and another one as a file and a row: plain NumPy, in packages of its own."""

import importlib.util
import shutil
import sys
import sysconfig
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from app.core.analysis.comparability import differences, run_refusal
from app.core.errors import UsageError
from app.core.hardware.gpu.usable import usable_gpus
from app.core.paths import Paths
from app.core.runs.runner import Runner, check_spec
from app.core.runs.worker_command import WorkerCommand, worker_command
from app.core.storage.runs import load_run
from tests.build import in_database
from tests.conftest import ROOT, pretend_installed
from tests.core.runs.running import start_run
from tests.saying import said
from tests.sure import sure
from workloads import CATALOGUE
from workloads.engines.registry import ENGINES, engine_named
from workloads.engines.torch import compile_refusal
from workloads.protocol.errors import WorkloadError
from workloads.protocol.machine import Gpu, Machine
from workloads.protocol.spec import RunSpec

HERE = Path(__file__).parent / "plain_numpy"
NAME = "plain_numpy"
ROW = f"\nfrom workloads.engines.{NAME} import INFO\n\nENGINES[INFO.name] = INFO\n"


@pytest.fixture
def sources(tmp_path: Path, second_engine: str) -> Path:
    """The workloads with one more file and one more row; this process sees both, too."""
    folder = tmp_path / "sources"
    shutil.copytree(ROOT / "workloads", folder / "workloads", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(HERE / "plain_numpy.py", folder / "workloads" / "engines")
    registry = folder / "workloads" / "engines" / "registry.py"
    registry.write_text(registry.read_text() + ROW)
    return folder


@pytest.fixture
def own_packages(paths: Paths) -> Path:
    """Its folder, which has NumPy and msgspec, and neither TensorFlow nor the real Keras."""
    folder = pretend_installed(NAME, paths)
    for name in ("numpy", "numpy.libs", "msgspec"):
        path = Path(sysconfig.get_path("purelib")) / name
        if path.exists():
            (folder / name).symlink_to(path)
    shutil.copy(HERE / "small_keras.py", folder / "keras.py")
    return folder


def command_with(sources: Path) -> "object":
    def command(spec: RunSpec, paths: Paths) -> WorkerCommand:
        usual, launch = worker_command(spec, paths), str(Path("workloads", "launch.py"))
        arguments = [str(sources / launch) if each.endswith(launch) else each for each in usual.arguments]
        # What would lead the engine to other packages.
        (sources / "msgspec.py").write_text("raise ImportError('the user's own')")
        return WorkerCommand(tuple(arguments), usual.environment | {"PYTHONPATH": str(sources)})

    return command


@pytest.mark.long
@pytest.mark.skipif(sys.platform == "win32", reason="links to packages need rights there")
def test_plain_numpy_trains_the_mlp_from_packages_of_its_own(
    sources: Path, own_packages: Path, paths: Paths, machine: Machine
) -> None:
    runner = Runner(paths, machine, command=command_with(sources))  # type: ignore[arg-type]
    workload = CATALOGUE["mnist_mlp"]
    spec = workload.default_spec(epochs=2, steps=60, data="synthetic", engine=NAME)
    assert str(own_packages) in runner.command(spec, paths).arguments
    session = start_run(runner, spec)
    assert session.wait(120)
    run = in_database(paths.database, load_run, session.run_id)
    assert run.summary.status == "completed", run.summary.error_message
    assert (run.summary.engine, run.summary.device) == (NAME, "cpu")
    assert (sure(run.model).parameters_count, run.metrics["updates_done"]) == (669_706, 120.0)
    first, second = (epoch.loss for epoch in run.epochs)
    assert first is not None
    assert sure(second) < 0.9 * first < 2.3
    assert run.summary.seconds_per_epoch_s is None  # cut epochs
    usual = replace(run.summary, engine="tensorflow", engine_version="2.21.0")
    assert run_refusal(usual, run.summary) is None
    assert differences(usual, run.summary) == (f"Plain NumPy {run.summary.engine_version}",)


def test_an_engine_that_is_not_installed_is_refused_before_anything_is_stored(
    sources: Path, paths: Paths, machine: Machine
) -> None:
    runner = Runner(paths, machine)
    spec = CATALOGUE["mnist_mlp"].default_spec(engine=NAME)
    with pytest.raises(UsageError, match=said("engine.not_installed", engine="Plain NumPy").pattern):
        start_run(runner, spec)
    pretend_installed(NAME, paths)
    checked = runner.check(spec)
    shutil.rmtree(paths.engines / NAME)
    with pytest.raises(UsageError, match=said("engine.not_installed").pattern):
        runner.start(checked)
    assert not paths.database.exists()


def test_what_an_engine_cannot_do_is_refused_before_the_run(
    sources: Path, paths: Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    pretend_installed(NAME, paths)
    for change in ({"jit": True}, {"onednn": False}):
        spec = CATALOGUE["mnist_mlp"].default_spec("standard", engine=NAME, **change)
        refused = said("engine.without_setting", engine="Plain NumPy", setting=next(iter(change)))
        with pytest.raises(UsageError, match=refused.pattern):
            Runner(paths, None).check(spec)  # type: ignore[arg-type]
    workload = CATALOGUE["flowers_vgg16_331"]
    monkeypatch.setattr(workload, "engines", ("tensorflow",))
    with pytest.raises(UsageError, match=said("engine.not_for_workload", engine="Plain NumPy").pattern):
        Runner(paths, None).check(workload.default_spec(engine=NAME))  # type: ignore[arg-type]


NAMES = {"nvidia": "GeForce RTX 5070", "amd": "Radeon RX 7800 XT", "intel": "Arc B580", "apple": "Apple M3"}
GPUS = {vendor: Gpu(name, vendor) for vendor, name in NAMES.items()}


def asked(workload: str, engine: str, **changes: Any) -> RunSpec:
    return CATALOGUE[workload].default_spec(engine=engine, **changes)


@pytest.mark.parametrize(("threads", "variable"), [(3, "3"), (None, None)])
def test_jax_reads_how_many_threads_it_has(threads: int | None, variable: str | None) -> None:
    assert ENGINES["jax"].run_variables(asked("mnist_mlp", "jax", threads=threads)).get("NPROC") == variable


def test_jax_compiles_without_being_asked_and_cannot_do_without() -> None:
    assert asked("mnist_mlp", "jax").jit
    check_spec(asked("mnist_mlp", "jax"))
    with pytest.raises(UsageError, match=said("engine.compiles_always", compiler="XLA", engine="JAX").pattern):
        check_spec(asked("mnist_mlp", "jax", jit=False))
    assert not asked("mnist_mlp", "torch").jit


def test_pytorch_compiles_only_with_a_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: None)
    compiled = asked("mnist_mlp", "torch", jit=True, device="cpu")
    with pytest.raises(UsageError, match=said("engine.no_compiler", engine="PyTorch").pattern):
        check_spec(compiled)
    monkeypatch.setattr(shutil, "which", lambda name: f"/usr/bin/{name}")
    check_spec(compiled)


@pytest.mark.parametrize(
    ("system", "kind", "hip", "has_triton", "has_compiler", "code"),
    [
        ("win32", "cuda", None, True, False, None),  # it brings its own
        ("win32", "cuda", None, False, True, "engine.no_triton"),
        ("win32", "cuda", "10.0", True, False, "engine.no_compiler"),
        ("win32", "xpu", None, True, False, "engine.no_compiler"),
        ("win32", "cpu", None, True, False, "engine.no_compiler"),
        ("win32", "cpu", None, False, True, None),
        ("linux", "cuda", None, True, True, None),
        ("linux", "cuda", None, True, False, "engine.no_compiler"),
        ("darwin", "mps", None, False, False, None),
    ],
)
def test_what_pytorch_needs_to_compile_depends_on_the_device(
    monkeypatch: pytest.MonkeyPatch,
    system: str,
    kind: str,
    hip: str | None,
    has_triton: bool,
    has_compiler: bool,
    code: str | None,
) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: name if has_compiler else None)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: object() if has_triton else None)
    monkeypatch.setattr(sys, "platform", system)
    refusal = compile_refusal(kind, hip)
    assert (None if refusal is None else refusal.code) == code


def test_on_windows_a_run_on_a_card_is_refused_only_where_its_device_is_known(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: None)
    monkeypatch.setattr(sys, "platform", "win32")
    for device in ("auto", "gpu:0"):
        assert ENGINES["torch"].refusal(asked("mnist_mlp", "torch", jit=True, device=device)) is None
    refusal = ENGINES["torch"].refusal(asked("mnist_mlp", "torch", jit=True, device="cpu"))
    assert refusal is not None
    card = SimpleNamespace(is_available=lambda: True, device_count=lambda: 1, get_device_name=lambda _: "RTX 5070")
    fake = SimpleNamespace(
        cuda=card, version=SimpleNamespace(hip=None), _dynamo=SimpleNamespace(config=SimpleNamespace())
    )
    monkeypatch.setitem(sys.modules, "torch", fake)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(WorkloadError, match=r"engine\.no_triton"):
        engine_named("torch").start(asked("mnist_mlp", "torch", jit=True))


@pytest.mark.parametrize("engine", ENGINES)
def test_a_fused_lstm_needs_a_gpu_that_the_engine_can_use(engine: str, paths: Paths, machine: Machine) -> None:
    if engine != "tensorflow":
        pretend_installed(engine, paths, {"torch": "cuda", "jax": "cuda13"}[engine])
    fused = asked("imdb_bidirectional_lstm", engine, parameters={"lstm": "fused"})
    with_gpu = replace(machine, os_name="Linux 6.1", gpus=(GPUS["nvidia"],))
    Runner(paths, with_gpu).check(fused)
    on_cpu = asked("imdb_bidirectional_lstm", engine, parameters={"lstm": "fused"}, device="cpu")
    refusal = said("engine.fused_needs_gpu", engine=ENGINES[engine].title)
    for computer, spec in ((machine, fused), (with_gpu, on_cpu)):
        with pytest.raises(UsageError, match=refusal.pattern):
            Runner(paths, computer).check(spec)
    if engine != "tensorflow":
        shutil.rmtree(paths.engines / engine)
        pretend_installed(engine, paths, "cpu")  # a build for the processor
        with pytest.raises(UsageError, match=refusal.pattern):
            Runner(paths, with_gpu).check(fused)


@pytest.mark.parametrize("workload", ["mnist_mlp", "lstm_ptb_32", "vgg16_inference"])
def test_pytorch_has_float16_only_on_a_gpu(workload: str, paths: Paths, machine: Machine) -> None:
    for engine in ("torch", "jax"):
        pretend_installed(engine, paths)
    runner = Runner(paths, replace(machine, memory_bytes=10**12))
    for engine, kind in (("tensorflow", "float16"), ("jax", "float16"), ("torch", "bfloat16")):
        runner.check(asked(workload, engine, precision=f"mixed_{kind}", device="cpu"))
    with pytest.raises(UsageError, match=said("engine.float16_needs_gpu", engine="PyTorch").pattern):
        runner.check(asked(workload, "torch", precision="mixed_float16", device="cpu"))


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
