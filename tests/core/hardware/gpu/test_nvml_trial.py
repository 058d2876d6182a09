"""A library of NVIDIA's that crashes or hangs takes nothing along."""

import os
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from app.core.doctor import nvml as doctor_nvml
from app.core.doctor.nvml import ask_nvml
from app.core.hardware.gpu import nvidia
from app.core.hardware.gpu.libraries import find_library
from app.core.hardware.gpu.nvidia import capability_text
from app.core.hardware.gpu.nvml_trial import LINUX_NAME, Outcome, asked_first, trial_arguments
from tests.conftest import ROOT
from tests.core.hardware.gpu.broken_library import CAN_BE_MADE, Kind, broken_library
from tests.core.hardware.gpu.nvml import FakeDriver
from tests.saying import said

linux_only = pytest.mark.skipif(
    not (sys.platform.startswith("linux") and CAN_BE_MADE), reason="makes a library of Linux for known CPUs"
)
# A Python that starts within it would be a wonder, and it needs not.
SHORT_S, LONG_S = 0.05, 30.0


@linux_only
@pytest.mark.slow
@pytest.mark.parametrize(
    "at", ["load", "nvmlInit_v2", "nvmlSystemGetDriverVersion", "nvmlDeviceGetComputeRunningProcesses_v3"]
)
@pytest.mark.parametrize("kind", ["crashes", "hangs"])
def test_a_broken_library_ends_another_process_only(kind: Kind, at: str, tmp_path: Path) -> None:
    library = tmp_path / LINUX_NAME
    library.write_bytes(broken_library(kind, at))
    limit_s = LONG_S if kind == "crashes" else 0.2
    for _ in range(2):  # the second time, the answer is known
        with asked_first(trial_arguments(str(library)), limit_s) as outcome:
            assert outcome == kind


@pytest.mark.slow
@pytest.mark.parametrize(
    ("code", "outcome"),
    [
        ("import os; print(os.getpid(), file=open('pid', 'w')); print('asked', flush=True); input()", "answers"),
        ("raise OSError('no such symbol')", "answers"),
        ("import os; os.abort()", "crashes"),
        ("import time; time.sleep(60)", "hangs"),
    ],
)
def test_a_trial_on_any_system(
    code: str, outcome: Outcome, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    if code.startswith("import os") and sys.platform == "win32":
        code = "import ctypes; ctypes.string_at(0)"
    limit_s = SHORT_S if outcome == "hangs" else LONG_S
    with asked_first((sys.executable, "-I", "-S", "-c", code), limit_s) as seen:
        assert seen == outcome
        process = psutil.Process(int(Path("pid").read_text())) if Path("pid").exists() else None
        assert process is None or process.is_running(), "the driver stays started until it is used here"
    assert process is None or not process.is_running()


@pytest.mark.parametrize("arguments", [None, ("no such program",)])
def test_what_cannot_be_asked_says_nothing_about_the_library(arguments: tuple[str, ...] | None) -> None:
    with asked_first(arguments, SHORT_S) as outcome:
        assert outcome == "answers"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("code", "sentence", "state"),
    [
        ("import ctypes; ctypes.string_at(0)", "hardware.nvml_crashes", "crashes"),
        ("import time; time.sleep(60)", "hardware.nvml_not_responding", "no_answer"),
    ],
)
def test_the_app_goes_on_without_it_and_says_so_once(
    code: str,
    sentence: str,
    state: str,
    driver: FakeDriver,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    for module in (nvidia, doctor_nvml):
        monkeypatch.setattr(module, "nvml_library", lambda: "a library")
        monkeypatch.setattr(module, "trial_arguments", lambda _: (sys.executable, "-I", "-S", "-c", code))
    limits = nvidia.NvmlLimits(start_s=0.2 if state == "no_answer" else LONG_S)
    monkeypatch.setattr(doctor_nvml, "NvmlLimits", lambda: limits)
    for _ in range(2):
        reader = nvidia.NvidiaGpus(tmp_path, limits=limits)
        assert (reader.gpus(), reader.telemetry()) == ((), ())
    assert ask_nvml().state == state
    assert driver.starts == 0
    (told,) = [record.getMessage() for record in caplog.records]
    assert said(sentence).is_all_of(told)


@linux_only
@pytest.mark.slow
def test_a_command_lives_on_with_a_library_that_crashes(tmp_path: Path) -> None:
    (tmp_path / LINUX_NAME).write_bytes(broken_library("crashes", "nvmlDeviceGetPowerUsage"))
    environment = os.environ | {"LD_LIBRARY_PATH": str(tmp_path), "EPOCHMARK_HOME": str(tmp_path / "home")}
    done = subprocess.run(
        [sys.executable, "-m", "app", "hardware", "--json"],
        env=environment,
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0
    assert said("hardware.nvml_crashes").is_in(done.stderr)
    assert done.stdout.startswith("{")


def test_a_library_is_found_without_loading_it(tmp_path: Path) -> None:
    assert find_library("libx.so.1", tmp_path, {}) is None
    folder = tmp_path / "usr/lib64"
    folder.mkdir(parents=True)
    (folder / "libx.so.1").touch()
    assert find_library("libx.so.1", tmp_path, {}) == "/usr/lib64"
    (tmp_path / "own").mkdir()
    (tmp_path / "own/libx.so.1").touch()
    assert find_library("libx.so.1", tmp_path, {"LD_LIBRARY_PATH": ":/nowhere:/own"}) == "/own"


def test_no_decision_is_made_on_an_absurd_capability(driver: FakeDriver, tmp_path: Path) -> None:
    driver.values["CudaComputeCapability"] = [(0, 0), (999, 9)]
    assert [gpu.compute_capability for gpu in nvidia.NvidiaGpus(tmp_path).gpus()] == [None, None]
    assert [gpu.capability for gpu in ask_nvml().gpus] == [None, None]
    for capability in ((8, 99), (-1, 5), (8,), ("8", "9"), None, 8.9, (True, True)):
        assert capability_text(capability) is None
