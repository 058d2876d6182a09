"""The worker's command line and environment: an allow-list, so that surroundings change nothing."""

import subprocess
import sys
from pathlib import Path

import pytest

import workloads
from app.core.paths import Paths
from app.core.runs.worker_command import worker_command
from workloads import CATALOGUE
from workloads.engines.registry import ENGINES
from workloads.engines.setup import foreign_variables

SPEC = CATALOGUE["cifar10_keras_cnn"].default_spec
HOSTILE = {
    "KERAS_MAX_EPOCHS": "1",
    "KERAS_MAX_STEPS_PER_EPOCH": "1",
    "KERAS_BACKEND": "jax",
    "KERAS_HOME": "/elsewhere",
    "TF_XLA_FLAGS": "--tf_xla_auto_jit=2",
    "TF_NUM_INTRAOP_THREADS": "1",
    "TF_CPP_MIN_LOG_LEVEL": "3",
    "TF_ENABLE_ONEDNN_OPTS": "0",
    "XLA_FLAGS": "--xla_dump_to=/x",
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "PYTHONPATH": "/junk",
    "PYTHONHOME": "/junk",
    "PYTHONSTARTUP": "/junk",
    "PYTHONOPTIMIZE": "2",
    "PYTHONWARNINGS": "error",
    "LD_PRELOAD": "/junk.so",
    "TORCH_LOGS": "all",
    "TORCHINDUCTOR_FREEZING": "1",
    "PYTORCH_CUDA_ALLOC_CONF": "backend:cudaMallocAsync",
    "KERAS_TORCH_DEVICE": "meta",
    "HSA_OVERRIDE_GFX_VERSION": "10.3.0",
    "MIOPEN_FIND_MODE": "1",
    "JAX_PLATFORMS": "tpu",
    "JAX_ENABLE_X64": "1",
    "NPROC": "1",
    "LC_ALL": "tr_TR.ISO-8859-9",
    "EPOCHMARK_HOME": "/elsewhere",
    "SECRET_TOKEN": "x",
}
HARMLESS = {
    "PATH": "/bin",
    "HOME": "/home/anna",
    "SystemRoot": "C:\\Windows",
    "LD_LIBRARY_PATH": "/cuda",
    # For PyTorch's compiler on Windows.
    "UserName": "anna",
    "ProgramFiles(x86)": "C:\\Programs",
    "INCLUDE": "C:\\inc",
    "LIB": "C:\\lib",
}


def test_nothing_that_changes_a_run_gets_through(paths: Paths) -> None:
    clean = worker_command(SPEC(), paths, HOSTILE | HARMLESS).environment
    assert {name: clean[name] for name in HOSTILE if name in clean} == {
        "KERAS_BACKEND": "tensorflow",
        "KERAS_HOME": str(paths.keras_home),
        "PYTHONPATH": str(Path(workloads.__file__).resolve().parents[1]),
        "TF_CPP_MIN_LOG_LEVEL": "1",
    }


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("device", ["cpu", "auto"])
def test_surroundings_change_no_engine(engine: str, device: str, paths: Paths) -> None:
    spec = CATALOGUE["mnist_mlp"].default_spec(engine=engine, device=device)
    assert worker_command(spec, paths, HOSTILE) == worker_command(spec, paths, {})


@pytest.mark.parametrize("name", ["HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "ONEAPI_DEVICE_SELECTOR"])
def test_a_choice_of_gpus_reaches_the_engine_and_is_reported(name: str, paths: Paths) -> None:
    spec = CATALOGUE["mnist_mlp"].default_spec(engine="torch", device="auto")
    clean = worker_command(spec, paths, {name: "1"}).environment
    assert clean[name] == "1"
    assert name in foreign_variables(clean, spec)


def test_what_the_system_needs_gets_through_in_any_spelling(paths: Paths) -> None:
    clean = worker_command(SPEC(), paths, HARMLESS).environment
    assert HARMLESS.items() <= clean.items()


def test_the_environment_does_not_depend_on_what_is_filtered_out(paths: Paths) -> None:
    assert worker_command(SPEC(), paths, HOSTILE) == worker_command(SPEC(), paths, {})


@pytest.mark.parametrize(("onednn", "said"), [(True, "1"), (False, "0"), (None, None)])
def test_onednn_is_as_asked_or_left_to_tensorflow(paths: Paths, onednn: bool | None, said: str | None) -> None:
    assert worker_command(SPEC(onednn=onednn), paths, {}).environment.get("TF_ENABLE_ONEDNN_OPTS") == said


def test_the_worker_reads_and_writes_utf_8_and_lets_the_gpu_memory_grow(paths: Paths) -> None:
    clean = worker_command(SPEC(), paths, {}).environment
    assert (clean["PYTHONUTF8"], clean["PYTHONNOUSERSITE"]) == ("1", "1")
    assert clean["TF_FORCE_GPU_ALLOW_GROWTH"] == "true"


@pytest.mark.parametrize(("device", "visible"), [("cpu", "-1"), ("auto", "0,1"), ("gpu:1", "0,1")])
def test_only_the_cpu_hides_the_gpus(paths: Paths, device: str, visible: str) -> None:
    clean = worker_command(SPEC(device=device), paths, {"CUDA_VISIBLE_DEVICES": "0,1"}).environment
    assert clean["CUDA_VISIBLE_DEVICES"] == visible


def test_threads_are_set_only_when_asked_for(paths: Paths) -> None:
    names = {"OMP_NUM_THREADS", "TF_NUM_INTRAOP_THREADS"}
    assert not names & worker_command(SPEC(), paths, {}).environment.keys()
    clean = worker_command(SPEC(threads=3), paths, {}).environment
    assert {clean[name] for name in names} == {"3"}


@pytest.mark.slow
def test_a_worker_starts_from_a_folder_full_of_junk(paths: Paths, tmp_path: Path) -> None:
    for name in ("workloads", "msgspec", "json"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('junk was imported')")
    command = worker_command(SPEC(), paths)
    ended = subprocess.run(
        [*command.arguments],
        env=command.environment | {"HOME": str(tmp_path)},
        cwd=tmp_path,
        input=b"no job\n",
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert b'"type":"hello"' in ended.stdout
    assert b"junk" not in ended.stdout + ended.stderr


def test_a_frozen_app_starts_itself_as_the_worker(paths: Paths, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    assert worker_command(SPEC(), paths).arguments == (sys.executable, "--worker")
