"""The worker's command line and environment: an allow-list, so that surroundings change nothing."""

import subprocess
from pathlib import Path
from typing import Any

import pytest

import workloads
from app.core.paths import Paths
from app.core.runs.worker_command import worker_command
from workloads import CATALOGUE
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


def test_nothing_that_changes_a_run_gets_through_and_what_the_system_needs_does(paths: Paths) -> None:
    clean = worker_command(SPEC(), paths, HOSTILE | HARMLESS).environment
    assert {name: clean[name] for name in HOSTILE if name in clean} == {
        "KERAS_BACKEND": "tensorflow",
        "KERAS_HOME": str(paths.keras_home),
        "PYTHONPATH": str(Path(workloads.__file__).resolve().parents[1]),
        "TF_CPP_MIN_LOG_LEVEL": "1",
    }
    assert HARMLESS.items() <= clean.items()


@pytest.mark.parametrize("name", ["HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "ONEAPI_DEVICE_SELECTOR"])
def test_a_choice_of_gpus_reaches_the_engine_and_is_reported(name: str, paths: Paths) -> None:
    spec = CATALOGUE["mnist_mlp"].default_spec(engine="torch", device="auto")
    clean = worker_command(spec, paths, {name: "1"}).environment
    assert clean[name] == "1"
    assert name in foreign_variables(clean, spec)


@pytest.mark.parametrize(
    ("changes", "variables", "expected"),
    [
        ({"onednn": True}, {}, {"TF_ENABLE_ONEDNN_OPTS": "1"}),
        ({"onednn": False}, {}, {"TF_ENABLE_ONEDNN_OPTS": "0"}),
        ({"onednn": None}, {}, {"TF_ENABLE_ONEDNN_OPTS": None}),  # left to TensorFlow
        ({}, {}, {"PYTHONUTF8": "1", "PYTHONNOUSERSITE": "1", "TF_FORCE_GPU_ALLOW_GROWTH": "true"}),
        ({"device": "cpu"}, {"CUDA_VISIBLE_DEVICES": "0,1"}, {"CUDA_VISIBLE_DEVICES": "-1"}),
        ({"device": "auto"}, {"CUDA_VISIBLE_DEVICES": "0,1"}, {"CUDA_VISIBLE_DEVICES": "0,1"}),
        ({"device": "gpu:1"}, {"CUDA_VISIBLE_DEVICES": "0,1"}, {"CUDA_VISIBLE_DEVICES": "0,1"}),
        ({}, {}, {"OMP_NUM_THREADS": None, "TF_NUM_INTRAOP_THREADS": None}),
        ({"threads": 3}, {}, {"OMP_NUM_THREADS": "3", "TF_NUM_INTRAOP_THREADS": "3"}),
    ],
)
def test_the_environment_is_as_asked(
    paths: Paths, changes: dict[str, Any], variables: dict[str, str], expected: dict[str, str | None]
) -> None:
    environment = worker_command(SPEC(**changes), paths, variables).environment
    assert {name: environment.get(name) for name in expected} == expected


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
