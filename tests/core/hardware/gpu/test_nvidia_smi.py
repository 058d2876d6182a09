"""NVIDIA's GPUs through nvidia-smi: a made-up one answers as the real one does on broken computers."""

import os
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from app.core.hardware.gpu import gpus as gpu
from app.core.hardware.gpu import nvidia_smi
from tests.core.hardware.gpu.gpu_trees import DATA
from tests.core.hardware.gpu.nvml import PYNVML, FakeDriver
from tests.waiting import wait_until
from workloads.protocol.machine import Gpu
from workloads.protocol.telemetry import GpuTelemetry

pytestmark = pytest.mark.skipif(os.name != "posix", reason="the made-up nvidia-smi is a shell script")

GOOD_LINE = (DATA / "smi/good.txt").read_text().strip()


@pytest.fixture
def reader(tmp_path: Path) -> gpu.GpuReader:
    return gpu.GpuReader(tmp_path)


@pytest.fixture
def smi_folder(driver: FakeDriver, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Path]:
    driver.start_error = PYNVML.NVMLError_LibraryNotFound()
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", os.pathsep.join((str(folder), os.environ["PATH"], os.defpath)))
    yield folder
    assert not [child for child in psutil.Process().children(recursive=True) if child.name() == "nvidia-smi"]


def write_smi(folder: Path, body: str) -> None:
    script = folder / "nvidia-smi"
    script.write_text(f"#!/bin/sh\necho run >> '{folder}/runs'\n{body}\n")
    script.chmod(0o755)


def test_gputil_good_line(smi_folder: Path, reader: gpu.GpuReader, tmp_path: Path) -> None:
    write_smi(smi_folder, f"echo '{GOOD_LINE}'")
    expected = Gpu("NVIDIA GeForce RTX 3070", "nvidia", 8192 * 2**20, "535.54", None, "gputil")
    assert gpu.list_gpus(tmp_path) == (expected,)
    assert reader.read() == (GpuTelemetry(0, 37.0, 1024 * 2**20, 54.0),)
    reader.close()


def test_gputil_missing_values_are_none(smi_folder: Path, reader: gpu.GpuReader, tmp_path: Path) -> None:
    write_smi(smi_folder, f"cat '{DATA}/smi/not_available.txt'")
    assert gpu.list_gpus(tmp_path) == (Gpu("NVIDIA GPU", "nvidia", source="gputil"),)
    assert reader.read() == (GpuTelemetry(0),)
    write_smi(smi_folder, f"cat '{DATA}/smi/not_supported.txt'")
    assert gpu.list_gpus(tmp_path)[0].name == "NVIDIA GeForce GT 710"
    assert reader.read() == (GpuTelemetry(0, memory_used_bytes=2**30),)
    reader.close()


@pytest.mark.parametrize(
    "body",
    [
        f"cat '{DATA}/smi/no_driver.txt'; exit 9",
        f"cat '{DATA}/smi/mismatch.txt'; exit 18",
        f"cat '{DATA}/smi/no_devices.txt'; exit 6",
        f"cat '{DATA}/smi/lost.txt'; exit 15",
        f"cat '{DATA}/smi/no_memory.txt'",
        "echo '0, too short'",
        "printf '\\377\\376\\n'",
        "exit 1",
    ],
    ids=["no driver", "mismatch", "no devices", "lost", "zero memory", "short line", "no text", "nothing"],
)
def test_gputil_failures_mean_no_gpus(smi_folder: Path, reader: gpu.GpuReader, tmp_path: Path, body: str) -> None:
    write_smi(smi_folder, body)
    assert gpu.list_gpus(tmp_path) == ()
    assert reader.read() == ()
    reader.close()
    assert (smi_folder / "runs").read_text().count("run") == 2


def has_ended(pid: int) -> bool:
    try:
        return bool(psutil.Process(pid).status() == psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return True


@pytest.mark.slow
def test_a_hanging_nvidia_smi_is_killed_and_not_asked_again(
    smi_folder: Path, reader: gpu.GpuReader, tmp_path: Path
) -> None:
    write_smi(smi_folder, f"sleep 60 &\necho $! > '{smi_folder}/pid'\nwait")
    assert gpu.list_gpus(tmp_path) == ()
    assert nvidia_smi.HUNG.is_set()
    pid = int((smi_folder / "pid").read_text())
    wait_until(lambda: has_ended(pid))
    assert not [thread for thread in threading.enumerate() if thread.name == "gputil"]
    assert reader.read() == ()
    assert gpu.list_gpus(tmp_path) == ()
    assert (smi_folder / "runs").read_text().count("run") == 1
    reader.close()


def test_gputil_is_not_asked_when_nvml_answers(
    driver: FakeDriver, smi_folder: Path, reader: gpu.GpuReader, tmp_path: Path
) -> None:
    write_smi(smi_folder, f"echo '{GOOD_LINE}'")
    driver.start_error = None
    assert len(gpu.list_gpus(tmp_path)) == 2
    assert len(reader.read()) == 2
    reader.close()
    assert not (smi_folder / "runs").exists()


@pytest.mark.parametrize("missing", ["pynvml", "GPUtil"])
def test_missing_libraries(
    smi_folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, missing: str
) -> None:
    write_smi(smi_folder, f"echo '{GOOD_LINE}'")
    monkeypatch.setitem(sys.modules, missing, None)
    assert len(gpu.list_gpus(tmp_path)) == (1 if missing == "pynvml" else 0)


def test_warnings_of_gputil_stay_inside(smi_folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    write_smi(smi_folder, "exit 1")
    (smi_folder / "GPUtil.py").write_text(
        "import warnings\nwarnings.warn('distutils is deprecated', DeprecationWarning)\ngetGPUs = list\n"
    )
    monkeypatch.syspath_prepend(smi_folder)
    monkeypatch.delitem(sys.modules, "GPUtil", raising=False)
    assert gpu.list_gpus(tmp_path) == ()
    assert sys.modules.pop("GPUtil").getGPUs is list
